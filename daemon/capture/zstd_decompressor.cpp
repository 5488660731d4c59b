// SPDX-License-Identifier: Apache-2.0
#include <zstd.h>
#include <zstd_errors.h>

#include <algorithm>
#include <bit>
#include <new>
#include <string_view>

#include "daemon/capture/decompressor.hpp"

namespace tributary {
namespace {

class ZstdDecompressor final : public Decompressor {
public:
    ZstdDecompressor() : stream_(ZSTD_createDStream()) {
        if (stream_ == nullptr) {
            throw std::bad_alloc();
        }
        static_cast<void>(
            ZSTD_DCtx_setParameter(stream_, ZSTD_d_windowLogMax, std::countr_zero(kMostWindow)));
    }
    ZstdDecompressor(const ZstdDecompressor&) = delete;
    ZstdDecompressor& operator=(const ZstdDecompressor&) = delete;
    ~ZstdDecompressor() override { ZSTD_freeDStream(stream_); }

    [[nodiscard]] bool unpack(std::span<const std::byte>& input, std::span<std::byte>& room,
                              bool /*is_last*/) noexcept override {
        // After a frame's last octet and without further input, the library would report the begin
        // of a frame.
        while (!room.empty() && (!input.empty() || !is_between())) {
            // The library returns nothing of an input that contains damaged data. So it gets only
            // the block that it requests, and no input while it returns the block before.
            const std::size_t octets = is_handing_out_ ? 0 : is_between() ? kFrameBegin : wanted_;
            ZSTD_inBuffer in{.src = input.data(), .size = std::min(octets, input.size()), .pos = 0};
            ZSTD_outBuffer out{.dst = room.data(), .size = room.size(), .pos = 0};
            wanted_ = ZSTD_decompressStream(stream_, &out, &in);
            const bool has_moved = in.pos > 0 || out.pos > 0;
            is_begun_ = true;
            input = input.subspan(in.pos);
            room = room.subspan(out.pos);
            if (ZSTD_isError(wanted_) != 0) {
                return false;
            }
            if (!has_moved && !is_handing_out_) {
                return true;
            }
            is_handing_out_ = out.pos == out.size;
        }
        return true;
    }
    [[nodiscard]] bool is_complete() const noexcept override { return is_begun_ && wanted_ == 0; }
    [[nodiscard]] std::string fault() const override {
        switch (ZSTD_getErrorCode(wanted_)) {
            case ZSTD_error_frameParameter_windowTooLarge:
                return "its window is larger than 128 MiB, the most that it may have (zstd "
                       "--long=28 "
                       "and above)";
            case ZSTD_error_memory_allocation:
                return "no memory";
            case ZSTD_error_prefix_unknown:
                return "what follows its end is not zstd";
            default:
                return ZSTD_getErrorName(wanted_);
        }
    }
    [[nodiscard]] std::string_view name() const noexcept override { return "zstd"; }

private:
    /// Octets by which the library recognises the type of a frame, from ZSTD_initDStream().
    static constexpr std::size_t kFrameBegin = 5;

    [[nodiscard]] bool is_between() const noexcept { return wanted_ == 0; }

    ZSTD_DStream* stream_;
    std::size_t wanted_ = 0;  ///< the library's last result: 0 at the end of a frame, or an error
    bool is_begun_ = false;
    bool is_handing_out_ = false;  ///< the room was full, and more output may follow
};

}  // namespace

std::unique_ptr<Decompressor> make_zstd_decompressor() {
    return std::make_unique<ZstdDecompressor>();
}

}  // namespace tributary
