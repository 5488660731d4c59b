// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "export/options.hpp"

namespace tributary::test {

/// All values in the topic, by partition, in order, of any broker.
[[nodiscard]] inline std::map<int, std::vector<std::string>> read_topic(const KafkaOptions& options,
                                                                        int partitions) {
    rd_kafka_conf_t* const conf = rd_kafka_conf_new();
    std::array<char, 512> error{};
    rd_kafka_conf_set(conf, "bootstrap.servers", options.brokers.c_str(), error.data(),
                      error.size());
    rd_kafka_conf_set(conf, "group.id", "test", error.data(), error.size());
    rd_kafka_conf_set(conf, "enable.partition.eof", "true", error.data(), error.size());
    rd_kafka_t* const consumer = rd_kafka_new(RD_KAFKA_CONSUMER, conf, error.data(), error.size());
    rd_kafka_poll_set_consumer(consumer);
    rd_kafka_topic_partition_list_t* const all = rd_kafka_topic_partition_list_new(partitions);
    for (int i = 0; i < partitions; ++i) {
        rd_kafka_topic_partition_list_add(all, options.topic.c_str(), i)->offset =
            RD_KAFKA_OFFSET_BEGINNING;
    }
    rd_kafka_assign(consumer, all);
    rd_kafka_topic_partition_list_destroy(all);
    std::map<int, std::vector<std::string>> values;
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds{20};
    for (int ended = 0; ended < partitions && std::chrono::steady_clock::now() < deadline;) {
        rd_kafka_message_t* const message = rd_kafka_consumer_poll(consumer, 100);
        if (message == nullptr) {
            continue;
        }
        ended += message->err == RD_KAFKA_RESP_ERR__PARTITION_EOF ? 1 : 0;
        if (message->err == RD_KAFKA_RESP_ERR_NO_ERROR) {
            values[message->partition].emplace_back(static_cast<const char*>(message->payload),
                                                    message->len);
        }
        rd_kafka_message_destroy(message);
    }
    rd_kafka_destroy(consumer);
    return values;
}

/// Brokers of librdkafka's own mock, in this process, with one topic.
class KafkaMock {
public:
    static constexpr int kProduce = 0;  ///< the request's number in Kafka's protocol

    explicit KafkaMock(int partitions) {
        std::array<char, 512> error{};
        rd_kafka_conf_t* const conf = rd_kafka_conf_new();
        rd_kafka_conf_set_log_cb(conf, nullptr);
        owner_ = rd_kafka_new(RD_KAFKA_PRODUCER, conf, error.data(), error.size());
        if (owner_ == nullptr) {
            throw std::runtime_error(error.data());
        }
        cluster_ = rd_kafka_mock_cluster_new(owner_, 1);
        rd_kafka_mock_topic_create(cluster_, "flows", partitions, 1);
    }
    KafkaMock(const KafkaMock&) = delete;
    KafkaMock& operator=(const KafkaMock&) = delete;
    ~KafkaMock() {
        rd_kafka_mock_cluster_destroy(cluster_);
        rd_kafka_destroy(owner_);
    }

    [[nodiscard]] CollectorOptions collector() const {
        CollectorOptions options;
        options.transport = TransportKind::kafka;
        options.kafka.brokers = rd_kafka_mock_cluster_bootstraps(cluster_);
        options.kafka.topic = "flows";
        options.kafka.properties["linger.ms"] = "0";
        // The mock takes a batch although one before it was refused, which no broker does of an
        // idempotent producer. The library concludes from the later one that both are there.
        options.kafka.properties["max.in.flight.requests.per.connection"] = "1";
        return options;
    }
    /// The next requests are answered with this error.
    void refuse(rd_kafka_resp_err_t error, std::size_t requests) {
        for (; requests > 0; --requests) {
            rd_kafka_mock_push_request_errors(cluster_, kProduce, 1, error);
        }
    }
    void set_down() { rd_kafka_mock_broker_set_down(cluster_, 1); }
    void set_up() { rd_kafka_mock_broker_set_up(cluster_, 1); }
    /// Answers come so late.
    void set_delay(std::chrono::milliseconds delay) {
        rd_kafka_mock_broker_set_rtt(cluster_, 1, static_cast<int>(delay.count()));
    }

    /// All values in the topic, by partition, in order.
    [[nodiscard]] std::map<int, std::vector<std::string>> read(int partitions) const {
        return read_topic(collector().kafka, partitions);
    }

private:
    rd_kafka_t* owner_{};
    rd_kafka_mock_cluster_t* cluster_{};
};

}  // namespace tributary::test
