// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "export/ipfix/fixbuf_session.hpp"
#include "export/options.hpp"

namespace tributary {

/// Template ids, far above those of flow records (RecordTemplate::id).
enum class OptionsKind : std::uint16_t {
    exporting_reliability = 0xFF00,
    metering_reliability,
    statistics,
    interface,
    counted_sampling,
    random_sampling,
    flow_keys,
    element_type,
    metering_without_drops,
    netflow_rate,
    netflow_sampling,
    template_name,
};

/// The properties that select the templates of a collector's options records.
struct OptionsShape {
    OptionsChoice choice{};
    SamplingForm sampling{};
    bool has_selector{};  ///< interfaces differ in sampling
    bool knows_drops = true;

    [[nodiscard]] constexpr bool has_psamp() const noexcept {
        return sampling == SamplingForm::all || sampling == SamplingForm::rfc5477;
    }
    [[nodiscard]] constexpr bool has_netflow() const noexcept {
        return sampling == SamplingForm::all || sampling == SamplingForm::netflow;
    }
    /// The losses of the metering process. IPFIX has no value for "unknown", so if the NICs' drops
    /// are unknown the element is left out: by a template with an id of its own, because a spool
    /// may hold records of a former process with known drops.
    [[nodiscard]] constexpr OptionsKind metering() const noexcept {
        return knows_drops ? OptionsKind::metering_reliability
                           : OptionsKind::metering_without_drops;
    }
};

[[nodiscard]] std::vector<WireTemplate> options_templates(const OptionsShape& shape);

/// The template of the names of templates. It is not among the others: the type of the element in
/// it, which is CERT's, goes ahead of it (RFC 5610), and the template of types ahead of that.
[[nodiscard]] WireTemplate name_template();

}  // namespace tributary
