// SPDX-License-Identifier: Apache-2.0
#include "daemon/capture/capture_stream.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <exception>
#include <new>
#include <system_error>
#include <utility>

#include "daemon/capture/pcap_reader.hpp"

namespace tributary {
namespace {

constexpr std::size_t kInputOctets = std::size_t{128} << 10U;
constexpr const char* kNoMemory = "no memory";  ///< short: a string holds it without allocating

}  // namespace

std::string reason_of(const std::system_error& error) noexcept {
    try {
        return error.code().message();
    } catch (const std::bad_alloc&) {
        return kNoMemory;
    }
}

CaptureStream::CaptureStream(std::unique_ptr<CaptureDescriptor> file, const CaptureReading& reading,
                             std::uint16_t workers, const CaptureStreamSizes& sizes)
    : reading_(reading),
      workers_(workers),
      sizes_(sizes),
      file_(std::move(file)),
      buffer_(kInputOctets) {
    choose_decompressor();
}

CapturePiece CaptureStream::piece(std::size_t number, std::size_t unused) noexcept {
    std::unique_lock lock{mutex_};
    if (number > 0) {
        leave(number - 1);
    }
    Slot& slot = slots_[number % kPieces];
    while (number == made_ && (is_making_ || slot.holders > 0)) {
        if (!wait(lock)) {
            return {};
        }
    }
    if (number < made_) {
        return {.bytes = {slot.bytes.get(), slot.filled}, .is_last = slot.is_last};
    }
    std::span<const std::byte> rest;
    if (number > 0) {
        const Slot& before = slots_[(number - 1) % kPieces];
        rest = std::span<const std::byte>(before.bytes.get(), before.filled).last(unused);
    }
    is_making_ = true;
    lock.unlock();
    make(slot, rest);
    lock.lock();
    is_making_ = false;
    slot.holders = workers_;
    slot.is_last = has_ended_;
    ++made_;
    change_.notify_all();
    return {.bytes = {slot.bytes.get(), slot.filled}, .is_last = slot.is_last};
}

CaptureEnding CaptureStream::ending() const noexcept {
    const std::scoped_lock lock{mutex_};
    return reading_.abandoned.load() ? CaptureEnding::abandoned : ending_;
}

std::string CaptureStream::fault() const noexcept {
    const std::scoped_lock lock{mutex_};
    try {
        return fault_;
    } catch (const std::bad_alloc&) {
        return kNoMemory;
    }
}

/// The worker that makes the next piece may still copy the end of this one: its slot is not reused
/// before that piece is made.
void CaptureStream::leave(std::size_t number) noexcept {
    --slots_[number % kPieces].holders;
    change_.notify_all();
}

/// @return  false: the workers must stop
bool CaptureStream::wait(std::unique_lock<std::mutex>& lock) noexcept {
    constexpr std::chrono::milliseconds kLook{100};
    change_.wait_for(lock, kLook);
    return !reading_.abandoned.load();
}

void CaptureStream::make(Slot& slot, std::span<const std::byte> unused) noexcept {
    slot.filled = 0;
    try {
        if (unused.size() >= sizes_.longest_item) {
            end(CaptureEnding::damaged, "a frame or block is longer than " +
                                            std::to_string(sizes_.longest_item) +
                                            " octets, the limit for compressed captures and pipes");
            return;
        }
        make_room(slot, unused.size());
        if (!unused.empty()) {
            std::memcpy(slot.bytes.get(), unused.data(), unused.size());
        }
        slot.filled = unused.size();
        fill(slot, unused.size());
    } catch (const std::system_error& error) {
        end(CaptureEnding::unreadable, reason_of(error));
    } catch (const std::exception&) {
        end(CaptureEnding::unreadable, kNoMemory);
    }
}

/// Twice the octets that continue from the piece before, so that a long item is whole after few
/// pieces; at most the longest item.
void CaptureStream::make_room(Slot& slot, std::size_t unused) const {
    const std::size_t room = std::max(sizes_.piece, std::min(2 * unused, sizes_.longest_item));
    if (slot.room < room || slot.room > 4 * room) {
        slot.room = 0;
        slot.bytes.reset();
        slot.bytes = std::make_unique_for_overwrite<std::byte[]>(room);  // NOLINT
        slot.room = room;
    }
}

/// Fills a piece as far as possible without waiting, but in any case with a minimum: in the first
/// piece enough to recognise the capture's format, and for a long item as much as it already has.
void CaptureStream::fill(Slot& slot, std::size_t unused) {
    constexpr std::size_t kLongItem = std::size_t{64} << 10U;
    const std::size_t least = made_ == 0           ? PcapReader::kFileHeader
                              : unused > kLongItem ? unused
                                                   : 1;
    std::span<std::byte> room(slot.bytes.get() + slot.filled, slot.room - slot.filled);
    while (!room.empty() && !has_ended_) {
        const bool is_enough = slot.room - room.size() >= unused + least;
        if (is_enough && has_to_wait()) {
            break;
        }
        read_input();
        const bool is_sound = decompressor_->unpack(input_, room, input_has_ended_);
        slot.filled = slot.room - room.size();
        if (!is_sound) {
            end(CaptureEnding::damaged, decompressor_->fault());
        } else if (input_has_ended_ && input_.empty() && !room.empty()) {
            end_input();
        }
    }
}

/// Whether only the file's writer can bring more.
bool CaptureStream::has_to_wait() const noexcept {
    return input_.empty() && !input_has_ended_ && !file_->is_ready();
}

/// Reads on when all input is used up.
void CaptureStream::read_input() {
    if (!input_.empty() || input_has_ended_) {
        return;
    }
    const std::size_t octets = file_->read(buffer_);
    input_has_ended_ = octets == 0;
    octets_read_ += octets;
    input_ = std::span<const std::byte>(buffer_).first(octets);
}

void CaptureStream::end_input() {
    if (reading_.abandoned.load() || decompressor_->is_complete()) {
        end(CaptureEnding::whole, {});
    } else {
        end(CaptureEnding::damaged, "the file is cut off");
    }
}

/// Needs no memory for an ending other than damaged.
void CaptureStream::end(CaptureEnding ending, std::string fault) {
    has_ended_ = true;
    std::string text = std::move(fault);
    if (ending == CaptureEnding::damaged && !compression().empty()) {
        text = std::string(compression()) + ": " + text + ", in front of octet " +
               std::to_string(octets_read_ - input_.size()) + " of the file";
    }
    const std::scoped_lock lock{mutex_};
    ending_ = ending;
    fault_ = std::move(text);
}

/// The first octets are kept for the first piece.
void CaptureStream::choose_decompressor() {
    std::size_t got = 0;
    while (got < Decompressor::kMagicOctets && !input_has_ended_) {
        const std::size_t octets = file_->read(std::span(buffer_).subspan(got));
        input_has_ended_ = octets == 0;
        got += octets;
    }
    octets_read_ = file_->begin() + got;
    input_ = std::span<const std::byte>(buffer_).first(got);
    decompressor_ = decompressor_of(input_);
    if (decompressor_ == nullptr) {
        decompressor_ = make_copier();
    }
}

}  // namespace tributary
