// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <poll.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <thread>
#include <vector>

#include "export/file_descriptor.hpp"
#include "export/ipfix/ipfix_template.hpp"
#include "export/message.hpp"
#include "perf/support/in_turn.hpp"
#include "perf/support/this_thread.hpp"
#include "tests/support/local_collector.hpp"

// Collectors on this host that read, each in a thread of its own.
namespace tributary::perf {

/// Where the process has one CPU alone, moves the calling thread to the others of the host.
///
/// @return  false: there is no other one
inline bool leave_cpu_of_process() {
    const std::vector<std::uint32_t> own = usable_cpus();
    if (own.size() > 1) {
        return true;
    }
    cpu_set_t others;
    CPU_ZERO(&others);
    for (long cpu = 0; cpu < ::sysconf(_SC_NPROCESSORS_CONF); ++cpu) {
        CPU_SET(static_cast<std::size_t>(cpu), &others);
    }
    CPU_CLR(own.front(), &others);
    return ::sched_setaffinity(0, sizeof others, &others) == 0;
}

/// Reads from a TCP port, and discards the octets.
class TcpDiscard {
public:
    TcpDiscard() : listener_(test::bind_loopback(SOCK_STREAM, 0)) {
        demand(::listen(listener_.get(), 4) == 0, "listen");
        thread_ = std::thread([this] { run(); });
    }
    TcpDiscard(const TcpDiscard&) = delete;
    TcpDiscard& operator=(const TcpDiscard&) = delete;
    ~TcpDiscard() {
        ending_.store(true, std::memory_order_relaxed);
        thread_.join();
    }
    [[nodiscard]] std::uint16_t port() const { return test::port_of(listener_); }

private:
    void run() {
        leave_cpu_of_process();
        FileDescriptor connection;
        std::vector<std::byte> octets(1U << 18U);
        while (!ending_.load(std::memory_order_relaxed)) {
            pollfd waiting{.fd = connection ? connection.get() : listener_.get(),
                           .events = POLLIN,
                           .revents = 0};
            if (::poll(&waiting, 1, 10) <= 0) {
                continue;
            }
            if (!connection) {
                connection = test::accept_one(listener_);
            } else if (::recv(connection.get(), octets.data(), octets.size(), MSG_DONTWAIT) == 0) {
                connection = FileDescriptor();
            }
        }
    }

    FileDescriptor listener_;
    std::atomic<bool> ending_{false};
    std::thread thread_;
};

/// Reads datagrams, and checks each: it is one whole message, and its number is that of the records
/// before it. So a datagram that is lost, cut, or joined with another one is a fault.
class UdpReader {
public:
    /// @param record_octets  of the data records, which are all of one size
    explicit UdpReader(std::size_t record_octets)
        : record_octets_(record_octets), socket_(test::bind_loopback(SOCK_DGRAM, 0)) {
        constexpr int kWanted = 8 << 20;
        // With the privilege it may be more than the system's limit.
        if (::setsockopt(socket_.get(), SOL_SOCKET, SO_RCVBUFFORCE, &kWanted, sizeof kWanted) !=
            0) {
            static_cast<void>(
                ::setsockopt(socket_.get(), SOL_SOCKET, SO_RCVBUF, &kWanted, sizeof kWanted));
        }
        thread_ = std::thread([this] { run(); });
    }
    UdpReader(const UdpReader&) = delete;
    UdpReader& operator=(const UdpReader&) = delete;
    ~UdpReader() {
        ending_.store(true, std::memory_order_relaxed);
        thread_.join();
    }
    [[nodiscard]] std::uint16_t port() const { return test::port_of(socket_); }
    /// Datagrams for which its receive buffer has room for certain.
    [[nodiscard]] std::uint64_t room() const {
        constexpr int kOctetsOfDatagram = 4608;  // twice what the kernel takes for one of 1400
        int granted = 0;
        socklen_t size = sizeof granted;
        demand(::getsockopt(socket_.get(), SOL_SOCKET, SO_RCVBUF, &granted, &size) == 0,
               "SO_RCVBUF");
        return static_cast<std::uint64_t>(granted / kOctetsOfDatagram);
    }
    /// Waits until it has read so many datagrams since the start.
    void wait_for(std::uint64_t datagrams) const {
        const auto start = std::chrono::steady_clock::now();
        while (datagrams_.load(std::memory_order_acquire) < datagrams) {  // pairs with read_some()
            demand(std::chrono::steady_clock::now() - start < std::chrono::seconds{10},
                   "the reading collector gets each datagram");
            std::this_thread::sleep_for(std::chrono::microseconds{20});
        }
        demand(datagrams_.load(std::memory_order_relaxed) == datagrams && faults_ == 0,
               "each datagram is the message that follows");
    }
    /// Of data; since the start. @param after  wait_for()
    [[nodiscard]] std::uint64_t records() const noexcept { return records_; }
    [[nodiscard]] bool has_own_cpu() const noexcept { return has_own_cpu_; }

private:
    static constexpr std::size_t kBatch = 32;
    static constexpr std::size_t kLongest = 2048;

    void run() {
        has_own_cpu_ = leave_cpu_of_process();
        for (std::size_t i = 0; i < kBatch; ++i) {
            parts_[i] = {.iov_base = octets_.data() + i * kLongest, .iov_len = kLongest};
            datagrams_read_[i].msg_hdr.msg_iov = &parts_[i];
            datagrams_read_[i].msg_hdr.msg_iovlen = 1;
        }
        while (!ending_.load(std::memory_order_relaxed)) {
            pollfd waiting{.fd = socket_.get(), .events = POLLIN, .revents = 0};
            if (::poll(&waiting, 1, 10) > 0) {
                read_some();
            }
        }
    }
    void read_some() {
        const int count =
            ::recvmmsg(socket_.get(), datagrams_read_.data(), kBatch, MSG_DONTWAIT, nullptr);
        for (int i = 0; i < count; ++i) {
            const auto at = static_cast<std::size_t>(i);
            check(std::span(octets_).subspan(at * kLongest, datagrams_read_[at].msg_len));
        }
        if (count > 0) {  // pairs with wait_for()
            datagrams_.fetch_add(static_cast<std::uint64_t>(count), std::memory_order_release);
        }
    }
    void check(MessageView message) {
        constexpr std::size_t kHeader = 16;
        constexpr std::size_t kSetHeader = 4;
        constexpr std::uint64_t kFirstDataSet = 256;
        bool is_right = message.size() > kHeader &&
                        read_unsigned(message.subspan(2, 2)) == message.size() &&
                        read_unsigned(message.subspan(8, 4)) == records_;
        for (MessageView sets = message.subspan(is_right ? kHeader : message.size());
             is_right && !sets.empty();) {
            const std::uint64_t length =
                sets.size() < kSetHeader ? 0 : read_unsigned(sets.subspan(2, 2));
            is_right = length > kSetHeader && length <= sets.size();
            if (is_right && read_unsigned(sets.first(2)) >= kFirstDataSet) {
                records_ += (length - kSetHeader) / record_octets_;
            }
            sets = sets.subspan(is_right ? length : 0);
        }
        faults_ += is_right ? 0 : 1;
    }

    std::size_t record_octets_;
    FileDescriptor socket_;
    std::vector<std::byte> octets_ = std::vector<std::byte>(kBatch * kLongest);
    std::array<iovec, kBatch> parts_{};
    std::array<mmsghdr, kBatch> datagrams_read_{};
    std::uint64_t records_ = 0;  ///< written before datagrams_ is
    std::uint64_t faults_ = 0;   ///< written before datagrams_ is
    bool has_own_cpu_ = false;   ///< written before datagrams_ is
    std::atomic<std::uint64_t> datagrams_{0};
    std::atomic<bool> ending_{false};
    std::thread thread_;
};

}  // namespace tributary::perf
