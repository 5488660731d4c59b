// SPDX-License-Identifier: Apache-2.0
#include "export/transport/tls_library.hpp"

#include <openssl/crypto.h>

namespace tributary {

void keep_tls_library() noexcept {
    // Without memory for it there is none for a session either, which then says so.
    static_cast<void>(OPENSSL_init_crypto(OPENSSL_INIT_NO_ATEXIT, nullptr));
}

}  // namespace tributary
