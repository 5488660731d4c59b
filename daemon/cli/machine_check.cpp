// SPDX-License-Identifier: Apache-2.0
#include "daemon/cli/machine_check.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "conf/config_error.hpp"
#include "daemon/base/spdlog.hpp"
#include "daemon/base/startup_error.hpp"
#include "daemon/cli/spool_check.hpp"
#include "daemon/machine/available_memory.hpp"
#include "daemon/machine/placement.hpp"
#include "daemon/machine/topology.hpp"
#include "daemon/plan/known_devices.hpp"
#include "daemon/plan/probe_plan.hpp"
#include "export/export_error.hpp"
#include "export/file_descriptor.hpp"
#include "export/kafka/kafka_producer.hpp"
#include "export/transport/certificate_dates.hpp"
#include "export/transport/tls_stream.hpp"

namespace tributary {
namespace {

namespace fs = std::filesystem;

/// Checks one configuration, and collects its faults and warnings.
class MachineCheck {
public:
    MachineCheck(const Config& config, const YamlNode& root, Faults& faults)
        : config_(config), root_(root), faults_(faults) {}

    void check_devices() {
        for (std::size_t i = 0; i < config_.inputs.size(); ++i) {
            const InputOptions& input = config_.inputs[i];
            const std::string path = "inputs." + std::to_string(i) + ".device";
            if (input.device.empty() || faults_.is_unread(path)) {
                continue;
            }
            try {
                const std::string lack = lack_of_device(eal_device(input, i));
                warn_if(!lack.empty(), path, input.device, lack);
            } catch (const StartupError& error) {
                faults_.note(path, place_of(root_, path) + ": " + error.what());
                has_devices_ = false;
            }
        }
    }

    void check_cores(const Topology& topology) {
        std::vector<std::uint32_t> cores = config_.cores.input_cores;
        cores.insert(cores.end(), config_.cores.export_cores.begin(),
                     config_.cores.export_cores.end());
        cores.insert(cores.end(), config_.cores.helper_cores.begin(),
                     config_.cores.helper_cores.end());
        std::erase_if(cores, [&](std::uint32_t core) { return topology.find(core) != nullptr; });
        if (!cores.empty() && !faults_.is_unread("cores")) {
            spdlog::warn("{}: cores has {}, which this machine does not have online (see lscpu -e)",
                         place_of(root_, "cores"), fmt::join(cores, ", "));
            has_cores_ = false;
        }
    }

    void check_tls_files() {
        const std::vector<CollectorOptions>& collectors = config_.export_.collectors;
        for (std::size_t i = 0; i < collectors.size(); ++i) {
            const std::string path = "export.collectors." + std::to_string(i) + ".tls";
            if (collectors[i].transport == TransportKind::tls && !faults_.is_unread(path)) {
                check_tls(collectors[i], path);
            }
        }
    }

    /// librdkafka's properties, and the files of its secrets. No broker is asked.
    void check_kafka() {
        const std::vector<CollectorOptions>& collectors = config_.export_.collectors;
        for (std::size_t i = 0; i < collectors.size(); ++i) {
            const std::string path = "export.collectors." + std::to_string(i);
            if (collectors[i].transport == TransportKind::kafka && !faults_.is_unread(path)) {
                check_kafka(collectors[i].kafka, path);
            }
        }
    }

    /// The probe makes files, but not their folders.
    void check_folders() {
        check_folder("log.file", config_.log.file);
        const std::vector<CollectorOptions>& collectors = config_.export_.collectors;
        for (std::size_t i = 0; i < collectors.size(); ++i) {
            check_folder("export.collectors." + std::to_string(i) + ".path", collectors[i].path);
        }
    }

    void check_file_uses(const std::vector<FileUse>& files) {
        try {
            refuse_shared_files(files, config_.export_);
        } catch (const StartupError& error) {
            faults_.note("log.file", place_of(root_, "log.file") + ": " + error.what());
        }
    }

    void check_memory() {
        const std::string key = "flows.max-flows";
        if (!has_devices_ || faults_.is_unread(key) || faults_.is_unread("inputs")) {
            return;
        }
        const ProbePlan plan = plan_probe(config_);
        const std::uint64_t needed = octets_of(memory_of(plan, config_));
        const std::uint64_t there = installed_memory();
        if (needed > there) {
            faults_.note(
                key,
                fmt::format(
                    "{}: {} is {}; must be smaller, or the inputs must have fewer queues ({} "
                    "queue{} {} MiB with their packet buffers, this machine has {} MiB)",
                    place_of(root_, key), key, config_.flows.max_flows, plan.queues.size(),
                    plan.queues.size() == 1 ? " takes" : "s take", needed >> 20U, there >> 20U));
        }
    }

    /// Warns of more threads than cores, and of threads far from their NICs. Only for a valid
    /// configuration with this machine's cores.
    void check_places(const Topology& topology) const {
        if (!has_cores_ || !faults_.are_none()) {
            return;
        }
        std::vector<std::string> warnings;
        try {
            warnings = place_threads(config_.cores, topology, plan_probe(config_).queues).warnings;
        } catch (const StartupError& error) {
            warnings.emplace_back(error.what());
        }
        for (const std::string& warning : warnings) {
            spdlog::warn("{}: {}", place_of(root_, "cores"), warning);
        }
    }

private:
    void warn_if(bool is_lacking, const std::string& path, const std::string& value,
                 const std::string& words) const {
        if (is_lacking) {
            spdlog::warn("{}: {} is {}, but {}", place_of(root_, path), path, shown(value), words);
        }
    }

    /// @param reason  of errno
    void note_file(const std::string& path, const std::string& value, const std::string& limits,
                   const std::string& reason) {
        faults_.note(path, place_of(root_, path) + ": " + path + " is " + shown(value) +
                               "; must be " + limits + " (" + reason + ")");
    }

    /// @return  whether the file can be opened
    bool check_readable(const std::string& path, const std::string& file) {
        if (file.empty()) {
            return true;
        }
        const FileDescriptor opened(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
        const int reason = errno;
        if (!opened && reason == EACCES) {
            warn_if(true, path, file,
                    "this user must not read it, so it is not checked; the probe's user has to");
        } else if (!opened) {
            note_file(path, file, "a file that can be read", words_for(reason));
        }
        return static_cast<bool>(opened);
    }

    void check_tls(const CollectorOptions& collector, const std::string& path) {
        const std::array<std::pair<const char*, const std::string&>, 3> files{
            {{".ca", collector.tls.ca},
             {".certificate", collector.tls.certificate},
             {".key", collector.tls.key}}};
        // A certificate without its key, or a key without its certificate, is already a fault.
        bool all = collector.tls.certificate.empty() == collector.tls.key.empty();
        for (const auto& [key, file] : files) {
            all = check_readable(path + key, file) && all;
        }
        if (!all) {
            return;
        }
        try {
            const TlsStream stream(collector);
        } catch (const ExportError& error) {
            // Its message begins with "tls: ".
            faults_.note(path, place_of(root_, path) + ": " + path.substr(0, path.rfind('.') + 1) +
                                   error.what());
            return;
        }
        for (const CertificateFault& fault : untimely_certificates(collector, std::time(nullptr))) {
            warn_if(true, path + "." + fault.key, fault.file, fault.text);
        }
    }

    void check_kafka(const KafkaOptions& kafka, const std::string& path) {
        try {
            KafkaProducer::check(kafka);
        } catch (const ExportError& error) {
            // Its message begins with "kafka: ".
            faults_.note(path, place_of(root_, path) + ": " + path + ": " + error.what());
        }
    }

    void check_folder(const std::string& path, const std::string& file) {
        const fs::path folder = fs::path(file).parent_path();
        std::error_code error;
        if (!faults_.is_unread(path) && fs::is_directory(file, error)) {
            note_file(path, file, "a file", words_for(EISDIR));
            return;
        }
        if (!file.empty() && !folder.empty() && !faults_.is_unread(path) &&
            !fs::is_directory(folder, error) && error != std::errc::permission_denied) {
            note_file(path, file, "in a folder that is there",
                      error ? error.message() : words_for(ENOTDIR));
        }
    }

    const Config& config_;
    const YamlNode& root_;
    Faults& faults_;
    bool has_devices_ = true;
    bool has_cores_ = true;  ///< all cores of the configuration are online
};

}  // namespace

void check_machine(const Config& config, const YamlNode& root, Faults& faults,
                   const std::vector<FileUse>& files) {
    MachineCheck check(config, root, faults);
    check.check_devices();
    const Topology topology = read_topology();
    check.check_cores(topology);
    check.check_tls_files();
    check.check_kafka();
    check.check_folders();
    check_spools(config, root, faults);
    check.check_file_uses(files);
    check.check_memory();
    check.check_places(topology);
    if (faults.are_none()) {
        warn_of_unusable_records(config, root);
    }
}

}  // namespace tributary
