// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <functional>
#include <future>
#include <mutex>
#include <string>

namespace tributary {

/// What other threads have the main thread do, one after the other.
class MainCalls {
public:
    using Call = std::function<std::string()>;

    /// @param wake  makes the main thread call run_all() soon
    explicit MainCalls(std::function<void()> wake);

    /// Returns what the call returns, or throws what it throws.
    ///
    /// @errors  std::runtime_error: the end has come before
    /// @thread  any but main, which it waits for
    std::string make(Call call);
    /// @thread  main
    void run_all();
    /// The end: those that wait are told so, and so is whoever comes.
    /// @thread  main
    void close();

private:
    [[nodiscard]] std::packaged_task<std::string()> take_next();

    std::function<void()> wake_;
    std::mutex mutex_;
    std::deque<std::packaged_task<std::string()>> waiting_;
    bool is_closed_ = false;
};

}  // namespace tributary
