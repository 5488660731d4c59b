// SPDX-License-Identifier: Apache-2.0
#include "export/messages/stream_identity.hpp"

#include <sys/random.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>

#include "export/export_error.hpp"
#include "export/file_descriptor.hpp"

namespace tributary {
namespace {

std::string host_name() {
    constexpr std::size_t kMost = 256;  // HOST_NAME_MAX and the octet 0 are less
    std::array<char, kMost> name{};
    return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

std::uint64_t random_number() {
    std::uint64_t number = 0;
    for (;;) {
        const ssize_t got = ::getrandom(&number, sizeof number, 0);
        if (got == sizeof number) {
            return number;
        }
        if (got < 0 && errno != EINTR) {
            throw ExportError(std::string("no random number for a stream: ") + words_for(errno));
        }
    }
}

}  // namespace

StreamIdentity new_stream(const ExportOptions& options, const CollectorOptions& collector) {
    const ProbeIdentity& probe = options.probe;
    return {.probe_name = probe.name.empty() ? host_name() : probe.name,
            .probe_address = probe.address,
            .observation_domain = collector.observation_domain.value_or(options.observation_domain),
            .stream = random_number()};
}

}  // namespace tributary
