#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One language for packets and for flows: what pcap filters can say is judged by tcpdump, on the packets of flows that match
and on the packets that are metered; what they cannot, by each flow's own record."""
import itertools
import json
import os
import random
import subprocess
import sys

import harness

sys.path.insert(0, os.path.join(harness.ROOT, "tests", "golden"))
import frames  # noqa: E402

HOSTS = ("10.0.0.1", "10.1.2.3", "10.1.200.7", "192.168.1.5", "224.0.0.251")
HOSTS6 = ("2001:db8::1", "2001:db8:8000::2", "fe80::1", "ff02::fb")
PORTS = (0, 53, 80, 443, 1024, 5353, 8080, 65535)

UNTAGGED = (
    "tcp", "udp", "icmp", "icmp6", "sctp", "ip", "ip6", "igmp", "esp",
    "not tcp", "! udp", "!ip6", "not not tcp", "ip and tcp", "ip6 and udp", "tcp or udp",
    "proto 17", "ip proto 6", "ip6 proto 17", "ip proto \\tcp", "ip proto 6 or 17",
    "port 53", "src port 53", "dst port 53", "src or dst port 53", "src and dst port 53", "tcp port 80", "udp src port 53",
    "tcp dst port 443", "sctp port 80", "port domain", "tcp port http", "port 0",
    "portrange 1-100", "tcp portrange 8000-8100", "src portrange 1024-65535", "udp dst portrange 53-80",
    "port 53 or 80", "tcp dst port 80 or 443", "udp port 53 or domain or 5353",
    "host 10.0.0.1", "src host 10.1.2.3", "dst host 10.1.2.3", "src 10.0.0.1", "dst 10.0.0.1 or 192.168.1.5",
    "host 10.0.0.1 and 10.1.2.3", "host 10.0.0.1 and not port 53", "src host 10.0.0.1 and dst host 192.168.1.5",
    "ip host 10.0.0.1", "ip6 host 2001:db8::1", "host 2001:db8::1", "src host fe80::1",
    "net 10.0.0.0/8", "src net 10.1.0.0/16", "dst net 10.1.128.0/17", "net 10", "net 10.1", "net 192.168.1",
    "net 10.1.0.0 mask 255.255.0.0", "net 10.0.0.0/8 or 192.168.0.0/16", "src and dst net 10.0.0.0/8",
    "ip6 net 2001:db8::/32", "net 2001:db8:8000::/33", "ip multicast", "ip6 multicast",
    # and, or: from left to right, with the same precedence
    "tcp or udp and port 53", "udp and port 53 or tcp", "tcp and port 80 or udp and port 53", "tcp||udp&&port 53",
    "(tcp or udp) and (port 53 or port 80)", "not (tcp or udp)", "not tcp and port 53", "(tcp and (port 80)) or icmp",
)

TAGGED = ("vlan", "vlan 5", "vlan 100", "not vlan", "vlan 5 and tcp", "vlan and udp port 53", "vlan 100 and (port 53 or 80)",
          "vlan and net 10.1", "vlan 4095")


def inner_frames(rng):
    """A packet of each kind between every two of some hosts."""
    for source, destination in itertools.permutations(HOSTS, 2):
        for kind in (frames.udp, frames.tcp, sctp):
            yield frames.ipv4(kind(rng.choice(PORTS), rng.choice(PORTS)), source, destination)
        yield frames.ipv4(frames.icmp(8, 0), source, destination)
    for source, destination in itertools.permutations(HOSTS6, 2):
        for kind in (frames.udp, frames.tcp):
            yield frames.ipv6(kind(rng.choice(PORTS), rng.choice(PORTS)), source, destination)
        yield frames.ipv6(frames.icmp6(128, 0), source, destination)
    yield frames.ipv4(frames.payload(bytes(8), 2))
    yield frames.ipv4(frames.payload(bytes(16), 50))


def sctp(source_port, destination_port):
    return frames.payload(source_port.to_bytes(2, "big") + destination_port.to_bytes(2, "big") + bytes(8), 132)


def packets_of(record):
    return record["packetDeltaCount"] + record.get("reversePacketDeltaCount", 0)


def octets_of(record):
    return record["octetDeltaCount"] + record.get("reverseOctetDeltaCount", 0)


def milliseconds_of(record):
    times = [record[name] for name in record if name.endswith(("StartMilliseconds", "EndMilliseconds"))]
    return max(times) - min(times)


def flags_of(record):
    return (record.get("tcpControlBits", 0) | record.get("reverseTcpControlBits", 0)) & 0xFF


def is_tcp(record):
    return record["protocolIdentifier"] == 6


FIELDS = (
    ("octets > 1000", lambda r: octets_of(r) > 1000),
    ("octets >= 1k and octets <= 10k", lambda r: 1000 <= octets_of(r) <= 10_000),
    ("octets != 62", lambda r: octets_of(r) != 62),
    ("packets = 1", lambda r: packets_of(r) == 1),
    ("packets 2", lambda r: packets_of(r) == 2),
    ("packets > 2 or octets < 100", lambda r: packets_of(r) > 2 or octets_of(r) < 100),
    ("duration > 1s", lambda r: milliseconds_of(r) > 1000),
    ("duration <= 250ms", lambda r: milliseconds_of(r) <= 250),
    ("duration = 0", lambda r: milliseconds_of(r) == 0),
    ("rate > 1k", lambda r: octets_of(r) * 1000 // max(1000, milliseconds_of(r)) > 1000),
    ("flags S", lambda r: is_tcp(r) and flags_of(r) & 2),
    ("flags SA", lambda r: is_tcp(r) and flags_of(r) & 0x12 == 0x12),
    ("flags = S", lambda r: is_tcp(r) and flags_of(r) == 2),
    ("flags R and not flags F", lambda r: is_tcp(r) and flags_of(r) & 4 and not flags_of(r) & 1),
    ("reason forced", lambda r: r["flowEndReason"] == 4),
    ("reason idle or active", None),  # a word is missing
    ("reason idle or reason active", lambda r: r["flowEndReason"] in (1, 2)),
    ("interface 1", lambda r: r["ingressInterface"] == 1),
    ("interface != 1", lambda r: r["ingressInterface"] != 1),
    ("tos 0", lambda r: r["ipClassOfService"] == 0),
    ("dscp > 0", lambda r: r["ipClassOfService"] >> 2 > 0),
    ("tcp and octets > 1k and not port 443",
     lambda r: is_tcp(r) and octets_of(r) > 1000 and 443 not in (r["sourceTransportPort"], r["destinationTransportPort"])),
    ("src port > 1023 and dst port <= 1023 and udp",
     lambda r: r["protocolIdentifier"] == 17 and r["sourceTransportPort"] > 1023 >= r["destinationTransportPort"]),
)


class FlowFilters(harness.TestCase):
    def capture(self, tags):
        rng = random.Random(1)
        timed = [(frames.at(0, number), frames.ether(frames.vlan(tag, inside) if tag else inside))
                 for number, (inside, tag) in enumerate(itertools.product(inner_frames(rng), tags))]
        return self.path("capture.pcap", frames.pcap(timed)), len(timed)

    def listed(self, ipfix, expression, *options):
        result = subprocess.run([harness.TRIBUTARY, "flows", "--json", ipfix, "--filter", expression, *options],
                                capture_output=True, text=True, timeout=60)
        return result, [json.loads(line) for line in result.stdout.splitlines()]

    def judge(self, tags, expressions):
        harness.need("tcpdump")
        capture, count = self.capture(tags)
        ipfix, ledger, _ = self.meter("--read", capture)
        self.assertEqual(ledger["packets"]["metered"], count)
        seen = set()
        for expression in expressions:
            with self.subTest(expression):
                expected = harness.tcpdump_count(capture, expression)
                result, records = self.listed(ipfix, expression)
                self.assertEqual(result.returncode, 0, result.stderr)
                self.assertEqual(sum(map(packets_of, records)), expected)
                seen.add(expected)
        self.assertGreater(len(seen), len(expressions) // 3)  # the expressions differ on the capture
        return capture, ipfix

    def test_pcap_expressions_mean_the_same_of_flows(self):
        capture, _ = self.judge((0,), UNTAGGED)
        for expression in UNTAGGED[::9]:  # and the same for metered packets
            with self.subTest(expression, of="packets"):
                _, ledger, _ = self.meter("--read", capture, "--set", "read.filter=" + json.dumps(expression))
                self.assertEqual(ledger["packets"]["metered"], harness.tcpdump_count(capture, expression))

    def test_vlan_tags(self):
        self.judge((0, 5, 100), TAGGED)

    def test_fields_of_flows(self):
        for options in ((), ("--set", "flows.direction=biflow")):
            ipfix, _, _ = self.meter("--read", harness.DEMO, *options)
            records = self.flows(ipfix)
            matching = 0
            for expression, holds in FIELDS:
                with self.subTest(expression, options=options):
                    result, listed = self.listed(ipfix, expression)
                    if holds is None:
                        self.assertEqual(result.returncode, harness.EX_USAGE, result.stderr)
                        continue
                    self.assertEqual(result.returncode, 0, result.stderr)
                    self.assertEqual(listed, [record for record in records if holds(record)])
                    matching += 0 < len(listed) < len(records)
            self.assertGreater(matching, len(FIELDS) // 2)


if __name__ == "__main__":
    harness.main()
