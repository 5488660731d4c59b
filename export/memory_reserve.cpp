// SPDX-License-Identifier: Apache-2.0
#include "export/memory_reserve.hpp"

#include <new>

namespace tributary {

thread_local constinit MemoryReserve* MemoryReserve::current = nullptr;

MemoryReserve::~MemoryReserve() {
    if (current == this) {
        current = nullptr;
    }
}

void MemoryReserve::take() noexcept {
    std::set_new_handler(give_out);  // of the whole process; the same each time
    current = nullptr;               // it cannot be filled from itself
    memory_.reset(new (std::nothrow) std::byte[kOctets]);
    current = this;
}

/// operator new calls this before it fails, and tries again when it returns.
void MemoryReserve::give_out() {
    if (current == nullptr || current->memory_ == nullptr) {
        throw std::bad_alloc();
    }
    current->memory_.reset();
}

}  // namespace tributary
