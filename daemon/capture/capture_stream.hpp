// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <system_error>
#include <vector>

#include "daemon/capture/capture_descriptor.hpp"
#include "daemon/capture/decompressor.hpp"

namespace tributary {

/// A part of a capture's bytes in memory.
struct CapturePiece {
    std::span<const std::byte> bytes;
    bool is_last = true;
};

/// How a capture's bytes end.
enum class CaptureEnding : std::uint8_t {
    whole,       ///< with the end of the file
    damaged,     ///< compressed data are damaged or cut, or an item is too long
    unreadable,  ///< the file cannot be read on
    abandoned,   ///< all workers stop
};

struct CaptureStreamSizes {
    std::size_t piece = std::size_t{256} << 10U;  ///< octets; stays in a core's cache
    /// Octets of the longest frame or block; libpcap's own limit for a frame is 256 KiB.
    std::size_t longest_item = std::size_t{16} << 20U;
};

/// The error in words; "no memory" if there is none for them.
[[nodiscard]] std::string reason_of(const std::system_error& error) noexcept;

/// The bytes of an unmapped capture (compressed, or from a pipe), for several workers that each
/// walk all of them.
///
///     file --read--> 128 KiB --unpack--> piece n+3 | piece n+2 | piece n+1 | ...
///                                            ^ fastest worker        ^ slowest
///
/// At most kPieces pieces are in memory, for any size of the file. The first worker that comes to a
/// piece unpacks it, the last that leaves it frees its room, and a worker so many pieces ahead of
/// another waits for it. A piece begins with the unused octets of the one before, because a frame
/// continues in it. All workers leave the same octets unused, so those of the first worker hold for
/// all.
///
/// @thread  any; a worker's calls are its own
class CaptureStream {
public:
    static constexpr std::size_t kPieces = 8;

    /// Reads the file's first bytes, to recognise a compressed file.
    ///
    /// @param reading  outlives the stream, like the file
    /// @param workers  that each ask for every piece
    /// @errors         std::system_error, std::bad_alloc
    CaptureStream(std::unique_ptr<CaptureDescriptor> file, const CaptureReading& reading,
                  std::uint16_t workers, const CaptureStreamSizes& sizes);

    /// @param number  one more than the worker's last piece, which it leaves with this call; from 0
    /// @param unused  octets at the end of that last piece that are no whole item
    /// @return        its bytes are valid until the worker's next call; in a stream with one worker
    ///                until the call for the piece that is kPieces further on
    /// @cost          unpacks the piece, or waits for the worker that does, or for slower ones
    [[nodiscard]] CapturePiece piece(std::size_t number, std::size_t unused) noexcept;

    /// The ending of the last piece, once it was returned.
    [[nodiscard]] CaptureEnding ending() const noexcept;
    /// Why it is not whole: "gzip: incorrect data check, in front of octet 100 of the file".
    [[nodiscard]] std::string fault() const noexcept;
    /// "gzip"; empty: the file is not compressed.
    [[nodiscard]] std::string_view compression() const noexcept { return decompressor_->name(); }

private:
    struct Slot {
        std::unique_ptr<std::byte[]> bytes;  // NOLINT(*-avoid-c-arrays): its size is chosen once
        std::size_t room = 0;
        std::size_t filled = 0;
        std::uint16_t holders = 0;  ///< workers that have not left the piece
        bool is_last = false;
    };

    [[nodiscard]] bool has_to_wait() const noexcept;
    void read_input();
    void choose_decompressor();
    void leave(std::size_t number) noexcept;
    [[nodiscard]] bool wait(std::unique_lock<std::mutex>& lock) noexcept;
    void make(Slot& slot, std::span<const std::byte> unused) noexcept;
    void make_room(Slot& slot, std::size_t unused) const;
    void fill(Slot& slot, std::size_t unused);
    void end(CaptureEnding ending, std::string fault);
    void end_input();

    const CaptureReading& reading_;
    const std::uint16_t workers_;
    const CaptureStreamSizes sizes_;

    // Used by the worker that unpacks.
    std::unique_ptr<CaptureDescriptor> file_;
    std::unique_ptr<Decompressor> decompressor_;
    std::vector<std::byte> buffer_;     ///< for reading
    std::span<const std::byte> input_;  ///< the unused part of it
    std::uint64_t octets_read_ = 0;     ///< including those before the file's begin()
    bool input_has_ended_ = false;

    mutable std::mutex mutex_;
    std::condition_variable change_;  ///< a piece was made or left
    // Guarded by the mutex, except the slot in filling.
    std::array<Slot, kPieces> slots_;
    std::size_t made_ = 0;  ///< pieces
    bool is_making_ = false;
    CaptureEnding ending_ = CaptureEnding::whole;
    bool has_ended_ = false;
    std::string fault_;
};

}  // namespace tributary
