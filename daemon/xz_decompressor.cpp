// SPDX-License-Identifier: Apache-2.0
#include <lzma.h>

#include <cstdint>
#include <new>
#include <string_view>

#include "daemon/decompressor.hpp"

namespace tributary {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20U;

class XzDecompressor final : public Decompressor {
public:
    XzDecompressor() {
        // What the library needs beside the dictionary is some 100 KiB.
        if (lzma_stream_decoder(&stream_, kMostWindow + kMiB, LZMA_CONCATENATED) != LZMA_OK) {
            throw std::bad_alloc();
        }
    }
    XzDecompressor(const XzDecompressor&) = delete;
    XzDecompressor& operator=(const XzDecompressor&) = delete;
    ~XzDecompressor() override { lzma_end(&stream_); }

    [[nodiscard]] bool unpack(std::span<const std::byte>& input, std::span<std::byte>& room,
                              bool is_last) noexcept override {
        while (!room.empty() && result_ != LZMA_STREAM_END && (is_last || !input.empty())) {
            stream_.next_in = reinterpret_cast<const std::uint8_t*>(input.data());
            stream_.avail_in = input.size();
            stream_.next_out = reinterpret_cast<std::uint8_t*>(room.data());
            stream_.avail_out = room.size();
            result_ = lzma_code(&stream_, is_last ? LZMA_FINISH : LZMA_RUN);
            input = input.last(stream_.avail_in);
            room = room.last(stream_.avail_out);
            if (result_ == LZMA_BUF_ERROR) {
                return true;  // there is no more: is_complete() says what that means
            }
            if (result_ != LZMA_OK && result_ != LZMA_STREAM_END) {
                return false;
            }
        }
        return true;
    }
    /// Where streams one after the other end is known only when there is no more input.
    [[nodiscard]] bool is_complete() const noexcept override { return result_ == LZMA_STREAM_END; }
    [[nodiscard]] std::string fault() const override {
        switch (result_) {
            case LZMA_MEM_ERROR:
                return "no memory";
            case LZMA_MEMLIMIT_ERROR:
                return "its dictionary wants " + std::to_string(lzma_memusage(&stream_) / kMiB) +
                       " MiB of memory, of 128 that it may have";
            case LZMA_OPTIONS_ERROR:
                return "it was compressed in a way that liblzma does not know";
            default:
                return "the data is damaged, or what follows its end is not xz";
        }
    }
    [[nodiscard]] std::string_view name() const noexcept override { return "xz"; }

private:
    lzma_stream stream_ = LZMA_STREAM_INIT;
    lzma_ret result_ = LZMA_OK;
};

}  // namespace

std::unique_ptr<Decompressor> make_xz_decompressor() { return std::make_unique<XzDecompressor>(); }

}  // namespace tributary
