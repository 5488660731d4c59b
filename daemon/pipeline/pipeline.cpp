// SPDX-License-Identifier: Apache-2.0
#include "daemon/pipeline/pipeline.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <exception>
#include <iterator>
#include <new>
#include <thread>
#include <utility>

#include "daemon/base/spdlog.hpp"
#include "daemon/pipeline/collector_rows.hpp"
#include "daemon/pipeline/idle_back_off.hpp"
#include "daemon/pipeline/last_bursts.hpp"
#include "daemon/pipeline/round_timer.hpp"
#include "export/memory_reserve.hpp"

namespace tributary {
namespace {

using namespace std::chrono_literals;

/// What the export thread drains: the rings of the queues, and then those of each place for a
/// further table; nullptr: there is none.
std::vector<RecordSource*> rings_of(const std::vector<std::unique_ptr<QueueWorker>>& queues,
                                    const std::vector<RecordSource*>& further) {
    std::vector<RecordSource*> rings(queues.size() * (1 + kTablePlaces));
    for (std::size_t queue = 0; queue < queues.size(); ++queue) {
        rings[queue] = &queues[queue]->records();
    }
    std::array<std::size_t, 1 + kTablePlaces> sources{};
    for (RecordSource* const source : further) {
        const std::size_t table = source->table();
        rings.at(table * queues.size() + sources.at(table)++) = source;
    }
    return rings;
}

/// The table of each of these rings.
std::vector<std::size_t> tables_of_rings(std::size_t queues) {
    std::vector<std::size_t> tables;
    for (std::size_t table = 0; table <= kTablePlaces; ++table) {
        tables.insert(tables.end(), queues, table);
    }
    return tables;
}

ExportCounters& with_parts(ExportCounters& counters, std::size_t queues) {
    counters.make_parts(tables_of_rings(queues), 1 + kTablePlaces);
    return counters;
}

/// Records that a collector or a spool has lost, by cause.
NamedCounts lost_by_cause_of(const CollectorCounters& counters) {
    NamedCounts lost;
    for (std::size_t cause = 0; cause < kCollectorLossCount; ++cause) {
        const auto loss = static_cast<ExportLoss>(cause);
        lost[std::string(name_of(loss))] = counters.read_lost(loss).records;
    }
    return lost;
}

/// Adds what became of the records from a ring.
///
/// @param causes  so many causes of loss are possible
void read_export(const QueueExportCounters& counters, std::size_t causes, QueueLedger& ledger) {
    ledger.exported += counters.exported.read();
    ledger.spooled += counters.spooled.read();
    for (std::size_t cause = 0; cause < causes; ++cause) {
        const auto loss = static_cast<ExportLoss>(cause);
        ledger.lost[std::string(name_of(loss))] += counters.read_lost(loss);
    }
}

}  // namespace

void take_last_bursts(QueueWorker& queue) noexcept {
    take_last_bursts([&queue] {
        if (queue.ended()) {
            return LastBurst::none;
        }
        const std::size_t received = queue.step();
        if (queue.holds_packets()) {
            return LastBurst::part;
        }
        return received == 0 ? LastBurst::none : LastBurst::whole;
    });
}

Pipeline::Pipeline(Parts parts)
    : parts_(std::move(parts)),
      accounts_(parts_.export_options.collectors),
      export_counters_(parts_.queues.size() * (1 + kTablePlaces), CollectorAccounts::kMost),
      table_accounts_(export_counters_, parts_.queues.size()),
      export_worker_(parts_.export_options, parts_.metering,
                     rings_of(parts_.queues, parts_.further_records),
                     with_parts(export_counters_, parts_.queues.size()), parts_.on_collector_event),
      loads_(parts_.queues.size() + 1) {
    table_accounts_.set(parts_.metering.further);
}

Pipeline::~Pipeline() { stop(); }

void Pipeline::start(const PipelinePlaces& places, std::function<void()> on_all_ended) {
    on_all_ended_ = std::move(on_all_ended);
    loads_.back().thread = places.export_thread.name;
    export_thread_ = std::make_unique<PinnedThread>(places.export_thread, [this] { run_export(); });
    // All count from the start: the first thread could end before the last has begun.
    inputs_running_.store(parts_.queues.size(), std::memory_order_relaxed);
    try {
        start_inputs(places);
    } catch (...) {
        const std::size_t never_started = parts_.queues.size() - input_threads_.size();
        inputs_running_.fetch_sub(never_started, std::memory_order_release);
        throw;
    }
}

void Pipeline::start_inputs(const PipelinePlaces& places) {
    for (std::size_t index = 0; index < parts_.queues.size(); ++index) {
        QueueWorker& queue = *parts_.queues[index];
        ThreadLoad& load = loads_[index];
        load.thread = places.inputs[index].name;
        IdleWait idle_wait = places.idle_waits.empty() ? IdleWait{} : places.idle_waits[index];
        input_threads_.push_back(std::make_unique<PinnedThread>(
            places.inputs[index],
            [this, &queue, &load, wait = std::move(idle_wait)] { run_input(queue, load, wait); }));
    }
}

void Pipeline::wait_until_polled() const {
    while (inputs_polled_.load(std::memory_order_relaxed) < parts_.queues.size()) {
        std::this_thread::sleep_for(1ms);
    }
}

bool Pipeline::send_command(std::size_t queue, InputCommand& command) {
    // A polling thread is done sooner; a waiting thread takes longer for the first command only.
    constexpr auto kLook = 50us;
    const std::lock_guard lock(mailbox_mutex_);
    InputMailbox& box = parts_.queues[queue]->mailbox;
    if (mailboxes_are_closed_.load(std::memory_order_relaxed) || !box.post(command)) {
        return false;
    }
    const auto end = std::chrono::steady_clock::now() + kCommandPatience;
    while (!box.is_done()) {
        const bool is_over = mailboxes_are_closed_.load(std::memory_order_relaxed) ||
                             std::chrono::steady_clock::now() >= end;
        if (is_over && (box.withdraw() || !box.is_done())) {
            return false;
        }
        std::this_thread::sleep_for(kLook);
    }
    command = box.take();
    return true;
}

bool Pipeline::set_stages(std::size_t queue, StageList stages) {
    QueueWorker& worker = *parts_.queues[queue];
    InputCommand command = worker.prepare(stages);
    std::vector<StageList>& lists = worker.stage_lists;
    lists.push_back(std::move(stages));
    if (!send_command(queue, command)) {
        return false;
    }
    lists.erase(lists.begin(), std::prev(lists.end()));
    return true;
}

/// Has the export thread carry out a command.
///
/// @return  the command as the thread left it; nothing: it does not answer
std::optional<Pipeline::ExportCommand> Pipeline::carry_out(const ExportCommand& command) {
    const auto end = std::chrono::steady_clock::now() + kCommandPatience;
    if (!export_mailbox_.post(command)) {
        return std::nullopt;
    }
    while (!export_mailbox_.is_done()) {
        // The thread finishes a command that it has begun.
        if (std::chrono::steady_clock::now() >= end && export_mailbox_.withdraw()) {
            return std::nullopt;
        }
        std::this_thread::sleep_for(1ms);
    }
    return export_mailbox_.take();
}

std::vector<std::string> Pipeline::change_export(const ExportOptions& options,
                                                 const FurtherTables* further) {
    CollectorAccounts wanted = accounts_;
    TableAccounts wanted_tables = table_accounts_;
    ExportCommand command{.options = options, .accounts = wanted.choose(options.collectors)};
    if (further != nullptr) {
        wanted_tables.set(further->tables);
        command.tables = {.further = further->tables,
                          .sources = rings_of(parts_.queues, further->records),
                          .reason = further->reason};
        command.tables->further.resize(kTablePlaces);
    }
    ExportOptions taken = options;  // nothing fails once the export has changed
    std::optional<ExportCommand> done = carry_out(command);
    if (!done) {
        throw ExportError("the export thread does not answer");
    }
    if (!done->error.empty()) {
        throw ExportError(done->error);
    }
    std::swap(parts_.export_options, taken);
    const std::lock_guard lock(accounts_mutex_);
    accounts_ = std::move(wanted);
    table_accounts_ = std::move(wanted_tables);
    return std::move(done->with_new_files);
}

bool Pipeline::export_holds(std::size_t table) {
    const std::optional<ExportCommand> done = carry_out({.asks_for = table});
    return !done || done->holds;
}

/// Carries out try_collectors() and the command of change_export() or export_holds().
void Pipeline::carry_out_export_command() noexcept {
    if (tries_are_requested_.load(std::memory_order_relaxed)) {
        tries_are_requested_.store(false, std::memory_order_relaxed);
        export_worker_.try_now();
    }
    ExportCommand* const command = export_mailbox_.current();
    if (command == nullptr) {
        return;
    }
    try {
        if (command->asks_for) {
            command->holds = export_worker_.holds(*command->asks_for);
        } else {
            command->with_new_files = export_worker_.change(
                command->options, command->accounts, command->tables ? &*command->tables : nullptr);
        }
    } catch (const std::bad_alloc&) {
        command->error =
            "no memory";  // short enough for a string to hold without memory of its own
    } catch (const std::exception& error) {
        command->error = error.what();
    }
    export_mailbox_.finish();
}

std::vector<CollectorAccounts::Account> Pipeline::accounts() const {
    const std::lock_guard lock(accounts_mutex_);
    return accounts_.all();
}

std::vector<const ThreadLoad*> Pipeline::threads() const {
    std::vector<const ThreadLoad*> threads;
    threads.reserve(loads_.size());
    for (const ThreadLoad& load : loads_) {
        threads.push_back(&load);
    }
    return threads;
}

std::vector<RingFill> Pipeline::rings() const {
    std::vector<RingFill> rings;
    rings.reserve(parts_.queues.size());
    for (const auto& queue : parts_.queues) {
        rings.push_back(queue->ring());
    }
    return rings;
}

void Pipeline::stop() noexcept {
    stop_inputs_.store(true, std::memory_order_relaxed);
    // The export thread begins to drain now, not after the inputs: a collector that takes nothing
    // would keep the rings full, and the inputs could never hand over their last records.
    drain_export_.store(true, std::memory_order_relaxed);
    input_threads_.clear();
    export_thread_.reset();
    export_worker_.close();  // failures while files are finished belong into the ledger
}

void Pipeline::run_input(QueueWorker& queue, ThreadLoad& load, const IdleWait& idle_wait) noexcept {
    IdleBackOff idle(idle_wait);
    RoundTimer timer(load);
    queue.step();
    inputs_polled_.fetch_add(1, std::memory_order_relaxed);
    while (!stop_inputs_.load(std::memory_order_relaxed) && !queue.ended()) {
        const bool found = queue.step() > 0;
        idle.after_poll(found || queue.has_work());
        timer.after_round(found);
    }
    take_last_bursts(queue);
    while (!queue.drain()) {
        std::this_thread::yield();
    }
    // Release, for the acquire in finish_export(): the export thread that reads 0 also sees every
    // record that was pushed.
    if (inputs_running_.fetch_sub(1, std::memory_order_release) == 1) {
        on_all_ended_();
    }
}

void Pipeline::run_export() noexcept {
    // Rings hold milliseconds of records at full rate (32,768 slots, below 20 million a second), so
    // this thread may sleep whenever they are empty. Each sleep costs some microseconds.
    constexpr auto kIdleSleep = 500us;
    // Short beside the sending of a batch; a collector may delay the drain for long.
    constexpr auto kDrainSleep = 20us;
    RoundTimer timer(loads_.back());
    while (!drain_export_.load(std::memory_order_relaxed)) {
        carry_out_export_command();
        const bool found = step_export();
        if (!found) {
            std::this_thread::sleep_for(kIdleSleep);
        }
        timer.after_round(found);
    }
    while (!finish_export()) {
        if (ends_now_.load(std::memory_order_relaxed)) {
            export_worker_.end_now();
        }
        std::this_thread::sleep_for(export_worker_.is_held_back() ? kIdleSleep : kDrainSleep);
    }
}

bool Pipeline::step_export() noexcept {
    try {
        const bool found = export_worker_.step(now());
        log_memory_shortage();
        return found;
    } catch (...) {
        note_export_fault();
        return false;
    }
}

/// Logs that memory is short, at most once in kRepeatAfter.
void Pipeline::log_memory_shortage() {
    if (!MemoryReserve::is_given_out()) [[likely]] {
        return;
    }
    constexpr auto kRepeatAfter = 60s;
    const auto now = std::chrono::steady_clock::now();
    if (!shortage_logged_at_ || now - *shortage_logged_at_ >= kRepeatAfter) {
        shortage_logged_at_ = now;
        spdlog::warn(
            "export: the system gives no more memory, which counts as a full buffer: records wait");
    }
}

/// @return  nothing is left, or a fault comes again and again
bool Pipeline::finish_export() noexcept {
    constexpr int kMostFaults = 10'000;  // without memory, 100 s: it may come back
    // Read before finish(): it is sure to drain only the records pushed before the last input
    // ended.
    const bool inputs_ended = inputs_running_.load(std::memory_order_acquire) == 0;
    try {
        return export_worker_.finish(now(), inputs_ended);
    } catch (const std::bad_alloc&) {
        note_export_fault();
        std::this_thread::sleep_for(std::chrono::milliseconds{10});
    } catch (...) {
        note_export_fault();
    }
    return ++end_faults_ >= kMostFaults;
}

/// An exception must not end the export thread, because the ledger would end with it. Without
/// memory the thread tries again; any other exception is a defect, and ends the probe in order.
void Pipeline::note_export_fault() noexcept {
    try {
        throw;
    } catch (const std::bad_alloc&) {
        spdlog::error("export: not enough memory");
    } catch (const std::exception& error) {
        if (!export_is_faulty_.exchange(true)) {
            spdlog::error("export: {}, which is a defect of tributaryd", error.what());
        }
    }
}

ExportTime Pipeline::now() const {
    return {.wall = parts_.wall_clock(),
            .uptime = std::chrono::steady_clock::now().time_since_epoch()};
}

void Pipeline::read(Ledger& ledger) const {
    {
        const std::lock_guard lock(accounts_mutex_);
        table_accounts_.read(ledger);
    }
    // With one table, every collector takes it.
    const std::size_t causes = ledger.tables.empty() ? kCollectorLossCount : kExportLossCount;
    for (std::size_t index = 0; index < parts_.queues.size(); ++index) {
        QueueLedger& queue = ledger.queues[index];
        read_export(export_counters_.queues[index], causes, queue);
        const QueueWorker& input = *parts_.queues[index];
        read_cache(input.cache_counters, queue);
        read_input(input.input_counters(), queue);
        if (const KeptBuffers* const kept = input.kept()) {
            read_kept(*kept, queue);
        }
    }
    read_collectors(ledger);
}

namespace {

/// Adds the count of each row that a collector has one for.
void add_counts(const CollectorCounters& counters, std::chrono::nanoseconds uptime,
                NamedCounts& counts) {
    for (const CollectorRow& row : kCollectorRows) {
        if (const std::optional<std::uint64_t> count = row.read(counters, uptime)) {
            counts.emplace(row.key, *count);
        }
    }
}

}  // namespace

/// Reads the records that left before those that came.
void Pipeline::read_group_spool(Ledger& ledger) const {
    const CollectorCounters& counters = export_counters_.group_spool;
    if (counters.spool_max_octets.read() == 0) {
        return;
    }
    GroupSpoolLedger& spool = ledger.spool.emplace();
    spool.lost_by_cause = lost_by_cause_of(counters);
    spool.handed_over = counters.records.read().records;
    spool.spooled = counters.spooled.read().records;
    spool.estimated = counters.spool_estimated.read();
    spool.octets = counters.spool_octets.read();
    spool.max_octets = counters.spool_max_octets.read();
    spool.errors = counters.errors.read();
    spool.inherited = counters.inherited.read().records;
    spool.stored = export_counters_.group_spool_stored.read().records;
}

void Pipeline::read_collectors(Ledger& ledger) const {
    read_group_spool(ledger);
    const std::chrono::nanoseconds uptime = now().uptime;
    const std::lock_guard lock(accounts_mutex_);
    for (const CollectorAccounts::Account& account : accounts_.all()) {
        const std::size_t index = ledger.collectors.size();
        const CollectorCounters& counters = export_counters_.collectors[index];
        NamedCounts lost_by_cause = lost_by_cause_of(counters);
        std::uint64_t lost = 0;
        for (const auto& [cause, records] : lost_by_cause) {
            lost += records;
        }
        CollectorLedger& collector = ledger.collectors.emplace_back(
            CollectorLedger{.name = account.name,
                            .counts = {{"lost", lost}},
                            .lost_by_cause = std::move(lost_by_cause),
                            .is_removed = !account.is_in_use});
        add_counts(counters, uptime, collector.counts);
        collector.tables = table_accounts_.read(index);
        if (LostNumbers::Reading numbers = counters.numbers.read(); numbers.next.stream != 0) {
            collector.numbers = std::move(numbers);
        }
    }
}

std::vector<CollectorFigures> Pipeline::collector_figures() const {
    std::vector<CollectorFigures> figures;
    const std::vector<CollectorAccounts::Account> accounts = this->accounts();
    for (std::size_t index = 0; index < accounts.size(); ++index) {
        if (accounts[index].is_in_use) {
            const CollectorCounters& counters = export_counters_.collectors[index];
            figures.push_back({.name = accounts[index].name,
                               .latency = counters.latency.read(),
                               .spool_max_octets = counters.spool_max_octets.read()});
        }
    }
    return figures;
}

std::string Pipeline::export_failure() const { return export_worker_.error(); }

bool Pipeline::export_has_failed() const {
    if (export_is_faulty()) {
        return true;
    }
    const std::vector<CollectorAccounts::Account> accounts = this->accounts();
    bool all_failed = true;
    for (std::size_t index = 0; index < accounts.size(); ++index) {
        const bool has_failed = export_counters_.collectors[index].failed.read() != 0;
        all_failed = all_failed && (has_failed || !accounts[index].is_in_use);
    }
    return all_failed;
}

}  // namespace tributary
