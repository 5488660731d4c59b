// SPDX-License-Identifier: Apache-2.0
#include "daemon/preparse/preparse_plan.hpp"

#include <sysexits.h>

#include <regex>
#include <string>
#include <vector>

#include "daemon/base/file_uses.hpp"
#include "daemon/base/options.hpp"
#include "daemon/base/standard_streams.hpp"
#include "daemon/base/startup_error.hpp"
#include "daemon/port/trimming.hpp"

namespace tributary {
namespace {

/// Files named in a device string after `key`, for instance "rx_pcap".
std::vector<std::string> files_of(const std::string& device, const std::string& key) {
    const std::regex pattern("," + key + "=([^,]+)");
    std::vector<std::string> files;
    for (std::sregex_iterator found(device.begin(), device.end(), pattern), end; found != end;
         ++found) {
        files.push_back((*found)[1].str());
    }
    return files;
}

}  // namespace

void protect_captures(const PreparseJob& job, const Config& config) {
    std::vector<std::string> read = job.captures;
    if (job.captures.empty()) {
        read = files_of(config.inputs.front().device, "rx_pcap");
    }
    std::vector<std::string> written = files_of(job.to_device, "tx_pcap");
    written.push_back(job.to_capture);
    std::vector<FileUse> files;
    files.reserve(read.size() + written.size() + 1);
    for (const std::string& capture : read) {
        files.push_back({.what = "a capture to be read", .path = capture, .is_written = false});
    }
    for (const std::string& output : written) {
        files.push_back({.what = "an output", .path = output, .is_written = true});
    }
    files.push_back(
        {.what = "--stats", .path = or_standard_output(job.stats_path), .is_written = true});
    refuse_shared_files(files);
}

PreparseInput input_of(const PreparseJob& job, const Config& config) {
    if (!job.captures.empty()) {
        const ReadOptions& read = config.read;
        return {.parse = parse_options(config.flows, read.parse, read.trim_length),
                .sampling = {.one_in = read.sampling, .method = read.sampling_method},
                .filter = read.filter,
                .links = FilterLinks::all,
                .ingress_interface = InterfaceIndex{read.interface_index},
                .streams = 1};
    }
    const InputOptions& input = config.inputs.front();
    return {.parse = parse_options(config.flows, input.parse, input.trim_length),
            .sampling = {.one_in = input.sampling, .method = input.sampling_method},
            .filter = input.filter,
            .links = FilterLinks::ethernet,
            .ingress_interface = InterfaceIndex{input.interface_index},
            .streams = input.queues};
}

PreparsePlan plan_preparse(const PreparseJob& job, const Config& config, std::uint16_t streams) {
    PreparsePlan plan;
    std::vector<PortOptions> ports;
    if (job.captures.empty()) {
        plan.input = with_mtu_of_interface(config.inputs.front());
        ports.push_back(port_of(*plan.input));
    }
    if (!job.to_device.empty()) {
        plan.output = {.device = job.to_device, .queues = streams, .mtu = job.mtu};
        ports.push_back(port_of(*plan.output));
    }
    for (const PortOptions& port : ports) {
        plan.devices.push_back(eal_device(port, plan.devices.size()));
        plan.nodes.push_back(read_device_node(plan.devices.back()));
    }
    if (plan.input && needs_head_buffers(*plan.input)) {
        plan.heads = plan_head_pool(*plan.input, plan.nodes.front());
    }
    if (plan.devices.size() == 2 && plan.devices[0].port_name == plan.devices[1].port_name) {
        throw StartupError(EX_CONFIG, "--from and --to are one device, " + job.to_device +
                                          "; packets and unified headers need one each");
    }
    if (!ports.empty()) {
        plan.pools = plan_pools(ports, plan.nodes);
        std::vector<QueueToPlace> queues;
        for (std::uint16_t queue = 0; queue < streams; ++queue) {
            queues.push_back({.input = plan.input ? plan.input->name : "output",
                              .queue = queue,
                              .node = plan.nodes.front()});
        }
        plan.cores = place_threads(config.cores, read_topology(), queues);
    }
    return plan;
}

EalOptions eal_options(const PreparsePlan& plan) {
    EalOptions options{.devices = plan.devices, .main_cpus = plan.cores.helper_cpus};
    for (const PoolSize& pool : plan.pools) {
        options.memory_bytes += pool.memory();
    }
    options.memory_bytes += plan.heads ? plan.heads->memory() : 0;
    return options;
}

}  // namespace tributary
