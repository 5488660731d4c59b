// SPDX-License-Identifier: Apache-2.0
// Which class a collector is, by its options.
#include <memory>

#include "export/collector/collector.hpp"
#include "export/collector/message_collector.hpp"
#include "export/ipfix/ipfix_format.hpp"
#include "export/transport/transport.hpp"

namespace tributary {

std::unique_ptr<Collector> make_collector(const CollectorParts& parts) {
    const CollectorOptions& collector = parts.collector();
    return std::make_unique<MessageCollector>(
        parts,
        std::make_unique<IpfixFormat>(parts.options, collector, parts.metering,
                                      message_limit(collector)),
        make_transport);
}

}  // namespace tributary
