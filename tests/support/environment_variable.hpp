// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>
#include <optional>
#include <string>

namespace tributary::test {

/// A variable of the environment that has its former value when it goes.
class EnvironmentVariable {
public:
    /// @param value  nullptr: there is no such variable
    EnvironmentVariable(const char* name, const char* value) : name_(name) {
        if (const char* const former = std::getenv(name)) {
            former_ = former;
        }
        set(value);
    }
    EnvironmentVariable(const EnvironmentVariable&) = delete;
    EnvironmentVariable& operator=(const EnvironmentVariable&) = delete;
    ~EnvironmentVariable() { set(former_ ? former_->c_str() : nullptr); }

    void set(const char* value) {
        if (value == nullptr) {
            ::unsetenv(name_);
        } else {
            ::setenv(name_, value, 1);
        }
    }

private:
    const char* name_;
    std::optional<std::string> former_;
};

}  // namespace tributary::test
