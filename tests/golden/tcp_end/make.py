# SPDX-License-Identifier: Apache-2.0
"""With tcp-end a record goes on behind FIN or RST until it was silent for tcp-end-timeout, or a SYN comes."""
import sys

sys.path.insert(0, sys.path[0] + "/..")
from frames import at, ether, ipv4, tcp, udp, write

SYN, FIN, RST, ACK, URG = 2, 1, 4, 16, 32


def segment(flags, source_port=40000):
    return ether(ipv4(tcp(source_port, 80, flags)))


write([
    # The last ACK, at its deadline, is of the record; what comes later is not, and has no end yet.
    (at(0), segment(SYN)), (at(1), segment(ACK)), (at(2), segment(FIN | ACK)), (at(5), segment(ACK)),
    (at(8, 1), segment(ACK)), (at(12), segment(ACK)),
    # The same ports twice.
    (at(20), segment(SYN, 40001)), (at(21), segment(RST, 40001)), (at(22), segment(RST | ACK, 40001)),
    (at(23), segment(SYN | ACK, 40001)), (at(24), segment(FIN | ACK, 40001)),
    # It is silent before it is cut, and cut before it is silent: of what follows no end was seen.
    (at(25), segment(FIN | URG | 0xC0, 40002)),
    (at(100), segment(ACK, 40003)), (at(109), segment(ACK, 40003)), (at(118), segment(FIN | ACK, 40003)),
    (at(120), segment(ACK, 40003)), (at(125), segment(ACK, 40003)),
    (at(126), ether(ipv4(udp(40004, 53)))), (at(127), ether(ipv4(udp(40004, 53)))),
])
