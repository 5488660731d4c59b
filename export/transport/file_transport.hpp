// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "export/file_descriptor.hpp"
#include "export/transport/file_finisher.hpp"
#include "export/transport/former_part.hpp"
#include "export/transport/open_output.hpp"
#include "export/transport/transport.hpp"

namespace tributary {

/// Writes messages back to back into a file (RFC 5655). A file of a former run is kept: it gets a
/// name with the time of its last change, unless the user has chosen to overwrite it. The first
/// error is final, also when a disk has no room for a message at the beginning: the file is cut
/// back to its last whole message and written no more. A FIFO whose reader does not read takes
/// nothing for a while, as any other collector; disks are waited for.
///
/// With rotation the path is a pattern: `flows.ipfix` is written as
/// `flows-20261122T041500Z.ipfix.part` and loses `.part` when it is whole, which is when the next
/// one begins, or at the end. Each file is a session of its own: it begins with the templates and
/// with number 0. Its name is later than that of the file before, also if that was moved away. If
/// the system gives no descriptor for the next file, the present one goes on, and kRotateAgainAfter
/// later the next one is tried again. A file without a message is removed at its end. One process
/// at a time writes the files of a path.
class FileTransport final : public Transport {
public:
    static constexpr std::chrono::seconds kRotateAgainAfter{1};

    /// @errors  ExportError: the file cannot be created, or another process writes it
    FileTransport(const CollectorOptions& collector, CollectorEvents& events);
    FileTransport(const FileTransport&) = delete;
    FileTransport& operator=(const FileTransport&) = delete;
    ~FileTransport() override;

    void advance(std::chrono::nanoseconds now) noexcept override;
    [[nodiscard]] std::uint64_t session() const noexcept override { return failed_ ? 0 : session_; }
    [[nodiscard]] SendResult send(std::span<const MessageView> messages,
                                  std::chrono::nanoseconds now) noexcept override;
    [[nodiscard]] SendOutcomes collect_outcomes(std::chrono::nanoseconds now) noexcept override;
    void set_rotation(FileRotation&& rotation) noexcept override {
        rotation_ = std::move(rotation);
    }
    [[nodiscard]] bool failed() const noexcept override { return failed_; }

private:
    [[nodiscard]] bool rotates() const noexcept { return finisher_ != nullptr; }
    [[nodiscard]] bool is_full_for(MessageView message) const noexcept;
    /// A file that was created; nothing is written to it before begin().
    struct NewFile {
        std::string written_as;
        std::list<FinishedFile> to_finish;  ///< the step at its end, one; without rotation none
        OpenedOutput opened;
    };
    [[nodiscard]] NewFile create_file();
    [[nodiscard]] NewFile name_file();
    void begin(NewFile& next) noexcept;
    [[nodiscard]] NewFile create_first_file();
    void finish_former_parts(const std::vector<std::string>& parts);
    void hand_to_finisher() noexcept;
    void rotate(std::chrono::nanoseconds now) noexcept;
    void log_failures(std::chrono::nanoseconds now) noexcept;
    void fail(int cause, std::chrono::nanoseconds now) noexcept;
    [[nodiscard]] SendStatus write(MessageView message, std::chrono::nanoseconds now) noexcept;

    CollectorEvents& events_;
    std::string path_;
    FileRotation rotation_;
    bool replaces_;
    std::vector<std::string> former_;         ///< lines on former runs' files
    std::unique_ptr<FileFinisher> finisher_;  ///< none without rotation
    std::list<FinishedFile> to_finish_;       ///< see NewFile; of the file that is written
    FileDescriptor file_;
    std::uint64_t session_ = 1;
    off_t whole_octets_{};
    std::size_t sent_octets_{};  ///< of the next message, which a FIFO took in part
    std::string time_;           ///< in the name of the last file
    int number_{};               ///< of the last file among those of the same time
    std::size_t written_{};      ///< messages not reported by collect_outcomes() yet
    int no_room_{};              ///< an errno: at the beginning the disk had no room; 0: it had
    bool told_{};
    bool failed_{};
    std::chrono::nanoseconds opened_at_{};  ///< uptime
    std::chrono::nanoseconds last_now_{};
    std::chrono::nanoseconds rotates_after_{};  ///< uptime; after a try that failed
};

}  // namespace tributary
