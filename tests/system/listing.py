#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`tributary flows` over many files: sums that this script adds up again, rotated and compressed files as one."""
import bz2
import collections
import csv
import gzip
import io
import json
import lzma
import os
import shutil
import subprocess

import harness

SUMS = ("deltaFlowCount", "packetDeltaCount", "octetDeltaCount", "reversePacketDeltaCount", "reverseOctetDeltaCount")


def added_up(records, key):
    """The sums of a grouped listing, from the records themselves."""
    sums = collections.defaultdict(lambda: dict.fromkeys(SUMS, 0))
    for record in records:
        group = sums[key(record)]
        group["deltaFlowCount"] += 1
        for name in SUMS[1:]:
            group[name] += record.get(name, 0)
    return {values: tuple(group.values()) for values, group in sums.items()}


def address(record, end):
    return record.get(end + "IPv4Address") or record[end + "IPv6Address"]


def destination_port(record):
    """0 for ICMP, which has type and code there."""
    return 0 if record["protocolIdentifier"] in (1, 58) else record["destinationTransportPort"]


class Listing(harness.TestCase):
    def list(self, *arguments, expect=0, stdin=None):
        result = subprocess.run([harness.TRIBUTARY, "flows", *arguments], capture_output=True, timeout=120, stdin=stdin)
        self.assertEqual(result.returncode, expect, result.stderr)
        return result.stdout.decode()

    def test_sums_by_fields(self):
        ipfix, ledger, _ = self.meter("--read", harness.DEMO, "--set", "flows.direction=biflow")
        records = self.flows(ipfix)
        for fields, key in (("src-host", lambda r: (address(r, "source"),)),
                            ("dst-host,dst-port", lambda r: (address(r, "destination"), destination_port(r))),
                            ("ip-version,vlan", lambda r: (r["ipVersion"], r.get("vlanId", 0))),
                            ("tos,interface", lambda r: (r["ipClassOfService"], r["ingressInterface"]))):
            expected = added_up(records, key)
            names = fields.split(",")
            with self.subTest(fields):
                groups = [json.loads(line) for line in self.list(ipfix, "--by", fields, "--json").splitlines()]
                self.assertEqual({tuple(group[name] for name in names): tuple(group[name] for name in SUMS)
                                  for group in groups}, expected)
                self.assertEqual(sum(group["packetDeltaCount"] + group["reversePacketDeltaCount"] for group in groups),
                                 ledger["packets"]["metered"])
                rows = list(csv.DictReader(io.StringIO(self.list(ipfix, "--by", fields, "--csv"))))
                self.assertEqual({tuple(row[name] for name in names): tuple(int(row[name]) for name in SUMS) for row in rows},
                                 {tuple(map(str, values)): sums for values, sums in expected.items()})
                octets = [int(row["octetDeltaCount"]) + int(row["reverseOctetDeltaCount"]) for row in rows]
                self.assertEqual(octets, sorted(octets, reverse=True))

    def test_sums_and_orders_of_tcp_analysis(self):
        """Only records of TCP have the counts."""
        ipfix, _, _ = self.meter("--read", harness.DEMO, "--set", "flows.direction=biflow", "--set", "flows.tcp-analysis=true")
        records = self.flows(ipfix)
        words = {"segments": "segments", "retransmissions": "retransmissions", "duplicates": "duplicates",
                 "out-of-order": "outOfOrder", "zero-windows": "zeroWindow"}
        names = [name for element in words.values() for name in (element, "reverse" + element[0].upper() + element[1:])]
        expected = collections.defaultdict(lambda: dict.fromkeys(names))
        for record in records:
            group = expected[address(record, "source")]
            for name in names:
                if name in record:
                    group[name] = (group[name] or 0) + record[name]
        for word, element in words.items():
            listed = [json.loads(line) for line in self.list(ipfix, "--by", "src-host", "--json", "--sort", word).splitlines()]
            self.assertEqual({group["src-host"]: {name: group[name] for name in names} for group in listed}, expected)
            pair = names[names.index(element):][:2]
            for rows in (listed, [json.loads(line) for line in self.list(ipfix, "--json", "--sort", word).splitlines()]):
                told = [[row.get(name) for name in pair] for row in rows]
                ranks = [-1 if values == [None, None] else sum(value or 0 for value in values) for values in told]
                self.assertEqual(ranks, sorted(ranks, reverse=True), word)
        self.assertTrue(any(group["segments"] for group in expected.values()))
        self.assertIn(None, [group["segments"] for group in expected.values()])
        rows = list(csv.DictReader(io.StringIO(self.list(ipfix, "--by", "src-host", "--csv"))))
        self.assertEqual({row["src-host"]: {name: int(row[name]) if row[name] else None for name in names} for row in rows},
                         expected)
        self.assertIn("ZeroWindow", self.list(ipfix, "--by", "src-host").splitlines()[0])
        self.assertIn("reverseZeroWindow", self.list(ipfix, "--csv").splitlines()[0])

    def test_csv_has_the_flows_of_json(self):
        ipfix, _, _ = self.meter("--read", harness.DEMO, "--set", "flows.direction=biflow")
        rows = list(csv.DictReader(io.StringIO(self.list(ipfix, "--csv"))))
        records = self.flows(ipfix)
        self.assertEqual(len(rows), len(records))
        for row, record in zip(rows, records):
            self.assertEqual(row["sourceIPAddress"], address(record, "source"))
            for name in ("protocolIdentifier", "packetDeltaCount", "octetDeltaCount", "ipClassOfService", "tcpControlBits"):
                self.assertEqual(int(row[name]), record[name], name)
            # a biflow with only one direction has zeros in its record, and nothing in the row
            self.assertEqual(int(row["reverseOctetDeltaCount"] or 0), record.get("reverseOctetDeltaCount", 0))

    def test_a_directory_of_rotated_files_half_of_them_compressed(self):
        directory = self.path("rotated")
        os.mkdir(directory)
        expected = []
        parts = []
        for protocol in ("udp", "icmp or icmp6", "tcp", "vlan"):
            ipfix, _, _ = self.meter("--read", harness.DEMO, "--set", "read.filter=" + protocol)
            with open(ipfix, "rb") as octets:
                parts.append((octets.read(), self.flows(ipfix)))
        for number in range(100):
            plain, records = parts[number % 3 if number % 2 else number % 4]
            expected += records
            pack = [gzip.compress, None, lzma.compress, None][number % 4]
            ending = [".gz", "", ".xz", ""][number % 4]
            with open(os.path.join(directory, "flows-%03d.ipfix%s" % (number, ending)), "wb") as out:
                out.write(pack(plain) if pack else plain)
        self.assertGreater(len(expected), 1000)
        listed = [json.loads(line) for line in self.list(directory, "--json").splitlines()]
        self.assertEqual([record for record in listed if record["@type"] == "data"], expected)
        summary = self.list(directory, "--by", "proto").splitlines()[-1]
        self.assertTrue(summary.startswith("%d records, %d packets, " % (
            len(expected), sum(record["packetDeltaCount"] for record in expected))), summary)

    def test_files_that_a_compressor_works_on_count_once(self):
        """gzip, xz and zstd remove their input when their output is whole."""
        directory, other = self.path("rotated"), self.path("other")
        os.mkdir(directory)
        ipfix, _, _ = self.meter("--read", harness.DEMO)
        with open(ipfix, "rb") as octets:
            content = octets.read()
        self.path("rotated/a.ipfix", content)
        alone = self.list(directory)
        for name, half in (("a.ipfix.gz", gzip.compress(content)[:-100]), ("a.ipfix.xz", lzma.compress(content)),
                           ("a.ipfix.zst", b"")):
            with self.subTest(name):
                path = self.path("rotated/" + name, half)
                self.assertEqual(self.list(directory), alone)
                os.rename(path, other)
        self.path("rotated/b.ipfix.gz", gzip.compress(content))     # a compressed file without its input is listed
        self.assertIn("%d records, " % (2 * harness.DEMO_FLOWS), self.list(directory))

    def test_an_input_that_fails_does_not_hide_those_behind_it(self):
        ipfix, _, _ = self.meter("--read", harness.DEMO)
        with open(ipfix, "rb") as octets:
            content = octets.read()
        directory = self.path("rotated")
        os.mkdir(directory)
        for name, octets in (("1", content), ("2", content[:len(content) // 2]), ("3", b"no IPFIX at all"), ("4", content),
                             ("5.gz", gzip.compress(content)[:-200])):
            self.path("rotated/" + name, octets)
        result = subprocess.run([harness.TRIBUTARY, "flows", directory, "/nowhere", ipfix, "--by", "proto"], capture_output=True,
                                text=True, timeout=60)
        self.assertEqual(result.returncode, 65)
        told = result.stderr.splitlines()
        self.assertEqual(len(told), 4, told)
        for name, line in zip(("rotated/2: ", "rotated/3: ", "rotated/5.gz: ", "/nowhere: cannot open: "), told):
            self.assertIn(name, line)
        self.assertTrue(told[-1].endswith("No such file or directory (4 of 7 inputs could not be read to the end)"), told[-1])
        records = int(result.stdout.splitlines()[-1].split()[0])
        self.assertGreaterEqual(records, 3 * harness.DEMO_FLOWS)    # and those in front of each damage
        self.assertLess(records, 5 * harness.DEMO_FLOWS)

    def test_a_directory_without_a_finished_file(self):
        directory = self.path("rotated")
        for name, words in (("a.part", ", but one that is being written (.part)"), ("west/", "; directories in it are listed by")):
            with self.subTest(name):
                os.makedirs(os.path.join(directory, name if name.endswith("/") else ""), exist_ok=True)
                if not name.endswith("/"):
                    self.path("rotated/" + name, b"")
                result = subprocess.run([harness.TRIBUTARY, "flows", directory], capture_output=True, text=True, timeout=60)
                self.assertEqual(result.returncode, harness.EX_NOINPUT)
                self.assertIn("no finished file is in this directory", result.stderr)
                self.assertIn(words, result.stderr)

    def test_only_groups_have_a_number_of_flows(self):
        ipfix, _, _ = self.meter("--read", harness.DEMO)
        self.list(ipfix, "--sort", "flows", expect=harness.EX_USAGE)
        self.list(ipfix, "--sort", "flows", "--by", "proto")

    def test_compressed_input_whatever_its_name(self):
        ipfix, _, _ = self.meter("--read", harness.DEMO)
        plain = self.list(ipfix)
        with open(ipfix, "rb") as octets:
            content = octets.read()
        packed = {"gzip": gzip.compress(content), "two gzip members": gzip.compress(content[:0]) + gzip.compress(content),
                  "xz": lzma.compress(content)}
        if shutil.which("zstd"):
            packed["zstd"] = subprocess.run(["zstd", "-qc"], input=content, stdout=subprocess.PIPE, check=True).stdout
        for name, octets in packed.items():
            with self.subTest(name):
                path = self.path("flows", octets)
                self.assertEqual(self.list(path), plain)
                with open(path, "rb") as stdin:
                    self.assertEqual(self.list("-", stdin=stdin), plain)
        with self.subTest("damaged"):
            self.list(self.path("cut.gz", packed["gzip"][:-200]), expect=harness.EX_NOINPUT)
            self.list(self.path("not.bz2", bz2.compress(content)), expect=65)

    def test_a_window_of_time(self):
        ipfix, _, _ = self.meter("--read", harness.DEMO)
        records = self.flows(ipfix)
        since, until = "2026-11-21T02:12:50", "2026-11-21T02:12:52.500Z"
        first, last = 1795227170000, 1795227172500
        listed = [json.loads(line) for line in self.list(ipfix, "--json", "--since", since, "--until", until).splitlines()]
        self.assertEqual(listed, [record for record in records
                                  if record["flowStartMilliseconds"] < last and record["flowEndMilliseconds"] >= first])
        self.assertTrue(0 < len(listed) < len(records))
        for wrong in (["--since", "yesterday"], ["--since", until, "--until", since], ["--since", "5min", "--until", "1h30m"],
                      ["--since", since, "--until", since]):
            self.list(ipfix, *wrong, expect=harness.EX_USAGE)
        self.assertTrue(self.list(ipfix, "--until", "2001-01-01").splitlines()[-1].startswith("0 records"))


if __name__ == "__main__":
    harness.main()
