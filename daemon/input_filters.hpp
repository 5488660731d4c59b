// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "conf/config.hpp"
#include "daemon/filter/filter_compilation.hpp"
#include "daemon/filter/packet_filter.hpp"
#include "daemon/pipeline/live_flows.hpp"
#include "flowcache/packet_selector.hpp"

namespace tributary {

/// The filters of a probe's inputs.
///
/// They are compiled in threads of their own, for Ethernet alone, which is all that ports give.
/// What needs no resolver is ready before the first packet is received. An input whose filter waits
/// for addresses of host names, or whose filter libpcap refuses with the addresses of now, ignores
/// its packets as `filter_not_ready`; the others meter. It is tried again after 1 s, then after
/// twice as long each time, up to 30 s.
///
/// Addresses are those of the moment at which the filter was compiled: at the start, or at the
/// reload that changed the expression.
/// @thread  main; the filters themselves serve the input threads
class InputFilters {
public:
    /// Gives the threads of an input another filter. @errors  ThreadHangs
    using Give = std::function<void(std::size_t input, const LiveFilter& filter)>;

    /// Begins to compile those that are not empty.
    explicit InputFilters(const std::vector<InputOptions>& inputs);

    /// Waits for those that ask no resolver, and tells which ones are still to come. A signal that
    /// ends the process ends the wait, and is still to be taken: libpcap may need minutes for a
    /// long expression.
    void await_what_asks_no_resolver();
    /// What an input's packets are to pass now; nullptr: all do. It lives as long as this.
    [[nodiscard]] PacketSelector* selector(std::size_t input) noexcept;
    /// Gives inputs their filters as soon as these are ready, and tries those again that failed.
    ///
    /// @errors  none of the filters: they are logged, and part of faults()
    void look(const Give& give);
    /// Has those that failed tried at the next look().
    void try_now() noexcept;
    /// Another filter for an input.
    ///
    /// @param filter  compiled from `expression`; nullptr for an empty one
    /// @errors        ThreadHangs: the former one holds for all threads that answer
    void replace(std::size_t input, const std::string& expression,
                 std::unique_ptr<PacketFilter> filter, const Give& give);
    /// Whether an outcome may come any moment.
    [[nodiscard]] bool are_compiled() const noexcept;
    /// What is wrong, a line each; empty: nothing.
    [[nodiscard]] std::string faults() const;

private:
    using Clock = std::chrono::steady_clock;

    /// What passes before there is a filter: nothing.
    class NotReady final : public PacketSelector {
    public:
        NotReady() noexcept : PacketSelector(Readiness::not_ready) {}
        [[nodiscard]] PacketMask select(std::span<const PacketView> packets) noexcept override;
    };
    struct Input {
        std::string name;
        std::string expression;
        bool is_ready = false;  ///< `filter` holds; else there is none yet
        std::unique_ptr<PacketFilter> filter;
        std::optional<FilterCompilation> compilation;  ///< that goes on
        std::string fault;                             ///< of the last one
        std::chrono::seconds pause{1};                 ///< after the next failure
        Clock::time_point next_try;
    };

    void take_outcome(std::size_t index, const Give* give);
    void give_new(std::size_t index, std::unique_ptr<PacketFilter> filter, const Give* give);
    static void note_failure(Input& input, const std::string& fault);

    NotReady not_ready_;
    std::vector<Input> inputs_;
    std::vector<std::unique_ptr<PacketFilter>> untold_;  ///< a thread that hangs may have one
};

}  // namespace tributary
