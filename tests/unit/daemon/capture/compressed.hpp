// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lzma.h>
#include <zlib.h>
#include <zstd.h>

#include <array>
#include <catch2/catch.hpp>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tributary::test {

using Bytes = std::vector<std::byte>;

enum class Compression { gzip, xz, zstd };
inline constexpr std::array kCompressions{Compression::gzip, Compression::xz, Compression::zstd};

inline Bytes by_gzip(std::span<const std::byte> bytes) {
    constexpr int kGzip = 16;
    z_stream stream{};
    REQUIRE(deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, MAX_WBITS + kGzip, MAX_MEM_LEVEL,
                         Z_DEFAULT_STRATEGY) == Z_OK);
    Bytes out(deflateBound(&stream, bytes.size()));
    Bytes copy(bytes.begin(), bytes.end());
    stream.next_in = reinterpret_cast<Bytef*>(copy.data());
    stream.avail_in = static_cast<uInt>(copy.size());
    stream.next_out = reinterpret_cast<Bytef*>(out.data());
    stream.avail_out = static_cast<uInt>(out.size());
    REQUIRE(deflate(&stream, Z_FINISH) == Z_STREAM_END);
    out.resize(stream.total_out);
    deflateEnd(&stream);
    return out;
}

inline Bytes by_xz(std::span<const std::byte> bytes) {
    Bytes out(lzma_stream_buffer_bound(bytes.size()));
    std::size_t filled = 0;
    REQUIRE(lzma_easy_buffer_encode(6, LZMA_CHECK_CRC64, nullptr,
                                    reinterpret_cast<const std::uint8_t*>(bytes.data()),
                                    bytes.size(), reinterpret_cast<std::uint8_t*>(out.data()),
                                    &filled, out.size()) == LZMA_OK);
    out.resize(filled);
    return out;
}

inline Bytes by_zstd(std::span<const std::byte> bytes) {
    Bytes out(ZSTD_compressBound(bytes.size()));
    ZSTD_CCtx* const context = ZSTD_createCCtx();
    ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);  // as zstd(1) does
    const std::size_t filled =
        ZSTD_compress2(context, out.data(), out.size(), bytes.data(), bytes.size());
    ZSTD_freeCCtx(context);
    REQUIRE(ZSTD_isError(filled) == 0);
    out.resize(filled);
    return out;
}

inline Bytes compressed(Compression how, std::span<const std::byte> bytes) {
    switch (how) {
        case Compression::gzip:
            return by_gzip(bytes);
        case Compression::xz:
            return by_xz(bytes);
        case Compression::zstd:
            break;
    }
    return by_zstd(bytes);
}

}  // namespace tributary::test
