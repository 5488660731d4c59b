// SPDX-License-Identifier: Apache-2.0
#include "export/transport/tcp_transport.hpp"

#include <linux/tcp.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <new>
#include <string_view>
#include <utility>

#include "export/transport/tls_context.hpp"

namespace tributary {
namespace {

void set_option(const FileDescriptor& socket, int level, int option, int value) noexcept {
    // These options only tune. If the kernel refuses one, it still carries the messages.
    static_cast<void>(::setsockopt(socket.get(), level, option, &value, sizeof value) == 0);
}

/// Octets of the connection, SYN included, that the peer's kernel has acknowledged.
std::uint64_t acknowledged_octets(const FileDescriptor& socket) noexcept {
    tcp_info info{};
    socklen_t size = sizeof info;
    if (::getsockopt(socket.get(), IPPROTO_TCP, TCP_INFO, &info, &size) != 0) {
        return 0;
    }
    return info.tcpi_bytes_acked;
}

}  // namespace

TcpTransport::TcpTransport(const CollectorOptions& collector, CollectorEvents& events,
                           std::unique_ptr<OctetStream> stream)
    : events_(events),
      source_(source_of(collector)),
      resolver_(collector, SOCK_STREAM),
      stream_(std::move(stream)) {}

TcpTransport::~TcpTransport() { end_connection(); }

/// Closes the connection: with a reset if not all was acknowledged, because the octets that the
/// kernel still holds are counted as not sent.
void TcpTransport::end_connection() noexcept {
    if (sent_octets_ > 0 || !ends_.empty()) {
        constexpr linger kReset{.l_onoff = 1, .l_linger = 0};
        static_cast<void>(
            ::setsockopt(socket_.get(), SOL_SOCKET, SO_LINGER, &kReset, sizeof kReset) == 0);
    } else if (state_ == State::connected) {
        stream_->end();
    }
    socket_ = FileDescriptor();
    sent_octets_ = 0;
    ends_.clear();
}

void TcpTransport::advance(std::chrono::nanoseconds now) noexcept {
    if (state_ == State::pausing && now >= retry_at_) {
        resolver_.start();
        since_ = tried_at_ = now;
        state_ = State::resolving;
    }
    if (state_ == State::resolving) {
        resolve(now);
    }
    if (state_ == State::connecting) {
        check_connecting(now);
    }
    if (state_ == State::opening) {
        check_opening(now);
    }
    if (state_ == State::connected) {
        check_connected(now);
    }
}

void TcpTransport::resolve(std::chrono::nanoseconds now) noexcept {
    auto found = resolver_.poll();
    if (!found) {
        return;
    }
    if (!*found) {
        events_.report(CollectorEventKind::name_unknown, now, found->error());
        short_connections_ = 0;
        pause();
        return;
    }
    candidates_ = std::move(**found);
    std::reverse(candidates_.begin(), candidates_.end());
    last_fault_ = words_for(EADDRNOTAVAIL);
    try_next_candidate(now);
}

void TcpTransport::try_next_candidate(std::chrono::nanoseconds now) noexcept {
    while (!candidates_.empty()) {
        auto socket = connect_socket(candidates_.back(), SOCK_STREAM, source_);
        candidates_.pop_back();
        if (socket) {
            socket_ = std::move(*socket);
            since_ = now;
            state_ = State::connecting;
            return;
        }
        last_fault_ = words_for(socket.error());
    }
    events_.report(CollectorEventKind::connect_failed, now, last_fault_);
    short_connections_ = 0;
    pause();
}

void TcpTransport::check_connecting(std::chrono::nanoseconds now) noexcept {
    pollfd waiting{.fd = socket_.get(), .events = POLLOUT, .revents = 0};
    if (::poll(&waiting, 1, 0) <= 0) {
        if (now - since_ >= kConnectTimeout) {
            last_fault_ = words_for(ETIMEDOUT);
            try_next_candidate(now);
        }
        return;
    }
    const int error = is_connected_to_itself(socket_) ? ECONNREFUSED : take_socket_error(socket_);
    if (error == 0) {
        begin_opening(now);
        return;
    }
    last_fault_ = words_for(error);
    try_next_candidate(now);
}

void TcpTransport::begin_opening(std::chrono::nanoseconds now) noexcept {
    // What the kernel holds is lost with the connection. So it may not grow to the many megabytes
    // that the kernel would take for a collector that stops reading.
    constexpr int kSendBuffer = 1 << 20;
    set_option(socket_, SOL_SOCKET, SO_SNDBUF, kSendBuffer);
    set_option(socket_, IPPROTO_TCP, TCP_NODELAY, 1);  // messages are batches already
    // A host that vanished is noticed after this long, also when there is nothing to send. A
    // collector that does not read for a while is not mistaken for one.
    constexpr int kPatience = 120;
    constexpr int kProbeInterval = 30;
    set_option(socket_, IPPROTO_TCP, TCP_USER_TIMEOUT, kPatience * 1000);
    set_option(socket_, SOL_SOCKET, SO_KEEPALIVE, 1);
    set_option(socket_, IPPROTO_TCP, TCP_KEEPIDLE, kProbeInterval);
    set_option(socket_, IPPROTO_TCP, TCP_KEEPINTVL, kProbeInterval);
    state_ = State::opening;
    since_ = now;
    sent_octets_ = 0;
    has_sent_ = false;
    acknowledged_ = acknowledged_at_start_ = acknowledged_octets(socket_);
    moved_at_ = now;
    stall_is_logged_ = false;
    stream_->begin(socket_);
    check_opening(now);
}

void TcpTransport::check_opening(std::chrono::nanoseconds now) noexcept {
    switch (stream_->open(now)) {
        case OctetStream::Opening::open:
            state_ = State::connected;
            since_ = now;
            ++session_;
            events_.report(CollectorEventKind::connected, now, {});
            return;
        case OctetStream::Opening::waiting:
            if (now - since_ < kConnectTimeout) {
                return;
            }
            last_fault_ = "the collector does not answer as TLS wants it";
            break;
        case OctetStream::Opening::failed:
            last_fault_ = stream_->fault();
    }
    try_next_candidate(now);
}

void TcpTransport::check_connected(std::chrono::nanoseconds now) noexcept {
    // A collector sends nothing. Its end of file must be noticed before the next message: the
    // kernel would take that one too, and drop it.
    if (!stream_->hear()) {
        lose(now);
    }
}

SendResult TcpTransport::send(std::span<const MessageView> messages,
                              std::chrono::nanoseconds now) noexcept {
    if (state_ == State::connected && sent_octets_ == 0) {
        check_connected(now);
    }
    std::size_t taken = 0;
    while (taken < messages.size() && state_ == State::connected &&
           send_some(messages[taken], now)) {
        ++taken;
    }
    return {.taken = taken,
            .rest = taken == messages.size() ? SendStatus::taken : SendStatus::would_block};
}

/// Sends what the kernel takes of a message. @return  all of it
bool TcpTransport::send_some(MessageView message, std::chrono::nanoseconds now) noexcept {
    if (sent_octets_ == 0 && !expect_end()) {
        return false;
    }
    const MessageView rest = message.subspan(sent_octets_);
    const std::optional<std::size_t> sent = stream_->send(rest);
    if (!sent) {
        lose(now);
        return false;
    }
    sent_octets_ += *sent;
    if (sent_octets_ == 0) {
        ends_.pop_back();
    }
    if (sent_octets_ < message.size()) {
        return false;
    }
    ends_.back() = stream_->sent();
    sent_octets_ = 0;
    has_sent_ = true;
    return true;
}

/// Makes a place for the end of a message before any of it is sent. @return  there is memory for it
bool TcpTransport::expect_end() noexcept {
    try {
        ends_.push_back(kNotSent);
    } catch (const std::bad_alloc&) {
        return false;
    }
    return true;
}

SendOutcomes TcpTransport::collect_outcomes(std::chrono::nanoseconds now) noexcept {
    const std::uint64_t before = acknowledged_;
    const bool is_under_way = !ends_.empty();
    if (is_under_way) {
        count_acknowledged();
    }
    if (!is_under_way || acknowledged_ != before) {
        moved_at_ = now;
        stall_is_logged_ = false;
    } else {
        log_stall(now);
    }
    return {.delivered = std::exchange(delivered_, 0), .refused = 0};
}

/// Reads the kernel's count, which is still there after a reset of the connection.
void TcpTransport::count_acknowledged() noexcept {
    acknowledged_ = acknowledged_octets(socket_);
    while (!ends_.empty() && ends_.front() != kNotSent &&
           acknowledged_at_start_ + ends_.front() <= acknowledged_) {
        ends_.pop_front();
        ++delivered_;
    }
}

/// A stalled collector is logged once, until it takes something again.
void TcpTransport::log_stall(std::chrono::nanoseconds now) noexcept {
    if (!stall_is_logged_ && now - moved_at_ >= kStall) {
        stall_is_logged_ = true;
        static_assert(kStall == std::chrono::seconds{30});
        events_.report(CollectorEventKind::stalled, now, "for 30 s");
    }
}

void TcpTransport::leave(std::chrono::nanoseconds now) noexcept {
    if (state_ != State::connected) {
        return;
    }
    count_acknowledged();
    events_.report(CollectorEventKind::connection_lost, now,
                   "ended from here, because another collector can have its records");
    tried_at_ = now;
    pause();
    held_off_until_ = now + kStallPause;
    retry_at_ = held_off_until_;
}

void TcpTransport::lose(std::chrono::nanoseconds now) noexcept {
    if (now - since_ >= kLongConnection) {
        next_pause_ = kFirstPause;
    }
    count_acknowledged();
    events_.report(CollectorEventKind::connection_lost, now, stream_->fault());
    log_short_connections(now);
    tried_at_ = now;
    pause();
}

/// A collector that is stopped or restarted refuses connections in between. A collector that ends
/// them because of the messages goes on to accept new ones.
void TcpTransport::log_short_connections(std::chrono::nanoseconds now) noexcept {
    const bool is_short = has_sent_ && now - since_ < kShortConnection;
    short_connections_ = is_short ? short_connections_ + 1 : 0;
    if (short_connections_ >= kFewConnections) {
        constexpr std::string_view kDetail = "3 or more in a row";
        static_assert(kFewConnections == 3);
        events_.report(CollectorEventKind::ends_each, now, kDetail);
    }
}

void TcpTransport::pause() noexcept {
    end_connection();
    state_ = State::pausing;
    std::uniform_int_distribution<std::chrono::nanoseconds::rep> stretch(0,
                                                                         next_pause_.count() / 2);
    retry_at_ = tried_at_ +
                std::min(next_pause_ + std::chrono::nanoseconds(stretch(random_)), longest_pause());
    constexpr std::chrono::nanoseconds kLongestBase =
        std::chrono::nanoseconds(kLongestPause) * 2 / 3;
    next_pause_ = std::min<std::chrono::nanoseconds>(2 * next_pause_, kLongestBase);
}

std::chrono::nanoseconds TcpTransport::longest_pause() const noexcept {
    switch (patience_) {
        case Patience::last:
            return kLastPause;
        case Patience::pressed:
            return kShortPause;
        case Patience::usual:
            break;
    }
    return kLongestPause;
}

void TcpTransport::set_patience(Patience patience) noexcept {
    patience_ = patience;
    if (state_ == State::pausing) {
        const std::chrono::nanoseconds limit = tried_at_ + longest_pause();
        retry_at_ = std::min(
            retry_at_, patience == Patience::usual ? std::max(limit, held_off_until_) : limit);
    }
}

void TcpTransport::try_now() noexcept {
    if (state_ == State::pausing) {
        retry_at_ = tried_at_;
    }
}

std::optional<std::chrono::nanoseconds> TcpTransport::next_try() const noexcept {
    return state_ == State::pausing ? std::optional(retry_at_) : std::nullopt;
}

std::shared_ptr<const TlsContext> TcpTransport::read_files_anew() const {
    return stream_->read_files_anew();
}

void TcpTransport::begin_with(std::shared_ptr<const TlsContext>&& context) noexcept {
    stream_->begin_with(std::move(context));
}

}  // namespace tributary
