#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tshark judges each octet of the records in a golden case: one that is damaged makes a record that is not expected."""
import json
import os
import struct
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "system"))
import harness  # noqa: E402
import tshark_records  # noqa: E402

CASE = os.path.join(HERE, "biflows")  # all groups of fields that IANA has elements for, both versions of IP
OPTIONS = 0xFF00  # tributary's first template of options records


def damaged_sets(octets):
    """(header of the message, set of flow records with one damaged octet), for each octet of each such set."""
    while octets:
        length = struct.unpack_from(">H", octets, 2)[0]
        header, sets, octets = octets[:16], octets[16:length], octets[length:]
        while sets:
            number, size = struct.unpack_from(">HH", sets)
            for place in range(4, size if 256 <= number < OPTIONS else 0):
                yield header, sets[:place] + bytes([sets[place] ^ 1]) + sets[place + 1:size]
            sets = sets[size:]


class EachOctet(harness.TestCase):
    def test_a_damaged_octet_is_seen(self):
        harness.need("tshark")
        out, _, _ = self.meter("--config", os.path.join(CASE, "config.yaml"),
                               "--read", os.path.join(CASE, "input.pcap"))
        with open(out, "rb") as source:
            good = source.read()
        damaged = [header[:2] + struct.pack(">H", len(header) + len(part)) + header[4:] + part
                   for header, part in damaged_sets(good)]
        with open(os.path.join(CASE, "expected.jsonl")) as source:
            expected = [json.loads(line) for line in source]
        # The templates are in the messages before; the sequence numbers of those behind are wrong, and tshark says so.
        records, complaints = tshark_records.decode(self.path("damaged.ipfix", good + b"".join(damaged)))
        self.assertEqual([record for record in records[:len(expected)] if record not in expected], [])
        unexpected = [record for record in records[len(expected):] if record not in expected]
        self.assertEqual(len(unexpected), len(damaged))
        self.assertGreater(len(damaged), 500)
        self.assertTrue(complaints)


if __name__ == "__main__":
    harness.main()
