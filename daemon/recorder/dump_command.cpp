// SPDX-License-Identifier: Apache-2.0
#include "daemon/recorder/dump_command.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <thread>
#include <utility>

#include "daemon/base/spdlog.hpp"
#include "daemon/control/control_socket.hpp"
#include "daemon/filter/filter_compilation.hpp"
#include "daemon/filter/packet_filter.hpp"
#include "daemon/machine/thread_priority.hpp"
#include "daemon/recorder/asked_flow.hpp"

namespace tributary {
namespace {

using nlohmann::json;

}  // namespace

double seconds_in(const json& object, const char* command, const char* key) {
    const auto found = object.find(key);
    if (found == object.end()) {
        return 0;
    }
    const double number = found->is_number() ? found->get<double>() : -1;
    if (!(number >= 0 && number <= DumpArguments::kMostSeconds)) {
        throw std::runtime_error(fmt::format("{}: {} must be seconds from 0 to {:.0f}", command,
                                             key, DumpArguments::kMostSeconds));
    }
    return number;
}

Timestamp::duration duration_of(double seconds) {
    return std::chrono::duration_cast<Timestamp::duration>(std::chrono::duration<double>(seconds));
}

std::string user_text(const ControlReply& reply) {
    const std::optional<uid_t> user = reply.user();
    return user ? "user " + std::to_string(*user) : "an unknown user";
}

std::string DumpArguments::to_json() const {
    return json{{"last", last}, {"for", follow}, {"filter", filter}}.dump();
}

DumpArguments DumpArguments::of(const std::string& text) {
    const json object = json::parse(text, nullptr, false);
    if (!object.is_object()) {
        throw std::runtime_error("dump: the arguments must be a JSON object");
    }
    const auto filter = object.find("filter");
    if (filter != object.end() && !filter->is_string()) {
        throw std::runtime_error("dump: filter must be a text");
    }
    return {.last = seconds_in(object, "dump", "last"),
            .follow = seconds_in(object, "dump", "for"),
            .filter = filter == object.end() ? std::string() : filter->get<std::string>()};
}

/// One of the places for dumps that run.
class DumpCommand::Running {
public:
    /// @errors  std::runtime_error: there is no room for another one
    explicit Running(std::atomic<std::uint32_t>& running) : running_(running) {
        if (running_.fetch_add(1, std::memory_order_relaxed) >= kMostDumps) {
            running_.fetch_sub(1, std::memory_order_relaxed);
            throw std::runtime_error(
                fmt::format("{} dumps run already; wait for one to end", kMostDumps));
        }
    }
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;
    ~Running() { running_.fetch_sub(1, std::memory_order_relaxed); }

private:
    std::atomic<std::uint32_t>& running_;
};

ControlCommands DumpCommand::commands() {
    ControlCommands commands;
    commands["dump"] = [this](const std::string& arguments, ControlReply& reply) {
        dump(DumpArguments::of(arguments), reply);
    };
    return commands;
}

void DumpCommand::dump(const DumpArguments& arguments, ControlReply& reply) {
    if (is_ending_.load(std::memory_order_relaxed)) {
        throw std::runtime_error("the probe ends");
    }
    const Running running(running_);
    let_others_go_first();  // the thread is this command's alone
    const auto goes_on = [this, &reply] {
        return !is_ending_.load(std::memory_order_relaxed) && !reply.has_enough();
    };
    std::unique_ptr<PacketFilter> filter;
    if (!arguments.filter.empty()) {
        filter = FilterCompilation::await(arguments.filter, FilterLinks::ethernet, goes_on);
        if (!filter) {
            throw std::runtime_error(
                "the probe ends");  // or the client has left, and reads nothing
        }
    }
    // The queues' clock, which is that of their packets' times, and goes on as the host's does.
    const Timestamp host_at_begin = clock_();
    const Timestamp now = latest_clock(rings_);
    DumpRequest request{.since = now - duration_of(arguments.last),
                        .until = arguments.follow > 0
                                     ? std::optional(now + duration_of(arguments.follow))
                                     : std::nullopt,
                        .filter = filter.get(),
                        .filter_text = arguments.filter,
                        .flows = hashes_of_asked_flow(arguments.filter, hasher_)};
    spdlog::info("dump for {}: packets of the last {:g} s{}{}", user_text(reply), arguments.last,
                 arguments.follow > 0 ? fmt::format(" and the next {:g} s", arguments.follow) : "",
                 arguments.filter.empty() ? "" : ", filter " + json(arguments.filter).dump());
    PacketDump dump(
        rings_, std::move(request),
        {.write = [&reply](std::span<const std::byte> octets) { return reply.write(octets); },
         .clock = [&] { return now + (clock_() - host_at_begin); },
         .pause = [](auto time) { std::this_thread::sleep_for(time); },
         .goes_on = goes_on});
    {
        const std::lock_guard lock(mutex_);
        ++ledger_.begun;
    }
    bool is_whole = false;
    try {
        is_whole = dump.run();
    } catch (...) {
        count(dump.accounts(), false);
        throw;
    }
    count(dump.accounts(), is_whole);
    reply.end(is_whole ? kGoodVerdict : "nobody reads the dump any more");  // before end() goes on
}

void DumpCommand::end() noexcept {
    constexpr std::chrono::milliseconds kPause{10};
    is_ending_.store(true, std::memory_order_relaxed);
    for (std::chrono::milliseconds waited{0};
         waited < kEndPatience && running_.load(std::memory_order_relaxed) != 0; waited += kPause) {
        std::this_thread::sleep_for(kPause);
    }
}

/// Adds what a dump has made to the account, and logs it.
void DumpCommand::count(const std::vector<DumpAccount>& accounts, bool is_whole) {
    DumpAccount sum;
    for (const DumpAccount& account : accounts) {
        sum.read += account.read;
        sum.matched += account.matched;
        sum.octets += account.octets;
        sum.overwritten += account.overwritten;
    }
    spdlog::info("dump {}: {} packets with {} octets of {} packets, {} were overwritten before",
                 is_whole ? "ended" : "cut off", sum.matched, sum.octets, sum.read,
                 sum.overwritten);
    const std::lock_guard lock(mutex_);
    ++(is_whole ? ledger_.whole : ledger_.cut_off);
    ledger_.packets += sum.matched;
    ledger_.octets += sum.octets;
    ledger_.overwritten += sum.overwritten;
}

DumpLedger DumpCommand::account() const {
    const std::lock_guard lock(mutex_);
    return ledger_;
}

}  // namespace tributary
