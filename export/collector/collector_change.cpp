// SPDX-License-Identifier: Apache-2.0
#include "export/collector/collector_change.hpp"

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <utility>

#include "export/path_target.hpp"

namespace tributary {
namespace {

/// Words in one line: "a, b and c".
class Words {
public:
    void add(bool is_one, std::string_view word) {
        if (!is_one) {
            return;
        }
        if (!last_.empty()) {
            text_ += (text_.empty() ? "" : ", ") + last_;
        }
        last_ = word;
    }
    [[nodiscard]] std::string text() const {
        return text_.empty() ? last_ : text_ + " and " + last_;
    }

private:
    std::string text_;
    std::string last_;
};

bool is_one_path(const std::string& a, const std::string& b) {
    return !a.empty() && !b.empty() && have_one_target(a, b);
}

/// Takes the first name of "a,b", and leaves "b".
std::string_view take_name(std::string_view& names) noexcept {
    const std::size_t comma = std::min(names.find(','), names.size());
    const std::string_view name = names.substr(0, comma);
    names.remove_prefix(std::min(comma + 1, names.size()));
    return name;
}

bool has_name(std::string_view names, std::string_view wanted) noexcept {
    while (!names.empty()) {
        if (take_name(names) == wanted) {
            return true;
        }
    }
    return false;
}

/// @param a, b  brokers of Kafka, as in the configuration
bool share_broker(std::string_view a, std::string_view b) noexcept {
    while (!a.empty()) {
        if (has_name(b, take_name(a))) {
            return true;
        }
    }
    return false;
}

bool is_stream(const CollectorOptions& collector) noexcept {
    return collector.transport == TransportKind::tcp || collector.transport == TransportKind::tls;
}

/// `wanted` with all of `today` but the keys that a reload changes: equal to it where nothing else
/// differs.
CollectorOptions with_movable(CollectorOptions today, const CollectorOptions& wanted) {
    today.tables = wanted.tables;
    today.buffer = wanted.buffer;
    today.spool.max_octets = wanted.spool.max_octets;
    if (today.rotation.is_on() && wanted.rotation.is_on()) {
        today.rotation = wanted.rotation;
    }
    if (is_stream(today) && is_stream(wanted)) {
        today.transport = wanted.transport;
        today.host = wanted.host;
        today.port = wanted.port;
        today.source_address = wanted.source_address;
        today.tls = wanted.tls;
    }
    return today;
}

}  // namespace

bool share_place(const CollectorOptions& a, const CollectorOptions& b) {
    const bool are_files = a.transport == TransportKind::file && b.transport == TransportKind::file;
    return (are_files && is_one_path(a.path, b.path)) ||
           is_one_path(a.spool.directory, b.spool.directory);
}

bool share_topic(const CollectorOptions& a, const CollectorOptions& b) noexcept {
    const bool are_topics =
        a.transport == TransportKind::kafka && b.transport == TransportKind::kafka;
    return are_topics && a.kafka.topic == b.kafka.topic &&
           share_broker(a.kafka.brokers, b.kafka.brokers);
}

std::string fixed_changes(const CollectorOptions& today, const CollectorOptions& wanted) {
    const CollectorOptions moved = with_movable(today, wanted);
    Words words;
    words.add(moved.transport != wanted.transport, "transport");
    words.add(moved.format != wanted.format, "format");
    words.add(moved.path != wanted.path, "path");
    words.add(moved.kafka != wanted.kafka, "brokers, topic or another key of kafka");
    words.add(moved.observation_domain != wanted.observation_domain, "observation-domain");
    words.add(moved.timestamps != wanted.timestamps, "timestamps");
    words.add(moved.direction != wanted.direction, "direction");
    words.add(moved.sampling != wanted.sampling, "sampling");
    words.add(moved.tcp_control_bits != wanted.tcp_control_bits, "tcp-control-bits");
    words.add(moved.enterprise_elements != wanted.enterprise_elements, "enterprise-elements");
    words.add(moved.cert_elements != wanted.cert_elements, "cert-elements");
    words.add(moved.options != wanted.options, "options records");
    words.add(moved.mtu != wanted.mtu, "mtu");
    words.add(moved.udp_segmentation != wanted.udp_segmentation, "udp-segmentation");
    words.add(moved.rate != wanted.rate, "rate");
    words.add(moved.spool.directory != wanted.spool.directory, "spool.directory");
    words.add(moved.rotation != wanted.rotation, "rotation");
    words.add(words.text().empty() && moved.profile != wanted.profile, "profile");
    const std::string named = words.text();
    return named.empty() && moved != wanted ? "another key" : named;
}

std::string common_changes(const ExportOptions& today, const ExportOptions& wanted) {
    const auto keeps_records = [](const ExportOptions& options) {
        return options.mode == ExportMode::failover;
    };
    Words words;
    words.add(today.observation_domain != wanted.observation_domain, "export.observation-domain");
    words.add(today.probe != wanted.probe, "export.probe");
    words.add(today.template_refresh != wanted.template_refresh, "export.template-refresh");
    words.add(today.template_refresh_packets != wanted.template_refresh_packets,
              "export.template-refresh-packets");
    words.add(today.options_interval != wanted.options_interval, "export.options-interval");
    words.add(today.flush_interval != wanted.flush_interval, "export.flush-interval");
    words.add(keeps_records(today) != keeps_records(wanted), "export.mode");
    words.add(today.timestamps != wanted.timestamps, "export.timestamps");
    words.add(today.fields != wanted.fields || today.partial != wanted.partial, "export.fields");
    words.add(today.enterprise_number != wanted.enterprise_number, "export.enterprise-number");
    words.add(today.ntop_elements != wanted.ntop_elements, "export.ntop-elements");
    return words.text();
}

}  // namespace tributary
