// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "export/options.hpp"
#include "export/record_items.hpp"
#include "export/threads/helper_thread.hpp"

namespace tributary {

/// Copies text; without memory it is empty then.
void keep_text(std::string& text, std::string_view words) noexcept;

/// A producer of librdkafka for one topic. Its threads run on the helper cores.
/// @thread  the export thread
class KafkaProducer {
public:
    /// Gets the outcome of an item that produce() has taken, once for each.
    ///
    /// @param id     given to produce()
    /// @param error  words of the library; empty when it was delivered
    using ReportHandler =
        std::function<void(std::uint64_t id, ItemOutcome outcome, const char* error)>;

    /// Bits of an item's number.
    static constexpr unsigned kIdBits = 32;

    /// Connects in the background.
    ///
    /// @param batch_octets  of the items that go to a partition together, at the most; an item
    ///                      that is longer goes alone
    /// @errors  ExportError: a property, or a file of a secret, cannot be used
    KafkaProducer(const KafkaOptions& options, std::size_t batch_octets, ReportHandler handler);
    KafkaProducer(const KafkaProducer&) = delete;
    KafkaProducer& operator=(const KafkaProducer&) = delete;
    /// Ends its threads. Items without an outcome are given up without a report.
    /// @thread  any; may wait for the network, some seconds
    ~KafkaProducer();

    enum class Taken : std::uint8_t {
        yes,
        full,      ///< not now: too many items have no outcome yet
        too_long,  ///< it is longer than `message.max.bytes`
        failed,    ///< see error()
    };
    static constexpr std::size_t kMostAtATime = 64;
    /// Copies items, in their order, and sends each to the partition that its hash selects. One
    /// call for several saves a tenth of the export thread's time for a record: the library then
    /// reads its clocks once, and locks the topic once.
    ///
    /// @param items     at most kMostAtATime
    /// @param first_id  of the first one; those of the others follow, all below 1 << kIdBits
    /// @return          what became of each; valid until the next call
    [[nodiscard]] std::span<const Taken> produce(std::span<const RecordItem> items,
                                                 std::uint64_t first_id) noexcept;
    /// Calls the handler for all outcomes that are known by now. Does not wait.
    void poll() noexcept;
    /// No outcome is reported any more: the handler's owner ends.
    void end_reports() noexcept { handler_ = nullptr; }
    /// Whether a broker has answered since the last fault of a connection.
    [[nodiscard]] bool is_reached() const noexcept { return reached_; }
    /// Items without an outcome.
    [[nodiscard]] std::size_t unresolved() const noexcept { return unresolved_; }
    /// Gives up items that have not left: they are `not_sent`.
    void give_up_waiting() noexcept;
    /// The same with those under way: these are `unconfirmed`. Waits up to a second for the
    /// reports.
    void give_up_all() noexcept;

    /// Whether a broker answers, and has the topic, as far as that is known: a helper thread asks
    /// until that is so, and again after the library has said that no broker can be reached.
    [[nodiscard]] bool is_there() const noexcept { return there_; }
    /// Whether the brokers have refused a batch of several items as too long since the last call:
    /// they take shorter ones, perhaps.
    [[nodiscard]] bool take_batch_refused() noexcept {
        return std::exchange(batch_refused_, false);
    }
    /// Whether it can send nothing any more, so that another producer is needed.
    [[nodiscard]] bool has_failed() const noexcept { return failed_; }
    /// The last fault of the connection or the producer, in the library's words, unless these may
    /// quote a secret; empty: none.
    [[nodiscard]] const std::string& error() const noexcept { return error_; }
    /// Why the topic was not found, once for each time that it was asked for; empty: it was found,
    /// or no answer has come.
    [[nodiscard]] std::string take_topic_fault() noexcept;

    /// Whether the library knows these properties, and takes these values, alone and together: it
    /// makes a producer of them, which connects nowhere, and ends it.
    ///
    /// @return  their `batch.size`, as the library reads it
    /// @errors  ExportError
    /// @thread  any
    /// @cost    a millisecond or so; more where it reads certificates
    static std::size_t check(const KafkaOptions& options);

private:
    struct Library;  ///< handles of librdkafka
    friend struct Library;

    void report(std::uint64_t id, ItemOutcome outcome, const char* error) noexcept;
    [[nodiscard]] Taken taken_with(int error) noexcept;
    /// @param words  nullptr: those of the fault before stay
    void note_fault(bool is_away, bool is_final, const char* words) noexcept;
    void look_for_topic(ThreadPlaceInRegistry& place) noexcept;

    ReportHandler handler_;
    std::size_t unresolved_{};
    std::atomic<bool> there_{};
    std::atomic<bool> reached_{};
    bool failed_{};
    bool batch_refused_{};
    bool is_command_secret_;  ///< the command for Kerberos tickets is one of the secrets
    std::size_t batch_octets_;
    std::string error_;
    std::array<Taken, kMostAtATime> taken_{};
    std::unique_ptr<Library> library_;
    std::mutex mutex_;  ///< guards the next two
    std::condition_variable changed_;
    bool ends_{};
    std::string topic_fault_;
    HelperThread looks_;  ///< the last member: its body uses the others
};

}  // namespace tributary
