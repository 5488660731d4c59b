// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "conf/config.hpp"
#include "daemon/filter/filter_compilation.hpp"
#include "daemon/filter/packet_filter.hpp"
#include "daemon/pipeline/live_flows.hpp"
#include "flowcache/input/packet_selector.hpp"

namespace tributary {

/// A filter that a probe needs.
struct WantedFilter {
    std::string owner;       ///< in messages: "input uplink" or "table subnets"
    std::string expression;  ///< empty: all packets pass
    std::string meanwhile;   ///< what becomes of its owner's packets before it is ready
};

/// The filters of a probe's inputs, and behind them those of its tables. Each has an index, which
/// is never another one's.
///
/// They are compiled in threads of their own, for Ethernet alone: ports receive nothing else.
/// Filters without host names are ready before the first packet is received. A filter may wait for
/// addresses of host names, or libpcap may refuse it with the present addresses: then its owner's
/// packets are counted as `filter_not_ready`, and the others meter. A failed filter is
/// compiled again after 1 s, then after twice as long each time, up to 30 s.
///
/// The addresses are those at the time of compilation: at the start, or at the reload that changed
/// the expression.
/// @thread  main; the filters themselves serve the input threads
class ProbeFilters {
public:
    /// Gives the threads that use a filter another one. @errors  ThreadHangs
    using Give = std::function<void(std::size_t index, const LiveFilter& filter)>;

    /// Begins to compile the filters that are not empty.
    explicit ProbeFilters(std::vector<WantedFilter> wanted);

    /// Waits for the filters that ask no resolver, and logs the others. A signal that ends the
    /// process ends the wait and stays pending: libpcap may need minutes for a long expression.
    void await_what_asks_no_resolver();
    /// The present filter with this index; nullptr: all packets pass. It lives as long as this.
    [[nodiscard]] PacketSelector* selector(std::size_t index) noexcept;
    /// Gives the owners their filters when they are ready, and compiles failed ones again.
    ///
    /// @errors  none: failures of filters are logged, and part of faults()
    void look(const Give& give);
    /// Makes the next look() compile failed filters again.
    void try_now() noexcept;
    /// Gives an owner another filter.
    ///
    /// @param filter  compiled from `expression`; nullptr for an empty one
    /// @errors        ThreadHangs: the former filter holds for all threads that answer
    void replace(std::size_t index, const std::string& expression,
                 std::unique_ptr<PacketFilter> filter, const Give& give);
    /// Of the next add().
    [[nodiscard]] std::size_t next_index() const noexcept { return next_index_; }
    /// Adds a filter that is compiled already.
    ///
    /// @return  its index
    /// @errors  std::bad_alloc; remove() of that index follows then
    std::size_t add(const WantedFilter& wanted, std::unique_ptr<PacketFilter> compiled);
    /// Removes a filter that nothing uses any more.
    void remove(std::size_t index) noexcept { filters_.erase(index); }
    /// Whether an outcome may come any moment.
    [[nodiscard]] bool is_compiling() const noexcept;
    /// The faults, a line each; empty: none.
    [[nodiscard]] std::string faults() const;

private:
    using Clock = std::chrono::steady_clock;

    /// Lets no packet pass, until the filter is ready.
    class NotReady final : public PacketSelector {
    public:
        NotReady() noexcept : PacketSelector(Readiness::not_ready) {}
        [[nodiscard]] PacketMask select(std::span<const PacketView> packets) noexcept override;
    };
    struct Filter {
        WantedFilter wanted;
        bool is_ready = false;  ///< false: no filter yet
        std::unique_ptr<PacketFilter> compiled;
        std::optional<FilterCompilation> compilation;  ///< in progress
        std::string fault;                             ///< of the last compilation
        std::chrono::seconds pause{1};                 ///< after the next failure
        Clock::time_point next_try;
    };

    void take_outcome(std::size_t index, const Give* give);
    void give_new(std::size_t index, std::unique_ptr<PacketFilter> filter, const Give* give);
    void log_execution(const Filter& filter);
    static void note_failure(Filter& filter, const std::string& fault);

    NotReady not_ready_;
    bool is_denial_logged_ = false;          ///< that filters are interpreted
    std::map<std::size_t, Filter> filters_;  ///< by index
    std::size_t next_index_ = 0;
    std::vector<std::unique_ptr<PacketFilter>> pending_;  ///< a thread that hangs may have one
};

}  // namespace tributary
