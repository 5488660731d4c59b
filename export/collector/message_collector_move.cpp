// SPDX-License-Identifier: Apache-2.0
// A collector with a spool gets another address, or one with a spool or rotation other limits,
// while its session goes on.
#include <tuple>
#include <utility>

#include "export/collector/message_collector.hpp"

namespace tributary {
namespace {

/// The options that the transport to a collector depends on.
auto address_of(const CollectorOptions& collector) {
    return std::tie(collector.transport, collector.host, collector.port, collector.source_address,
                    collector.path, collector.tls);
}

}  // namespace

MessageCollector::Move MessageCollector::prepare_move(const CollectorOptions& today,
                                                      const CollectorOptions& wanted) {
    Move prepared{.options = wanted, .name = describe(wanted), .transport = nullptr};
    if (address_of(today) != address_of(wanted)) {
        prepared.transport = make_transport(wanted, events_);
    }
    return prepared;
}

void MessageCollector::move(Move prepared) noexcept {
    buffer_ = prepared.options.buffer;
    spool_queue_.set_max_octets(prepared.options.spool.max_octets);
    transport_->set_rotation(std::move(prepared.options.rotation));
    if (prepared.transport != nullptr) {
        next_ = std::move(prepared);
        moves_since_.reset();
    }
}

void MessageCollector::go_on_with_move(ExportTime now) noexcept {
    if (next_.transport == nullptr) {
        return;
    }
    moves_since_ = moves_since_.value_or(now.uptime);
    const bool is_late = now.uptime - *moves_since_ >= kMovePatience;
    if (!messages_.sent.empty() && has_session() && !is_late) {
        return;
    }
    transport_ = std::move(next_.transport);
    account_.connected.set(0);
    events_.rename(std::move(next_.name));
}

}  // namespace tributary
