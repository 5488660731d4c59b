// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "daemon/recorder/whole_file.hpp"
#include "daemon/trigger/trigger_set.hpp"

namespace tributary {

/// A file that is being written because a trigger has fired. finish() counts what becomes of it;
/// without that it is removed, and the caller counts it.
///
/// @thread  one
class TriggerFile {
public:
    /// Octets that a writer may add before it asks for room again.
    static constexpr std::uint64_t kMostAtATime = std::uint64_t{384} << 10U;

    struct Content {
        std::uint64_t packets{};
        std::uint64_t octets{};       ///< of these
        std::uint64_t overwritten{};  ///< packets that came too late
    };

    /// @param trigger  outlives this
    TriggerFile(TriggerSet::Trigger& trigger, std::uint32_t number);
    TriggerFile(const TriggerFile&) = delete;
    TriggerFile& operator=(const TriggerFile&) = delete;
    ~TriggerFile() { trigger_.files.take_back(room_); }

    /// An errno; 0: all is well.
    [[nodiscard]] int error() const noexcept { return file_.error(); }
    /// @return  false: see error()
    bool write(std::span<const std::byte> octets);
    /// Whether kMostAtATime may be added: older files make room. Asked before the first octet, too.
    [[nodiscard]] bool has_room();
    /// Notes what it has in it, or part of that.
    void count(const Content& content) noexcept;
    /// Gives it its name, and counts what became of it.
    ///
    /// @param is_written   all of it was
    /// @param ended_early  for lack of room
    void finish(bool is_written, bool ended_early);

private:
    TriggerSet::Trigger& trigger_;
    std::uint32_t number_;
    std::string path_;
    WholeFile file_;
    Content content_;
    std::uint64_t room_ = 0;  ///< octets that it may have
};

}  // namespace tributary
