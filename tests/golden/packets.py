# SPDX-License-Identifier: Apache-2.0
"""For the make.py of each golden case, which need scapy: packets with exact times, written beside them."""
import os
import sys

from scapy.layers.inet import ICMP, IP, TCP, UDP, fragment  # noqa: F401, for the cases
from scapy.layers.inet6 import IPv6, IPv6ExtHdrFragment  # noqa: F401
from scapy.layers.l2 import Dot1AD, Dot1Q, Ether  # noqa: F401
from scapy.packet import Raw
from scapy.utils import PcapWriter

ETHER = Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02")


def udp(source_port, octets=8, source="192.0.2.1", destination="198.51.100.1"):
    return IP(src=source, dst=destination, id=1) / UDP(sport=source_port, dport=53) / Raw(bytes(octets))


def tcp(flags, source_port=40000, sequence=1):
    return IP(src="192.0.2.1", dst="198.51.100.1", id=1) / TCP(sport=source_port, dport=80, seq=sequence, flags=flags)


def write(timed_frames):
    """[(microseconds since 1970, frame)...] to input.pcap beside the calling make.py."""
    path = os.path.join(os.path.dirname(os.path.abspath(sys.argv[0])), "input.pcap")
    with PcapWriter(path, linktype=1, sync=True) as out:
        out.write_header(None)
        for microseconds, frame in timed_frames:
            seconds, rest = divmod(microseconds, 1_000_000)
            out.write_packet(bytes(frame if frame.haslayer(Ether) else ETHER / frame), sec=seconds, usec=rest)


def at(seconds, microseconds=0):
    """A time `seconds` after the cases' common beginning."""
    return (1_700_000_000 + seconds) * 1_000_000 + microseconds
