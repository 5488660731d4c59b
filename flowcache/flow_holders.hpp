// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "flowcache/entry_index.hpp"
#include "flowcache/hot_entry.hpp"
#include "flowcache/record/flow_record.hpp"
#include "flowcache/record/options.hpp"
#include "parsers/units.hpp"

namespace tributary {

/// A part of the program that keeps something for flows beyond their packets, and so has to learn
/// when they end. It holds a flow with FlowCache::hold(); from then on it gets each notice below
/// once, until it lets the flow go or the flow has ended. Virtual, because only held flows give
/// notices.
///
/// In a notice a holder may hold and let go any flow, add and remove holders, and ask the cache
/// for handles, for records of flows that go on, and whether a flow runs. FlowCache::add() and
/// end() refuse in a notice. It must not account packets, expire flows or scan the cache: the cache
/// is in the middle of that.
///
/// @thread  the thread that owns the cache
/// @cost    as packets wait meanwhile, a notice may not allocate, lock or make a system call
class FlowHolder {
public:
    FlowHolder() = default;
    FlowHolder(const FlowHolder&) = delete;
    FlowHolder& operator=(const FlowHolder&) = delete;
    virtual ~FlowHolder() = default;

    /// Whether it holds each flow that begins from the time on at which it is added, without
    /// hold(): one that begins and ends within a burst, too. Asked when it is added.
    [[nodiscard]] virtual bool holds_all() const noexcept { return false; }
    /// A record of the flow is about to leave. What the holder writes into the place of its own
    /// group leaves with it; the rest it must not change. It may not call the cache.
    ///
    /// @param flow    with `is_swapped` false
    /// @param record  as it is exported: FlowRecord of the cache's size; valid within the call
    virtual void record_ends(FlowHandle /*flow*/, FlowEndReason /*reason*/,
                             std::span<std::byte> /*record*/) noexcept {}
    /// A record of the flow has ended, and is in the sink or waits for room in it. After the active
    /// timeout the flow mostly goes on; otherwise flow_ended() follows at once. A holder that has
    /// begun to hold the flow in another's notice of this record does not get it.
    ///
    /// @param flow    with `is_swapped` false
    /// @param record  as it is exported: FlowRecord of the cache's size; valid within the call
    virtual void record_ended(FlowHandle flow, FlowEndReason reason,
                              std::span<const std::byte> record) noexcept = 0;
    /// The flow has ended, and its entry is about to be free: the handle is stale, and no holder
    /// has the flow any more. The flow may have had no record that ended with it: it was between
    /// two records.
    ///
    /// @param flow  as it was held, with `is_swapped` false
    virtual void flow_ended(FlowHandle flow, FlowEndReason reason) noexcept = 0;
};

/// Names a FlowHolder that was added to a cache, until it is removed.
using HolderId = Strong<struct HolderIdTag, std::uint8_t>;

/// Who holds which of a cache's flows: a set of HolderIds for each entry. HotEntry::is_held says
/// whether to look here.
///
///     masks   of entry 0, of entry 1, ..      one bit for each holder, the first one's lowest
///
/// A removed holder's bits are taken out of the masks little by little, by sweep_some(); until then
/// they mean nothing, and its number is given to no other.
///
/// @thread  the thread that owns the cache; nothing allocates
class FlowHolders {
public:
    using Mask = std::uint16_t;
    static constexpr std::size_t kMost = 8 * sizeof(Mask);
    static constexpr std::size_t kSweep = 1024;  ///< masks of sweep_some(): 32 cache lines

    /// @return  masks of a cache with so many entries
    [[nodiscard]] static std::size_t masks_for(const FlowCacheOptions& options,
                                               std::size_t entries) noexcept {
        return options.flow_holders ? entries : 0;
    }

    /// @param masks  masks_for() the entries, all zeros
    explicit FlowHolders(std::span<Mask> masks) noexcept : masks_(masks) {}

    /// Whether flows can be held at all.
    [[nodiscard]] bool are_possible() const noexcept { return !masks_.empty(); }

    /// Works on having room for so many more: those that were removed count until they are swept.
    ///
    /// @return  whether there is room; if not, call it again
    /// @cost    of sweep_some() at the most
    [[nodiscard]] bool make_room_for(std::size_t holders) noexcept {
        if (room() < holders) {
            sweep_some();
        }
        return room() >= holders;
    }
    /// @param holder  outlives its removal
    /// @return        nothing: flows cannot be held, or there are kMost, counting those that were
    ///                removed and are not swept yet
    [[nodiscard]] std::optional<HolderId> add(FlowHolder& holder) noexcept {
        if (room() == 0) {
            return std::nullopt;
        }
        const auto number = static_cast<std::size_t>(std::countr_one(taken()));
        holders_[number] = &holder;
        present_ |= static_cast<Mask>(1U << number);
        all_ |= static_cast<Mask>(unsigned{holder.holds_all()} << number);
        return HolderId{static_cast<std::uint8_t>(number)};
    }
    /// Lets go all flows of a holder, which gets no further notice.
    ///
    /// @param id    any; one that is not present changes nothing
    /// @param used  no entry from there on is held
    void remove(HolderId id, EntryIndex used) noexcept {
        if (!is_present(id)) {
            return;
        }
        const Mask bit = bit_of(id);
        present_ &= static_cast<Mask>(~bit);
        all_ &= static_cast<Mask>(~bit);
        leaving_ |= bit;
        holders_[id.value] = nullptr;
        swept_ = 0;
        sweep_until_ = used;
    }
    [[nodiscard]] bool is_present(HolderId id) const noexcept {
        return id.value < kMost && (present_ & bit_of(id)) != 0;
    }

    /// @param id  is present
    void hold(EntryIndex entry, HolderId id) noexcept { masks_[entry] |= bit_of(id); }
    [[nodiscard]] bool is_held_by(EntryIndex entry, HolderId id) const noexcept {
        return is_present(id) && (masks_[entry] & bit_of(id)) != 0;
    }
    /// Whether there are holders that hold each flow that begins.
    [[nodiscard]] bool are_for_all() const noexcept { return all_ != 0; }
    /// Those hold the entry from now on.
    void hold_for_all(EntryIndex entry) noexcept { masks_[entry] |= all_; }
    /// @return  whether another holder still holds the entry
    [[nodiscard]] bool let_go(EntryIndex entry, HolderId id) noexcept {
        masks_[entry] &= static_cast<Mask>(present_ & ~bit_of(id));
        return masks_[entry] != 0;
    }

    /// Whether some holder is in the middle of a notice.
    [[nodiscard]] bool is_in_notice() const noexcept { return is_in_notice_; }
    /// This and the next two are never inlined, so that the end of a flow without holders is
    /// short.
    [[gnu::noinline]] void tell_record_ends(FlowHandle flow, FlowEndReason reason,
                                            std::span<std::byte> record) noexcept {
        tell(flow.entry, [&](FlowHolder& holder) { holder.record_ends(flow, reason, record); });
    }
    [[gnu::noinline]] void tell_record_ended(FlowHandle flow, FlowEndReason reason,
                                             std::span<const std::byte> record) noexcept {
        tell(flow.entry, [&](FlowHolder& holder) { holder.record_ended(flow, reason, record); });
    }
    /// Nobody holds the entry afterwards.
    ///
    /// @param flow  a stale handle, so that hold() refuses it
    [[gnu::noinline]] void tell_flow_ended(FlowHandle flow, FlowEndReason reason) noexcept {
        tell(flow.entry, [&](FlowHolder& holder) { holder.flow_ended(flow, reason); });
        masks_[flow.entry] = 0;
    }

    /// Takes removed holders out of the next kSweep masks; their numbers are free after the last.
    void sweep_some() noexcept {
        if (leaving_ != 0) [[unlikely]] {
            sweep();
        }
    }

private:
    /// Numbers of present holders, and of those that are not swept yet.
    [[nodiscard]] Mask taken() const noexcept { return static_cast<Mask>(present_ | leaving_); }
    [[nodiscard]] std::size_t room() const noexcept {
        return are_possible() ? kMost - static_cast<std::size_t>(std::popcount(taken())) : 0;
    }
    [[gnu::noinline]] void sweep() noexcept {
        const auto count = std::min<std::size_t>(kSweep, sweep_until_ - swept_);
        for (Mask& mask : masks_.subspan(swept_, count)) {
            mask &= static_cast<Mask>(~leaving_);
        }
        swept_ += static_cast<EntryIndex>(count);
        if (swept_ == sweep_until_) {
            leaving_ = 0;
        }
    }
    [[nodiscard]] static Mask bit_of(HolderId id) noexcept {
        return static_cast<Mask>(1U << id.value);
    }
    /// Calls `notify` with each holder that holds the entry now and still does when its turn comes.
    template <class Notify>
    void tell(EntryIndex entry, Notify notify) noexcept {
        is_in_notice_ = true;
        for (auto left = static_cast<Mask>(masks_[entry] & present_); left != 0;
             left &= static_cast<Mask>(left - 1)) {
            const auto number = static_cast<std::uint8_t>(std::countr_zero(left));
            if (is_held_by(entry, HolderId{number})) {
                notify(*holders_[number]);
            }
        }
        is_in_notice_ = false;
    }

    std::span<Mask> masks_;
    std::array<FlowHolder*, kMost> holders_{};
    Mask present_ = 0;
    Mask all_ = 0;      ///< present, and holding each flow that begins
    Mask leaving_ = 0;  ///< removed, with bits in masks from `swept_` on
    EntryIndex swept_ = 0;
    EntryIndex sweep_until_ = 0;
    bool is_in_notice_ = false;
};

}  // namespace tributary
