// SPDX-License-Identifier: Apache-2.0
#include "export/transport/transport.hpp"

#include "export/transport/file_transport.hpp"
#include "export/transport/octet_stream.hpp"
#include "export/transport/tcp_transport.hpp"
#include "export/transport/tls_stream.hpp"
#include "export/transport/udp_transport.hpp"

namespace tributary {

std::size_t message_limit(const CollectorOptions& collector) noexcept {
    // Streams: long enough to make header and system call negligible, short enough for a collector
    // that reads into a fixed buffer. A file's reader has to take any length (RFC 5655 §7).
    constexpr std::size_t kTcpLimit = 8192;
    constexpr std::size_t kFileLimit = 65'000;
    switch (collector.transport) {
        case TransportKind::tcp:
        case TransportKind::tls:
            return kTcpLimit;
        case TransportKind::file:
            return kFileLimit;
        case TransportKind::udp:
        case TransportKind::kafka:  // IpfixItemFormat has a limit of its own
            break;
    }
    return collector.mtu;
}

std::shared_ptr<const TlsContext> Transport::read_files_anew() const { return nullptr; }

std::unique_ptr<Transport> make_transport(const CollectorOptions& collector,
                                          CollectorEvents& events) {
    switch (collector.transport) {
        case TransportKind::tcp:
            return std::make_unique<TcpTransport>(collector, events,
                                                  std::make_unique<PlainStream>());
        case TransportKind::tls:
            return std::make_unique<TcpTransport>(collector, events,
                                                  std::make_unique<TlsStream>(collector));
        case TransportKind::file:
            return std::make_unique<FileTransport>(collector, events);
        case TransportKind::udp:
        case TransportKind::kafka:  // make_kafka_transport()
            break;
    }
    return std::make_unique<UdpTransport>(collector, events);
}

}  // namespace tributary
