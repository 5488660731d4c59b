// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "export/export_error.hpp"
#include "export/options.hpp"
#include "export/outgoing_message.hpp"
#include "export/socket.hpp"

namespace tributary {

/// Messages of one collector on disk, in their order, oldest first:
///
///     00000000000000000007.spool   00000000000000000008.spool   ...
///     header | frame | frame | ...                                  a frame is a message and the
///               done    taken   untaken                             account of its records
///
/// A message that is taken to be sent stays on the disk until done(), so that nothing is lost when
/// the process is killed; it is marked in its frame then, and a file goes when all in it are done.
/// What a former process has left is taken first, as inherited, as far as its templates are those
/// of today. Nothing is forced to the disk: what the kernel had not written when the machine fails
/// is gone.
/// @thread  the export thread
class Spool {
public:
    /// @param fingerprint  of the templates that the messages need
    /// @errors  ExportError: the directory cannot be made, read or written, or another process
    ///          uses it
    Spool(const SpoolOptions& options, std::uint64_t fingerprint);
    /// Files of a full spool, more or less: each is a descriptor, and the least that is given up.
    static constexpr std::uint64_t kFiles = 64;

    Spool(const Spool&) = delete;
    Spool& operator=(const Spool&) = delete;
    ~Spool();

    [[nodiscard]] bool has_untaken() const noexcept;
    /// Whether a message of so many octets fits below max-size, its account included.
    [[nodiscard]] bool has_room_for(const OutgoingMessage& message) const noexcept;
    /// Appends a message, and tells it its place.
    ///
    /// @param stays_in_memory  it need not be taken; only while nothing is untaken
    /// @return  false: the disk refused it; errno tells why
    [[nodiscard]] bool append(OutgoingMessage& message, bool stays_in_memory) noexcept;
    /// Takes the oldest message that is not taken yet; nothing when there is none that can be read.
    /// What cannot be read is skipped and counted in damaged().
    [[nodiscard]] std::optional<OutgoingMessage> take();
    /// A message that was taken or appended is needed no more.
    void done(const SpoolPlace& place) noexcept;
    /// Whether the file with this place was not given up.
    [[nodiscard]] bool has(const SpoolPlace& place) const noexcept {
        return segments_.contains(place.file);
    }
    /// Whether it was not, and the next process will find it: nobody has removed it.
    [[nodiscard]] bool is_kept(const SpoolPlace& place) const noexcept;
    /// The account of one frame: of a former process's the sum alone means something here.
    struct Account {
        RecordTally tally;
        std::vector<RecordEntry> entries;  ///< of this process; otherwise none

        [[nodiscard]] RecordTally inherited() const noexcept {
            return entries.empty() ? tally : RecordTally{};
        }
    };
    using AccountHandler = std::function<void(const Account&)>;

    /// Gives up the oldest file. Messages that were taken from it have no place any more.
    ///
    /// @param handler  told of its messages that were not taken
    void drop_oldest(const AccountHandler& handler);
    /// Gives up what former processes have left for other templates than today's.
    void drop_unusable(const AccountHandler& handler);
    /// Gives up the files that somebody else has removed: no other process will find them.
    void drop_removed(const AccountHandler& handler);
    /// All messages that were not taken; the disk is read for those of this process alone.
    void visit_untaken(const AccountHandler& handler);
    /// The accounts of messages that were to be taken and could not be read.
    [[nodiscard]] std::vector<Account> take_damaged() { return std::exchange(lost_, {}); }
    /// Octets in all files.
    [[nodiscard]] std::uint64_t octets() const noexcept;
    /// How often something could not be read.
    [[nodiscard]] std::uint64_t damaged() const noexcept { return damaged_; }

private:
    struct Segment {
        FileDescriptor file;
        std::string path;
        std::uint64_t octets{};   ///< where the next frame goes
        std::uint64_t read_at{};  ///< frames before it are taken or done
        std::size_t taken{};      ///< frames in memory: not done, and before read_at
        bool is_inherited{};
        bool is_usable = true;  ///< its templates are today's
    };
    struct Frame;
    using Segments = std::map<std::uint64_t, Segment>;

    void lock();
    void inherit(std::error_code& fault);
    void inherit_file(std::uint64_t number, const std::string& path);
    [[nodiscard]] bool scan(Segment& segment) const;
    [[nodiscard]] std::optional<OutgoingMessage> take_from(std::uint64_t number, Segment& segment);
    [[nodiscard]] bool begin_segment() noexcept;
    [[nodiscard]] bool read_frame(const Segment& segment, std::uint64_t at, Frame& frame) const;
    [[nodiscard]] bool read_message(const Segment& segment, const Frame& frame, std::uint64_t at,
                                    OutgoingMessage& message) const;
    [[nodiscard]] bool read_account(const Segment& segment, const Frame& frame, std::uint64_t at,
                                    Account& account) const;
    template <class Predicate>
    void drop_if(Predicate is_to_go, const AccountHandler& handler);
    void visit(const Segment& segment, const AccountHandler& handler) const;
    void remove_if_done(Segments::iterator segment) noexcept;
    void remove(Segments::iterator segment) noexcept;

    std::string directory_;
    std::uint64_t max_octets_;
    std::uint64_t segment_octets_;
    std::uint64_t fingerprint_;
    FileDescriptor lock_;
    Segments segments_;  ///< by number
    std::uint64_t next_number_ = 1;
    std::uint64_t writing_ = 0;  ///< number of the file that is appended to; 0: none
    std::uint64_t damaged_ = 0;
    std::vector<Account> lost_;  ///< see take_damaged()
    std::vector<std::byte> buffer_;
};

}  // namespace tributary
