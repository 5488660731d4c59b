#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Golden cases: a small capture and a configuration give exactly these records, for any number of queues. Two decoders
say so: ours, and tshark, where it is installed.

    golden.py CASE             checks tests/golden/CASE
    golden.py --update CASE    makes input.pcap (some cases need scapy) and expected.jsonl; review the difference
"""
import json
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "system"))
import harness  # noqa: E402
import tshark_records  # noqa: E402


def lines_of(records):
    """As in expected.jsonl, in an order that does not depend on the workers."""
    lines = [json.dumps(record, sort_keys=True) for record in records]
    return sorted(lines, key=lambda line: (re.search('"flowStart[a-zA-Z]*": [0-9]+', line).group(), line))


class Golden(harness.TestCase):
    case = ""

    def expected(self):
        with open(os.path.join(HERE, self.case, "expected.jsonl")) as source:
            lines = source.read().splitlines()
        self.assertGreater(len(lines), 1)
        return lines

    def metered(self, queues):
        """The IPFIX file of a run, and the number of records that the ledger tells."""
        folder = os.path.join(HERE, self.case)
        out, ledger, _ = self.meter("--config", os.path.join(folder, "config.yaml"), "--read",
                                    os.path.join(folder, "input.pcap"), "--set", "read.queues=%d" % queues)
        return out, ledger["flows"]["exported"]

    def records(self, queues):
        out, exported = self.metered(queues)
        records = self.flows(out)
        self.assertEqual(len(records), exported)
        # without what the message says ("@...")
        return lines_of({name: value for name, value in record.items() if name[0] != "@"} for record in records)

    def test_records_are_as_expected(self):
        for queues in (1, 3):
            with self.subTest(queues=queues):
                self.assertEqual(self.records(queues), self.expected())

    def test_tshark_reads_the_records_that_are_expected(self):
        harness.need("tshark")
        out, exported = self.metered(3)
        records, complaints = tshark_records.decode(out)
        self.assertEqual(complaints, [])
        self.assertEqual(len(records), exported)
        self.assertEqual(lines_of(records), self.expected())


def update():
    folder = os.path.join(HERE, Golden.case)
    subprocess.run([sys.executable, os.path.join(folder, "make.py")], check=True)
    test = Golden("records")
    test.setUp()
    with open(os.path.join(folder, "expected.jsonl"), "w") as out:
        out.writelines(line + "\n" for line in test.records(1))
    test.doCleanups()


if __name__ == "__main__":
    Golden.case = sys.argv.pop()
    if sys.argv[1:] == ["--update"]:
        update()
    else:
        harness.main()
