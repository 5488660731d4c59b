// SPDX-License-Identifier: Apache-2.0
#include "export/transport/tls_stream.hpp"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

namespace tributary {
namespace {

constexpr int kLastAlert = 255;  // an alert is one octet, and OpenSSL's own reasons differ

struct ConnectionFree {
    void operator()(SSL* connection) const noexcept { SSL_free(connection); }
};

/// The meaning of a collector's fatal alert.
/// @source  RFC 8446 §6.2
std::string words_for_alert(int alert) {
    const std::string refuses = "the collector refuses our certificate: ";
    switch (alert) {
        case SSL_AD_BAD_CERTIFICATE:
            return refuses + "it is damaged, or its signature is wrong";
        case SSL_AD_UNSUPPORTED_CERTIFICATE:
            return refuses + "the collector does not support its kind";
        case SSL_AD_CERTIFICATE_REVOKED:
            return refuses + "it was revoked";
        case SSL_AD_CERTIFICATE_EXPIRED:
            return refuses + "it has expired, or is not valid yet";
        case SSL_AD_CERTIFICATE_UNKNOWN:
            return refuses + "the collector gives no reason";
        case SSL_AD_UNKNOWN_CA:
            return refuses + "the collector does not know the authority that has signed it";
        case SSL_AD_ACCESS_DENIED:
            return refuses + "it is valid, but gives no access";
        case SSL_AD_CERTIFICATE_REQUIRED:
            return "the collector requires a certificate of ours, and got none";
        default:
            return std::string("the collector ends TLS with the alert ") +
                   SSL_alert_desc_string_long(alert);
    }
}

bool is_address(const std::string& host) noexcept {
    std::array<unsigned char, sizeof(in6_addr)> address;
    return ::inet_pton(AF_INET, host.c_str(), address.data()) == 1 ||
           ::inet_pton(AF_INET6, host.c_str(), address.data()) == 1;
}

/// Called by OpenSSL for each ticket.
int note_ticket(SSL* connection, SSL_SESSION*) noexcept {
    *static_cast<bool*>(SSL_get_app_data(connection)) = true;
    return 0;  // the session stays OpenSSL's
}

}  // namespace

struct TlsStream::Library {
    std::unique_ptr<SSL, ConnectionFree> connection{};
};

TlsStream::TlsStream(const CollectorOptions& collector)
    : library_(std::make_unique<Library>()),
      host_(collector.tls.name.empty() ? collector.host : collector.tls.name) {
    begin_with(std::make_shared<const TlsContext>(collector.tls));
}

TlsStream::~TlsStream() = default;

std::shared_ptr<const TlsContext> TlsStream::read_files_anew() const {
    return context_->is_current() ? nullptr
                                  : std::make_shared<const TlsContext>(context_->options());
}

/// A connection has a reference of its own to the context that it began with.
void TlsStream::begin_with(std::shared_ptr<const TlsContext>&& context) noexcept {
    SSL_CTX_set_session_cache_mode(context->get(),
                                   SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL_STORE);
    SSL_CTX_sess_set_new_cb(context->get(), note_ticket);
    context_ = std::move(context);
}

void TlsStream::begin(const FileDescriptor& socket) noexcept {
    shaken_at_ = {};
    confirmed_ = false;
    fault_.clear();
    ERR_clear_error();
    library_->connection.reset(SSL_new(context_->get()));
    SSL* const connection = library_->connection.get();
    if (connection == nullptr || SSL_set_fd(connection, socket.get()) != 1) {
        library_->connection.reset();  // open() reports it
        return;
    }
    SSL_set_app_data(connection, &confirmed_);
    X509_VERIFY_PARAM* const wanted = SSL_get0_param(connection);
    X509_VERIFY_PARAM_set_hostflags(wanted, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    const bool known = is_address(host_)
                           ? X509_VERIFY_PARAM_set1_ip_asc(wanted, host_.c_str()) == 1
                           : X509_VERIFY_PARAM_set1_host(wanted, host_.c_str(), 0) == 1 &&
                                 SSL_set_tlsext_host_name(connection, host_.c_str()) == 1;
    if (!known) {
        library_->connection.reset();
    }
}

OctetStream::Opening TlsStream::open(std::chrono::nanoseconds now) noexcept {
    SSL* const connection = library_->connection.get();
    if (connection == nullptr) {
        fault_ = take_tls_words();
        return Opening::failed;
    }
    if (shaken_at_.count() == 0) {
        ERR_clear_error();
        const int result = SSL_connect(connection);
        if (result != 1) {
            return must_repeat(result) ? Opening::waiting : Opening::failed;
        }
        shaken_at_ = std::max(now, std::chrono::nanoseconds{1});
    }
    if (!hear()) {
        return Opening::failed;
    }
    const bool is_judged = SSL_version(connection) < TLS1_3_VERSION || confirmed_;
    return is_judged || now - shaken_at_ >= kPatience ? Opening::open : Opening::waiting;
}

std::optional<std::size_t> TlsStream::send(std::span<const std::byte> octets) noexcept {
    std::size_t written = 0;
    ERR_clear_error();
    const int result =
        SSL_write_ex(library_->connection.get(), octets.data(), octets.size(), &written);
    if (result == 1) {
        return written;
    }
    return must_repeat(result) ? std::optional<std::size_t>(0) : std::nullopt;
}

bool TlsStream::hear() noexcept {
    std::array<std::byte, 512> ignored;
    std::size_t received = 0;
    ERR_clear_error();
    const int result =
        SSL_read_ex(library_->connection.get(), ignored.data(), ignored.size(), &received);
    return result == 1 || must_repeat(result);
}

std::uint64_t TlsStream::sent() const noexcept {
    return BIO_number_written(SSL_get_wbio(library_->connection.get()));
}

void TlsStream::end() noexcept {
    if (library_->connection != nullptr && shaken_at_.count() != 0 && fault_.empty()) {
        ERR_clear_error();
        SSL_shutdown(library_->connection.get());  // close_notify; the answer is not awaited
        ERR_clear_error();
    }
}

/// Whether a call that has not succeeded is to be repeated later; if not, why.
bool TlsStream::must_repeat(int result) noexcept {
    const int system_error = errno;
    const int error = SSL_get_error(library_->connection.get(), result);
    if (error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE) {
        return true;
    }
    if (error == SSL_ERROR_ZERO_RETURN) {
        fault_ = "closed by the collector";
    } else if (error == SSL_ERROR_SYSCALL) {
        fault_ = system_error == 0 ? "closed by the collector" : words_for(system_error);
    } else {
        note_fault();
    }
    return false;
}

void TlsStream::note_fault() noexcept {
    const long verdict = SSL_get_verify_result(library_->connection.get());
    if (shaken_at_.count() == 0 && verdict != X509_V_OK) {
        fault_ =
            std::string("its certificate is refused: ") + X509_verify_cert_error_string(verdict);
        ERR_clear_error();
        return;
    }
    const unsigned long error = ERR_peek_error();
    const int alert = ERR_GET_REASON(error) - SSL_AD_REASON_OFFSET;
    if (ERR_GET_LIB(error) == ERR_LIB_SSL && alert >= 0 && alert <= kLastAlert) {
        fault_ = words_for_alert(alert);
        ERR_clear_error();
        return;
    }
    fault_ = "TLS: " + take_tls_words();
}

}  // namespace tributary
