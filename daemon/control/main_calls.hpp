// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <functional>
#include <future>
#include <mutex>
#include <string>

namespace tributary {

/// Calls that the main thread makes for other threads, one after the other.
class MainCalls {
public:
    using Call = std::function<std::string()>;

    /// @param wake  makes the main thread call run_all() soon
    explicit MainCalls(std::function<void()> wake);

    /// Returns the call's result, or throws its exception.
    ///
    /// @errors  std::runtime_error: close() came before
    /// @thread  any but main; waits for main
    std::string make(Call call);
    /// @thread  main
    void run_all();
    /// For the end: waiting and later calls fail.
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
