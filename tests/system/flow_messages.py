#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""FlowMessages, read by others: by the classes that protoc makes of goflow2's own schema, and beside the messages that
goflow2 makes of the same records as IPFIX. Schema and goflow2 come through the Go proxy."""
import ipaddress
import json
import os
import re
import subprocess

import goflow2_module
import harness

RECORDS = 2000
FIRST_SEQUENCE = 0xFFFFFF00  # flow_message_records.cpp
NOW = 1_700_000_000 * 10**9
SECTIONS = ["mplsTopLabelStackSection"] + ["mplsLabelStackSection%d" % section for section in range(2, 11)]

# FlowMessage's field: the element with the same value
SAME = {"bytes": "octetDeltaCount", "packets": "packetDeltaCount", "in_if": "ingressInterface",
        "proto": "protocolIdentifier", "src_port": "sourceTransportPort", "dst_port": "destinationTransportPort",
        "ip_tos": "ipClassOfService", "ip_ttl": "minimumTTL", "tcp_flags": "tcpControlBits", "vlan_id": "vlanId",
        "src_vlan": "vlanId", "ipv6_flow_label": "flowLabelIPv6", "time_flow_start_ns": "flowStartNanoseconds",
        "time_flow_end_ns": "flowEndNanoseconds"}
# Ours, where the name is not the element's in other letters.
OURS = {"layer2_octets": "layer2OctetDeltaCount", "flow_duration_ns": "flowDurationNanoseconds",
        **{"tcp_%s_count" % flag.lower(): "tcp%sTotalCount" % flag for flag in ("Syn", "Fin", "Rst", "Psh", "Ack", "Urg")}}
OUR_ADDRESSES = {"tunnel_source_address": "tunnelSource%sAddress", "tunnel_destination_address": "tunnelDestination%sAddress"}


def packed(address):
    return ipaddress.ip_address(address).packed.hex()


def number_of_mac(text):
    return int(text.replace(":", ""), 16)


def address_of(row, name):
    """The address of an element in one of its two versions; None: the record has neither."""
    text = row.get(name % "IPv4") or row.get(name % "IPv6")
    return packed(text) if text else None


def expected_flow_message(row, number):
    """What FlowMessage has of a record, by its elements. Fields that are 0 are not in a message."""
    fields = {name: row.get(element, 0) for name, element in SAME.items()}
    icmp = row.get("icmpTypeCodeIPv4", row.get("icmpTypeCodeIPv6", 0))
    labels = [int(row[section], 16) >> 4 for section in SECTIONS[:3] if section in row]
    fields.update({
        "type": 4, "sampling_rate": 1, "sequence_num": (FIRST_SEQUENCE + number) & 0xFFFFFFFF,
        "sampler_address": packed("2001:db8::1"), "observation_domain_id": 42,
        "time_received_ns": max(NOW, row["flowEndNanoseconds"]),
        "src_addr": address_of(row, "source%sAddress"), "dst_addr": address_of(row, "destination%sAddress"),
        "etype": {4: 0x0800, 6: 0x86DD}[row["ipVersion"]], "icmp_type": icmp >> 8, "icmp_code": icmp & 0xFF,
        "src_mac": number_of_mac(row.get("sourceMacAddress", "0")),
        "dst_mac": number_of_mac(row.get("destinationMacAddress", "0")),
        "ip_flags": row["fragmentFlags"] >> 5, "mpls_label": labels})
    return {name: value for name, value in fields.items() if value}


def expected_ours(row, number, names):
    """What is in our fields: a value for each element that the record has, 0 too."""
    def element(name):
        return OURS.get(name) or re.sub("_(.)", lambda letter: letter.group(1).upper(), name)
    known = {element(name).lower(): name for name in names}
    fields = {known[name.lower()]: value for name, value in row.items() if name.lower() in known}
    fields.update({name: address_of(row, address) for name, address in OUR_ADDRESSES.items() if address_of(row, address)})
    sections = [int(row[section], 16) for section in SECTIONS if section in row]
    while sections and sections[-1] == 0:
        sections.pop()
    if sections:
        fields["mpls_label_stack_sections"] = sections
    return {**fields, "probe_name": "Köln 1", "stream": 0xFEDCBA9876543210, "stream_sequence": FIRST_SEQUENCE + number}


class FlowMessages(harness.TestCase):
    def setUp(self):
        super().setUp()
        program = os.path.join(harness.BUILD, "tests", "system", "flow_message_records")
        self.ipfix, self.messages = self.path("records.ipfix"), self.path("records.messages")
        subprocess.run([program, self.ipfix, self.messages, str(RECORDS)], check=True, timeout=60)

    def decoded(self, path):
        harness.need("protoc")
        if subprocess.run(["/usr/bin/python3", "-c", "import google.protobuf"], capture_output=True).returncode != 0:
            self.skipTest("not installed: python3-protobuf")
        theirs, ours = os.path.join(goflow2_module.fetch(), "pb"), os.path.join(harness.ROOT, "docs")
        for folder, name in ((theirs, "flow.proto"), (ours, "tributary_flow.proto")):
            subprocess.run(["protoc", "-I", folder, "--python_out", self.directory, name], check=True, timeout=60)
        reader = os.path.join(harness.ROOT, "tests", "system", "flow_message_reader.py")
        lines = subprocess.run(["/usr/bin/python3", reader, self.directory, path], capture_output=True, text=True,
                               timeout=120, check=True).stdout
        return [json.loads(line) for line in lines.splitlines()]

    def our_names(self):
        with open(os.path.join(harness.ROOT, "docs", "tributary_flow.proto")) as source:
            return re.findall(r"^  \w+ \w+ (\w+) = \d+;", source.read(), re.MULTILINE)

    def test_each_field_is_the_elements(self):
        flows = subprocess.run([harness.TRIBUTARY, "flows", "--json", self.ipfix], capture_output=True, text=True, timeout=60,
                               check=True).stdout
        rows = [json.loads(line) for line in flows.splitlines()]
        messages = self.decoded(self.messages)
        self.assertEqual((len(rows), len(messages)), (RECORDS, RECORDS))
        names = self.our_names()
        met = set()
        for number, (row, (flow, ours)) in enumerate(zip(rows, messages)):
            self.assertEqual(flow, expected_flow_message(row, number), row)
            self.assertEqual(ours, expected_ours(row, number, names), row)
            met |= set(ours)
        self.assertEqual(set(names) - met, {"selector_id"})  # of probes whose inputs differ in sampling

    def test_a_capture_into_a_file(self):
        for direction in ("uniflow", "biflow"):  # of a biflow both directions are messages
            path, messages = self.path(direction + ".messages"), harness.DEMO_FLOWS
            collectors = "[{transport: file, path: %s, format: flowmessage}]" % path
            self.tributaryd("--read", harness.DEMO, "--stats", self.path("stats.json"), "-n", "127.0.0.1:4739",
                            *(word for setting in ("export.collectors=" + collectors, "flows.direction=" + direction,
                                                   "export.probe.name=west-1", "export.probe.address=192.0.2.9",
                                                   "export.observation-domain=7") for word in ("--set", setting)))
            decoded = self.decoded(path)
            self.assertEqual(len(decoded), messages)
            self.assertEqual(sum(flow["packets"] for flow, _ in decoded), harness.DEMO_PACKETS)
            self.assertEqual(sum(flow["bytes"] for flow, _ in decoded), harness.DEMO_OCTETS)
            self.assertEqual([ours["stream_sequence"] for _, ours in decoded], list(range(messages)))
            for flow, ours in decoded:
                self.assertEqual((flow["sampler_address"], flow["observation_domain_id"], flow["sampling_rate"]),
                                 (packed("192.0.2.9"), 7, 1))
                self.assertEqual((ours["probe_name"], ours["stream"]), ("west-1", decoded[0][1]["stream"]))
                self.assertGreaterEqual(flow["time_received_ns"], flow["time_flow_end_ns"])
            self.check_ledger(harness.read_json(self.path("stats.json")))

    def compare(self):
        program = goflow2_module.build("compare")
        return subprocess.run([program, self.ipfix, self.messages], capture_output=True, text=True, timeout=60)

    def test_goflow2_makes_the_same_of_ipfix(self):
        same = self.compare()
        self.assertEqual((same.returncode, same.stdout), (0, "%d\n" % RECORDS), same.stderr)
        with open(self.messages, "r+b") as messages:  # another source port in the first message
            octets = messages.read()
            changed = octets.index(b"\xa8\x01")  # src_port
            messages.seek(changed + 2)
            messages.write(bytes([octets[changed + 2] ^ 1]))
        other = self.compare()
        self.assertEqual(other.returncode, 1)
        self.assertIn("message 0:", other.stderr)


if __name__ == "__main__":
    harness.main()
