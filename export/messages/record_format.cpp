// SPDX-License-Identifier: Apache-2.0
#include "export/messages/record_format.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "export/export_error.hpp"
#include "export/ipfix/encoder_options.hpp"

namespace tributary {

/// What prepare_tables() has made.
struct RecordFormat::NextTables final : Tables {
    OpenMessages open;
    TakenTables staying;
    std::unique_ptr<RecordEncoder::Tables> encoder;
    std::unique_ptr<Framing::Tables> framing;
    std::size_t most_octets = 0;
};

RecordFormat::RecordFormat(RecordFormatParts parts, const CollectorOptions& collector,
                           const MeteringProcess& metering)
    : collector_(collector),
      parts_(std::move(parts)),
      most_octets_(parts_.framing->octets_before() + parts_.encoder->most_octets() +
                   parts_.framing->octets_behind()),
      open_(make_open(metering, {})),
      is_header_due_(!parts_.header.empty()) {
    check(most_octets_);
}

/// @param most_octets  of a framed record
/// @errors  ExportError
void RecordFormat::check(std::size_t most_octets) const {
    if (2 * most_octets > kMessageLimit) {
        throw ExportError("records of format " + std::string(parts_.framing->name()) +
                          " may have " + std::to_string(most_octets) +
                          " octets; no message holds two of them");
    }
}

/// Those of tables that do not stay.
RecordFormat::OpenMessages RecordFormat::make_open(const MeteringProcess& metering,
                                                   const TakenTables& staying) const {
    const std::vector<RecordLayout> layouts = metering.layouts();
    OpenMessages made(layouts.size());
    for (std::size_t table = 0; table < layouts.size(); ++table) {
        if (!metering.has(table) || staying.has(table)) {
            continue;
        }
        made[table] = std::make_unique<Open>();
        made[table]->layout = layouts[table];
        made[table]->octets.resize(kMessageLimit);
        if (is_split_for(collector_, layouts[table])) {
            made[table]->splitter.emplace(layouts[table]);
        }
    }
    return made;
}

std::unique_ptr<MessageFormat::Tables> RecordFormat::prepare_tables(const MeteringProcess& metering,
                                                                    const TableChoice& choice) {
    auto prepared = std::make_unique<NextTables>();
    prepared->in_spool.resize(metering.further.size());
    prepared->staying = choice.staying;
    prepared->open = make_open(metering, choice.staying);
    prepared->encoder =
        parts_.encoder->prepare_tables(metering_as_sent(metering, collector_), choice.staying);
    prepared->framing = parts_.framing->prepare_tables(metering, choice);
    prepared->most_octets = prepared->framing->octets_before + prepared->encoder->most_octets +
                            parts_.framing->octets_behind();
    check(prepared->most_octets);
    return prepared;
}

void RecordFormat::take_tables(std::unique_ptr<Tables> prepared) noexcept {
    auto& next = static_cast<NextTables&>(*prepared);
    for (std::size_t table = 0; table < open_.size(); ++table) {
        if (next.staying.has(table)) {
            next.open[table] = std::move(open_[table]);
        }
    }
    open_ = std::move(next.open);
    parts_.encoder->take_tables(std::move(next.encoder));
    parts_.framing->take_tables(std::move(next.framing));
    most_octets_ = next.most_octets;
}

AppendResult RecordFormat::append(const std::byte* record, OutgoingMessage& open) noexcept {
    Open& to = *open_[open.layout];
    const std::size_t most = to.splitter ? 2 * most_octets_ : most_octets_;
    if (kMessageLimit - to.used < most) {
        return AppendResult::message_full;
    }
    FramedRecord framed{.bytes = record, .sent = record, .layout = open.layout};
    if (!to.splitter) {
        add(to, framed);
    } else {
        const BiflowSplitter::Uniflows uniflows = to.splitter->split(record);
        framed.sent = uniflows.first;
        add(to, framed);
        if (uniflows.second != nullptr) {
            framed.sent = uniflows.second;
            framed.is_first = false;
            add(to, framed);
        }
    }
    to.latest_end = std::max(to.latest_end, latest_packet(record, to.layout));
    return AppendResult::added;
}

void RecordFormat::add(Open& to, const FramedRecord& record) noexcept {
    const std::span<std::byte> item = std::span(to.octets).subspan(to.used, most_octets_);
    const std::size_t octets = parts_.encoder->encode(
        record.layout, record.sent, sequence_,
        item.subspan(parts_.framing->octets_before(), parts_.encoder->most_octets()));
    to.used += parts_.framing->complete(item, octets, record);
    ++to.records;
    ++sequence_;
}

void RecordFormat::close(OutgoingMessage& open, ExportTime /*now*/) {
    Open& from = *open_[open.layout];
    try {
        open.octets.assign(from.octets.begin(),
                           from.octets.begin() + static_cast<std::ptrdiff_t>(from.used));
    } catch (...) {
        reset(from);
        throw;
    }
    open.data_records = from.records;
    open.latest_end = from.latest_end;
    reset(from);
}

void RecordFormat::discard(OutgoingMessage& open) noexcept { reset(*open_[open.layout]); }

void RecordFormat::reset(Open& open) noexcept {
    open.used = 0;
    open.records = 0;
    open.latest_end = {};
}

std::optional<MessageFormat::Ahead> RecordFormat::next_ahead(std::chrono::nanoseconds) noexcept {
    if (!std::exchange(is_header_due_, false)) {
        return std::nullopt;
    }
    return Ahead{.octets = std::as_bytes(std::span(parts_.header)), .records = 0};
}

std::optional<RecordNumber> RecordFormat::next_number() const noexcept {
    const std::optional<std::uint64_t> stream = parts_.encoder->stream();
    return stream ? std::optional(RecordNumber{.stream = *stream, .sequence = sequence_})
                  : std::nullopt;
}

std::uint64_t RecordFormat::visit_numbers(MessageView octets,
                                          const NumberRangeHandler& handler) const {
    std::uint64_t unknown = 0;
    std::optional<NumberRange> run;
    for (MessageView record = parts_.framing->take_record(octets); !record.empty();
         record = parts_.framing->take_record(octets)) {
        const std::optional<RecordNumber> number = parts_.encoder->number_of(record);
        if (!number) {
            ++unknown;
            continue;
        }
        if (run && run->is_followed_by(*number)) {
            ++run->last;
            continue;
        }
        if (run) {
            handler(*run);
        }
        run = {.stream = number->stream, .first = number->sequence, .last = number->sequence};
    }
    if (run) {
        handler(*run);
    }
    return unknown;
}

SpoolContent RecordFormat::spool_content() const {
    // Each message is complete by itself: those of all layouts, and of former ones, have the same
    // fingerprint.
    SpoolContent content{.format = parts_.framing->name(),
                         .version = parts_.framing->version(),
                         .oldest_version = parts_.framing->version(),
                         .is_message = parts_.framing->is_message()};
    content.further.resize(open_.size() - 1);
    if (next_number()) {
        content.visit_numbers = [this](MessageView octets, const NumberRangeHandler& handler) {
            return visit_numbers(octets, handler);
        };
    }
    return content;
}

bool RecordFormat::readmit(const OutgoingMessage& message) noexcept {
    return parts_.framing->records_in(message.octets) == message.data_records;
}

}  // namespace tributary
