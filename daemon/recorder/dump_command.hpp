// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "daemon/control/control_reply.hpp"
#include "daemon/pipeline/ledger.hpp"
#include "daemon/recorder/packet_dump.hpp"
#include "flowcache/record/flow_hasher.hpp"
#include "parsers/units.hpp"

namespace tributary {

/// The argument of the command `dump`, a JSON object in one line.
struct DumpArguments {
    static constexpr double kMostSeconds = 1e9;

    double last = 0;       ///< seconds back from now; the dump begins there
    double follow = 0;     ///< seconds from now; 0: what is in the rings now
    std::string filter{};  ///< pcap expression; empty: all packets

    [[nodiscard]] std::string to_json() const;
    /// @errors  std::runtime_error: no such object, in one line
    [[nodiscard]] static DumpArguments of(const std::string& json);
};

/// Seconds in the arguments of a command; 0 where there are none.
/// @errors  std::runtime_error
[[nodiscard]] double seconds_in(const nlohmann::json& object, const char* command, const char* key);
/// @param seconds  up to DumpArguments::kMostSeconds
[[nodiscard]] Timestamp::duration duration_of(double seconds);
/// Who has sent a command, for the log.
[[nodiscard]] std::string user_text(const ControlReply& reply);

/// Answers the command `dump`: packets of the rings, as a pcapng file.
///
/// @thread  of the server's commands; made and destroyed by main
class DumpCommand {
public:
    /// Dumps at the same time.
    static constexpr std::uint32_t kMostDumps = 4;

    /// @param rings   outlive this
    /// @param hasher  of the recorder's stages
    /// @param clock   the host's
    DumpCommand(std::vector<DumpQueue> rings, FlowHasher hasher, std::function<Timestamp()> clock)
        : rings_(std::move(rings)), hasher_(hasher), clock_(std::move(clock)) {}
    DumpCommand(const DumpCommand&) = delete;
    DumpCommand& operator=(const DumpCommand&) = delete;
    ~DumpCommand() = default;

    /// The commands of the recorder's socket:
    ///
    ///     dump ARGUMENTS    packets from the rings; each dump is logged with its user
    [[nodiscard]] ControlCommands commands();
    /// Ends the dumps, each with a whole file, and refuses others. Waits for those that run, no
    /// longer than for kEndPatience: a client may be slow.
    /// @thread  main
    void end() noexcept;
    static constexpr std::chrono::milliseconds kEndPatience{2000};
    /// @thread  any
    [[nodiscard]] DumpLedger account() const;

private:
    class Running;

    void dump(const DumpArguments& arguments, ControlReply& reply);
    void count(const std::vector<DumpAccount>& accounts, bool is_whole);

    std::vector<DumpQueue> rings_;
    FlowHasher hasher_;
    std::function<Timestamp()> clock_;
    std::atomic<bool> is_ending_{false};
    std::atomic<std::uint32_t> running_{0};
    mutable std::mutex mutex_;  ///< of `ledger_`
    DumpLedger ledger_;
};

}  // namespace tributary
