// SPDX-License-Identifier: Apache-2.0
#include <lzma.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <new>
#include <string_view>

#include "daemon/capture/decompressor.hpp"

namespace tributary {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20U;

class XzDecompressor final : public Decompressor {
public:
    XzDecompressor() {
        begin_stream();
        if (result_ != LZMA_OK) {
            throw std::bad_alloc();
        }
    }
    XzDecompressor(const XzDecompressor&) = delete;
    XzDecompressor& operator=(const XzDecompressor&) = delete;
    ~XzDecompressor() override { lzma_end(&stream_); }

    [[nodiscard]] bool unpack(std::span<const std::byte>& input, std::span<std::byte>& room,
                              bool is_last) noexcept override {
        while (!room.empty()) {
            if (is_between_ && !go_on_between(input, is_last)) {
                return result_ == LZMA_OK;
            }
            if (input.empty() && !is_last) {
                return true;
            }
            unpack_some(input, room);
            if (result_ == LZMA_BUF_ERROR) {  // no more input: see is_complete()
                result_ = is_last && is_other() ? LZMA_FORMAT_ERROR : LZMA_OK;
                return result_ == LZMA_OK;
            }
            is_between_ = result_ == LZMA_STREAM_END;
            if (!is_between_ && result_ != LZMA_OK) {
                return false;
            }
            result_ = LZMA_OK;
            streams_ += is_between_ ? 1 : 0;
        }
        return true;
    }
    [[nodiscard]] bool is_complete() const noexcept override { return is_between_; }
    [[nodiscard]] std::string fault() const override {
        switch (result_) {
            case LZMA_MEM_ERROR:
                return "no memory";
            case LZMA_MEMLIMIT_ERROR:
                return "its dictionary wants " + std::to_string(lzma_memusage(&stream_) / kMiB) +
                       " MiB of memory, of 128 that it may have";
            case LZMA_OPTIONS_ERROR:
                return "its compression is unknown to liblzma";
            case LZMA_FORMAT_ERROR:
                return "what follows its end is not xz";
            default:
                return "the data is damaged";
        }
    }
    [[nodiscard]] std::string_view name() const noexcept override { return "xz"; }

private:
    static constexpr std::array<std::uint8_t, 6> kMagic{0xFD, '7', 'z', 'X', 'Z', 0};

    void begin_stream() noexcept {
        // Beside the dictionary the library needs some 100 KiB.
        result_ = lzma_stream_decoder(&stream_, kMostWindow + kMiB, 0);
        padding_ = 0;
        is_between_ = false;
    }

    /// Between two streams and at the end there may be zeros, four at a time. The library's own
    /// reading of several streams cannot distinguish a few other octets, fewer than a stream's
    /// header, from a cut header.
    ///
    /// @return  false: the input is only padding, or the padding is damaged
    /// @source  The .xz File Format §2.2
    bool go_on_between(std::span<const std::byte>& input, bool is_last) noexcept {
        const auto next =
            std::ranges::find_if(input, [](std::byte octet) { return octet != std::byte{0}; });
        const auto zeros = static_cast<std::size_t>(next - input.begin());
        input = input.subspan(zeros);
        padding_ += zeros;
        if ((is_last || !input.empty()) && padding_ % 4 != 0) {
            result_ = LZMA_DATA_ERROR;
            return false;
        }
        if (input.empty()) {
            return false;
        }
        begin_stream();
        return result_ == LZMA_OK;
    }

    void unpack_some(std::span<const std::byte>& input, std::span<std::byte>& room) noexcept {
        for (std::size_t i = 0; i < input.size() && stream_.total_in + i < begin_.size(); ++i) {
            begin_[stream_.total_in + i] = std::to_integer<std::uint8_t>(input[i]);
        }
        stream_.next_in = reinterpret_cast<const std::uint8_t*>(input.data());
        stream_.avail_in = input.size();
        stream_.next_out = reinterpret_cast<std::uint8_t*>(room.data());
        stream_.avail_out = room.size();
        result_ = lzma_code(&stream_, LZMA_RUN);
        input = input.last(stream_.avail_in);
        room = room.last(stream_.avail_out);
    }

    /// Whether the octets after a stream do not begin like a stream.
    [[nodiscard]] bool is_other() const noexcept {
        const auto octets =
            static_cast<std::ptrdiff_t>(std::min<std::uint64_t>(stream_.total_in, kMagic.size()));
        return streams_ > 0 && !std::equal(begin_.begin(), begin_.begin() + octets, kMagic.begin());
    }

    lzma_stream stream_ = LZMA_STREAM_INIT;
    lzma_ret result_ = LZMA_OK;
    bool is_between_ = false;                          ///< outside a stream
    std::size_t streams_ = 0;                          ///< whole ones
    std::size_t padding_ = 0;                          ///< zeros since the last stream
    std::array<std::uint8_t, kMagic.size()> begin_{};  ///< of the stream
};

}  // namespace

std::unique_ptr<Decompressor> make_xz_decompressor() { return std::make_unique<XzDecompressor>(); }

}  // namespace tributary
