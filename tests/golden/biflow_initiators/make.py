# SPDX-License-Identifier: Apache-2.0
"""Who is the source of a biflow that is met with a packet of an old connection: the sender of the SYN that follows."""
import sys

sys.path.insert(0, sys.path[0] + "/..")
from frames import at, ether, ipv4, ipv6, tcp, write

FIN, SYN, RST, ACK = 1, 2, 4, 16


def there(flags, port):
    return ether(ipv4(tcp(port, 80, flags)))


def back(flags, port):
    return ether(ipv4(tcp(80, port, flags), "198.51.100.1", "192.0.2.1"), "020000000002", "020000000001")


def there6(flags):
    return ether(ipv6(tcp(40000, 443, flags), flow_label=7))


def back6(flags):
    return ether(ipv6(tcp(443, 40000, flags), "2001:db8::2", "2001:db8::1", 9), "020000000002", "020000000001")


write([
    # The server's late packets, then a connection from the same port, and its end.
    (at(0), back(ACK, 40001)), (at(1), back(ACK, 40001)),
    (at(2), there(SYN, 40001)), (at(2, 1000), back(SYN | ACK, 40001)), (at(2, 2000), there(ACK, 40001)),
    (at(3), there(FIN | ACK, 40001)), (at(3, 1000), back(FIN | ACK, 40001)), (at(3, 2000), there(ACK, 40001)),
    # The ports again, by the server this time.
    (at(4), back(SYN, 40001)), (at(4, 1000), there(RST | ACK, 40001)), (at(4, 2000), back(ACK, 40001)),
    # The client's own packet was first: the guess was right.
    (at(10), there(ACK, 40002)), (at(11), there(SYN, 40002)), (at(12), back(SYN | ACK, 40002)),
    # IPv6, and the record of the guess has left before the SYN comes.
    (at(20), back6(ACK)), (at(28), there6(ACK)), (at(36), back6(ACK)), (at(37), there6(SYN)), (at(37, 1), back6(ACK)),
    # There is no SYN: it stays a guess.
    (at(50), back(ACK, 40003)), (at(51), there(ACK, 40003)),
])
