// SPDX-License-Identifier: Apache-2.0
#include "daemon/pipeline/live_flows.hpp"

#include <chrono>
#include <cstddef>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>

#include "daemon/machine/host_clock.hpp"
#include "daemon/pipeline/mailbox.hpp"
#include "export/collector/record_writer.hpp"

namespace tributary {
namespace {

constexpr std::size_t kRecordsAtATime = 2048;

/// Has a queue's thread carry out one command. @return  the command as the thread left it
template <class Command>
Command carried_out(Pipeline& pipeline, std::size_t queue, const Command& command) {
    InputCommand given = command;
    if (!pipeline.send_command(queue, given)) {
        throw ThreadHangs("thread " + pipeline.threads()[queue]->thread + " does not answer");
    }
    return std::get<Command>(given);
}

/// @errors  also std::runtime_error: no room for the records
void end_flows_of(Pipeline& pipeline, std::size_t queue, std::shared_ptr<TableFlows> table) {
    using std::chrono::steady_clock;
    EndFlows command{.table = std::move(table)};
    auto moved_at = steady_clock::now();
    while (!command.is_through) {
        const EndFlows next = carried_out(pipeline, queue, command);
        if (next.scan != command.scan) {
            moved_at = steady_clock::now();
        } else if (steady_clock::now() - moved_at >= Pipeline::kCommandPatience) {
            throw std::runtime_error(
                "no collector takes records, rings and caches are full; flows go on");
        }
        command = next;
    }
}

/// Sends all queues a command. Where a thread hangs, the queues before it get the former command
/// again, as far as they answer.
///
/// @param wanted  the command of a queue
/// @param former  likewise
template <class Wanted, class Former>
void set_everywhere(Pipeline& pipeline, QueueRange queues, Wanted wanted, Former former) {
    std::size_t queue = queues.first;
    try {
        for (; queue < queues.first + queues.count; ++queue) {
            static_cast<void>(carried_out(pipeline, queue, wanted(queue)));
        }
    } catch (const ThreadHangs&) {
        while (queue-- > queues.first) {
            InputCommand back = former(queue);
            static_cast<void>(pipeline.send_command(queue, back));
        }
        throw;
    }
}

/// @param table  a part of each queue; empty: the main table
std::shared_ptr<TableFlows> part_of(std::span<const std::shared_ptr<TableFlows>> table,
                                    std::size_t queue) {
    return table.empty() ? nullptr : table[queue];
}

void copy_flows(Pipeline& pipeline, std::size_t record_bytes,
                std::span<const std::shared_ptr<TableFlows>> table, RecordWriter& writer) {
    const std::size_t room = kRecordsAtATime * record_bytes;
    const std::shared_ptr<std::byte[]> records(new std::byte[room]);
    bool goes_on = true;
    for (std::size_t queue = 0; queue < pipeline.queue_count() && goes_on; ++queue) {
        CopyFlows command{.table = part_of(table, queue), .copies = records, .room = room};
        while (!command.is_through && goes_on) {
            command.records = 0;
            command = carried_out(pipeline, queue, command);
            goes_on = writer.add({records.get(), command.records * record_bytes}, host_clock());
        }
    }
    if (goes_on) {
        writer.end(host_clock());
    }
}

}  // namespace

void write_live_flows(Pipeline& pipeline, const ExportOptions& options, const RecordLayout& layout,
                      const std::function<bool(MessageView)>& write) {
    RecordWriter writer(options, layout, write);
    copy_flows(pipeline, record_size(layout), {}, writer);
}

void write_live_flows(Pipeline& pipeline, const ExportOptions& options, const LiveTable& table,
                      const std::function<bool(MessageView)>& write) {
    RecordWriter writer(options, table.table, write);
    copy_flows(pipeline, record_size(table.table.layout), table.queues, writer);
}

void end_live_flows(Pipeline& pipeline, std::span<const LiveTable> further) {
    for (std::size_t queue = 0; queue < pipeline.queue_count(); ++queue) {
        end_flows_of(pipeline, queue, nullptr);
        for (const LiveTable& table : further) {
            end_flows_of(pipeline, queue, table.queues[queue]);
        }
    }
}

void set_live_timeouts(Pipeline& pipeline, const LiveTimeouts& timeouts,
                       std::span<const std::shared_ptr<TableFlows>> table) {
    const QueueRange all{.first = 0, .count = pipeline.queue_count()};
    set_everywhere(
        pipeline, all,
        [&](std::size_t queue) {
            return SetTimeouts{.timeouts = timeouts.wanted, .table = part_of(table, queue)};
        },
        [&](std::size_t queue) {
            return SetTimeouts{.timeouts = timeouts.former, .table = part_of(table, queue)};
        });
}

void set_live_filter(Pipeline& pipeline, QueueRange queues, const LiveFilter& filter) {
    set_everywhere(
        pipeline, queues, [&](std::size_t) { return SetFilter{filter.wanted}; },
        [&](std::size_t) { return SetFilter{filter.former}; });
}

}  // namespace tributary
