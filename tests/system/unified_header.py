#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Unified headers: `tributary preparse` with tributaryd gives the same as tributaryd alone.

The tests compose frames from docs/unified-header.md, not by the program under test.
"""
import json
import os
import re
import struct
import subprocess

import harness

PCAPS, GOLDEN = os.path.join(harness.SHARED, "pcaps"), os.path.join(harness.ROOT, "tests", "golden")
GROUPS = "export.fields=[extremes, layer2, tcp-counts, fragments]"
NOT_CARRIED = re.compile("(source|destination)MacAddress|dot1qCustomerVlanId|tunnel.*|layer2SegmentId")

# (name, options of parsing, options of metering)
SETTINGS = [
    ("outer, short timeouts, TCP analysed", ["flows.tcp-analysis=true"],
     ["flows.tcp-analysis=true", "flows.idle-timeout=2", "flows.active-timeout=5"]),
    ("inner, with all that is off by default",
     ["flows.tunnel=inner", "flows.fragments=track", "flows.llc-snap=true", "flows.mpls-pseudowires=true"], []),
    ("trimmed, TCP analysed", ["read.parse=trimmed", "read.trim-length=64", "flows.tcp-analysis=true"],
     ["flows.tcp-analysis=true", "flows.tcp-end=true"]),
]


def sets(*key_values):
    return [argument for key_value in key_values for argument in ("--set", key_value)]


def run(*command):
    result = subprocess.run(command, capture_output=True, text=True, timeout=300)
    if result.returncode != 0:
        raise AssertionError("%s exits with %d: %s" % (" ".join(command), result.returncode, result.stderr[-3000:]))


def check_sent(ledger):
    """The equation of a sender's ledger."""
    for account in [ledger, *ledger["streams"]]:
        packets = account["packets"]
        if packets["received"] != packets["sent"] + packets["filtered"] + packets["lost"]:
            raise AssertionError("received is not sent + filtered + lost: %s" % packets)
        if packets["lost"] != sum(packets["lost_by_cause"].values()):
            raise AssertionError("lost is not the sum of its causes: %s" % packets)


def flows_of(path):
    """Flow records, without elements of their export."""
    result = subprocess.run([harness.TRIBUTARY, "flows", "--json", path], capture_output=True, text=True, timeout=120)
    if result.returncode != 0:
        raise AssertionError("tributary flows: " + result.stderr)
    return [{name: value for name, value in record.items() if not name.startswith("@")}
            for record in map(json.loads, result.stdout.splitlines()) if record["@type"] == "data"]


def in_order(records):
    return sorted(json.dumps(record, sort_keys=True) for record in records)


def carried(records):
    """The elements of these records that unified headers carry."""
    return [{name: value for name, value in record.items() if not NOT_CARRIED.fullmatch(name)} for record in records]


def meter(directory, capture, *options):
    """Offline run: records and ledger."""
    out, stats = os.path.join(directory, "out.ipfix"), os.path.join(directory, "out.json")
    run(harness.TRIBUTARYD, "--read", capture, "--write", out, "--stats", stats, "--log-level", "error",
        *sets("flows.max-flows=65536", "export.timestamps=nanoseconds"), *options)
    ledger = harness.read_json(stats)
    harness.TestCase().check_ledger(ledger)
    return flows_of(out), ledger["packets"]


def difference(capture, setting, directory):
    """The difference between unified headers and direct parsing, or None."""
    _, parsing, metering = setting
    sent, stats = os.path.join(directory, "sent.pcap"), os.path.join(directory, "sent.json")
    run(harness.TRIBUTARY, "preparse", "--read", capture, "--write", sent, "--stats", stats, "--log-level", "error",
        *sets(*parsing))
    sender = harness.read_json(stats)
    check_sent(sender)
    direct, ledger = meter(directory, capture, *sets(*parsing, *metering, GROUPS))
    for name, count in ledger.pop("fragments").items():
        # The keyed hash decides which fragments are evicted.
        if name != "forgotten" and sender["packets"]["fragments"][name] != count:
            return "fragments %s: %d, direct %d" % (name, sender["packets"]["fragments"][name], count)
    for queues in (1, 3):
        records, got = meter(directory, sent, *sets(*metering, GROUPS, "read.parse=unified-header"),
                             *sets("read.queues=%d" % queues))
        if in_order(records) != in_order(carried(direct)):
            return "%d queue(s): %d records, direct %d, and not the same" % (queues, len(records), len(direct))
        different = {name: (got[name], value) for name, value in ledger.items() if got[name] != value}
        if different:
            return "%d queue(s): the ledger differs: %s" % (queues, different)
    return None


def captures_in(folder):
    names = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
    return [os.path.join(folder, name) for name in names if name.endswith((".pcap", ".pcapng"))]


class Captures(harness.TestCase):
    """Every capture (under sanitizers: except the largest): the same records and ledger both ways, in the settings of
    for_setting()."""

    def check(self, number):
        captures = [harness.DEMO, *captures_in(PCAPS)]
        for case in sorted(os.listdir(GOLDEN)):
            captures += captures_in(os.path.join(GOLDEN, case))
        self.assertGreater(len(captures), 5)
        if harness.SANITIZED:
            captures = [capture for capture in captures if os.path.getsize(capture) < 2**22]
        self.check_captures(self.for_setting(captures, number, len(SETTINGS)),
                            lambda capture, directory: difference(capture, SETTINGS[number], directory))

    def test_outer(self):
        self.check(0)

    def test_inner(self):
        self.check(1)

    def test_trimmed(self):
        self.check(2)


def record(seconds=1000, status=0, port=53, flags=0x0000, vlan=0x0000):
    """A record of an IPv4 UDP packet, or of an ignored packet."""
    addresses = bytes([192, 0, 2, 1]) + bytes(12) + bytes([198, 51, 100, 2]) + bytes(12)
    fields = (seconds * 10**9, 1000, port, 48, 62, 7, flags, vlan, 17, 0, 64, status)
    return addresses + struct.pack("<qHHIIIHHBBBB", *fields)


def frame(records, sequence=0, stream=0, version=1, size=64, count=None, ethertype=0x88B5):
    header = bytes(12) + struct.pack(">H", ethertype)
    header += struct.pack("<BBHHIQ", version, size, len(records) if count is None else count, 0, stream, sequence)
    return header + b"".join(records)


def pcap(frames):
    """A capture of frames, one a second."""
    out = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 262144, 1)
    for second, octets in enumerate(frames, 1):
        out += struct.pack("<IIII", second, 0, len(octets), len(octets)) + octets
    return out


class Frames(harness.TestCase):
    """A receiver of good and bad frames."""

    def meter_frames(self, frames, *options):
        out, ledger, _ = self.meter("--read", self.path("frames.pcap", pcap(frames)),
                                    *sets("read.parse=unified-header", *options))
        return self.flows(out), ledger["packets"]

    def check_ignored(self, packets, **reasons):
        named = {name: count for name, count in packets["ignored_by_reason"].items() if count}
        self.assertEqual(named, reasons)

    def test_the_example_of_the_documentation_is_what_it_says(self):
        with open(os.path.join(harness.ROOT, "docs", "unified-header.md")) as source:
            lines = re.findall(r"^    [0-9a-f]{4}  ((?:[0-9a-f]{2} ?){16})$", source.read(), re.MULTILINE)
        example = bytes.fromhex(" ".join(lines))
        self.assertEqual(len(example), 32 + 2 * 64)
        records, packets = self.meter_frames([example], "export.timestamps=nanoseconds",
                                             "export.fields=[layer2, extremes, fragments]")
        self.check_ignored(packets, arp=1)
        self.assertEqual((packets["received"], packets["metered"]), (2, 1))
        wanted = {"sourceIPv4Address": "192.0.2.1", "destinationIPv4Address": "198.51.100.2",
                  "sourceTransportPort": 40000, "destinationTransportPort": 443, "protocolIdentifier": 6,
                  "tcpControlBits": 0x12, "fragmentFlags": 0x40, "vlanId": 100, "dot1qVlanId": 100,
                  "ipClassOfService": 0xb8, "minimumTTL": 64, "octetDeltaCount": 52, "layer2OctetDeltaCount": 70,
                  "ingressInterface": 7, "flowStartNanoseconds": 1763720000123456789}
        self.assertEqual(len(records), 1)
        self.assertEqual({name: records[0].get(name) for name in wanted}, wanted)
        self.assertNotIn("sourceMacAddress", records[0])

    def test_bad_frames_are_refused_by_name_and_harm_nothing(self):
        good = [record(), record()]
        frames = [frame(good, 0), frame(good, 100, version=0), frame(good, 200, version=3), frame(good, 300, count=3),
                  frame(good, 400, count=0), frame(good, 500, size=32), frame(good, 600, ethertype=0x0800),
                  frame(good, 700)[:31], b"", frame(good, 800)[:-1], frame(good, 2)]
        for queues in (1, 2, 7):
            with self.subTest(queues=queues):
                records, packets = self.meter_frames(frames, "read.queues=%d" % queues)
                self.assertEqual((packets["received"], packets["metered"]), (13, 4))
                self.check_ignored(packets, bad_unified_header_version=2, bad_unified_header_length=4,
                                   not_unified_header=3)
                self.assertEqual(packets["unified_headers_missing"], 0)
                self.assertEqual([record["packetDeltaCount"] for record in records], [4])

    def test_records_of_ignored_packets_are_ignored_by_their_name(self):
        records, packets = self.meter_frames([frame([record(), record(status=3), record(status=13), record(status=20),
                                                     record(status=21), record(status=255), record(vlan=0xA000)])])
        self.check_ignored(packets, arp=1, truncated_ipv4_header=1, not_sampled=1, unknown_parse_status=3)
        self.assertEqual(packets["metered"], 1)

    def test_records_that_never_came_are_counted_beside_the_ledger(self):
        records, packets = self.meter_frames([
            frame([record()], 1000, 1), frame([record()], 5, 2), frame([record()], 1011, 1), frame([record()], 6, 2),
            frame([record()], 0, 1),  # its sender has restarted
            frame([record()], 4, 1), frame([record()], 2, 1)])  # a late frame
        self.assertEqual((packets["received"], packets["metered"]), (7, 7))
        # In a stream's first 65536 records, one that goes back may be late.
        self.assertEqual(packets["unified_headers_missing"], 10)
        _, packets = self.meter_frames([frame([record()], 10**9), frame([record()], 0), frame([record()], 8)])
        self.assertEqual(packets["unified_headers_missing"], 7)

    def test_times_that_cannot_be_are_replaced_and_counted(self):
        times = [5000, 0, -1, 2**33, 5001]
        records, packets = self.meter_frames([frame([record(seconds) for seconds in times])])
        self.assertEqual((packets["bad_timestamp"], packets["metered"]), (3, 5))
        self.assertEqual([(r["flowStartMilliseconds"], r["flowEndMilliseconds"]) for r in records], [(5000000, 5001000)])

    def test_the_clock_is_that_of_the_records(self):
        # An ignored packet advances the clock: the flow has ended when its next packet comes.
        frames = [frame([record(100)], 0), frame([record(200, status=3)], 1), frame([record(110)], 2)]
        records, _ = self.meter_frames(frames, "flows.idle-timeout=15")
        self.assertEqual(sorted(r["flowStartMilliseconds"] for r in records), [100000, 110000])


if __name__ == "__main__":
    harness.main()
