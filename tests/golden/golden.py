#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Golden cases: a small capture and a configuration give exactly these records, for any number of queues.

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


class Golden(harness.TestCase):
    case = ""

    def records(self, queues):
        folder = os.path.join(HERE, self.case)
        out, ledger, _ = self.meter("--config", os.path.join(folder, "config.yaml"), "--read",
                                    os.path.join(folder, "input.pcap"), "--set", "read.queues=%d" % queues)
        records = self.flows(out)
        self.assertEqual(len(records), ledger["flows"]["exported"])
        # without what the message says ("@..."), in an order that does not depend on the workers
        lines = [json.dumps({name: value for name, value in record.items() if name[0] != "@"}, sort_keys=True)
                 for record in records]
        return sorted(lines, key=lambda line: (re.search('"flowStart[a-zA-Z]*": [0-9]+', line).group(), line))

    def test_records_are_as_expected(self):
        with open(os.path.join(HERE, self.case, "expected.jsonl")) as source:
            expected = source.read().splitlines()
        self.assertGreater(len(expected), 1)
        for queues in (1, 3):
            with self.subTest(queues=queues):
                self.assertEqual(self.records(queues), expected)


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
