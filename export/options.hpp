// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "flowcache/record/options.hpp"

namespace tributary {

enum class TransportKind : std::uint8_t { udp, tcp, tls, file, kafka };

/// How records are written for a collector.
enum class RecordFormatKind : std::uint8_t {
    ipfix,
    json,         ///< lines, with IPFIXcol2's names
    csv,          ///< lines, with the columns of `tributary flows --csv`
    flowmessage,  ///< goflow2's protobuf messages, with their lengths in front unless `delimited`
                  ///< is false
    rawflow,      ///< Akvorado's protobuf messages around messages of IPFIX; for Kafka alone
};

/// Unit and elements of flow start and end: IE 152/153, 154/155 or 156/157.
enum class TimestampUnit : std::uint8_t { milliseconds, microseconds, nanoseconds };

/// The enterprise number for documentation and examples: an exporter with a number of its own
/// should use that.
/// @source  RFC 5612 §2
inline constexpr std::uint32_t kDocumentationEnterprise = 32473;

inline constexpr std::size_t kMostCollectors = 16;

/// The table of flows that every probe has, as configurations name it.
inline constexpr std::string_view kMainTable = "main";

/// @source  RFC 7011 §10.3.4, §10.4.4
inline constexpr std::uint16_t kIpfixPort = 4739;
inline constexpr std::uint16_t kIpfixTlsPort = 4740;

/// Groups of which only some elements are exported.
struct PartialGroups {
    FieldGroups groups;
    /// The exported ones of these groups, by FieldGroupId: a bit for each element of its row.
    std::array<std::uint64_t, kMostFieldGroups> elements{};

    [[nodiscard]] bool has(FieldGroupId group, std::size_t element) const noexcept {
        return (elements.at(group) >> element & 1U) != 0;
    }
    void add(FieldGroupId group, std::size_t element) noexcept {
        groups.set(group);
        elements.at(group) |= std::uint64_t{1} << element;
    }
    /// The group is exported whole, or not at all.
    void remove(FieldGroupId group) noexcept {
        groups.set(group, false);
        elements.at(group) = 0;
    }
    friend bool operator==(const PartialGroups&, const PartialGroups&) = default;
};

/// What the records of a table have beside their field groups.
struct TableElements {
    KeyDescriptor key{};  ///< a field that it lacks is not exported
    /// The table was declared: its records have what the declaration names, which is in their
    /// group, and beside it the key, counts and times, but no other values of FlowRecordCore.
    bool is_declared = false;
    std::string name{};  ///< by which options records name its templates; empty: they do not

    friend bool operator==(const TableElements&, const TableElements&) = default;
};

/// The exported elements, of the groups that records have.
struct ElementChoice {
    PartialGroups partial;
    bool ntop{};      ///< ntop's elements beside tributary's own
    bool selector{};  ///< selectorId, which identifies the sampling of a record's input
    std::uint16_t tcp_control_bits = 2;  ///< octets, 1 or 2
    bool enterprise = true;              ///< tributary's own elements and ntop's
    bool cert{};                         ///< CERT's unionTCPFlags
    TableElements table{};
};

/// Which collectors get which records; see CollectorGroup.
enum class ExportMode : std::uint8_t { copy, balance, failover };

/// When a file is finished and the next one begins; see FileTransport.
struct FileRotation {
    std::uint64_t octets{};           ///< of a file at the most; 0: any number
    std::chrono::seconds interval{};  ///< from one file's beginning to the next one's; 0: any time
    bool sync{};                      ///< finished files are forced to the disk
    std::string command;              ///< for the shell, for each finished file; may be empty

    [[nodiscard]] bool is_on() const noexcept { return octets > 0 || interval.count() > 0; }
    friend bool operator==(const FileRotation&, const FileRotation&) = default;
};

/// Where messages wait on disk; see Spool.
struct SpoolOptions {
    std::string directory;  ///< of this collector, or this group, alone; empty: none
    std::uint64_t max_octets = std::uint64_t{1} << 30U;  ///< of all files in it

    [[nodiscard]] bool is_on() const noexcept { return !directory.empty(); }
    friend bool operator==(const SpoolOptions&, const SpoolOptions&) = default;
};

/// Trust and identity of a TLS connection. Files are PEM.
struct TlsOptions {
    std::string ca;           ///< certificate authorities; empty: the system's
    std::string certificate;  ///< our own with its chain; empty: none is sent
    std::string key;          ///< of that certificate
    std::string name;         ///< in the collector's certificate; empty: `host`
    friend bool operator==(const TlsOptions&, const TlsOptions&) = default;
};

/// Which records a broker keeps in order, on one partition.
enum class KafkaKey : std::uint8_t {
    flow,   ///< those of a flow, of both directions and from all queues
    none,   ///< none: records go to the partitions in turn
    field,  ///< those with one value of an element
};

/// A topic of Kafka.
struct KafkaOptions {
    std::string brokers;  ///< some of the cluster, "host:port,host:port"
    std::string topic;
    KafkaKey key{};
    std::string key_field;  ///< with KafkaKey::field: of field_names()
    bool delimited = true;  ///< FlowMessages have their lengths in front, as goflow2's have
    std::string compression = "lz4";                ///< as librdkafka names it
    std::map<std::string, std::string> properties;  ///< of librdkafka
    std::map<std::string, std::string> secrets;     ///< its property, the file that has the value
    friend bool operator==(const KafkaOptions&, const KafkaOptions&) = default;
};

/// In which options records a collector gets the sampling; see OptionsEncoder.
/// `netflow_where_sampled` is netflow, or none where no input is sampled: encoder_options()
/// decides.
enum class SamplingForm : std::uint8_t { all, rfc5477, netflow, netflow_where_sampled, none };

/// Which options records a collector gets beside those of sampling.
struct OptionsChoice {
    bool reliability = true;  ///< what the exporting and the metering process lost
    bool statistics = true;
    bool interfaces = true;
    bool flow_keys = true;
    bool types = true;  ///< of elements that are not IANA's (RFC 5610)
    friend bool operator==(const OptionsChoice&, const OptionsChoice&) = default;
};

/// The collector software that the defaults of some keys are for; conf/collector_profiles.cpp has
/// them.
enum class CollectorProfile : std::uint8_t {
    rfc,
    nfdump,
    goflow2,
    akvorado,
    opentelemetry,
    pmacct,
    silk,
    super_mediator,
    vflow,
    ipfixcol2,
};

struct CollectorOptions {
    /// The tables whose records it gets, by name. More than one may have the same packet.
    std::vector<std::string> tables{std::string(kMainTable)};
    CollectorProfile profile = CollectorProfile::rfc;
    TransportKind transport = TransportKind::udp;
    RecordFormatKind format = RecordFormatKind::ipfix;
    std::string host;            ///< name or address; not for `file`
    std::uint16_t port = 0;      ///< 0: not set yet, by complete_collectors()
    std::string source_address;  ///< local address to send from; empty: the kernel chooses
    std::uint16_t mtu = 1400;    ///< UDP: largest IPFIX message in octets, 512 .. 65507
    bool udp_segmentation{};     ///< UDP: the kernel splits what one call sends into datagrams
    /// UDP: octets of messages that leave in a second; 0: any number; none: Pace decides.
    std::optional<std::uint64_t> rate;
    std::string path;       ///< `file` only
    bool replaces_file{};   ///< `file` only: an existing file is overwritten
    FileRotation rotation;  ///< `file` only
    TlsOptions tls;         ///< `tls` only
    KafkaOptions kafka;     ///< `kafka` only
    SpoolOptions spool;     ///< `tcp`, `tls` and `kafka` only
    std::optional<std::uint32_t> observation_domain;  ///< instead of the export's
    std::optional<TimestampUnit> timestamps;          ///< instead of the export's
    std::optional<FlowDirection> direction;           ///< uniflow: biflows are split into their two
    SamplingForm sampling = SamplingForm::all;
    OptionsChoice options{};
    std::uint16_t tcp_control_bits = 2;  ///< octets of tcpControlBits, 1 or 2
    bool enterprise_elements = true;     ///< tributary's own and ntop's
    bool cert_elements{};                ///< CERT's unionTCPFlags
    /// Octets of messages that wait for the collector, or for its acknowledgement.
    std::size_t buffer = std::size_t{4} << 20U;
    friend bool operator==(const CollectorOptions&, const CollectorOptions&) = default;
};

/// The exporter as records of formats other than IPFIX name it, whose collectors do not see where
/// they come from.
struct ProbeIdentity {
    std::string name;     ///< empty: the host's name
    std::string address;  ///< IPv4 or IPv6; empty: records have none
    friend bool operator==(const ProbeIdentity&, const ProbeIdentity&) = default;
};

struct ExportOptions {
    std::uint32_t observation_domain = 1;
    ProbeIdentity probe{};
    std::chrono::seconds template_refresh{600};  ///< UDP: templates again after this long
    std::uint32_t template_refresh_packets = 0;  ///< UDP: and after so many data packets; 0: any
    std::chrono::seconds options_interval{60};   ///< between options records; 0: there are none
    std::chrono::milliseconds flush_interval{
        1000};  ///< a partly filled message leaves after this long
    std::chrono::milliseconds drain_timeout{
        5000};  ///< at shutdown, for a collector that takes nothing
    ExportMode mode = ExportMode::copy;
    SpoolOptions spool{};  ///< failover: of all collectors together
    TimestampUnit timestamps = TimestampUnit::milliseconds;
    FieldGroups fields;       ///< that records have
    PartialGroups partial{};  ///< among these
    std::uint32_t enterprise_number =
        kDocumentationEnterprise;  ///< of tributary's own elements; from 1
    bool ntop_elements = false;    ///< beside them; where TCP is analysed
    std::vector<CollectorOptions> collectors;
    // Set by encoder_options() for the encoders of one collector.
    SamplingForm sampling = SamplingForm::all;
    OptionsChoice options{};
    bool selector = false;               ///< records have a selectorId
    std::uint16_t tcp_control_bits = 2;  ///< octets
    bool enterprise_elements = true;     ///< tributary's own and ntop's
    bool cert_elements = false;          ///< CERT's unionTCPFlags
    friend bool operator==(const ExportOptions&, const ExportOptions&) = default;
};

}  // namespace tributary
