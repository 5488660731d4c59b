# SPDX-License-Identifier: Apache-2.0
"""Biflows: a connection that is sliced while only the responder sends, one met at its SYN-ACK, one met in its middle,
a question without an answer, and ICMP, which is never paired."""
import sys

sys.path.insert(0, sys.path[0] + "/..")
from packets import ICMP, IP, TCP, at, tcp, udp, write


def back(flags, source_port=40000):
    return IP(src="198.51.100.1", dst="192.0.2.1", id=1, ttl=50) / TCP(sport=80, dport=source_port, flags=flags)


write([
    (at(0), tcp("S")), (at(0, 20_000), back("SA")), (at(0, 40_000), tcp("A")), (at(8), back("PA")), (at(15), back("PA")),
    (at(16), back("SA", 40001)), (at(16, 10_000), tcp("A", 40001)),
    (at(17), back("PA", 40002)), (at(17, 10_000), tcp("A", 40002)),
    (at(18), udp(40003)),
    (at(19), IP(src="192.0.2.1", dst="198.51.100.1", id=1) / ICMP(type=8)),
    (at(19, 5_000), IP(src="198.51.100.1", dst="192.0.2.1", id=1) / ICMP(type=0)),
])
