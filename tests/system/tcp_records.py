#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The TCP counts of records, for every capture of the shared collection: judged by an independent oracle, by a
reference that remembers every octet, and by tshark's own analysis.

The reference is written here from docs/tcp-records.md, and takes only the reading of packets from the oracle. It
runs twice for each direction: with duplicates however far back, and with as many as tributaryd looks back for.
$TRIBUTARY_SHARED (default: ../shared beside the checkout) holds `pcaps/` and `oracle/`; without them this is skipped.
"""
import collections
import importlib.util
import ipaddress
import json
import os
import subprocess
import sys

import harness
from tcp_reference import (DUPLICATE_TIME, FIRST, JUDGED, PLAIN_COUNTS, AllCopies, RecentCopies, Reference,
                           Segment)

PCAPS, ORACLE = os.path.join(harness.SHARED, "pcaps"), os.path.join(harness.SHARED, "oracle")

FOREVER = "2147483648"  # one record for each flow
SETTINGS = ["flows.tcp-analysis=true", "flows.vlan-in-key=false", "flows.idle-timeout=" + FOREVER,
            "flows.active-timeout=" + FOREVER, "flows.tcp-duplicate-time=%d" % DUPLICATE_TIME, "flows.max-flows=65536"]

ENTERPRISE, REVERSE_BIT = 32473, 0x4000
ELEMENTS = {7: ("segments", "u32"), 8: ("dataSegments", "u32"), 9: ("retransmissions", "u32"),
            10: ("retransmittedOctets", "u64"), 11: ("duplicates", "u32"), 12: ("outOfOrder", "u32"),
            13: ("zeroWindow", "u16"), 14: ("keepAlives", "u32"), 15: ("flowSize", "u32"),
            16: ("flowDurationNanoseconds", "u64"), 17: ("tcpAnalysisOverflow", "u16")}
SIZES = ("flowSize", "flowDurationNanoseconds")  # of records with one SYN and one FIN
NO_SIZES = (2**32 - 1, 0)                        # of a biflow's direction without a size, while the other has one
NAMES = [name for name, _ in ELEMENTS.values()]
ALL_FIELDS = (*PLAIN_COUNTS, *JUDGED, *FIRST, "tcpAnalysisOverflow", *SIZES)

# tshark's names for ntop's elements, and their sums over all flows of a capture
NTOP = ("retransmitted_in_pkts", "retransmitted_out_pkts", "ooorder_in_pkts", "ooorder_out_pkts")
NTOP_COUNTS = [("ndpi--ultrasurf.pcap", "uniflow", (21, 0, 19, 0)), ("ndpi--ultrasurf.pcap", "biflow", (21, 0, 19, 0)),
               ("tcptrace--urgent.pcap", "uniflow", (0, 0, 4, 0)), ("tcptrace--urgent.pcap", "biflow", (0, 0, 0, 4))]

HOLES = 8  # kept by tributaryd for a direction

# Reasons for differences from the oracle, or from the reference without bounds; and their numbers, by capture.
FAR_COPIES = "duplicates further back than tributaryd looks"
COPIES_COUNTED = "retransmissions that are such duplicates"
COPIED_OCTETS = "octets of these"
FIN_BEFORE_SYN = "flows with the FIN before the SYN, whose size the oracle tells"
TIME_BACKWARDS = "flows with the FIN's time before the SYN's, whose negative duration the oracle tells"
MANY_HOLES = "flows with more holes than tributaryd keeps"
NOT_JUDGED = "retransmissions before the first hole that is kept"
PROBES = "retransmissions by the paper that are keep-alive probes of one octet"
NOT_JUDGED_BY_PAPER = "retransmissions by the paper before the first hole that is kept"
DIFFERENCES = {
    # Each packet occurs twice, 83 frames apart: the capture holds the same second two times.
    "ipfixprobe--tls.pcap": {FAR_COPIES: 57, COPIES_COUNTED: 24, COPIED_OCTETS: 10459},
    "large-apps-A.pcap": {PROBES: 2},
    # Downloads with packets missing in the capture.
    "large-web-A.pcap": {PROBES: 43, MANY_HOLES: 38},
    # Each packet occurs twice: the flow's first one was not among the last 3 any more when the first duplicate came.
    "ndpi--rtsp.pcapng": {FAR_COPIES: 1},
    # A burst out of order leaves 12 holes.
    "ndpi--ultrasurf.pcap": {MANY_HOLES: 1, NOT_JUDGED: 9, NOT_JUDGED_BY_PAPER: 1},
    "pcapplusplus--many-protocols.pcap": {PROBES: 57},
    # The time of frame 2, SYN and ACK, is 46 years after that of all others.
    "pcapplusplus--pcapng-example.pcapng": {TIME_BACKWARDS: 1},
    "suricata-verify--smb2-ntlmssp-negotiateflags.pcap": {PROBES: 1},
    # With a window of 0, and the same octet repeatedly.
    "tcptrace--urgent.pcap": {PROBES: 47},
}

# (ours, tshark's) of the flows of a capture that differ
TSHARK_NAMES = {"retransmissions": "anyRetransmissionWithData", "outOfOrder": "out_of_order",
                "keepAlives": "keep_alive", "zeroWindow": "zero_window"}
TSHARK = {
    # All are duplicates, which tshark does not have; and for a window of 0 it does not count a FIN.
    "arkime--wireshark-retrans.pcap": {"retransmissions": (0, 47), "outOfOrder": (0, 1), "keepAlives": (0, 1),
                                       "zeroWindow": (4, 0)},
    "libtrace--vlan.pcap": {},
    # 7 are duplicates, which tshark does not have; 4, all of seen octets, are out of order to it.
    "ndpi--alexa-app.pcapng": {"retransmissions": (15, 18), "outOfOrder": (0, 4)},
    # 19 fill holes, which tshark calls retransmissions when they are slow; 2 that are ones it calls out of order; 9 are
    # not judged; and 4 were overtaken by an ACK of their sender.
    "ndpi--ultrasurf.pcap": {"retransmissions": (21, 50), "outOfOrder": (19, 3)},
    # The last data comes after the later FIN, and for the first time.
    "nfstream--skype.pcap": {"retransmissions": (0, 11)},
    # It fills a hole for the first time.
    "packets--tcp_dupack.pcapng": {"retransmissions": (0, 1), "outOfOrder": (1, 0)},
    "packets--tcp_retransmissions.pcapng": {},
    # 4 duplicates without data; 2 after the later FIN; 1 that fills a hole; 2 keep-alive probes of a closed side.
    "pcapplusplus--many-protocols.pcap": {"retransmissions": (1, 10), "outOfOrder": (2, 1), "keepAlives": (3, 1)},
    "suricata-verify--ssh-hassh-incomplete.pcap": {},
    # 42 data segments and a SYN occur again, forwarded by a router with another TTL, 7 ms later; of these tshark calls
    # 12 out of order, and the SYN a retransmission. 2 fill holes.
    "tcptrace--discard.solaris.pcap": {"retransmissions": (63, 54), "outOfOrder": (2, 12)},
    "tcptrace--long_rtt.pcap": {},
    # 46 are zero window probes to tshark; 15 are ACKs of a sender whose probe's octet was not taken; 1 fills a hole.
    "tcptrace--urgent.pcap": {"retransmissions": (0, 1), "outOfOrder": (4, 3), "keepAlives": (62, 1)},
    # All are duplicates.
    "zeek--ssh-dups.pcap": {"retransmissions": (0, 166)},
}
BIFLOWS = ["arkime--wireshark-retrans.pcap", "ndpi--ultrasurf.pcap", "nfstream--skype.pcap",
           "pcapplusplus--many-protocols.pcap", "tcptrace--discard.solaris.pcap", "tcptrace--http.pcap",
           "tcptrace--urgent.pcap", "zeek--ssh-dups.pcap"]


def run(*command):
    result = subprocess.run(command, capture_output=True, text=True, timeout=600)
    if result.returncode != 0:
        raise AssertionError("%s exits %d: %s" % (command[:2], result.returncode,
                                                  (result.stdout + result.stderr)[-3000:]))
    return result


def python(script, *arguments):
    return run(sys.executable, os.path.join(ORACLE, script), *arguments)


# Reading: segments, tributaryd's records and the oracle's, all by (source, destination, source port, destination port)


def oracle_module():
    specification = importlib.util.spec_from_file_location("shared_oracle", os.path.join(ORACLE, "oracle.py"))
    oracle = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(oracle)
    return oracle


def segments_of(capture):
    """{flow: its segments}, of packets read by the oracle."""
    oracle, path = oracle_module(), os.path.join(PCAPS, capture)
    options, flows = oracle.options([path]), collections.defaultdict(list)
    for frame in oracle.read_capture(path):
        try:
            p = oracle.parse(frame, options)
        except (oracle.NonIP, oracle.Malformed):
            continue
        if p.proto == oracle.TCP and not p.frag_offset and p.tcp_seq is not None:
            checksum = frame.data[p.payload_at + 16:p.payload_at + 18]  # over IPv6 only copies have it in common
            flows[p.src, p.dst, p.sport, p.dport].append(Segment(
                frame.ts, p.tcp_seq, p.tcp_ack, p.tcp_flags, p.tcp_window, p.tcp_payload, p.length, p.ttl,
                p.ident if p.version == 4 else checksum))
    return {(str(ipaddress.ip_address(source)), str(ipaddress.ip_address(destination)), *ports): segments
            for (source, destination, *ports), segments in flows.items()}


def flow_of(record):
    return tuple(record.get(name % 4, record.get(name % 6)) if "%" in name else record[name] for name in
                 ("sourceIPv%dAddress", "destinationIPv%dAddress", "sourceTransportPort", "destinationTransportPort"))


def oracle_records(capture, *options):
    lines = python("oracle.py", os.path.join(PCAPS, capture), "--tcp", *options).stdout.splitlines()
    records = [json.loads(line) for line in lines]
    return {flow_of(record): record for record in records if "@type" not in record}


def reverse(name):
    return "reverse" + name[0].upper() + name[1:]


def sets(*key_values):
    return [word for key_value in key_values for word in ("--set", key_value)]


def tributary_records(capture, directory, *settings):
    """tributaryd's TCP records of a capture with segments, without directions that have none."""
    out, stats, got = (os.path.join(directory, name) for name in ("out.ipfix", "stats", "got"))
    run(harness.TRIBUTARYD, "--read", os.path.join(PCAPS, capture), "--write", out, "--stats", stats,
        *sets(*SETTINGS, *settings))
    harness.TestCase().check_ledger(harness.read_json(stats))
    names = []
    for number, (name, kind) in ELEMENTS.items():
        names += ["--ie", "%d/%d=%s:%s" % (ENTERPRISE, number, name, kind),
                  "--ie", "%d/%d=%s:%s" % (ENTERPRISE, number | REVERSE_BIT, reverse(name), kind)]
    python("ipfix2json.py", out, "--strict", "--export-slack", "0", "--out", got, *names)
    with open(got) as lines:
        records = [json.loads(line) for line in lines]
    records = [record for record in records if record["@type"] == "data" and record["protocolIdentifier"] == 6]
    by_flow = {flow_of(record): record for record in records}
    if len(by_flow) != len(records):
        raise AssertionError("%d records of %d flows" % (len(records), len(by_flow)))
    return {flow: record for flow, record in by_flow.items()
            if record["segments"] + record.get("reverseSegments", 0) > 0}


# Judging

def unlike(flow, names, ours, other, whose):
    """One line for each field that differs."""
    return ["%s: %s is %s, %s %s" % (flow, name, ours.get(name), whose, other.get(name))
            for name in names if ours.get(name) != other.get(name)]


def judge_flow(flow, segments, ours, strict, paper, found):
    """The faults of our record of a flow; explained differences go to found."""
    exact = Reference(segments, AllCopies())
    bounded = Reference(segments, RecentCopies(), HOLES).counts
    wrong = unlike(flow, ALL_FIELDS, ours, bounded, "the reference has")
    wrong += unlike(flow, PLAIN_COUNTS, ours, strict, "the oracle has")
    if ":" not in flow[0]:  # over IPv6 the oracle finds no duplicates
        wrong += unlike(flow, ["duplicates"], exact.counts, strict, "(by the reference) the oracle has")
    # Our numbers are those of bounded, or a fault was found before.
    if bounded["duplicates"] != exact.counts["duplicates"]:
        found[FAR_COPIES] += exact.counts["duplicates"] - bounded["duplicates"]
        found[COPIES_COUNTED] += bounded["retransmissions"] - exact.counts["retransmissions"]
        found[COPIED_OCTETS] += bounded["retransmittedOctets"] - exact.counts["retransmittedOctets"]
    elif bounded["tcpAnalysisOverflow"] != exact.counts["tcpAnalysisOverflow"]:
        found[MANY_HOLES] += 1
        found[NOT_JUDGED] += exact.counts["retransmissions"] - bounded["retransmissions"]
        names = [name for name in ALL_FIELDS if name not in (*JUDGED, "tcpAnalysisOverflow")]
        wrong += unlike(flow, names, ours, exact.counts, "the reference without bounds has")
        wrong += ["%s: more %s than the reference without bounds has" % (flow, name) for name in JUDGED
                  if ours[name] > exact.counts[name]]
    else:
        wrong += unlike(flow, ALL_FIELDS, ours, exact.counts, "the reference without bounds has")
    wrong += judge_size(flow, exact, ours, strict, found)
    return wrong + judge_by_paper(flow, exact, ours, paper, found)


def judge_size(flow, exact, ours, strict, found):
    """The oracle's size and duration, for any order and times of SYN and FIN."""
    if strict["flowSize"] is not None and exact.syns[0][0] > exact.fins[0][0]:
        found[FIN_BEFORE_SYN] += 1
        return unlike(flow, SIZES, ours, {}, "there should be")
    if (strict["flowDurationNanoseconds"] or 0) < 0:
        found[TIME_BACKWARDS] += 1
        return unlike(flow, SIZES[:1], ours, strict, "the oracle has")
    return unlike(flow, SIZES, ours, strict, "the oracle has")


def judge_by_paper(flow, exact, ours, paper, found):
    """By the paper, a data segment with the sequence number of another one is a retransmission, if not a duplicate."""
    missing = paper["retransmissions"] - ours["retransmissions"]
    if missing <= 0:
        return []
    if missing <= exact.probing_octets:
        found[PROBES] += missing
    elif missing <= ours["tcpAnalysisOverflow"]:
        found[NOT_JUDGED_BY_PAPER] += missing
    else:
        return ["%s: %d retransmissions, by the paper %d" % (flow, ours["retransmissions"], paper["retransmissions"])]
    return []


def difference(capture, directory):
    """The faults of our records of a capture, or None."""
    flows, records = segments_of(capture), tributary_records(capture, directory)
    if flows.keys() != records.keys():
        return "flows only here or there: %s" % sorted(flows.keys() ^ records.keys())
    if not flows:
        return None
    strict, paper = oracle_records(capture, "--dup", "strict"), oracle_records(capture)
    wrong, found = [], collections.Counter()
    for flow, segments in flows.items():
        wrong += judge_flow(flow, segments, records[flow], strict[flow], paper[flow], found)
    found, expected = {name: count for name, count in found.items() if count != 0}, DIFFERENCES.get(capture, {})
    if found != expected:
        wrong.append("different for a reason: %s, expected %s" % (found, expected))
    return "\n".join(wrong) or None


def difference_to_tshark(capture, directory):
    """The unknown differences from tshark's analysis, or None."""
    records, judged_by_tshark = tributary_records(capture, directory), oracle_records(capture, "--tshark")
    found = {}
    for ours, theirs in TSHARK_NAMES.items():
        pairs = [(record[ours], judged_by_tshark[flow]["tshark"][theirs]) for flow, record in records.items()]
        different = [pair for pair in pairs if pair[0] != pair[1]]
        if different:
            found[ours] = tuple(sum(numbers) for numbers in zip(*different))
    expected = TSHARK[capture]
    return None if found == expected else "(ours, tshark's) of flows that differ: %s, expected %s" % (found, expected)


def difference_of_biflows(capture, directory):
    """The differences of biflows' directions from the uniflows, or None."""
    uniflows = tributary_records(capture, directory)
    wrong, directions = [], 0
    for flow, record in tributary_records(capture, directory, "flows.direction=biflow").items():
        source, destination, *ports = flow
        forward = {name: record.get(name) for name in ALL_FIELDS}
        backward = {name: record.get(reverse(name)) for name in ALL_FIELDS}
        for each, way in ((flow, forward), ((destination, source, *ports[::-1]), backward)):
            if not way["segments"]:
                continue
            directions += 1
            if tuple(way[name] for name in SIZES) == NO_SIZES:
                way.update(dict.fromkeys(SIZES))
            wrong += unlike(each, ALL_FIELDS, way, uniflows.get(each, {}), "the uniflow has")
    if directions != len(uniflows):
        wrong.append("%d directions of biflows, %d uniflows" % (directions, len(uniflows)))
    return "\n".join(wrong) or None


class TcpRecords(harness.TestCase):
    def setUp(self):
        super().setUp()
        if not (os.path.isdir(PCAPS) and os.path.isdir(ORACLE)):
            self.skipTest("no captures and no oracle in " + harness.SHARED)

    def test_every_capture(self):
        captures = sorted(name for name in os.listdir(PCAPS) if name.endswith((".pcap", ".pcapng")))
        self.check_captures(captures, difference)

    def test_what_tshark_sees_differently(self):
        harness.need("tshark")
        self.check_captures(sorted(TSHARK), difference_to_tshark)

    def test_directions_of_biflows(self):
        self.check_captures(BIFLOWS, difference_of_biflows)

    def test_tshark_reads_ntops_elements(self):
        harness.need("tshark")
        for capture, direction, counts in NTOP_COUNTS:
            with self.subTest(capture, direction=direction):
                out, _, _ = self.meter("--read", os.path.join(PCAPS, capture), *sets(
                    *SETTINGS, "export.ntop-elements=true", "flows.direction=" + direction))
                told = dict.fromkeys(NTOP, 0)
                fields = [word for name in NTOP for word in ("-e", "cflow.pie.ntop." + name)]
                for line in run("tshark", "-r", out, "-o", "cflow.max_template_fields:0", "-T", "fields",
                                "-E", "separator=;", *fields).stdout.splitlines():
                    for name, values in zip(NTOP, line.split(";")):
                        told[name] += sum(int(value) for value in values.split(",") if value)
                self.assertEqual(tuple(told.values()), counts)

    def test_elements_are_announced(self):
        types = {"u16": 2, "u32": 3, "u64": 4}  # RFC 5610 §3.1
        wanted = {(number, name, types[kind]) for number, (name, kind) in ELEMENTS.items()}
        of_biflows = wanted | {(18, "tcpHandshakeNanoseconds", 3)}
        of_biflows |= {(number | REVERSE_BIT, reverse(name), kind) for number, name, kind in of_biflows}
        for direction, elements in (("uniflow", wanted), ("biflow", of_biflows)):
            with self.subTest(direction):
                out, _, _ = self.meter("--read", harness.DEMO, "--set", "flows.tcp-analysis=true", "--set",
                                       "flows.direction=" + direction)
                got = self.path("got")
                python("ipfix2json.py", out, "--strict", "--export-slack", "0", "--out", got)
                with open(got) as lines:
                    records = [json.loads(line) for line in lines]
                announced = {(record["informationElementId"], record["informationElementName"],
                              record["informationElementDataType"]) for record in records
                             if record.get("privateEnterpriseNumber") == ENTERPRISE}
                self.assertEqual(elements - announced, set())


if __name__ == "__main__":
    harness.main()
