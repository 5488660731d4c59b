// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "export/export_error.hpp"
#include "export/file_descriptor.hpp"
#include "export/options.hpp"
#include "export/outgoing_message.hpp"
#include "export/spool/spool_segment.hpp"

namespace tributary {

/// Messages of one collector on disk, or batches of records for any of a group, in their order,
/// oldest first:
///
///     00000000000000000007.spool   00000000000000000008.spool   ...
///     header | frame | frame | ...                                  a frame is a message and the
///               done    taken   untaken                             account of its records
///
/// A message that is taken to be sent stays on the disk until done(), so that nothing is lost when
/// the process is killed. done() marks its frame, and a file is removed when all its frames are
/// done. Messages of a former process are taken first, as inherited, if their templates are those
/// of today. Nothing is forced to the disk: octets that the kernel had not written when the machine
/// fails are lost.
///
/// The account of each file is in memory (SpoolSegment), so that records that cannot be read from a
/// damaged file are counted exactly. In a former process's files, records without a frame header
/// are estimated from the octets.
///
/// The constructor only reads. The caller counts the records that it found, and then calls adopt(),
/// which gives up damaged ones: if the start fails in between, the next start counts the damage.
/// @thread  the export thread
class Spool {
public:
    /// @errors  ExportError: the directory cannot be made, read or written, or another process
    ///          uses it
    Spool(const SpoolOptions& options, const SpoolContent& content);
    /// Files of a full spool, more or less: each is a descriptor, and the least that is given up.
    static constexpr std::uint64_t kFiles = 64;

    Spool(const Spool&) = delete;
    Spool& operator=(const Spool&) = delete;
    ~Spool();

    /// The caller has counted inherited() and take_damaged(): damage is covered, and files without
    /// a needed message are removed. Call it before messages are appended or taken.
    void adopt() noexcept;
    /// Records of former processes that can be read and were not taken, with any templates.
    [[nodiscard]] RecordTally inherited() const noexcept;
    [[nodiscard]] bool has_untaken() const noexcept;
    /// Whether a message of so many octets fits below max-size, its account included.
    [[nodiscard]] bool has_room_for(const OutgoingMessage& message) const noexcept;
    /// Appends a message, and sets its place.
    ///
    /// @param stays_in_memory  it need not be taken; only while nothing is untaken
    /// @return  false: the disk refused it; see errno
    [[nodiscard]] bool append(OutgoingMessage& message, bool stays_in_memory) noexcept;
    /// Replaces a message that was taken, or stayed in memory, by what is left of it: a part has
    /// arrived. Its place stays.
    ///
    /// @return  false: it cannot be read, or the disk refuses it
    [[nodiscard]] bool shorten(const SpoolPlace& place, const OutgoingMessage& rest) noexcept;
    /// The numbers of a message's records; none: they have none, or they are not known.
    ///
    /// @errors  std::bad_alloc
    void read_numbers(const OutgoingMessage& message, std::vector<NumberRange>& ranges) const {
        content_.read_numbers(message.octets, ranges);
    }
    /// Takes the oldest message that is not taken yet; nothing when none can be read. Unreadable
    /// messages are skipped and counted in damaged().
    ///
    /// @errors  std::bad_alloc: no message was taken
    [[nodiscard]] std::optional<OutgoingMessage> take();
    /// A message that was taken or appended is needed no more.
    void done(const SpoolPlace& place) noexcept;
    /// Whether the file with this place was not given up.
    [[nodiscard]] bool has(const SpoolPlace& place) const noexcept {
        return segments_.contains(place.file);
    }
    /// Whether it was not given up, and its path still leads to it, so that the next process will
    /// find it.
    [[nodiscard]] bool is_kept(const SpoolPlace& place) const noexcept;
    using Account = SpoolAccount;
    using AccountHandler = SpoolSegment::AccountHandler;

    /// Gives up the oldest file. Messages that were taken from it have no place any more.
    ///
    /// @param handler  called with its messages that were not taken
    void drop_oldest(const AccountHandler& handler);
    /// Gives up messages of former processes with other templates than today's.
    void drop_unusable(const AccountHandler& handler);
    /// Gives up the files that another program has removed: no later process will find them.
    void drop_removed(const AccountHandler& handler);
    /// All records that were not taken.
    void visit_untaken(const AccountHandler& handler);
    /// The accounts of records that could not be read, each once: after construction those of
    /// former processes' files, later what take() has found.
    [[nodiscard]] std::vector<Account> take_damaged() { return std::exchange(lost_, {}); }
    /// Whether the numbers of records are kept for the RecordAccounting, from now on.
    void keep_numbers(bool are_kept) noexcept { keeps_numbers_ = are_kept; }
    /// The content from now on: of the same first layout, and the same format.
    void set_content(SpoolFingerprints&& content) noexcept { content_ = std::move(content); }
    /// All files may have so many octets from now on.
    void set_max_octets(std::uint64_t octets) noexcept {
        max_octets_ = octets;
        segment_octets_ = octets / kFiles;
    }
    /// Octets in all files.
    [[nodiscard]] std::uint64_t octets() const noexcept;
    /// Number of places that could not be read.
    [[nodiscard]] std::uint64_t damaged() const noexcept;

private:
    using Segments = std::map<std::uint64_t, SpoolSegment>;

    void lock();
    void inherit();
    void inherit_file(const std::string& name);
    void estimate_damage();
    void give_it_a_number(std::string& name);
    [[nodiscard]] bool begin_segment() noexcept;
    [[nodiscard]] FileDescriptor create_file(const std::string& path) noexcept;
    template <class Predicate>
    void drop_if(Predicate is_to_go, const AccountHandler& handler);
    void remove_if_done(Segments::iterator segment) noexcept;
    void remove(Segments::iterator segment) noexcept;

    std::string directory_;
    std::uint64_t max_octets_;
    std::uint64_t segment_octets_;
    SpoolFingerprints content_;
    FileDescriptor lock_;
    Segments segments_;  ///< by number
    std::uint64_t next_number_ = 1;
    std::uint64_t writing_ = 0;  ///< number of the file that is appended to; 0: none
    std::uint64_t seed_;         ///< of this process's entries
    bool keeps_numbers_{};
    SpoolScan scan_;             ///< of all former processes' files
    std::uint64_t damaged_ = 0;  ///< of files that are gone
    std::vector<Account> lost_;  ///< see take_damaged()
};

}  // namespace tributary
