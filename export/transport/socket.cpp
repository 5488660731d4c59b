// SPDX-License-Identifier: Apache-2.0
#include "export/transport/socket.hpp"

#include <linux/errqueue.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <new>
#include <system_error>
#include <utility>

#include "export/export_error.hpp"
#include "export/threads/helper_thread.hpp"

namespace tributary {
namespace {

const sockaddr* raw(const SocketAddress& address) noexcept {
    return reinterpret_cast<const sockaddr*>(&address.storage);
}

Resolver::Result look_up(const std::string& host, const std::string& port, int type, int flags) {
    addrinfo hints{};
    hints.ai_family = AF_UNSPEC;
    hints.ai_socktype = type;
    hints.ai_flags = flags | AI_NUMERICSERV;
    addrinfo* found = nullptr;
    const int error = ::getaddrinfo(host.c_str(), port.c_str(), &hints, &found);
    if (error != 0) {
        return tl::unexpected(std::string(::gai_strerror(error)));
    }
    std::vector<SocketAddress> addresses;
    for (const addrinfo* each = found; each != nullptr; each = each->ai_next) {
        SocketAddress& address = addresses.emplace_back();
        std::memcpy(&address.storage, each->ai_addr, each->ai_addrlen);
        address.length = each->ai_addrlen;
    }
    ::freeaddrinfo(found);
    return addresses;
}

/// Short enough for a string to hold without memory of its own.
constexpr const char* kNoMemory = "no memory";

std::string text_of(const char* fault) noexcept {
    try {
        return fault;
    } catch (const std::bad_alloc&) {
        return kNoMemory;
    }
}

/// The error if it shows that datagrams do not arrive, else 0.
int icmp_error(int error) noexcept {
    return error == ECONNREFUSED || error == EHOSTUNREACH || error == ENETUNREACH ? error : 0;
}

/// The error in a message of a socket's error queue; 0: none of interest.
int icmp_error_in(msghdr& message) noexcept {
    for (cmsghdr* each = CMSG_FIRSTHDR(&message); each != nullptr;
         each = CMSG_NXTHDR(&message, each)) {
        sock_extended_err error{};
        if (each->cmsg_len >= CMSG_LEN(sizeof error)) {
            std::memcpy(&error, CMSG_DATA(each), sizeof error);
        }
        if (const int found = icmp_error(static_cast<int>(error.ee_errno)); found != 0) {
            return found;
        }
    }
    return 0;
}

}  // namespace

bool operator==(const SocketAddress& a, const SocketAddress& b) noexcept {
    return a.length == b.length && std::memcmp(&a.storage, &b.storage, a.length) == 0;
}

tl::expected<FileDescriptor, int> connect_socket(
    const SocketAddress& peer, int type, const std::optional<SocketAddress>& source) noexcept {
    if (source && source->family() != peer.family()) {
        return tl::unexpected(EAFNOSUPPORT);
    }
    FileDescriptor socket(::socket(peer.family(), type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (!socket || (source && ::bind(socket.get(), raw(*source), source->length) != 0)) {
        return tl::unexpected(errno);
    }
    if (::connect(socket.get(), raw(peer), peer.length) != 0 && errno != EINPROGRESS) {
        return tl::unexpected(errno);
    }
    return socket;
}

bool is_connected_to_itself(const FileDescriptor& socket) noexcept {
    SocketAddress own;
    SocketAddress peer;
    own.length = peer.length = sizeof own.storage;
    return ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&own.storage), &own.length) ==
               0 &&
           ::getpeername(socket.get(), reinterpret_cast<sockaddr*>(&peer.storage), &peer.length) ==
               0 &&
           own == peer;
}

bool can_segment(const FileDescriptor& socket) noexcept {
    int octets = 0;
    socklen_t size = sizeof octets;
    return ::getsockopt(socket.get(), SOL_UDP, UDP_SEGMENT, &octets, &size) == 0;
}

bool holds_datagrams(const FileDescriptor& socket) noexcept {
    int octets = 0;
    return ::ioctl(socket.get(), TIOCOUTQ, &octets) == 0 && octets > 0;
}

int take_socket_error(const FileDescriptor& socket) noexcept {
    int error = 0;
    socklen_t size = sizeof error;
    return ::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &size) == 0 ? error : errno;
}

void report_refusals(const FileDescriptor& socket, int family) noexcept {
    const int on = 1;
    const bool is_ipv6 = family == AF_INET6;
    // A kernel that refuses it still reports refusals, but fewer of them.
    static_cast<void>(::setsockopt(socket.get(), is_ipv6 ? IPPROTO_IPV6 : IPPROTO_IP,
                                   is_ipv6 ? IPV6_RECVERR : IP_RECVERR, &on, sizeof on) == 0);
}

int take_icmp_error(const FileDescriptor& socket) noexcept {
    int first = icmp_error(take_socket_error(socket));
    for (;;) {
        alignas(cmsghdr) std::array<std::byte, 256> control;
        msghdr message{};
        message.msg_control = control.data();
        message.msg_controllen = control.size();
        if (::recvmsg(socket.get(), &message, MSG_ERRQUEUE | MSG_DONTWAIT) < 0) {
            return first;
        }
        const int error = icmp_error_in(message);
        first = first != 0 ? first : error;
    }
}

std::optional<SocketAddress> source_of(const CollectorOptions& collector) {
    if (collector.source_address.empty()) {
        return std::nullopt;
    }
    const Resolver::Result found =
        look_up(collector.source_address, "0", SOCK_DGRAM, AI_NUMERICHOST);
    if (!found) {
        throw ExportError("source address " + collector.source_address + ": " + found.error());
    }
    const SocketAddress& source = found->front();
    const FileDescriptor probe(::socket(source.family(), SOCK_DGRAM | SOCK_CLOEXEC, 0));
    if (!probe || ::bind(probe.get(), raw(source), source.length) != 0) {
        throw ExportError("source address " + collector.source_address + ": " + words_for(errno));
    }
    return source;
}

struct Resolver::Lookup {
    void run(const std::string& host, const std::string& port, int socket_type) {
        try {
            result = look_up(host, port, socket_type, 0);
        } catch (const std::bad_alloc&) {
            result = tl::unexpected(std::string(kNoMemory));
        }
        done.store(true, std::memory_order_release);  // pairs with acquire in poll()
    }

    std::atomic<bool> done{};
    Result result;
};

Resolver::Resolver(const CollectorOptions& collector, int socket_type)
    : host_(collector.host), port_(std::to_string(collector.port)), socket_type_(socket_type) {
    if (Result found = look_up(host_, port_, socket_type_, AI_NUMERICHOST)) {
        numeric_ = std::move(*found);
    }
}

void Resolver::start() noexcept {
    try {
        begin_lookup();
    } catch (const std::system_error& error) {
        fail_to_start(words_for(error.code().value()));
    } catch (const std::bad_alloc&) {
        fail_to_start(kNoMemory);
    }
}

/// @errors  std::system_error: there is no thread for it; std::bad_alloc
void Resolver::begin_lookup() {
    lookup_ = std::make_shared<Lookup>();
    if (numeric_) {
        lookup_->result = *numeric_;
        lookup_->done.store(true, std::memory_order_relaxed);  // read by this thread
        return;
    }
    HelperThread({.name = "lookup"}, [lookup = lookup_, host = host_, port = port_,
                                      type = socket_type_](ThreadPlaceInRegistry&) {
        lookup->run(host, port, type);
    }).detach();
}

/// Writes the reason into the result, which poll() finds at once.
void Resolver::fail_to_start(const char* why) noexcept {
    lookup_.reset();
    fault_ = why;
}

std::optional<Resolver::Result> Resolver::poll() noexcept {
    if (fault_ != nullptr) {
        return tl::unexpected(text_of(std::exchange(fault_, nullptr)));
    }
    if (!lookup_ ||
        !lookup_->done.load(std::memory_order_acquire)) {  // pairs with release in start()
        return std::nullopt;
    }
    Result result = std::move(lookup_->result);
    lookup_.reset();
    return result;
}

}  // namespace tributary
