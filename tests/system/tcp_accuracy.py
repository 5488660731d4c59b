#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints the numbers of the table in docs/tcp-records.md: what tributaryd misses and invents in the TCP captures of the
shared collection, and what the rule of gpu-tcp-flow-records does, both judged by a reference that remembers every octet.

Run by hand; tcp_records.py judges each number of each flow.
"""
import collections
import os
import sys
import tempfile

import tcp_records
from tcp_reference import AllCopies, Reference


class Method:
    """How often one way to find retransmissions is wrong."""

    def __init__(self):
        self.count = collections.Counter()

    def add(self, found, true):
        count = self.count
        count["packets found"] += found
        count["packets missed"] += max(true - found, 0)
        count["packets invented"] += max(found - true, 0)
        count["flows found"] += found > 0
        count["flows missed"] += true > 0 and found == 0
        count["flows invented"] += found > 0 and true == 0


def judge(capture, directory, methods, totals):
    flows, records = tcp_records.segments_of(capture), tcp_records.tributary_records(capture, directory)
    paper = tcp_records.oracle_records(capture) if flows else {}
    for flow, segments in flows.items():
        true, ours = Reference(segments, AllCopies()).counts, records[flow]
        totals["flows"] += 1
        totals["segments"] += true["segments"]
        totals["data segments"] += true["dataSegments"]
        totals["duplicates"] += true["duplicates"]
        totals["duplicates found"] += ours["duplicates"]
        totals["retransmissions"] += true["retransmissions"]
        totals["flows with retransmissions"] += true["retransmissions"] > 0
        for name in tcp_records.PLAIN_COUNTS:
            totals["records with other " + name] += ours.get(name) != true.get(name)
        methods["tributaryd"].add(ours["retransmissions"], true["retransmissions"])
        methods["the paper's rule"].add(paper[flow]["retransmissions"], true["retransmissions"])


def main():
    if not os.path.isdir(tcp_records.PCAPS):
        sys.exit("no captures in " + tcp_records.PCAPS)
    methods, totals = collections.defaultdict(Method), collections.Counter()
    captures = sorted(name for name in os.listdir(tcp_records.PCAPS) if name.endswith((".pcap", ".pcapng")))
    with tempfile.TemporaryDirectory(prefix="tributary-accuracy-") as directory:
        for capture in captures:
            judge(capture, directory, methods, totals)
    for name, count in totals.items():
        print("%-40s %10d" % (name, count))
    for method, judged in methods.items():
        print("\n" + method)
        for name, count in judged.count.items():
            print("  %-38s %10d" % (name, count))


if __name__ == "__main__":
    main()
