// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "export/metering_process.hpp"
#include "tests/support/declared_group.hpp"
#include "tests/support/export_harness.hpp"

namespace tributary::test {

/// A table whose key is what DeclaredExtractor takes, and nothing else, with its group among those
/// of all records as long as this lives.
struct AddedTable {
    explicit AddedTable(bool has_macs, FlowDirection direction = FlowDirection::uniflow)
        : extractor(has_macs), group(add_field_group(row).value()) {
        FieldGroups groups;
        groups.set(group);
        layout = RecordLayout::of(groups, direction);
        elements.key = {.source = {.ipv4 = 0, .ipv6 = 0},
                        .destination = {.ipv4 = 0, .ipv6 = 0},
                        .source_port = false,
                        .destination_port = false,
                        .protocol = false,
                        .vlan = false,
                        .ingress_interface = false,
                        .ip_version = false,
                        .extension = KeyExtension::declared,
                        .extractor = &extractor,
                        .extension_group = static_cast<std::uint8_t>(group)};
        elements.is_declared = true;
    }
    AddedTable(const AddedTable&) = delete;
    AddedTable& operator=(const AddedTable&) = delete;
    ~AddedTable() { remove_field_group(group); }

    [[nodiscard]] Record record(const DeclaredOctets& octets, const FlowKey& key = {}) const {
        Record made{};
        made.core.packets = 1;
        made.core.key = key;
        made.core.key.ip_version = 4;
        made.group<DeclaredGroup>(layout.places[group]).key = octets;
        return made;
    }
    /// As the exporters know it.
    [[nodiscard]] FurtherTable for_export(const std::string& name) const {
        return {.name = name, .layout = layout, .elements = elements};
    }

    DeclaredExtractor extractor;
    std::uint64_t begins_with = 0;
    FieldGroup row = declared_group(begins_with);
    FieldGroupId group;
    RecordLayout layout;
    TableElements elements;
};

}  // namespace tributary::test
