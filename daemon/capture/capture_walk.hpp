// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <utility>

#include "daemon/capture/capture_reader.hpp"
#include "daemon/capture/open_capture.hpp"

namespace tributary {

/// One worker's walk through one capture.
///
/// @thread  one
class CaptureWalk {
public:
    /// An empty walk, at its end.
    CaptureWalk() = default;
    explicit CaptureWalk(std::shared_ptr<OpenCapture> capture) noexcept
        : capture_(std::move(capture)), piece_(capture_->piece(0, 0)), reader_(piece_.bytes) {}

    /// Steps over one item, as CaptureReader does. `pause`: call read_on() before the next item;
    /// all frames so far are valid until then.
    [[nodiscard]] CaptureItem next(CaptureFrame& out) noexcept {
        const CaptureItem item = reader_.next(out);
        if (item == CaptureItem::end || item == CaptureItem::cut) [[unlikely]] {
            return pause_or_end(item, reader_);
        }
        return item;
    }

    /// @cost  unpacks or reads a piece, or waits for other workers
    void read_on() noexcept {
        piece_ = capture_->piece(++number_, reader_.unread());
        reader_.go_on(piece_.bytes);
    }

    /// Finds the first item ahead that is not `other_block`, without moving.
    ///
    /// @param out  written when the item is a frame
    /// @return     `pause`: it is not in memory yet
    /// @cost       a copy of the reader; for one call per file
    [[nodiscard]] CaptureItem look_ahead(CaptureFrame& out) const noexcept {
        try {
            CaptureReader ahead = reader_;
            CaptureItem item = ahead.next(out);
            while (item == CaptureItem::other_block) {
                item = ahead.next(out);
            }
            return item == CaptureItem::frame || item == CaptureItem::unknown_interface
                       ? item
                       : pause_or_end(item, ahead);
        } catch (const std::bad_alloc&) {
            return CaptureItem::end;  // of the copy: the items ahead stay unknown
        }
    }

    /// After `cut`: why the bytes so far are no capture, whatever follows; empty: they are one, or
    /// its beginning.
    [[nodiscard]] std::string_view damage() const noexcept { return reader_.damage(); }
    /// After `end` or `cut`: how the bytes of the file ended, as far as they were read. The reason
    /// is the stream's fault, or else the damage().
    [[nodiscard]] CaptureEnding ending() const noexcept { return capture_->ending(); }
    [[nodiscard]] std::string fault() const noexcept {
        return reader_.damage().empty() ? capture_->fault() : text_of(reader_.damage());
    }

    /// nullptr: the walk is through nothing.
    [[nodiscard]] const std::shared_ptr<OpenCapture>& capture() const noexcept { return capture_; }

private:
    [[nodiscard]] static std::string text_of(std::string_view text) noexcept {
        try {
            return std::string(text);
        } catch (const std::bad_alloc&) {
            return "no memory";  // short: needs no memory
        }
    }

    [[nodiscard]] CaptureItem pause_or_end(CaptureItem item,
                                           const CaptureReader& reader) const noexcept {
        if (!reader.damage().empty()) {
            return item;  // no further piece completes it
        }
        if (!piece_.is_last) {
            return CaptureItem::pause;
        }
        const bool is_damaged = capture_ != nullptr && capture_->ending() == CaptureEnding::damaged;
        return is_damaged ? CaptureItem::cut : item;
    }

    std::shared_ptr<OpenCapture> capture_;
    CapturePiece piece_;
    std::size_t number_ = 0;  ///< of the piece
    CaptureReader reader_;
};

}  // namespace tributary
