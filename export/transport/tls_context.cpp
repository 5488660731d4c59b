// SPDX-License-Identifier: Apache-2.0
#include "export/transport/tls_context.hpp"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdlib>
#include <utility>

#include "export/file_descriptor.hpp"

namespace tributary {
namespace {

[[noreturn]] void refuse(const std::string& what, const std::string& path) {
    throw ExportError("tls: " + what + " " + path + ": " + take_tls_words());
}

/// Keys without a passphrase only: there is no terminal to type one at.
int no_passphrase(char*, int, int, void*) noexcept { return 0; }

std::int64_t nanoseconds_of(const timespec& time) noexcept {
    return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

/// The file of the system's authorities. Those in its folder are read when they are needed.
const char* system_authorities() noexcept {
    // NOLINTNEXTLINE(concurrency-mt-unsafe): no thread changes the environment
    const char* const chosen = std::getenv(X509_get_default_cert_file_env());
    return chosen != nullptr ? chosen : X509_get_default_cert_file();
}

}  // namespace

std::string take_tls_words() {
    const unsigned long error = ERR_get_error();
    ERR_clear_error();
    if (ERR_SYSTEM_ERROR(error)) {
        return words_for(ERR_GET_REASON(error));
    }
    const char* const reason = error == 0 ? nullptr : ERR_reason_error_string(error);
    return reason == nullptr ? "OpenSSL refuses it" : reason;
}

void TlsContext::Free::operator()(ssl_ctx_st* context) const noexcept { SSL_CTX_free(context); }

TlsContext::TlsContext(TlsOptions tls)
    : tls_(std::move(tls)), files_(look_at(tls_)), context_(SSL_CTX_new(TLS_client_method())) {
    if (context_ == nullptr || SSL_CTX_set_min_proto_version(context_.get(), TLS1_2_VERSION) != 1) {
        throw ExportError("tls: " + take_tls_words());
    }
    SSL_CTX_set_verify(context_.get(), SSL_VERIFY_PEER, nullptr);
    // A TLS record that did not fit the kernel's buffer is offered again, possibly at another
    // address.
    SSL_CTX_set_mode(context_.get(),
                     SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    trust();
    bear();
}

TlsContext::~TlsContext() = default;

/// @errors  ExportError
void TlsContext::trust() {
    if (tls_.ca.empty()) {
        if (SSL_CTX_set_default_verify_paths(context_.get()) != 1) {
            refuse("the system's", "certificate authorities");
        }
    } else if (SSL_CTX_load_verify_file(context_.get(), tls_.ca.c_str()) != 1) {
        refuse("certificate authorities", tls_.ca);
    }
}

/// @errors  ExportError
void TlsContext::bear() {
    if (tls_.certificate.empty()) {
        return;
    }
    SSL_CTX_set_default_passwd_cb(context_.get(), no_passphrase);
    if (SSL_CTX_use_certificate_chain_file(context_.get(), tls_.certificate.c_str()) != 1) {
        refuse("certificate", tls_.certificate);
    }
    if (SSL_CTX_use_PrivateKey_file(context_.get(), tls_.key.c_str(), SSL_FILETYPE_PEM) != 1) {
        refuse("key", tls_.key);
    }
    if (SSL_CTX_check_private_key(context_.get()) != 1) {
        refuse("key", tls_.key);
    }
}

TlsContext::FileState TlsContext::look_at(const std::string& path) noexcept {
    struct stat status {};
    if (path.empty()) {
        return {};
    }
    if (::stat(path.c_str(), &status) != 0) {
        return {.error = errno};
    }
    FileState state{.device = status.st_dev, .inode = status.st_ino};
    if (S_ISREG(status.st_mode)) {  // the times of a pipe change when it is read
        state.octets = status.st_size;
        state.modified = nanoseconds_of(status.st_mtim);
        state.changed = nanoseconds_of(status.st_ctim);
    }
    return state;
}

TlsContext::Files TlsContext::look_at(const TlsOptions& tls) noexcept {
    return {look_at(tls.ca.empty() ? system_authorities() : tls.ca), look_at(tls.certificate),
            look_at(tls.key)};
}

}  // namespace tributary
