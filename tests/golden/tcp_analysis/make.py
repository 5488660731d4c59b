# SPDX-License-Identifier: Apache-2.0
"""TCP analysed: a connection from handshake to both FINs, cut once by the active timeout, with one of each thing that
goes wrong; one met in its middle; one whose SYN was sent twice; and UDP, of which nothing is told."""
import sys

sys.path.insert(0, sys.path[0] + "/..")
from packets import IP, TCP, Raw, at, udp, write

WINDOW = 8192


class Host:
    """Segments of one side; their identifications count up, unless a copy keeps one."""

    def __init__(self, source, destination, source_port, destination_port):
        self.ip = {"src": source, "dst": destination}
        self.ports = {"sport": source_port, "dport": destination_port}
        self.identification = 0

    def sends(self, flags, sequence, acknowledgement=0, octets=0, window=WINDOW):
        self.identification += 1
        return (IP(id=self.identification, **self.ip) /
                TCP(flags=flags, seq=sequence, ack=acknowledgement, window=window, **self.ports) / Raw(bytes(octets)))


def pair(port):
    return Host("192.0.2.1", "198.51.100.1", port, 80), Host("198.51.100.1", "192.0.2.1", 80, port)


def connection():
    client, server = pair(40000)
    question = client.sends("PA", 1001, 5001, 100)
    answer = server.sends("A", 6001, 1101, 1000)
    late = server.sends("A", 9001, 1101, 1000)
    return [
        (at(0), client.sends("S", 1000)),
        (at(0, 20_000), server.sends("SA", 5000, 1001)),
        (at(0, 25_000), client.sends("A", 1001, 5001)),
        (at(0, 30_000), question), (at(0, 30_001), question),       # a switch's duplicate
        (at(0, 50_000), server.sends("A", 5001, 1101, 1000)),
        (at(0, 50_100), answer),
        (at(0, 50_200), server.sends("A", 8001, 1101, 1000)),       # leaves a hole,
        (at(0, 50_300), server.sends("A", 7001, 1101, 1000)),       # which this fills: out of order
        (at(0, 70_000), client.sends("A", 1101, 9001, window=0)),   # no room
        (at(0, 90_000), server.sends("A", 9000, 1101)),             # asks whether there is some: a probe
        (at(0, 95_000), client.sends("A", 1101, 9001)),
        (at(0, 99_000), late),
        # After more than a second of this side's silence, nothing is a duplicate; and 500 octets of 1,000 are new.
        (at(1, 99_001), late),
        (at(1, 99_100), server.sends("A", 9501, 1101, 1000)),
        # The active timeout cuts; what was seen before still counts.
        (at(11), server.sends("A", 9001, 1101, 500)),
        (at(11, 1_000), server.sends("FA", 10501, 1101)),
        (at(11, 9_000), client.sends("FA", 1101, 10502)),
        (at(11, 30_000), server.sends("A", 10502, 1102)),
    ]


def met_in_the_middle():
    client, server = pair(40001)
    return [
        (at(12), client.sends("A", 7001, 1, 100)), (at(12, 10_000), server.sends("A", 1, 7101, 1)),
        (at(12, 20_000), client.sends("A", 6901, 2, 100)),          # from before: out of order, once
        (at(12, 30_000), client.sends("A", 6901, 2, 200)),          # and now a retransmission, of 200 octets
        (at(12, 40_000), client.sends("R", 7101)),
    ]


def syn_twice():
    client, server = pair(40002)
    return [
        (at(13), client.sends("S", 1)), (at(14, 1_000), client.sends("S", 1)),  # which of them is answered?
        (at(14, 20_000), server.sends("SA", 1, 2)), (at(14, 50_000), client.sends("A", 2, 2)),
        (at(15), client.sends("FA", 2, 2)), (at(15, 10_000), server.sends("FA", 2, 3)),
        (at(15, 20_000), client.sends("A", 3, 3)),
    ]


write([*connection(), *met_in_the_middle(), *syn_twice(), (at(16), udp(40003))])
