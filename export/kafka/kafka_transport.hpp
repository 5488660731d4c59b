// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "export/kafka/kafka_producer.hpp"
#include "export/threads/helper_thread.hpp"
#include "export/transport/transport.hpp"

namespace tributary {

/// Produces the items of messages (record_items.hpp) into a topic, and reports what the brokers
/// have acknowledged.
///
///     connecting -> open -> draining -> pausing -> connecting ...
///
/// A session lasts as long as every item is delivered, or refused for good. When one is not, later
/// items of its partition could overtake it. So the session drains: no item is taken, those that
/// have not left are given up, those under way get their outcome. Then collect_outcomes() reports
/// every item of the messages that are left, and a new session begins with a new producer: what was
/// not sent waits here in its old order.
///
/// A session begins when a broker has answered that it has the topic. In failover, a collector
/// whose brokers are away has no session, and so does not hold up the others. A producer that has
/// no session after kRenewAfter is replaced: the next one reads the files of secrets and
/// certificates anew, and does not have the library's pause between two tries. Within a session it
/// stays while the brokers are away: what was under way could no longer be acknowledged.
class KafkaTransport final : public Transport {
public:
    static constexpr std::chrono::seconds kRetryAfter{1};
    static constexpr std::chrono::seconds kRenewAfter{30};

    /// @errors  ExportError: the options cannot be used
    KafkaTransport(const CollectorOptions& collector, CollectorEvents& events);
    KafkaTransport(const KafkaTransport&) = delete;
    KafkaTransport& operator=(const KafkaTransport&) = delete;
    ~KafkaTransport() override;

    void advance(std::chrono::nanoseconds now) noexcept override;
    [[nodiscard]] std::uint64_t session() const noexcept override {
        return is_open_ ? session_ : 0;
    }
    [[nodiscard]] bool is_proven() const noexcept override {
        return is_open_ && !draining_ && producer_->is_there();
    }
    [[nodiscard]] bool restarts_numbers() const noexcept override { return false; }
    [[nodiscard]] SendResult send(std::span<const MessageView> messages,
                                  std::chrono::nanoseconds now) noexcept override;
    [[nodiscard]] SendOutcomes collect_outcomes(std::chrono::nanoseconds now) noexcept override;
    void settle_by_item(const ItemOutcomeHandler& taker, std::chrono::nanoseconds now) override;
    void try_now() noexcept override {
        retry_at_.reset();
        is_wanted_now_ = true;
    }
    [[nodiscard]] std::optional<std::chrono::nanoseconds> next_try() const noexcept override {
        return retry_at_;
    }
    void leave(std::chrono::nanoseconds now) noexcept override { drain(now); }
    void end_now(std::chrono::nanoseconds now) noexcept override;

private:
    /// A message whose items were produced.
    struct Taken {
        std::vector<ItemOutcome> items;
        std::size_t open{};  ///< items without an outcome
        bool all_delivered = true;
        bool is_final = true;  ///< each outcome is that of an item that is delivered or refused
    };

    void begin_session(std::chrono::nanoseconds now) noexcept;
    void end_session(std::chrono::nanoseconds now) noexcept;
    [[nodiscard]] bool takes_renewal(std::chrono::nanoseconds now) noexcept;
    void drain(std::chrono::nanoseconds now) noexcept;
    [[nodiscard]] std::string_view cause_of_end() const noexcept;
    void poll(std::chrono::nanoseconds now) noexcept;
    void report_absence(std::chrono::nanoseconds now) noexcept;
    void report(std::uint64_t id, ItemOutcome outcome, const char* error) noexcept;
    void settle(Taken& message, std::size_t item, ItemOutcome outcome) noexcept;
    /// What of a message was taken. Items of one that was taken in part are produced later.
    enum class Took : std::uint8_t { nothing, part, whole };
    [[nodiscard]] Took try_to_take(MessageView message) noexcept;
    [[nodiscard]] bool take(MessageView message);
    [[nodiscard]] bool produce_rest() noexcept;
    [[nodiscard]] MessageView produce(MessageView octets) noexcept;
    [[nodiscard]] std::size_t produce_some(std::span<const RecordItem> items) noexcept;
    void drop_first() noexcept;
    void retire() noexcept;
    [[nodiscard]] bool is_over() const noexcept {
        return draining_ && producer_ != nullptr && (gave_up_ || producer_->unresolved() == 0);
    }

    KafkaOptions options_;
    CollectorEvents& events_;
    std::unique_ptr<KafkaProducer> producer_;  ///< nullptr: no session
    std::uint64_t session_{};
    std::chrono::nanoseconds began_at_{};  ///< uptime: since when there is a producer
    bool is_wanted_now_{};                 ///< try_now() was called since takes_renewal()
    bool is_open_{};
    bool draining_{};
    bool gave_up_{};           ///< on outcomes that are not known at the end
    bool was_there_{};         ///< as last reported
    std::uint64_t refused_{};  ///< items since the last poll
    bool is_news_{};           ///< an item was not delivered since the last poll
    std::string fault_;        ///< why
    std::size_t batch_octets_;
    std::optional<std::chrono::nanoseconds> retry_at_;
    std::size_t by_item_{};        ///< of the oldest ones, as last reported
    std::deque<Taken> taken_;      ///< without a reported outcome, oldest first
    std::uint64_t first_taken_{};  ///< number of the first of them
    std::vector<std::byte> rest_;  ///< octets of the last one whose items found no room
    std::size_t rest_at_{};        ///< of these, produced
    std::size_t next_item_{};      ///< of the last one
};

/// @errors  ExportError
[[nodiscard]] std::unique_ptr<Transport> make_kafka_transport(const CollectorOptions& collector,
                                                              CollectorEvents& events);

}  // namespace tributary
