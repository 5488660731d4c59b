#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Small captures of the shared collection's `findings/`, with known records, one by one.

$TRIBUTARY_SHARED is by default ../shared beside the checkout; without it this is skipped.
"""
import json
import os

import harness

FINDINGS = os.path.join(harness.SHARED, "findings")

TCP6 = {"sourceIPv6Address": "2001:db8::1", "sourceTransportPort": 40000, "destinationIPv6Address": "2001:db8::2",
        "destinationTransportPort": 443, "protocolIdentifier": 6, "tcpControlBits": 0x18, "packetDeltaCount": 1}
TCP4 = {"sourceIPv4Address": "192.0.2.1", "sourceTransportPort": 40000, "destinationIPv4Address": "198.51.100.2",
        "destinationTransportPort": 443, "protocolIdentifier": 6, "packetDeltaCount": 1, "octetDeltaCount": 90}
BIFLOWS = ["flows.direction=biflow", "flows.tcp-end=true"]
WHOLE = {"sourceIPv4Address": "192.0.2.1", "sourceTransportPort": 40001, "destinationTransportPort": 80,
         "biflowDirection": 1, "packetDeltaCount": 3, "reversePacketDeltaCount": 3}

# (capture, settings, the records: each has these elements; None: it has not, what is ignored, by reason)
CASES = [
    ("ipv6-length0-tcp.pcap", [], [{**TCP6, "octetDeltaCount": 1560, "vlanId": None}], {}),
    ("ipv6-length0-vlan.pcap", [], [{**TCP6, "octetDeltaCount": 1560, "vlanId": 9}], {}),
    ("ipv6-length0-dstopt.pcap", [], [{**TCP6, "octetDeltaCount": 1568}], {}),
    ("ipv6-length0-vxlan.pcap", [],
     [{"sourceTransportPort": 5555, "destinationTransportPort": 4789, "protocolIdentifier": 17, "octetDeltaCount": 1630}], {}),
    ("ipv6-length0-vxlan.pcap", ["flows.tunnel=inner"],
     [{"sourceTransportPort": 40000, "destinationTransportPort": 443, "protocolIdentifier": 6, "octetDeltaCount": 1560,
       "tunnelType": 4, "tunnelId": 77}], {}),
    ("mpls-pw-nocw-mac40.pcap", ["flows.mpls-pseudowires=true"], [TCP4], {}),
    ("mpls-pw-nocw-mac40.pcap", [], [], {"mpls_non_ip": 1}),
    ("mpls-pw-nocw-mac45.pcap", ["flows.mpls-pseudowires=true"], [TCP4], {}),
    ("mpls-pw-nocw-mac45.pcap", [], [], {"mpls_non_ip": 1}),
    ("fin-last-ack.pcap", BIFLOWS, [WHOLE], {}),
    ("fin-reuse.pcap", BIFLOWS, [WHOLE, WHOLE], {}),
    ("ack-then-syn.pcap", BIFLOWS[:1], [{**WHOLE, "packetDeltaCount": 2, "reversePacketDeltaCount": 2}], {}),
]


class KnownCaptures(harness.TestCase):
    def setUp(self):
        super().setUp()
        if not os.path.isdir(FINDINGS):
            self.skipTest("no captures in " + FINDINGS)

    def test_records_are_the_right_ones(self):
        for capture, settings, expected, ignored in CASES:
            with self.subTest(capture=capture, settings=settings):
                sets = [argument for setting in settings for argument in ("--set", setting)]
                out, ledger, _ = self.meter("--read", os.path.join(FINDINGS, capture), *sets)
                records = self.flows(out)
                self.assertEqual(len(records), len(expected), json.dumps(records, indent=1))
                for record, wanted in zip(records, expected):
                    self.assertEqual({name: record.get(name) for name in wanted}, wanted)
                reasons = ledger["packets"]["ignored_by_reason"]
                self.assertEqual({name: count for name, count in reasons.items() if count}, ignored)


if __name__ == "__main__":
    harness.main()
