// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <new>

namespace tributary {

/// What an information model with IANA's elements, a session and its templates take at the most.
inline constexpr std::size_t kFixbufOctets = std::size_t{8} << 20U;

/// libfixbuf ends the process when it gets no memory: better to find out before. What is freed here
/// is at hand for it, unless another thread takes it.
///
/// @errors  std::bad_alloc
inline void check_memory_for_fixbuf(std::size_t octets) {
    ::operator delete(::operator new(octets));  // a call that no compiler leaves out
}

}  // namespace tributary
