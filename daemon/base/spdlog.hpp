// SPDX-License-Identifier: Apache-2.0
#pragma once

// spdlog, for each source that logs. Included as it is, it makes every such source compile fmt's
// formatter once more, which takes g++ about 4 s; fmt's library has it already. For clang++ the
// library's function has another name.
#include <fmt/format.h>

#if FMT_VERSION < 100000 && !defined(__clang__)  // a later fmt declares it otherwise
extern template void fmt::detail::vformat_to<char>(fmt::detail::buffer<char>&, fmt::string_view,
                                                   fmt::format_args, fmt::detail::locale_ref);
#endif

#include <spdlog/spdlog.h>
