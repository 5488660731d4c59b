// SPDX-License-Identifier: Apache-2.0
#include <zlib.h>

#include <algorithm>
#include <limits>
#include <new>
#include <string_view>

#include "daemon/capture/decompressor.hpp"

namespace tributary {
namespace {

class GzipDecompressor final : public Decompressor {
public:
    GzipDecompressor() {
        constexpr int kGzipOnly = 16;
        if (inflateInit2(&stream_, MAX_WBITS + kGzipOnly) != Z_OK) {
            throw std::bad_alloc();
        }
    }
    GzipDecompressor(const GzipDecompressor&) = delete;
    GzipDecompressor& operator=(const GzipDecompressor&) = delete;
    ~GzipDecompressor() override { inflateEnd(&stream_); }

    [[nodiscard]] bool unpack(std::span<const std::byte>& input, std::span<std::byte>& room,
                              bool /*is_last*/) noexcept override {
        while (true) {
            if (is_between_ && !begin_member(input)) {
                return result_ == Z_OK;
            }
            const int result = inflate_some(input, room);
            if (result == Z_STREAM_END) {
                is_between_ = true;
                members_ += 1;
            } else if (result == Z_BUF_ERROR || (result == Z_OK && room.empty())) {
                return true;  // it needs more input or room
            } else if (result != Z_OK) {
                result_ = result;
                return false;
            }
        }
    }
    [[nodiscard]] bool is_complete() const noexcept override { return is_between_ && members_ > 0; }
    [[nodiscard]] std::string fault() const override {
        if (result_ == Z_MEM_ERROR) {
            return "no memory";
        }
        if (members_ > 0 && stream_.total_out == 0) {
            return "what follows its end is not gzip";
        }
        return stream_.msg != nullptr ? stream_.msg : "the data is damaged";
    }
    [[nodiscard]] std::string_view name() const noexcept override { return "gzip"; }

private:
    /// Between two members and at the end there may be zeros (tapes, block devices); gzip(1) skips
    /// them too.
    /// @return  false: the input holds only zeros, or no member
    bool begin_member(std::span<const std::byte>& input) noexcept {
        const auto member =
            std::ranges::find_if(input, [](std::byte octet) { return octet != std::byte{0}; });
        input = input.subspan(static_cast<std::size_t>(member - input.begin()));
        if (input.empty()) {
            return false;
        }
        inflateReset(&stream_);
        // zlib checks two octets together, and would wait for the second.
        constexpr std::byte kBegin{0x1F};
        if (input.front() != kBegin) {
            result_ = Z_DATA_ERROR;
            return false;
        }
        is_between_ = false;
        return true;
    }

    int inflate_some(std::span<const std::byte>& input, std::span<std::byte>& room) noexcept {
        constexpr std::size_t kMost = std::numeric_limits<uInt>::max();
        const auto input_octets = static_cast<uInt>(std::min(input.size(), kMost));
        const auto room_octets = static_cast<uInt>(std::min(room.size(), kMost));
        // zlib's pointer is not to const, and it writes nothing there.
        stream_.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(input.data()));  // NOLINT
        stream_.avail_in = input_octets;
        stream_.next_out = reinterpret_cast<Bytef*>(room.data());
        stream_.avail_out = room_octets;
        const int result = inflate(&stream_, Z_NO_FLUSH);
        input = input.subspan(input_octets - stream_.avail_in);
        room = room.subspan(room_octets - stream_.avail_out);
        return result;
    }

    z_stream stream_{};
    bool is_between_ = true;   ///< outside a member
    std::size_t members_ = 0;  ///< whole ones
    int result_ = Z_OK;        ///< the fault
};

}  // namespace

std::unique_ptr<Decompressor> make_gzip_decompressor() {
    return std::make_unique<GzipDecompressor>();
}

}  // namespace tributary
