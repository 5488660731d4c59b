// SPDX-License-Identifier: Apache-2.0
#include "export/threads/helper_thread.hpp"

#include <utility>

#include "export/threads/helper_cores.hpp"

namespace tributary {

HelperThread::HelperThread(HelperKind kind, Body body)
    : thread_([kind = std::move(kind), body = std::move(body)] {
          ThreadPlaceInRegistry place(kind.name, ThreadRole::helper, kind.patience);
          // A core that is refused meanwhile, by a changed cpuset, is no reason not to work.
          static_cast<void>(move_to_helper_cores() == 0);
          body(place);
      }) {}

HelperThread& HelperThread::operator=(HelperThread&& other) noexcept {
    if (this != &other) {
        join();
        thread_ = std::move(other.thread_);
    }
    return *this;
}

HelperThread::~HelperThread() { join(); }

void HelperThread::join() noexcept {
    if (thread_.joinable()) {
        thread_.join();
    }
}

}  // namespace tributary
