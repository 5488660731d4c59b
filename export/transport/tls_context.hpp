// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include "export/export_error.hpp"
#include "export/options.hpp"

struct ssl_ctx_st;  // OpenSSL's SSL_CTX

namespace tributary {

/// OpenSSL's text for the first error; the rest of its queue is dropped.
[[nodiscard]] std::string take_tls_words();

/// The parameters of new TLS connections to one collector: the trusted authorities, and our own
/// certificate and key, as the files of TlsOptions were when it was made. A connection keeps the
/// parameters that it began with.
class TlsContext {
public:
    /// @errors  ExportError: a certificate or key cannot be read, or they do not belong together
    explicit TlsContext(TlsOptions tls);
    TlsContext(const TlsContext&) = delete;
    TlsContext& operator=(const TlsContext&) = delete;
    ~TlsContext();

    [[nodiscard]] const TlsOptions& options() const noexcept { return tls_; }
    [[nodiscard]] ssl_ctx_st* get() const noexcept { return context_.get(); }
    /// Whether the files are still those that were read. A file that was written or replaced since,
    /// or that a link leads to now, is another one. A pipe cannot be read again.
    /// @cost  a system call per file
    [[nodiscard]] bool is_current() const noexcept { return files_ == look_at(tls_); }

private:
    /// A file by stat(); all 0 without a file.
    struct FileState {
        int error{};  ///< errno of stat()
        dev_t device{};
        ino_t inode{};
        off_t octets{};
        std::int64_t modified{};  ///< ns
        std::int64_t changed{};   ///< ns
        friend bool operator==(const FileState&, const FileState&) = default;
    };
    using Files = std::array<FileState, 3>;
    struct Free {
        void operator()(ssl_ctx_st* context) const noexcept;
    };

    [[nodiscard]] static FileState look_at(const std::string& path) noexcept;
    [[nodiscard]] static Files look_at(const TlsOptions& tls) noexcept;
    void trust();
    void bear();

    TlsOptions tls_;
    Files files_;  ///< as they were just before they were read
    std::unique_ptr<ssl_ctx_st, Free> context_;
};

}  // namespace tributary
