// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>

#include "export/file_descriptor.hpp"
#include "tests/support/local_collector.hpp"

// HTTP to 127.0.0.1, octet by octet: a client without a library that repairs what a server does.
namespace tributary::test {

struct HttpAnswer {
    std::string status;                          ///< the whole line
    std::map<std::string, std::string> headers;  ///< names in lower case
    std::string body;
};

/// One connection.
class HttpClient {
public:
    explicit HttpClient(std::uint16_t port)
        : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        const sockaddr_in address = loopback(port);
        if (::connect(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) !=
            0) {
            throw std::runtime_error("nothing listens");
        }
    }
    void send(const std::string& octets) const {
        if (::send(socket_.get(), octets.data(), octets.size(), MSG_NOSIGNAL) !=
            static_cast<ssize_t>(octets.size())) {
            throw std::runtime_error("the connection was cut");
        }
    }
    void request(const std::string& method, const std::string& path) const {
        send(method + " " + path + " HTTP/1.1\r\nHost: localhost\r\n\r\n");
    }
    /// All that comes until the server ends the connection.
    [[nodiscard]] std::string read_to_end() const {
        constexpr int kMilliseconds = 30'000;
        std::string all;
        std::array<char, 65'536> part{};
        for (;;) {
            pollfd fd{.fd = socket_.get(), .events = POLLIN, .revents = 0};
            if (::poll(&fd, 1, kMilliseconds) != 1) {
                throw std::runtime_error("the server says nothing, and does not end");
            }
            const ssize_t octets = ::recv(socket_.get(), part.data(), part.size(), 0);
            if (octets <= 0) {
                return all;
            }
            all.append(part.data(), static_cast<std::size_t>(octets));
        }
    }
    [[nodiscard]] HttpAnswer answer() const {
        const std::string all = read_to_end();
        const std::size_t end = all.find("\r\n\r\n");
        if (end == std::string::npos) {
            throw std::runtime_error("no whole header: " + all);
        }
        HttpAnswer answer;
        answer.body = all.substr(end + 4);
        std::size_t at = all.find("\r\n");
        answer.status = all.substr(0, at);
        while (at < end) {
            const std::size_t begin = at + 2;
            at = all.find("\r\n", begin);
            const std::string line = all.substr(begin, at - begin);
            const std::size_t colon = line.find(": ");
            std::string name = line.substr(0, colon);
            std::ranges::transform(name, name.begin(), [](unsigned char each) {
                return static_cast<char>(std::tolower(each));
            });
            answer.headers[name] = line.substr(colon + 2);
        }
        return answer;
    }
    /// Whether the server has ended the connection by now.
    [[nodiscard]] bool has_ended() const {
        char octet = 0;
        return ::recv(socket_.get(), &octet, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
    }

private:
    FileDescriptor socket_;
};

inline HttpAnswer http_answer(std::uint16_t port, const std::string& method,
                              const std::string& path) {
    const HttpClient client(port);
    client.request(method, path);
    return client.answer();
}

}  // namespace tributary::test
