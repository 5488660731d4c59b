// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <new>

namespace tributary {

/// Upper bound for the memory of an information model with IANA's elements, a session and its
/// templates.
inline constexpr std::size_t kFixbufOctets = std::size_t{8} << 20U;

/// libfixbuf ends the process when it gets no memory, so this is tested before. The memory that is
/// freed here is available to it, unless another thread takes it.
///
/// @errors  std::bad_alloc
inline void check_memory_for_fixbuf(std::size_t octets) {
    ::operator delete(::operator new(octets));  // a call that no compiler leaves out
}

}  // namespace tributary
