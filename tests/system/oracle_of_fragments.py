#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The shared oracle, to which a first fragment's ports are good for 60 seconds of packet time and no longer.

    oracle_of_fragments.py ORACLE_DIRECTORY CAPTURE [the oracle's options]

Alone, `--frag track` keeps them for ever. Where a host sends its fragments last one first (as Linux 2.4 did) and a
capture lasts for hours, later fragments would then get the ports of packets that had the same identification long
ago; a receiver gives up after 60 seconds (RFC 8200 4.5, RFC 1122 3.3.2).
"""
import sys

sys.path.insert(0, sys.argv.pop(1))
import oracle  # noqa: E402: found in the directory that the command line names

LIFETIME = 60 * 10**9  # nanoseconds
parse_frame = oracle.parse


class Tracker(oracle.FragmentTracker):
    now = 0

    def __init__(self):
        super().__init__()
        self.seen = {}

    def ports_of(self, packet):
        identity = (packet.version, packet.src, packet.dst, packet.ident, packet.proto if packet.version == 4 else 0)
        if packet.frag_offset == 0:
            self.seen[identity] = Tracker.now
        elif Tracker.now - self.seen.get(identity, Tracker.now) > LIFETIME:
            return (0, 0)
        return super().ports_of(packet)


def parse(frame, options):
    Tracker.now = frame.ts
    return parse_frame(frame, options)


oracle.parse, oracle.FragmentTracker = parse, Tracker
oracle.main()
