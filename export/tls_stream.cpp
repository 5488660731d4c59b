// SPDX-License-Identifier: Apache-2.0
#include "export/tls_stream.hpp"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace tributary {
namespace {

struct ContextFree {
    void operator()(SSL_CTX* context) const noexcept { SSL_CTX_free(context); }
};
struct ConnectionFree {
    void operator()(SSL* connection) const noexcept { SSL_free(connection); }
};

/// OpenSSL's words for the first thing that went wrong; the rest of its queue goes.
std::string take_words() {
    const unsigned long error = ERR_get_error();
    ERR_clear_error();
    if (ERR_SYSTEM_ERROR(error)) {
        return words_for(ERR_GET_REASON(error));
    }
    const char* const reason = error == 0 ? nullptr : ERR_reason_error_string(error);
    return reason == nullptr ? "OpenSSL refuses it" : reason;
}

[[noreturn]] void refuse(const std::string& what, const std::string& path) {
    throw ExportError("tls: " + what + " " + path + ": " + take_words());
}

bool is_address(const std::string& host) noexcept {
    std::array<unsigned char, sizeof(in6_addr)> address;
    return ::inet_pton(AF_INET, host.c_str(), address.data()) == 1 ||
           ::inet_pton(AF_INET6, host.c_str(), address.data()) == 1;
}

/// Keys without a passphrase only: nobody is there to type one.
int no_passphrase(char*, int, int, void*) noexcept { return 0; }

/// Called by OpenSSL for each ticket.
int note_ticket(SSL* connection, SSL_SESSION*) noexcept {
    *static_cast<bool*>(SSL_get_app_data(connection)) = true;
    return 0;  // the session stays OpenSSL's
}

}  // namespace

struct TlsStream::Library {
    std::unique_ptr<SSL_CTX, ContextFree> context{SSL_CTX_new(TLS_client_method())};
    std::unique_ptr<SSL, ConnectionFree> connection{};

    /// @errors  ExportError
    void trust(const std::string& authorities) const;
    /// @errors  ExportError
    void bear(const TlsOptions& tls) const;
};

void TlsStream::Library::trust(const std::string& authorities) const {
    if (authorities.empty()) {
        if (SSL_CTX_set_default_verify_paths(context.get()) != 1) {
            refuse("the system's", "certificate authorities");
        }
    } else if (SSL_CTX_load_verify_file(context.get(), authorities.c_str()) != 1) {
        refuse("certificate authorities", authorities);
    }
}

void TlsStream::Library::bear(const TlsOptions& tls) const {
    if (tls.certificate.empty()) {
        return;
    }
    SSL_CTX_set_default_passwd_cb(context.get(), no_passphrase);
    if (SSL_CTX_use_certificate_chain_file(context.get(), tls.certificate.c_str()) != 1) {
        refuse("certificate", tls.certificate);
    }
    if (SSL_CTX_use_PrivateKey_file(context.get(), tls.key.c_str(), SSL_FILETYPE_PEM) != 1) {
        refuse("key", tls.key);
    }
    if (SSL_CTX_check_private_key(context.get()) != 1) {
        refuse("key", tls.key);
    }
}

TlsStream::TlsStream(const CollectorOptions& collector)
    : library_(std::make_unique<Library>()),
      host_(collector.tls.name.empty() ? collector.host : collector.tls.name) {
    SSL_CTX* const context = library_->context.get();
    if (context == nullptr || SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION) != 1) {
        throw ExportError("tls: " + take_words());
    }
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nullptr);
    // A record of TLS that did not fit the kernel's buffer comes again, from wherever it is then.
    SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    SSL_CTX_set_session_cache_mode(context,
                                   SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL_STORE);
    SSL_CTX_sess_set_new_cb(context, note_ticket);
    library_->trust(collector.tls.ca);
    library_->bear(collector.tls);
}

TlsStream::~TlsStream() = default;

void TlsStream::begin(const FileDescriptor& socket) noexcept {
    shaken_at_ = {};
    confirmed_ = false;
    fault_.clear();
    ERR_clear_error();
    library_->connection.reset(SSL_new(library_->context.get()));
    SSL* const connection = library_->connection.get();
    if (connection == nullptr || SSL_set_fd(connection, socket.get()) != 1) {
        library_->connection.reset();  // open() tells
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
        fault_ = take_words();
        return Opening::failed;
    }
    if (shaken_at_.count() == 0) {
        ERR_clear_error();
        const int result = SSL_connect(connection);
        if (result != 1) {
            return wants_more(result) ? Opening::waiting : Opening::failed;
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
    return wants_more(result) ? std::optional<std::size_t>(0) : std::nullopt;
}

bool TlsStream::hear() noexcept {
    std::array<std::byte, 512> ignored;
    std::size_t received = 0;
    ERR_clear_error();
    const int result =
        SSL_read_ex(library_->connection.get(), ignored.data(), ignored.size(), &received);
    return result == 1 || wants_more(result);
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
bool TlsStream::wants_more(int result) noexcept {
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
    fault_ = "TLS: " + take_words();
}

}  // namespace tributary
