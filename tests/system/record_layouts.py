#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Records of two layouts through one export worker (export_layouts): nfdump and tshark decode all of them, and find no
fault in the sequence."""
import os
import re
import socket
import subprocess

import harness
import live_veth

RECORDS = 1000  # of each layout: uniflows of 10 packets, 1000 octets; biflows of these, and of 3 and 300 back


class RecordLayouts(harness.TestCase):
    def export(self, port):
        program = os.path.join(harness.BUILD, "tests", "system", "export_layouts")
        result = subprocess.run([program, str(port), self.path("flows.ipfix"), str(RECORDS)], capture_output=True, text=True,
                                timeout=60)
        self.assertEqual(result.returncode, 0, result.stderr)

    def test_tshark_decodes_the_file(self):
        harness.need("tshark")
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as receiver:  # without one the records are refused
            receiver.bind(("127.0.0.1", 0))
            self.export(receiver.getsockname()[1])
        messages = harness.tshark_records(self.path("flows.ipfix"))
        self.assertEqual([fault for _, fault in messages if fault], [])
        fields = ["cflow.srcport", "cflow.packets", "cflow.octets"]
        command = ["tshark", "-r", self.path("flows.ipfix"), "-Y", "cflow.packets", "-T", "fields", "-E", "occurrence=a"]
        for field in fields:
            command += ["-e", field]
        text = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout
        ports, packets, octets = ([int(value) for line in text.splitlines() for value in line.split("\t")[column].split(",")]
                                  for column in range(len(fields)))
        self.assertEqual(sorted(ports), sorted(2 * list(range(RECORDS))))
        # A biflow has the counts of both directions under the same names.
        self.assertEqual((len(packets), sum(packets)), (3 * RECORDS, 23 * RECORDS))
        self.assertEqual((len(octets), sum(octets)), (3 * RECORDS, 2300 * RECORDS))

    def test_the_names_of_tables_are_read_by_others_and_by_us(self):
        harness.need("ipfixDump")
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as receiver:
            receiver.bind(("127.0.0.1", 0))
            self.export(receiver.getsockname()[1])
        command = ["ipfixDump", "--in", self.path("flows.ipfix")]
        text = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout
        named = re.findall(r"templateId : (\d+)\s+\(6871/1000\)\s+templateName : \(len: \d+\) (\w+)", text)
        self.assertEqual({name for _, name in named}, {"main", "second"})
        self.assertEqual({name for number, name in named if int(number) >= 0x4000}, {"second"})
        self.assertEqual({name for number, name in named if int(number) < 0x4000}, {"main"})
        for table, packets in (("main", 10), ("second", 13)):
            listing = self.list("--table", table)
            self.assertTrue(listing.splitlines()[-1].startswith("%d records, %d packets, " % (RECORDS, packets * RECORDS)))
        self.assertIn("the records are of the tables main, second: choose one with --table", self.list("--by", "proto", expect=harness.EX_USAGE))
        self.assertIn("there is no table 'x'; the tables are main, second", self.list("--table", "x", expect=harness.EX_USAGE))
        self.assertEqual(len(self.list("--json").split('"@table":"second"')), RECORDS + 1)

    def list(self, *arguments, expect=0):
        """What `tributary flows` prints, or why it does not."""
        with open(self.path("flows.ipfix"), "rb") as stream:
            result = subprocess.run([harness.TRIBUTARY, "flows", "-", *arguments], stdin=stream, capture_output=True, text=True,
                                    timeout=60)
        self.assertEqual(result.returncode, expect, result.stderr)
        return result.stderr if expect else result.stdout

    def test_nfdump_counts_all(self):
        harness.need("nfcapd", "nfdump")
        port = harness.free_port()
        os.mkdir(self.path("flows"))
        with harness.Process("nfcapd", "-w", self.path("flows"), "-b", "127.0.0.1", "-p", str(port)) as collector:
            collector.wait_for(lambda: collector.udp_backlog(port) is not None, 30, "a socket")
            self.export(port)
            collector.wait_for(lambda: collector.udp_backlog(port) == 0, 30, "the collector to read")
            collector.end()
            log = collector.text()
        totals = live_veth.nfdump_totals(self.path("flows"))
        self.assertEqual(totals["Flows"], 3 * RECORDS)  # of a biflow it gets the two uniflows
        self.assertEqual((totals["Packets"], totals["Bytes"]), (23 * RECORDS, 2300 * RECORDS))
        self.assertEqual(re.findall(r"Sequence Errors: (\d+)", log), ["0"], log)


if __name__ == "__main__":
    harness.main()
