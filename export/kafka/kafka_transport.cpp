// SPDX-License-Identifier: Apache-2.0
#include "export/kafka/kafka_transport.hpp"

#include <algorithm>
#include <array>
#include <new>
#include <system_error>
#include <utility>

#include "export/export_error.hpp"

namespace tributary {
namespace {

/// The number of an item: that of its message, and its place there. A number comes again after
/// 524,288 messages; half as many may be under way.
constexpr unsigned kItemBits = 13;
constexpr std::size_t kMostItems = std::size_t{1} << kItemBits;
constexpr std::uint64_t kMessageMask =
    (std::uint64_t{1} << (KafkaProducer::kIdBits - kItemBits)) - 1;

constexpr const char* kTooLong =
    "a record is longer than max.message.bytes of the topic, or message.max.bytes here";

constexpr std::string_view kNoAnswer = "no broker has answered";
constexpr std::string_view kGivenUp = "it is given up";

std::uint64_t id_of(std::uint64_t message, std::size_t item) noexcept {
    return (message & kMessageMask) << kItemBits | item;
}

}  // namespace

KafkaTransport::KafkaTransport(const CollectorOptions& collector, CollectorEvents& events)
    : options_(collector.kafka), events_(events), batch_octets_(KafkaProducer::check(options_)) {}

KafkaTransport::~KafkaTransport() { retire(); }

void KafkaTransport::advance(std::chrono::nanoseconds now) noexcept {
    if (producer_ == nullptr) {
        if (!retry_at_ || now >= *retry_at_) {
            begin_session(now);
        }
        return;
    }
    poll(now);
    if (takes_renewal(now)) {
        retire();
        begin_session(now);
        return;
    }
    if (!is_open_ && !draining_ && producer_->is_there()) {
        is_open_ = true;
        was_there_ = true;
        ++session_;
        events_.report(CollectorEventKind::connected, now, {});
    }
    static_cast<void>(produce_rest());
}

void KafkaTransport::begin_session(std::chrono::nanoseconds now) noexcept {
    retry_at_.reset();
    began_at_ = now;
    try {
        producer_ = std::make_unique<KafkaProducer>(
            options_, batch_octets_,
            [this](std::uint64_t id, ItemOutcome outcome, const char* error) {
                report(id, outcome, error);
            });
    } catch (const std::exception& fault) {  // ExportError, or no memory
        events_.report(CollectorEventKind::connect_failed, now, fault.what());
        retry_at_ = now + kRetryAfter;
        return;
    }
    was_there_ = false;
}

/// Whether the producer is to be replaced: it has not found the topic for kRenewAfter, or for
/// kRetryAfter where try_now() was called since the last call. Forgets that call of try_now().
bool KafkaTransport::takes_renewal(std::chrono::nanoseconds now) noexcept {
    const bool is_wanted = std::exchange(is_wanted_now_, false);
    const bool is_reached = is_open_ || draining_ || producer_->is_there();
    return !is_reached && now - began_at_ >= (is_wanted ? kRetryAfter : kRenewAfter);
}

/// Ends a session whose items all have their outcome.
void KafkaTransport::end_session(std::chrono::nanoseconds now) noexcept {
    const bool needs_shorter = producer_->take_batch_refused();
    batch_octets_ = std::max<std::size_t>(needs_shorter ? batch_octets_ / 2 : batch_octets_, 1);
    retire();
    is_open_ = false;
    draining_ = false;
    gave_up_ = false;
    fault_.clear();
    retry_at_ = now + (needs_shorter ? std::chrono::seconds{} : kRetryAfter);
}

/// Ends the producer in a thread of its own, because that may wait for the network for some
/// seconds. The thread is detached: it owns all that it uses.
void KafkaTransport::retire() noexcept {
    if (producer_ == nullptr) {
        return;
    }
    producer_->end_reports();
    try {
        HelperThread ends({.name = "kafka-end"},
                          [producer = std::shared_ptr<KafkaProducer>(std::move(producer_))](
                              ThreadPlaceInRegistry&) mutable { producer.reset(); });
        ends.detach();
    } catch (const std::exception&) {  // no thread, or no memory: it ends here
    }
    producer_.reset();
}

void KafkaTransport::drain(std::chrono::nanoseconds now) noexcept {
    if (producer_ == nullptr || std::exchange(draining_, true)) {
        return;
    }
    const CollectorEventKind kind =
        is_open_ ? CollectorEventKind::connection_lost : CollectorEventKind::connect_failed;
    events_.report(kind, now, cause_of_end());
    // What was not produced was not sent.
    rest_.clear();
    rest_at_ = 0;
    if (!taken_.empty()) {
        Taken& last = taken_.back();
        for (; next_item_ < last.items.size(); ++next_item_) {
            settle(last, next_item_, ItemOutcome::not_sent);
        }
    }
    producer_->give_up_waiting();
}

/// Why the session ends, or why there was none.
std::string_view KafkaTransport::cause_of_end() const noexcept {
    if (!fault_.empty()) {
        return fault_;
    }
    if (!producer_->error().empty()) {
        return producer_->error();
    }
    return is_open_ ? kGivenUp : kNoAnswer;
}

/// Reads the outcomes that are known, and what the library says of its brokers.
void KafkaTransport::poll(std::chrono::nanoseconds now) noexcept {
    producer_->poll();
    if (std::exchange(refused_, 0) > 0) {
        events_.report(CollectorEventKind::message_too_large, now, kTooLong);
    }
    report_absence(now);
    if (producer_->has_failed() && !draining_) {
        keep_text(fault_, producer_->error());
        is_news_ = true;
    }
    if (std::exchange(is_news_, false)) {
        drain(now);
    }
}

/// Logs why no broker can be reached, or has the topic, once for each cause; and, within a session,
/// that one can be reached again.
void KafkaTransport::report_absence(std::chrono::nanoseconds now) noexcept {
    const std::string fault = producer_->take_topic_fault();
    const bool is_there = producer_->is_there();
    if (!is_there && (was_there_ || !fault.empty())) {
        const bool is_told =
            producer_->error().empty() || (producer_->is_reached() && !fault.empty());
        const std::string& cause = is_told ? fault : producer_->error();
        events_.report(CollectorEventKind::connect_failed, now,
                       cause.empty() ? kNoAnswer : std::string_view(cause));
    }
    if (is_open_ && !draining_ && is_there && !was_there_) {
        events_.report(CollectorEventKind::reached_again, now, {});
    }
    was_there_ = is_there;
}

void KafkaTransport::report(std::uint64_t id, ItemOutcome outcome, const char* error) noexcept {
    const std::uint64_t message = ((id >> kItemBits) - first_taken_) & kMessageMask;
    if (message >= taken_.size()) {
        return;
    }
    settle(taken_[message], id & (kMostItems - 1), outcome);
    const bool is_final = outcome == ItemOutcome::delivered || outcome == ItemOutcome::refused;
    if (!is_final && !draining_) {
        is_news_ = true;
        keep_text(fault_, error);
    }
}

void KafkaTransport::settle(Taken& message, std::size_t item, ItemOutcome outcome) noexcept {
    message.items[item] = outcome;
    const bool is_refused = outcome == ItemOutcome::refused;
    message.all_delivered = message.all_delivered && outcome == ItemOutcome::delivered;
    message.is_final = message.is_final && (outcome == ItemOutcome::delivered || is_refused);
    refused_ += is_refused ? 1 : 0;
    --message.open;
}

SendResult KafkaTransport::send(std::span<const MessageView> messages,
                                std::chrono::nanoseconds now) noexcept {
    SendResult result{.taken = 0, .rest = SendStatus::would_block};
    for (const MessageView message : messages) {
        if (!is_open_ || draining_ || taken_.size() > kMessageMask / 2 || !produce_rest()) {
            return result;
        }
        const Took took = try_to_take(message);
        result.taken += took == Took::nothing ? 0 : 1;
        if (took != Took::whole) {
            return result;
        }
    }
    poll(now);
    result.rest = SendStatus::taken;
    return result;
}

KafkaTransport::Took KafkaTransport::try_to_take(MessageView message) noexcept {
    try {
        return take(message) ? Took::whole : Took::part;
    } catch (const std::bad_alloc&) {
        return Took::nothing;
    }
}

/// @return  whether all of its items were produced
/// @errors  std::bad_alloc: it was not taken
bool KafkaTransport::take(MessageView message) {
    Taken made{.items = {}, .open = count_items(message)};
    made.items.resize(made.open, ItemOutcome::unconfirmed);  // until its report comes
    rest_.reserve(message.size());  // what is left must find memory when the others are produced
    taken_.push_back(std::move(made));
    next_item_ = 0;
    const MessageView left = produce(message);
    rest_.assign(left.begin(), left.end());
    rest_at_ = 0;
    return rest_.empty();
}

/// Produces the items of the last message that are left.
///
/// @return  whether there is none any more
bool KafkaTransport::produce_rest() noexcept {
    const MessageView left = produce(MessageView(rest_).subspan(rest_at_));
    rest_at_ = rest_.size() - left.size();
    if (left.empty()) {
        rest_.clear();
        rest_at_ = 0;
    }
    return left.empty();
}

/// @param octets  items of the last message
/// @return        those that are left
MessageView KafkaTransport::produce(MessageView octets) noexcept {
    RecordItems items(octets);
    std::array<RecordItem, KafkaProducer::kMostAtATime> some;
    for (;;) {
        std::size_t count = 0;
        while (count < some.size() && items.next(some[count])) {
            ++count;
        }
        if (count == 0) {
            return {};
        }
        const std::size_t settled = produce_some(std::span(some).first(count));
        if (settled < count) {
            const MessageView first_left = some[settled].key;  // behind its header
            const auto place =
                first_left.data() - octets.data() - static_cast<std::ptrdiff_t>(kRecordItemHeader);
            return octets.subspan(static_cast<std::size_t>(place));
        }
    }
}

/// @param items  the next ones of the last message
/// @return       how many of them were taken or refused; the others stay
std::size_t KafkaTransport::produce_some(std::span<const RecordItem> items) noexcept {
    using Result = KafkaProducer::Taken;
    const std::uint64_t message = first_taken_ + taken_.size() - 1;
    const std::span<const Result> taken = producer_->produce(items, id_of(message, next_item_));
    std::size_t settled = taken.size();
    while (settled > 0 &&
           (taken[settled - 1] == Result::full || taken[settled - 1] == Result::failed)) {
        --settled;
    }
    for (std::size_t place = 0; place < settled; ++place) {
        if (taken[place] != Result::yes) {
            // The library took an item behind this one: the collector sends it again.
            settle(taken_.back(), next_item_ + place,
                   taken[place] == Result::too_long ? ItemOutcome::refused : ItemOutcome::not_sent);
        }
    }
    if (std::ranges::find(taken, Result::failed) != taken.end()) {
        is_news_ = true;
        keep_text(fault_, producer_->error());
    }
    next_item_ += settled;
    return settled;
}

SendOutcomes KafkaTransport::collect_outcomes(std::chrono::nanoseconds now) noexcept {
    SendOutcomes outcomes;
    if (producer_ == nullptr) {
        return outcomes;
    }
    poll(now);
    while (!taken_.empty() && taken_.front().open == 0 && taken_.front().all_delivered) {
        drop_first();
        ++outcomes.delivered;
    }
    const auto not_final = std::ranges::find_if(
        taken_, [](const Taken& message) { return message.open > 0 || !message.is_final; });
    by_item_ = is_over() ? taken_.size()
                         : static_cast<std::size_t>(std::distance(taken_.begin(), not_final));
    outcomes.by_item = by_item_;
    if (is_over() && by_item_ == 0) {
        end_session(now);
    }
    return outcomes;
}

void KafkaTransport::settle_by_item(const ItemOutcomeHandler& taker, std::chrono::nanoseconds now) {
    for (; by_item_ > 0; --by_item_) {
        taker(taken_.front().items);
        drop_first();
    }
    if (is_over()) {
        end_session(now);
    }
}

void KafkaTransport::drop_first() noexcept {
    taken_.pop_front();
    ++first_taken_;
}

void KafkaTransport::end_now(std::chrono::nanoseconds now) noexcept {
    if (producer_ == nullptr) {
        return;
    }
    drain(now);
    producer_->give_up_all();
    if (producer_->unresolved() > 0) {  // its threads hang: what they have may have left
        producer_->end_reports();
        gave_up_ = true;
    }
}

std::unique_ptr<Transport> make_kafka_transport(const CollectorOptions& collector,
                                                CollectorEvents& events) {
    return std::make_unique<KafkaTransport>(collector, events);
}

}  // namespace tributary
