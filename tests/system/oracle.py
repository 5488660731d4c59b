#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every capture of the shared collection against an independent oracle, record by record: the small ones in each setting, the
large ones in one setting each, and in all of them with $TRIBUTARY_LONG.

$TRIBUTARY_SHARED (default: ../shared beside the checkout) holds `pcaps/`, `findings/` and `oracle/`; without the
first or the last this is skipped. One line per capture and setting that is not as expected.
"""
import json
import os
import subprocess
import sys

import harness

ORACLE = os.path.join(harness.SHARED, "oracle")
FOLDERS = [os.path.join(harness.SHARED, name) for name in ("pcaps", "findings")]
# Always done by tributaryd, and optional in the oracle: IPv6 payload length 0 is counted by the frame; below MPLS an
# Ethernet frame is distinguished from IP.
ALWAYS = ["--zero-length", "any", "--mpls-ethernet"]

# (name, oracle's options, tributaryd's options, elements that every record must have if the oracle has them)
FOREVER = "2147483648"  # a biflow's deadlines are not those of its two uniflows
DEFAULT_FIELDS = "packetDeltaCount,octetDeltaCount,ipClassOfService,tcpControlBits"
SETTINGS = [
    ("defaults, one queue", ["--idle", "30", "--active", "300"],
     ["flows.idle-timeout=30", "flows.active-timeout=300", "read.queues=1"], DEFAULT_FIELDS),
    ("short timeouts, four queues, all groups, nanoseconds", ["--idle", "2", "--active", "5"],
     ["flows.idle-timeout=2", "flows.active-timeout=5", "read.queues=4", "export.timestamps=nanoseconds",
      "export.fields=[extremes, layer2, tcp-counts]"],
     DEFAULT_FIELDS + ",minimumTTL,maximumTTL,minimumIpTotalLength,maximumIpTotalLength,layer2OctetDeltaCount,"
     "sourceMacAddress,destinationMacAddress,tcpSynTotalCount,tcpFinTotalCount,tcpRstTotalCount,tcpPshTotalCount,"
     "tcpAckTotalCount,tcpUrgTotalCount"),
    ("end by FIN and RST, two queues, microseconds, inside tunnels, fragments with the ports of the first",
     ["--idle", "15", "--active", "60", "--tcp-end", "finrst", "--tcp-closed", "2", "--tunnel", "inner", "--frag", "track"],
     ["flows.idle-timeout=15", "flows.active-timeout=60", "flows.tcp-end=true", "flows.tunnel=inner",
      "flows.fragments=track", "read.queues=2", "export.timestamps=microseconds"], DEFAULT_FIELDS),
    # The oracle reports the outermost frame's MAC addresses.
    ("inside tunnels, three queues, all groups", ["--idle", "30", "--active", "300", "--tunnel", "inner", "--snap"],
     ["flows.idle-timeout=30", "flows.active-timeout=300", "flows.tunnel=inner", "flows.mac-addresses=outer",
      "flows.llc-snap=true", "read.queues=3",
      "export.fields=[extremes, layer2, tcp-counts, flow-label, mpls, tunnel, fragments]"],
     DEFAULT_FIELDS + ",minimumTTL,maximumTTL,minimumIpTotalLength,maximumIpTotalLength,layer2OctetDeltaCount,"
     "sourceMacAddress,destinationMacAddress,flowLabelIPv6"),
    ("fragments with the ports of the first, three queues", ["--idle", "30", "--active", "300", "--frag", "track"],
     ["flows.idle-timeout=30", "flows.active-timeout=300", "flows.fragments=track", "read.queues=3",
      "export.fields=[fragments]"], DEFAULT_FIELDS),
    ("biflows split in two, two queues", ["--idle", FOREVER, "--active", FOREVER],
     ["flows.idle-timeout=" + FOREVER, "flows.active-timeout=" + FOREVER, "flows.direction=biflow", "read.queues=2"],
     DEFAULT_FIELDS),
    # Without layer2: compare.py takes the MAC addresses of the reverse direction from the forward one.
    ("biflows inside tunnels split in two, all groups but layer2",
     ["--idle", FOREVER, "--active", FOREVER, "--tunnel", "inner", "--frag", "track"],
     ["flows.idle-timeout=" + FOREVER, "flows.active-timeout=" + FOREVER, "flows.direction=biflow",
      "flows.initiator-by-port=true", "flows.tunnel=inner", "flows.fragments=track",
      "export.fields=[extremes, tcp-counts, flow-label, mpls, tunnel, fragments]"],
     DEFAULT_FIELDS + ",minimumTTL,maximumTTL,minimumIpTotalLength,maximumIpTotalLength,tcpSynTotalCount,flowLabelIPv6"),
]

def run(*command):
    return subprocess.run(command, capture_output=True, text=True, timeout=600)


def python(script, *arguments):
    return run(sys.executable, os.path.join(ORACLE, script), *arguments)


def captures_in(folder):
    names = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
    return [os.path.join(folder, name) for name in names if name.endswith((".pcap", ".pcapng"))]


def totals_differ(ledger, totals):
    """The ledger's difference from the oracle's counts, or None."""
    packets = ledger["packets"]
    malformed = sum(totals.get("malformedKinds", {}).values())
    pairs = (("received", packets["received"], totals["frames"]),
             ("metered", packets["metered"], totals.get("ipPackets", 0)),
             ("octets metered", ledger["octets"]["metered"], totals.get("ipOctets", 0)),
             ("ignored", packets["ignored"], totals.get("nonIp", 0) + malformed),
             ("bad_timestamp", packets["bad_timestamp"], totals.get("badTimestamp", 0)))
    wrong = ["%s %d, oracle %d" % pair for pair in pairs if pair[1] != pair[2]]
    return "; ".join(wrong) or None


NTP_WRAPS = 2_085_978_496  # 2036-02-07, in seconds since 1970


def succeed(result, name):
    if result.returncode != 0:
        raise AssertionError("%s exits %d: %s" % (name, result.returncode, (result.stdout + result.stderr)[-3000:]))
    return result


def difference(capture, setting, directory):
    """The difference of our records of a capture from the oracle's, or None."""
    _, oracle_options, sets, required = setting
    want, out, stats, got = (os.path.join(directory, name) for name in ("want", "out.ipfix", "stats", "got"))
    oracle = succeed(python("oracle.py", capture, *ALWAYS, *oracle_options), "oracle.py")
    with open(want, "w") as wanted:
        wanted.write(oracle.stdout)
    records = [json.loads(line) for line in oracle.stdout.splitlines()]
    options = ["--set", "flows.max-flows=65536"]
    if any(record.get("flowEndMilliseconds", 0) >= NTP_WRAPS * 1000 for record in records):
        # dateTimeMicroseconds and dateTimeNanoseconds start again in 2036 (RFC 7011 6.1.9), which the decoder cannot
        # undo: a capture with such times is compared in milliseconds.
        sets = [key_value for key_value in sets if not key_value.startswith("export.timestamps")]
    for key_value in sets:
        options += ["--set", key_value]
    succeed(run(harness.TRIBUTARYD, "--read", capture, "--write", out, "--stats", stats, *options), "tributaryd")
    ledger = harness.read_json(stats)
    harness.TestCase().check_ledger(ledger)
    succeed(python("ipfix2json.py", out, "--strict", "--export-slack", "0", "--out", got), "ipfix2json.py")
    split = ["--biflow"] if "flows.direction=biflow" in sets else []
    compared = python("compare.py", want, got, "--reason", "--flags-mask", "0xfff", "--tolerance", "0", "--vlan", "yes",
                      "--require", required, *split)
    if compared.returncode != 0:
        return "compare.py: " + compared.stdout
    return totals_differ(ledger, next(record for record in records if record.get("@type") == "totals"))


class Oracle(harness.TestCase):
    def setUp(self):
        super().setUp()
        if not (os.path.isdir(FOLDERS[0]) and os.path.isdir(ORACLE)):
            self.skipTest("no captures and no oracle in " + harness.SHARED)

    def check(self, number):
        captures = [capture for folder in FOLDERS for capture in captures_in(folder)]
        self.check_captures(self.for_setting(captures, number, len(SETTINGS)),
                            lambda capture, directory: difference(capture, SETTINGS[number], directory))

    def test_defaults(self):
        self.check(0)

    def test_short_timeouts_and_all_groups(self):
        self.check(1)

    def test_end_by_fin_and_rst(self):
        self.check(2)

    def test_inside_tunnels(self):
        self.check(3)

    def test_tracked_fragments(self):
        self.check(4)

    def test_biflows(self):
        self.check(5)

    def test_biflows_inside_tunnels(self):
        self.check(6)


if __name__ == "__main__":
    harness.main()
