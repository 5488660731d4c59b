// SPDX-License-Identifier: Apache-2.0
// What clang++ beside this file precompiles: headers of others that many sources include, and that take long to parse.
// Not <filesystem>, whose std::quoted is found where a source has a function of that name for itself.
#include <immintrin.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <charconv>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <exception>
#include <fstream>
#include <functional>
#include <iostream>
#include <iterator>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <random>
#include <set>
#include <span>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>
#ifdef CATCH_CONFIG_FAST_COMPILE  // of unit tests alone: tests/meson.build
#include <catch2/catch.hpp>
#endif
