// SPDX-License-Identifier: Apache-2.0
#include "daemon/trigger/flow_identity.hpp"

#include <cstring>

namespace tributary {

FlowIdentity identity_of(const std::byte* record, const RecordLayout& layout,
                         const KeyDescriptor& key) noexcept {
    FlowIdentity identity{.key = reinterpret_cast<const FlowRecordCore*>(record)->key};
    if (key.extension == KeyExtension::tunnel) {
        std::memcpy(&identity.tunnel, record + layout.at<TunnelGroup>(), sizeof identity.tunnel);
    } else if (key.extension == KeyExtension::declared) {
        std::memcpy(identity.octets.data(), record + layout.places.at(key.extension_group),
                    key.extractor->octets());
    }
    return identity;
}

}  // namespace tributary
