// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace tributary {

/// Keeps OpenSSL in order until the process has ended. Otherwise exit() takes it down while threads
/// use it: those of a Kafka producer may take some seconds to end, for which nothing waits, and
/// crash then.
///
/// To be called before anything else uses OpenSSL. Takes microseconds: nothing but this is set up.
/// @thread  main
void keep_tls_library() noexcept;

}  // namespace tributary
