// SPDX-License-Identifier: Apache-2.0
// A collector with a spool gets another address, or one with a spool or rotation other limits,
// while its session goes on.
#include <memory>
#include <string>
#include <tuple>
#include <utility>

#include "export/collector/message_collector.hpp"
#include "export/export_error.hpp"

namespace tributary {
namespace {

/// The options that the transport to a collector depends on.
auto address_of(const CollectorOptions& collector) {
    return std::tie(collector.transport, collector.host, collector.port, collector.source_address,
                    collector.path, collector.tls);
}

}  // namespace

/// What prepare_change() has prepared.
struct MessageCollector::Change final : CollectorChange {
    bool has_options{};  ///< these differ from today's
    CollectorOptions options;
    std::string name;                             ///< describe() of these
    std::unique_ptr<Transport> transport;         ///< nullptr: the address stays
    std::shared_ptr<const TlsContext> tls_files;  ///< for the present address; nullptr: none
};

std::unique_ptr<CollectorChange> MessageCollector::prepare_change(const CollectorOptions& today,
                                                                  const CollectorOptions& wanted) {
    auto prepared = std::make_unique<Change>();
    prepared->options = wanted;
    prepared->name = describe(wanted);
    prepared->has_options = today != wanted;
    if (address_of(today) != address_of(wanted)) {
        prepared->transport = make_transport_(wanted, events_);  // it has just read its files
        return prepared;
    }
    const Transport& latest = next_transport_ != nullptr ? *next_transport_ : *transport_;
    try {
        prepared->tls_files = latest.read_files_anew();
    } catch (const ExportError& fault) {
        throw ExportError(prepared->name + ": " + fault.what() + "; the former ones stay in use");
    }
    prepared->has_read_files = prepared->tls_files != nullptr;
    return prepared->has_options || prepared->has_read_files ? std::move(prepared) : nullptr;
}

void MessageCollector::change(std::unique_ptr<CollectorChange> prepared) noexcept {
    auto& wanted = static_cast<Change&>(*prepared);
    if (wanted.tls_files != nullptr) {
        (next_transport_ != nullptr ? *next_transport_ : *transport_)
            .begin_with(std::move(wanted.tls_files));
    }
    if (!wanted.has_options) {
        return;
    }
    buffer_ = wanted.options.buffer;
    spool_queue_.set_max_octets(wanted.options.spool.max_octets);
    transport_->set_rotation(std::move(wanted.options.rotation));
    if (wanted.transport != nullptr) {
        next_transport_ = std::move(wanted.transport);
        next_name_ = std::move(wanted.name);
        moves_since_.reset();
    }
}

void MessageCollector::go_on_with_move(ExportTime now) noexcept {
    if (next_transport_ == nullptr) {
        return;
    }
    moves_since_ = moves_since_.value_or(now.uptime);
    const bool is_late = now.uptime - *moves_since_ >= kMovePatience;
    if (!messages_.sent.empty() && has_session() && !is_late) {
        return;
    }
    transport_->end_now(now.uptime);
    collect_outcomes(now);
    transport_ = std::move(next_transport_);
    account_.connected.set(0);
    events_.rename(std::move(next_name_));
}

}  // namespace tributary
