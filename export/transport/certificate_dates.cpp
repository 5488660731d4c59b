// SPDX-License-Identifier: Apache-2.0
#include "export/transport/certificate_dates.hpp"

#include <openssl/asn1.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <array>
#include <filesystem>
#include <memory>
#include <string_view>
#include <system_error>
#include <utility>

namespace tributary {
namespace {

struct BioFree {
    void operator()(BIO* stream) const noexcept { BIO_free(stream); }
};
struct CertificateFree {
    void operator()(X509* certificate) const noexcept { X509_free(certificate); }
};
using Stream = std::unique_ptr<BIO, BioFree>;
using Certificate = std::unique_ptr<X509, CertificateFree>;

std::string name_of(const Certificate& certificate) {
    const Stream out(BIO_new(BIO_s_mem()));
    char* text = nullptr;
    if (out == nullptr || X509_NAME_print_ex(out.get(), X509_get_subject_name(certificate.get()), 0,
                                             XN_FLAG_RFC2253) < 0) {
        return "?";
    }
    const long size = BIO_get_mem_data(out.get(), &text);
    return {text, static_cast<std::size_t>(size)};
}

std::string words_for_time(const ASN1_TIME* time) {
    std::tm parts{};
    std::array<char, 32> text{};
    if (ASN1_TIME_to_tm(time, &parts) != 1) {
        return "an unknown time";
    }
    const std::size_t size =
        std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M:%S UTC", &parts);
    return {text.data(), size};
}

/// The fault of a certificate at this time; empty: none.
std::string fault_of(const Certificate& certificate, std::time_t now) {
    const ASN1_TIME* const end = X509_get0_notAfter(certificate.get());
    const ASN1_TIME* const begin = X509_get0_notBefore(certificate.get());
    const std::string name = "its certificate " + name_of(certificate);
    if (X509_cmp_time(end, &now) < 0) {
        return name + " has expired at " + words_for_time(end);
    }
    if (X509_cmp_time(begin, &now) > 0) {
        return name + " is not valid before " + words_for_time(begin);
    }
    return {};
}

/// The fault of the first certificate with one in a file. A pipe can be read only once, so pipes
/// are left to the connections.
std::string fault_in(const std::string& file, std::time_t now) {
    std::error_code error;
    if (!std::filesystem::is_regular_file(file, error)) {
        return {};
    }
    const Stream in(BIO_new_file(file.c_str(), "r"));
    std::string fault;
    while (in != nullptr && fault.empty()) {
        const Certificate next(PEM_read_bio_X509_AUX(in.get(), nullptr, nullptr, nullptr));
        if (next == nullptr) {
            break;
        }
        fault = fault_of(next, now);
    }
    ERR_clear_error();
    return fault;
}

}  // namespace

std::vector<CertificateFault> untimely_certificates(const CollectorOptions& collector,
                                                    std::time_t now) {
    const std::array<std::pair<const char*, const std::string&>, 2> files{
        {{"ca", collector.tls.ca}, {"certificate", collector.tls.certificate}}};
    std::vector<CertificateFault> faults;
    for (const auto& [key, file] : files) {
        std::string text = file.empty() ? std::string() : fault_in(file, now);
        if (!text.empty()) {
            faults.push_back({.key = key, .file = file, .text = std::move(text)});
        }
    }
    return faults;
}

}  // namespace tributary
