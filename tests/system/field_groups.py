#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""All field groups at once: packets of every kind that makes a template of its own, judged by element names computed here,
by decoders and collectors that others wrote, and by the page that lists the fields."""
import itertools
import json
import os
import re
import socket
import subprocess
import sys

import harness
import ipfix_file

sys.path.insert(0, os.path.join(harness.ROOT, "tests", "golden"))
import frames  # noqa: E402

SETTINGS = ("--set", "flows.tunnel=inner", "--set", "flows.tunnel-in-key=true", "--set",
            "export.fields=[extremes, layer2, tcp-counts, flow-label, mpls, fragments]")
ALWAYS = """sourceTransportPort destinationTransportPort protocolIdentifier ipVersion ipClassOfService tcpControlBits
    ingressInterface octetDeltaCount packetDeltaCount flowStartMilliseconds flowEndMilliseconds flowEndReason
    minimumIpTotalLength maximumIpTotalLength minimumTTL maximumTTL layer2OctetDeltaCount tcpSynTotalCount tcpFinTotalCount
    tcpRstTotalCount tcpPshTotalCount tcpAckTotalCount tcpUrgTotalCount fragmentFlags""".split()
MAC = ["sourceMacAddress", "destinationMacAddress"]
MPLS = ["mplsTopLabelStackSection", *("mplsLabelStackSection%d" % number for number in range(2, 11))]
TUNNELS = {
    "none": lambda inside: inside,
    "gre4": lambda inside: frames.ipv4(frames.gre(inside, key=7), source="203.0.113.1", destination="203.0.113.2"),
    "gre6": lambda inside: frames.ipv6(frames.gre(inside, key=7), source="2001:db8:1::1", destination="2001:db8:1::2"),
    "vxlan4": lambda inside: frames.ipv4(frames.vxlan(7, frames.ether(inside)), source="203.0.113.1",
                                         destination="203.0.113.2"),
    "vxlan6": lambda inside: frames.ipv6(frames.vxlan(7, frames.ether(inside)), source="2001:db8:1::1",
                                         destination="2001:db8:1::2"),
}
TAGS = [(), (0,), (5,), (0, 6), (5, 6)]


def packet(number, ipv6, icmp):
    """The metered packet, a flow of its own by its destination address."""
    if ipv6:
        return frames.ipv6(frames.icmp6(128, 0) if icmp else frames.tcp(1000, 80),
                           destination="2001:db8:2::%x" % number, flow_label=number)
    return frames.ipv4(frames.icmp(8, 0) if icmp else frames.udp(1000, 53), destination="10.0.%d.%d" % divmod(number, 256))


def names_of(ipv6, icmp, tunnel, tags=(), labels=False, mac=True):
    """Exactly the elements that the packet's record must have."""
    version, outer = "IPv6" if ipv6 else "IPv4", "IPv" + tunnel[-1]
    names = ALWAYS + ["source%sAddress" % version, "destination%sAddress" % version]
    names += ["flowLabelIPv6"] * ipv6 + ["icmpTypeCode" + version] * icmp + MPLS * labels
    names += ["vlanId"] * (5 in tags) + ["dot1qVlanId"] * (len(tags) > 0) + ["dot1qCustomerVlanId"] * (len(tags) > 1)
    names += MAC * (mac or tunnel.startswith("vxlan")) + ["layer2SegmentId"] * tunnel.startswith("vxlan")
    if tunnel != "none":
        names += ["tunnelType", "tunnelId", "tunnelSource%sAddress" % outer, "tunnelDestination%sAddress" % outer]
    return frozenset(names)


def every_kind():
    """Ethernet frames, packets without a link layer, and {destination address: element names}."""
    ethernet, raw, expected = [], [], {}

    def add(to, frame, number, ipv6, *kind, **details):
        to.append((frames.at(0, number), frame))
        expected["2001:db8:2::%x" % number if ipv6 else "10.0.%d.%d" % divmod(number, 256)] = names_of(ipv6, *kind, **details)

    numbers = itertools.count(1)
    for ipv6, icmp, tunnel in itertools.product((False, True), (False, True), TUNNELS):
        for tags, labels in itertools.product(TAGS, (False, True)):
            number = next(numbers)
            frame = TUNNELS[tunnel](packet(number, ipv6, icmp))
            frame = frames.mpls([100, 200], frame) if labels else frame
            for tag in reversed(tags):
                frame = frames.vlan(tag, frame)
            add(ethernet, frames.ether(frame), number, ipv6, icmp, tunnel, tags=tags, labels=labels)
        number = next(numbers)
        add(raw, TUNNELS[tunnel](packet(number, ipv6, icmp)), number, ipv6, icmp, tunnel, mac=False)
    return ethernet, raw, expected


class FieldGroups(harness.TestCase):
    def export(self, *more):
        """Path of the IPFIX file, number of its records, and every_kind()'s expectation."""
        ethernet, raw, expected = every_kind()
        captures = [self.path("ethernet.pcap", frames.pcap(ethernet)),
                    self.path("raw.pcap", frames.pcap(raw, frames.RAW_LINK))]
        out, ledger, _ = self.meter(*SETTINGS, *more, "--read", *captures)
        self.assertEqual(ledger["packets"]["ignored"], 0)
        self.assertEqual(ledger["flows"]["exported"], len(expected))
        return out, len(expected), expected

    def test_every_record_has_the_elements_of_its_kind(self):
        out, count, expected = self.export()
        records = self.flows(out)
        self.assertEqual(len(records), count)
        templates = {}
        for record in records:
            names = frozenset(name for name in record if not name.startswith("@"))
            destination = record.get("destinationIPv4Address") or record["destinationIPv6Address"]
            self.assertEqual(names, expected[destination], destination)
            templates.setdefault(record["@template"], set()).add(names)
        self.assertEqual(len(templates), len(set(expected.values())))
        self.assertEqual({len(kinds) for kinds in templates.values()}, {1})

    def test_template_ids_are_the_same_for_any_order_of_packets(self):
        ids = []
        for queues in (1, 3):
            out, _, _ = self.export("--set", "read.queues=%d" % queues)
            ids.append({frozenset(record): record["@template"] for record in self.flows(out)})
        self.assertEqual(ids[0], ids[1])

    def test_only_templates_that_records_use_are_announced_beside_the_plain_ones(self):
        harness.need("ipfixDump")
        out, _, expected = self.export()
        dump = subprocess.run(["ipfixDump", "--in", out, "--templates"], capture_output=True, text=True, timeout=60)
        self.assertEqual(dump.returncode, 0, dump.stderr)
        announced = re.findall(r"^--- template record ---\nheader:\n\ttid:\s*(\d+)", dump.stdout, re.MULTILINE)
        self.assertEqual(len(announced), len(set(announced)))
        used = {str(record["@template"]) for record in self.flows(out)}
        plain = {str(256 + index) for index in range(8)}
        self.assertEqual(set(announced), used | plain)

    def test_other_decoders_read_every_record(self):
        harness.need("ipfixDump", "tshark")
        out, count, _ = self.export()
        dump = subprocess.run(["ipfixDump", "--in", out, "--data"], capture_output=True, text=True, timeout=60)
        self.assertEqual(dump.returncode, 0, dump.stderr)
        self.assertEqual(dump.stdout.count("--- data record "), count + len(self.options(out)))
        messages = harness.tshark_records(out)
        self.assertEqual(sum(records for records, _ in messages), count)
        self.assertFalse(any(fault for _, fault in messages))
        marks = subprocess.run(["tshark", "-r", out, "-Y", "_ws.malformed or _ws.expert.severity >= warning"],
                               capture_output=True, text=True, timeout=60)
        self.assertEqual((marks.returncode, marks.stdout), (0, ""), marks.stderr)

    def test_nfdump_reads_every_record(self):
        harness.need("nfcapd", "nfdump")
        out, count, expected = self.export()
        port = harness.free_port()
        os.mkdir(self.path("flows"))
        with harness.Process("nfcapd", "-w", self.path("flows"), "-b", "127.0.0.1", "-p", str(port)) as collector, \
                socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as exporter:
            harness.wait_until(lambda: collector.udp_backlog(port) is not None, 10, "nfcapd")
            exporter.connect(("127.0.0.1", port))
            for message in ipfix_file.messages_of(out):
                exporter.send(message)
                harness.wait_until(lambda: collector.udp_backlog(port) == 0, 10, "nfcapd")
            collector.end()
            self.assertIn("Sequence Errors: 0, Bad Packets: 0", collector.text())
        text = subprocess.run(["nfdump", "-I", "-R", self.path("flows")], capture_output=True, text=True, check=True).stdout
        totals = {name: int(value) for name, value in re.findall(r"^(\w[\w ]*): (\d+)$", text, re.MULTILINE)}
        self.assertEqual((totals["Flows"], totals["Packets"], totals["Sequence failures"]), (count, count, 0))
        text = subprocess.run(["nfdump", "-R", self.path("flows"), "-o", "json"], capture_output=True, text=True,
                              check=True).stdout
        labelled = sum(names.issuperset(MPLS) for names in expected.values())
        for section, value in (("mpls_1", "100-0-0"), ("mpls_2", "200-0-1"), ("mpls_3", "0-0-0")):  # label-class-bottom
            self.assertEqual(text.count('"%s" : "%s"' % (section, value)), labelled, section)

    def test_the_strict_decoder_finds_no_fault(self):
        decoder = os.path.join(harness.SHARED, "oracle", "ipfix2json.py")
        if not os.path.exists(decoder):
            self.skipTest("no " + decoder)
        out, count, _ = self.export("--set", "export.enterprise-number=4711")
        result = subprocess.run([sys.executable, decoder, "--strict", out], capture_output=True, text=True, timeout=60)
        self.assertEqual(result.returncode, 0, result.stderr)
        records = [json.loads(line) for line in result.stdout.splitlines()]
        records = [record for record in records if record["@type"] == "data"]
        self.assertEqual(len(records), count)
        # It has tributary's own elements from options records (RFC 5610).
        self.assertTrue(any("tunnelDestinationIPv6Address" in record for record in records))
        for record in records:
            self.assertEqual(record.get("tunnelId", 7), 7)
            self.assertEqual(record.get("layer2SegmentId", 1 << 56 | 7), 1 << 56 | 7)
            self.assertIn(record.get("tunnelSourceIPv4Address"), (None, "203.0.113.1"))
            self.assertIn(record.get("tunnelDestinationIPv6Address"), (None, "2001:db8:1::2"))
            self.assertIn(record.get("mplsTopLabelStackSection"), (None, "000640"))
            self.assertIn(record.get("mplsLabelStackSection2"), (None, "000c81"))

    def test_the_page_of_fields_lists_every_element(self):
        with open(os.path.join(harness.ROOT, "docs", "fields.md")) as source:
            listed = set(re.findall(r"`(\w+)`", source.read()))
        _, _, expected = self.export()
        self.assertEqual(set().union(*expected.values()) - listed, set())

    def test_listing_shows_and_filters_tunnels(self):
        out, _, expected = self.export()
        result = subprocess.run([harness.TRIBUTARY, "flows", "--filter", "tunnel vxlan and outer host 203.0.113.2", out],
                                capture_output=True, text=True, timeout=60)
        self.assertEqual(result.returncode, 0, result.stderr)
        over_ipv4 = [names for names in expected.values()
                     if "layer2SegmentId" in names and "tunnelSourceIPv4Address" in names]
        self.assertEqual(result.stdout.count("VXLAN 7 203.0.113.1 > 203.0.113.2"), len(over_ipv4))
        self.assertIn("%d records," % len(over_ipv4), result.stdout)


if __name__ == "__main__":
    harness.main()
