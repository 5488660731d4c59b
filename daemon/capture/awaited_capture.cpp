// SPDX-License-Identifier: Apache-2.0
#include "daemon/capture/awaited_capture.hpp"

#include <sysexits.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstring>
#include <optional>
#include <string>
#include <system_error>

#include "daemon/base/startup_error.hpp"
#include "export/threads/helper_thread.hpp"

namespace tributary {
namespace {

/// Waits until the capture is open. The first signal cancels the reading of a pipe, which then ends
/// within a second; the second one ends the process.
/// @return  the first signal; 0: none
int watch(const std::atomic<bool>& is_done, CaptureFiles& files, Signals& signals) {
    int first = 0;
    while (!is_done.load(std::memory_order_acquire)) {
        const std::optional<int> signal = signals.wait_for(std::chrono::seconds(1));
        if (!signal || *signal == SIGUSR1) {
            continue;
        }
        if (first != 0) {
            signals.end_process(*signal);
        }
        first = *signal;
        static_cast<void>(files.cancel());
    }
    return first;
}

/// @param signal  that ended the wait; 0: none
[[noreturn]] void refuse(const CaptureFiles& files, int signal) {
    const std::optional<CaptureFailure> failure = files.failure();
    if (signal != 0 || !failure) {
        throw StartupError(128 + signal, std::string("SIG") + ::sigabbrev_np(signal) +
                                             ": stopping, before a capture was read");
    }
    std::string text = failure->path + ": " + failure->reason;
    if (failure->unread > 0) {
        text += "; captures given behind it are not read: " + std::to_string(failure->unread);
    }
    throw StartupError(EX_NOINPUT, text);
}

}  // namespace

int await_first_capture(CaptureFiles& files, Signals& signals) {
    if (files.count() == 0) {
        return 0;
    }
    bool is_good = false;
    std::atomic<bool> is_done{false};
    const auto open = [&]() noexcept {
        is_good = files.open_first();
        is_done.store(true, std::memory_order_release);
        signals.wake();
    };
    HelperThread opening;
    try {
        opening = HelperThread({.name = "open"}, [&open](ThreadPlaceInRegistry&) { open(); });
    } catch (const std::system_error&) {  // no thread: signals wait until the capture is open
        open();
    }
    const int signal = watch(is_done, files, signals);
    if (!is_good) {
        refuse(files, signal);
    }
    return signal;
}

}  // namespace tributary
