// SPDX-License-Identifier: Apache-2.0
#include "export/kafka/kafka_producer.hpp"

#include <librdkafka/rdkafka.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <fstream>
#include <iterator>
#include <new>
#include <string>
#include <string_view>
#include <utility>

#include "export/export_error.hpp"
#include "export/threads/helper_cores.hpp"

namespace tributary {
namespace {

/// An item's number and, above it, its hash, which selects the partition: the library hands this
/// one pointer back. It has no other place for a hash, and calls the partitioner from
/// a thread of its own.
constexpr unsigned kHashBits = 32;
static_assert(KafkaProducer::kIdBits + kHashBits == 64);

void* opaque_of(std::uint64_t id, std::uint32_t hash) noexcept {
    return reinterpret_cast<void*>(std::uint64_t{hash} << KafkaProducer::kIdBits | id);  // NOLINT
}

std::uint64_t bits_of(const void* opaque) noexcept {
    return reinterpret_cast<std::uint64_t>(opaque);  // NOLINT
}

std::uint64_t id_of(const void* opaque) noexcept {
    return bits_of(opaque) & ((std::uint64_t{1} << KafkaProducer::kIdBits) - 1);
}

/// One hash, one partition, whichever of them can be reached: otherwise a flow's records would
/// overtake each other in another partition.
// NOLINTNEXTLINE(readability-function-size): librdkafka calls it
std::int32_t choose_partition(const rd_kafka_topic_t* /*topic*/, const void* /*key*/,
                              std::size_t /*key_octets*/, std::int32_t partitions,
                              void* /*of_topic*/, void* opaque) noexcept {
    const auto hash = static_cast<std::uint32_t>(bits_of(opaque) >> KafkaProducer::kIdBits);
    return static_cast<std::int32_t>(hash % static_cast<std::uint32_t>(partitions));
}

/// Octets of the library's words for a fault.
constexpr std::size_t kErrorOctets = 512;

struct ConfDeleter {
    void operator()(rd_kafka_conf_t* conf) const noexcept { rd_kafka_conf_destroy(conf); }
};
using Conf = std::unique_ptr<rd_kafka_conf_t, ConfDeleter>;

/// The library's words for a fault; some end with a line end.
std::string words_of(const std::array<char, kErrorOctets>& error) {
    std::string words(error.data());
    words.erase(words.find_last_not_of(" \n") + 1);
    return words;
}

/// Gets Kerberos tickets; may be given as a secret.
constexpr const char* kTicketCommand = "sasl.kerberos.kinit.cmd";

/// The library's words for a fault. Those about the command for Kerberos tickets quote a part of
/// it; other words stand for them where the user has given the command as a secret.
std::string_view without_secret(bool is_command_secret, std::string_view words) noexcept {
    const bool is_quoted = is_command_secret && words.find("kinit") != std::string_view::npos;
    return is_quoted ? "property sasl.kerberos.kinit.cmd: librdkafka refuses its value" : words;
}

/// @param is_secret  the value must not be in the message
void set(rd_kafka_conf_t* conf, const std::string& property, const std::string& value,
         bool is_secret = false) {
    std::array<char, kErrorOctets> error{};
    if (rd_kafka_conf_set(conf, property.c_str(), value.c_str(), error.data(), error.size()) ==
        RD_KAFKA_CONF_OK) {
        return;
    }
    throw ExportError("kafka: property " + property + ": " +
                      (is_secret ? "librdkafka refuses its value" : words_of(error)));
}

/// A property as the library has it now; "": it has no value, or this build does not know it.
std::string value_of(const rd_kafka_conf_t* conf, const char* property) {
    std::array<char, kErrorOctets> value{};
    std::size_t octets = value.size();
    const bool is_known =
        rd_kafka_conf_get(conf, property, value.data(), &octets) == RD_KAFKA_CONF_OK;
    return is_known ? std::string(value.data()) : std::string();
}

bool has_sasl(const rd_kafka_conf_t* conf) {
    return value_of(conf, "security.protocol").starts_with("sasl_");
}

bool asks_for_tokens(const rd_kafka_conf_t* conf) {
    return value_of(conf, "sasl.oauthbearer.method") == "oidc";
}

/// The library takes a conf that gives it no tokens: the application may set them, but the probe
/// has none. With tokens that it makes itself, librdkafka 2.0.2 ends the process by SIGSEGV when
/// one is faulty, or is to be renewed.
void refuse_tokens(const rd_kafka_conf_t* conf) {
    constexpr const char* kUnsecured = "enable.sasl.oauthbearer.unsecure.jwt";
    const bool needs_tokens = has_sasl(conf) && value_of(conf, "sasl.mechanisms") == "OAUTHBEARER";
    if (!needs_tokens || asks_for_tokens(conf)) {
        return;
    }
    throw ExportError(value_of(conf, kUnsecured) == "true"
                          ? std::string("kafka: ") + kUnsecured +
                                " cannot be used: it is for development alone, and librdkafka "
                                "2.0.2 crashes with it"
                          : "kafka: sasl.mechanism is OAUTHBEARER, but there are no tokens; must "
                            "have sasl.oauthbearer.method oidc");
}

/// What a refusal of the library does not say.
std::string advice_on(const KafkaOptions& options, const rd_kafka_conf_t* conf) {
    const bool has_mechanism = options.properties.contains("sasl.mechanism") ||
                               options.properties.contains("sasl.mechanisms");
    return has_sasl(conf) && !has_mechanism
               ? " (sasl.mechanism is not given, and GSSAPI, which is Kerberos, is its default)"
               : "";
}

/// Makes the command that gets Kerberos tickets one that does nothing. The library still judges
/// which properties it names.
void disarm_kinit(rd_kafka_conf_t* conf) {
    std::string command = "true # " + value_of(conf, kTicketCommand);
    std::ranges::replace(command, '\n', ' ');
    // A build without Kerberos does not know it.
    static_cast<void>(rd_kafka_conf_set(conf, kTicketCommand, command.c_str(), nullptr, 0));
}

struct ProducerDeleter {
    void operator()(rd_kafka_t* producer) const noexcept { rd_kafka_destroy(producer); }
};
using Producer = std::unique_ptr<rd_kafka_t, ProducerDeleter>;

/// The library judges the properties together. Its threads run on the helper cores.
///
/// @param conf  moves into the producer
/// @errors  ExportError
Producer make_producer(const KafkaOptions& options, Conf conf) {
    refuse_tokens(conf.get());
    const std::string advice = advice_on(options, conf.get());
    const HelperScope on_helper_cores;  // its threads inherit them
    std::array<char, kErrorOctets> error{};
    Producer producer(rd_kafka_new(RD_KAFKA_PRODUCER, conf.get(), error.data(), error.size()));
    if (producer == nullptr) {
        const std::string words = words_of(error);
        const bool is_command_secret = options.secrets.contains(kTicketCommand);
        throw ExportError("kafka: " + std::string(without_secret(is_command_secret, words)) +
                          advice);
    }
    static_cast<void>(conf.release());  // the producer has it
    return producer;
}

/// Why a secret cannot be used: it is empty, or librdkafka would use only a part of it. "": it can.
std::string_view fault_of(std::string_view secret) noexcept {
    constexpr std::string_view kBlanks = " \t\n\v\f\r";
    if (secret.empty()) {
        return " is empty";
    }
    if (kBlanks.find(secret.front()) != std::string_view::npos) {
        return " begins with a blank, which librdkafka would leave out";
    }
    return secret.find('\0') == std::string_view::npos
               ? ""
               : " has an octet of 0, where librdkafka would end";
}

/// The content of a file without the line end behind it.
std::string read_secret(const std::string& property, const std::string& path) {
    std::string secret;
    try {
        std::ifstream file(path, std::ios::binary);
        file.exceptions(std::ios::failbit | std::ios::badbit);
        secret.assign(std::istreambuf_iterator<char>(file), {});
    } catch (const std::ios_base::failure&) {  // a directory is one, too
        throw ExportError("kafka: secrets." + property + ": cannot read " + path);
    }
    while (!secret.empty() && (secret.back() == '\n' || secret.back() == '\r')) {
        secret.pop_back();
    }
    if (const std::string_view fault = fault_of(secret); !fault.empty()) {
        throw ExportError("kafka: secrets." + property + ": " + path + std::string(fault));
    }
    return secret;
}

/// All but the brokers.
Conf make_conf(const KafkaOptions& options) {
    Conf conf(rd_kafka_conf_new());
    // A property may override these.
    set(conf.get(), "enable.idempotence", "true");
    set(conf.get(), "compression.type", options.compression);
    set(conf.get(), "linger.ms", "20");
    set(conf.get(), "queue.buffering.max.messages", "1000000");
    set(conf.get(), "message.timeout.ms", "60000");
    // A broker that is back gets its records soon: the library's own limit is 10 s.
    set(conf.get(), "reconnect.backoff.max.ms", "2000");
    // A topic that was there, and is gone, is told soon.
    set(conf.get(), "topic.metadata.propagation.max.ms", "2000");
    set(conf.get(), "sticky.partitioning.linger.ms", "0");  // records without a key, too
    set(conf.get(), "client.id", "tributary");
    // To ask for a topic would create it where brokers allow that: a producer's default.
    set(conf.get(), "allow.auto.create.topics", "false");
    for (const auto& [property, value] : options.properties) {
        set(conf.get(), property, value);
    }
    for (const auto& [property, path] : options.secrets) {
        set(conf.get(), property, read_secret(property, path), true);
    }
    // The library writes to standard error otherwise; its faults come as errors, too.
    rd_kafka_conf_set_log_cb(conf.get(), nullptr);
    return conf;
}

bool is_not_reached(int error) noexcept {
    return error == RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN ||
           error == RD_KAFKA_RESP_ERR__AUTHENTICATION || error == RD_KAFKA_RESP_ERR__SSL;
}

}  // namespace

void keep_text(std::string& text, std::string_view words) noexcept {
    try {
        text = words;
    } catch (const std::bad_alloc&) {
        text.clear();
    }
}

/// What a broker says of the topic.
struct TopicAnswer {
    const char* fault{};  ///< why it is not there; nullptr: it is
    bool is_reached{};    ///< a broker has answered
};

struct KafkaProducer::Library {
    rd_kafka_t* producer{};
    rd_kafka_topic_t* topic{};

    Library() = default;
    Library(const Library&) = delete;
    Library& operator=(const Library&) = delete;
    ~Library() {
        if (topic != nullptr) {
            rd_kafka_topic_destroy(topic);
        }
        if (producer != nullptr) {
            static_cast<void>(
                rd_kafka_purge(producer, RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT));
            rd_kafka_destroy(producer);
        }
    }

    [[nodiscard]] TopicAnswer ask_for_topic(int milliseconds) const noexcept {
        const struct rd_kafka_metadata* found = nullptr;
        const rd_kafka_resp_err_t error =
            rd_kafka_metadata(producer, 0, topic, &found, milliseconds);
        if (error != RD_KAFKA_RESP_ERR_NO_ERROR) {
            return {.fault = rd_kafka_err2str(error), .is_reached = false};
        }
        const bool is_listed = found->topic_cnt == 1;
        const rd_kafka_resp_err_t fault =
            is_listed ? found->topics[0].err : RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART;
        rd_kafka_metadata_destroy(found);
        const bool is_there = fault == RD_KAFKA_RESP_ERR_NO_ERROR;
        return {.fault = is_there ? nullptr : rd_kafka_err2str(fault), .is_reached = true};
    }

    static void on_report(rd_kafka_t* /*producer*/, const rd_kafka_message_t* message,
                          void* owner) noexcept {
        auto& self = *static_cast<KafkaProducer*>(owner);
        const std::uint64_t id = id_of(message->_private);
        if (message->err == RD_KAFKA_RESP_ERR_NO_ERROR) {
            self.report(id, ItemOutcome::delivered, "");
            return;
        }
        const rd_kafka_msg_status_t status = rd_kafka_message_status(message);
        const bool is_too_long = message->err == RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE;
        const bool was_alone = message->len >= self.batch_octets_;
        self.batch_refused_ = self.batch_refused_ || (is_too_long && !was_alone);
        const bool is_refused = is_too_long && was_alone;
        const ItemOutcome not_there = is_refused ? ItemOutcome::refused : ItemOutcome::not_sent;
        const ItemOutcome outcome = status == RD_KAFKA_MSG_STATUS_PERSISTED ? ItemOutcome::delivered
                                    : status == RD_KAFKA_MSG_STATUS_POSSIBLY_PERSISTED
                                        ? ItemOutcome::unconfirmed
                                        : not_there;
        self.report(id, outcome, rd_kafka_err2str(message->err));
    }

    static void on_error(rd_kafka_t* producer, int error, const char* reason,
                         void* owner) noexcept {
        auto& self = *static_cast<KafkaProducer*>(owner);
        if (error == RD_KAFKA_RESP_ERR__FATAL) {
            std::array<char, kErrorOctets> words{};
            static_cast<void>(rd_kafka_fatal_error(producer, words.data(), words.size()));
            self.note_fault(true, true, words.data());
            return;
        }
        // It comes after the fault of each broker, and says less.
        const bool is_sum = error == RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN;
        self.note_fault(is_not_reached(error), false,
                        is_sum && !self.error_.empty() ? nullptr : reason);
    }
};

KafkaProducer::KafkaProducer(const KafkaOptions& options, std::size_t batch_octets,
                             ReportHandler handler)
    : handler_(std::move(handler)),
      is_command_secret_(options.secrets.contains(kTicketCommand)),
      batch_octets_(batch_octets),
      library_(std::make_unique<Library>()) {
    Conf conf = make_conf(options);
    set(conf.get(), "bootstrap.servers", options.brokers);
    set(conf.get(), "batch.size", std::to_string(batch_octets));
    rd_kafka_conf_set_opaque(conf.get(), this);
    rd_kafka_conf_set_dr_msg_cb(conf.get(), &Library::on_report);
    rd_kafka_conf_set_error_cb(conf.get(), &Library::on_error);
    library_->producer = make_producer(options, std::move(conf)).release();
    rd_kafka_topic_conf_t* const of_topic = rd_kafka_default_topic_conf_dup(library_->producer);
    rd_kafka_topic_conf_set_partitioner_cb(of_topic, &choose_partition);
    library_->topic = rd_kafka_topic_new(library_->producer, options.topic.c_str(), of_topic);
    if (library_->topic == nullptr) {
        throw ExportError("kafka: topic " + options.topic + ": " +
                          rd_kafka_err2str(rd_kafka_last_error()));
    }
    looks_ = HelperThread({.name = "kafka-topic"},
                          [this](ThreadPlaceInRegistry& place) { look_for_topic(place); });
}

KafkaProducer::~KafkaProducer() {
    {
        const std::lock_guard lock(mutex_);
        ends_ = true;
    }
    changed_.notify_all();
}

/// The body of the thread that asks for the topic: the library answers with a call that waits.
void KafkaProducer::look_for_topic(ThreadPlaceInRegistry& place) noexcept {
    constexpr std::chrono::seconds kPause{1};
    constexpr int kPatience = 1000;  // milliseconds
    std::unique_lock lock(mutex_);
    while (!ends_) {
        if (!there_) {
            lock.unlock();
            const TopicAnswer answer = library_->ask_for_topic(kPatience);
            const char* const fault = answer.fault;
            reached_ = reached_ || answer.is_reached;
            there_ = fault == nullptr;
            lock.lock();
            keep_text(topic_fault_, fault == nullptr ? "" : fault);
        }
        place.begin_to_wait();
        changed_.wait_for(lock, kPause, [this] { return ends_; });
        place.begin_work();
    }
}

std::string KafkaProducer::take_topic_fault() noexcept {
    const std::lock_guard lock(mutex_);
    return std::exchange(topic_fault_, {});
}

std::span<const KafkaProducer::Taken> KafkaProducer::produce(std::span<const RecordItem> items,
                                                             std::uint64_t first_id) noexcept {
    std::array<rd_kafka_message_t, kMostAtATime> messages;
    for (std::size_t place = 0; place < items.size(); ++place) {
        const RecordItem& item = items[place];
        // The library only copies key and value.
        const auto octets_of = [](auto octets) { return const_cast<std::byte*>(octets.data()); };
        rd_kafka_message_t& message = messages[place];
        message.payload = octets_of(item.value);
        message.len = item.value.size();
        message.key = item.key.empty() ? nullptr : octets_of(item.key);
        message.key_len = item.key.size();
        message._private = opaque_of(first_id + place, item.hash);
    }
    rd_kafka_produce_batch(library_->topic, RD_KAFKA_PARTITION_UA, RD_KAFKA_MSG_F_COPY,
                           messages.data(), static_cast<int>(items.size()));
    for (std::size_t place = 0; place < items.size(); ++place) {
        taken_[place] = taken_with(messages[place].err);
    }
    return std::span(taken_).first(items.size());
}

/// @param error  of the library, for an item that was to be produced
KafkaProducer::Taken KafkaProducer::taken_with(int error) noexcept {
    switch (error) {
        case RD_KAFKA_RESP_ERR_NO_ERROR:
            ++unresolved_;
            return Taken::yes;
        case RD_KAFKA_RESP_ERR__QUEUE_FULL:
            return Taken::full;
        case RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE:
            return Taken::too_long;
        default:
            note_fault(false, false, rd_kafka_err2str(static_cast<rd_kafka_resp_err_t>(error)));
            return Taken::failed;
    }
}

void KafkaProducer::poll() noexcept { static_cast<void>(rd_kafka_poll(library_->producer, 0)); }

void KafkaProducer::give_up_waiting() noexcept {
    static_cast<void>(
        rd_kafka_purge(library_->producer, RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_NON_BLOCKING));
    poll();
}

void KafkaProducer::give_up_all() noexcept {
    constexpr int kTries = 100;
    constexpr int kWait = 10;  // milliseconds
    static_cast<void>(rd_kafka_purge(library_->producer, RD_KAFKA_PURGE_F_QUEUE |
                                                             RD_KAFKA_PURGE_F_INFLIGHT |
                                                             RD_KAFKA_PURGE_F_NON_BLOCKING));
    for (int i = 0; i < kTries && unresolved_ > 0; ++i) {
        static_cast<void>(rd_kafka_poll(library_->producer, kWait));
    }
}

std::size_t KafkaProducer::check(const KafkaOptions& options) {
    Conf conf = make_conf(options);
    // Without brokers it connects nowhere. But it asks for tickets and tokens as soon as it begins.
    disarm_kinit(conf.get());
    if (asks_for_tokens(conf.get())) {
        set(conf.get(), "security.protocol", "plaintext");
    }
    // The library has it in decimal digits, whatever base it was given in.
    const std::size_t batch_octets = std::stoul(value_of(conf.get(), "batch.size"));
    static_cast<void>(make_producer(options, std::move(conf)));
    return batch_octets;
}

void KafkaProducer::report(std::uint64_t id, ItemOutcome outcome, const char* error) noexcept {
    --unresolved_;
    if (outcome == ItemOutcome::delivered) {
        there_ = true;
        error_.clear();
    }
    if (handler_) {
        handler_(id, outcome, error);
    }
}

void KafkaProducer::note_fault(bool is_away, bool is_final, const char* words) noexcept {
    if (is_away) {
        there_ = false;
        reached_ = false;
    }
    failed_ = failed_ || is_final;
    if (words == nullptr) {
        return;
    }
    keep_text(error_, without_secret(is_command_secret_, words));
}

}  // namespace tributary
