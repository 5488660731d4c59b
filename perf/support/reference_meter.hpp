// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <unordered_map>

#include "flowcache/deadline.hpp"
#include "flowcache/flow_record.hpp"
#include "parsers/parse_packet.hpp"
#include "perf/support/in_turn.hpp"

namespace tributary::perf {

/// A flow cache that is slow and plain: what a record has to be, from std::unordered_map. Its
/// records are kept as texts, to be compared with a real cache's in any order.
class ReferenceMeter {
public:
    explicit ReferenceMeter(const FlowCacheOptions& options) : options_(options) {}

    /// @param fields  of a packet that came at `now`
    void packet(const PacketFields& fields, InterfaceIndex interface, Timestamp now) {
        ShortKey short_key;
        write_key(short_key, fields, interface, true, false);
        const FlowKey key = whole_key(short_key, {fields.source, fields.destination});
        const auto [found, is_new] = running_.try_emplace(bytes_of(key));
        FlowRecordCore& record = found->second;
        const Deadline deadline = deadline_of(record.start, record.end, options_);
        if (!is_new && now > deadline.at) {
            end(record, deadline.reason);
            record = {};
        }
        if (record.packets == 0) {
            record.key = key;
            record.start = now;
        }
        record.end = now;
        record.packets += 1;
        record.octets += fields.ip_bytes;
    }
    void finish(Timestamp now) {
        for (auto& [key, record] : running_) {
            const Deadline deadline = deadline_of(record.start, record.end, options_);
            end(record, now > deadline.at ? deadline.reason : FlowEndReason::forced_end);
        }
        running_.clear();
    }

    /// Takes a record of the cache under test off the account.
    void expect(const FlowRecordCore& record) { --balance_[text_of(record)]; }
    /// Throws unless both made the same records, the same number of times.
    void check(const std::string& what) const {
        for (const auto& [text, count] : balance_) {
            demand(count == 0, what + ": " + text + (count > 0 ? " is missing" : " is too much"));
        }
    }

private:
    [[nodiscard]] static std::string bytes_of(const FlowKey& key) {
        std::string bytes(sizeof key, '\0');
        std::memcpy(bytes.data(), &key, sizeof key);
        return bytes;
    }
    [[nodiscard]] static std::string text_of(const FlowRecordCore& record) {
        std::string text = "flow";
        for (const auto byte : record.key.source) {
            text += ' ' + std::to_string(std::to_integer<int>(byte));
        }
        for (const std::uint64_t number :
             {record.packets, record.octets,
              static_cast<std::uint64_t>(record.start.time_since_epoch().count()),
              static_cast<std::uint64_t>(record.end.time_since_epoch().count()),
              static_cast<std::uint64_t>(record.end_reason)}) {
            text += ' ' + std::to_string(number);
        }
        return text;
    }
    void end(FlowRecordCore& record, FlowEndReason reason) {
        record.end_reason = reason;
        ++balance_[text_of(record)];
    }

    FlowCacheOptions options_;
    std::unordered_map<std::string, FlowRecordCore> running_;
    std::map<std::string, std::int64_t> balance_;  ///< records of this meter less those expected
};

}  // namespace tributary::perf
