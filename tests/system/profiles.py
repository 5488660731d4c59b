#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Profiles of collectors: over biflows with TCP analysis, what nfcapd, nfacctd and goflow2 show equals the ledger, in both
directions, and they lose the data that a warning names. For profiles of collectors that are not run here, the messages
follow the profile, judged by ipfixDump and by a decoder of the test."""
import contextlib
import csv
import os
import re
import shutil
import struct
import subprocess

import decoders
import harness

BIFLOWS = ("flows.direction=biflow", "flows.tcp-analysis=true")
REVERSE, CERT = 29305, 6871
STATISTICS = 0xFF02    # the template of an options record that is once in each round
UNION_FLAGS = 15
OPTIONS_TEMPLATES = 3


class ProfileCase(harness.DemoProbeCase):
    """Runs over the bundled capture, or over a larger one of the shared collection if present."""

    def setUp(self):
        super().setUp()
        if os.path.exists(decoders.REAL):
            self.capture, self.frames = decoders.REAL, 18188
        else:    # under a name of its own: run_live() has the number of uniflows of the bundled one
            self.capture, self.frames = shutil.copy(harness.DEMO, self.path("demo.pcap")), harness.DEMO_FRAMES
        stack = contextlib.ExitStack()
        self.addCleanup(stack.close)
        self.enter = stack.enter_context

    def run_with(self, collector, *settings):
        """The ledger of a live run to one collector, and the log."""
        settings = (*BIFLOWS, "export.collectors=[{%s}]" % collector, *settings)
        return self.run_live("-n", "127.0.0.1", *(part for setting in settings for part in ("--set", setting)),
                             capture=self.capture, frames=self.frames)

    def run_to(self, make, profile, *settings):
        """A collector and the ledger of a run to it."""
        collector = make(self)
        ledger, log = self.run_with("host: 127.0.0.1, port: %d, profile: %s%s" % (
            collector.port, profile, "".join(", " + setting for setting in settings)))
        self.assertEqual((ledger["flows"]["lost"], ledger["collectors"][0]["lost"]), (0, 0))
        return collector, ledger, log

    def metered(self, ledger):
        return ledger["packets"]["metered"], ledger["octets"]["metered"]


class Run(ProfileCase):
    """Collectors that run."""

    def check_equal(self, make, profile, *settings):
        collector, ledger, log = self.run_to(make, profile, *settings)
        self.assertNotIn("warning: export.collectors", log)
        packets, octets, records = collector.totals(ledger["flows"]["exported"])
        self.assertEqual((packets, octets), self.metered(ledger))
        return collector, ledger, records

    def check_loses_reverse(self, make, profile):
        """With `direction: biflow` there is a warning, and the collector shows only a part."""
        collector, ledger, log = self.run_to(make, profile, "direction: biflow")
        self.assertRegex(log, r"warning: export\.collectors\.0\.direction is biflow, but profile is %s: " % profile)
        packets, octets, records = collector.totals(ledger["flows"]["exported"])
        self.assertEqual(records, ledger["flows"]["exported"])
        self.assertLess(packets, ledger["packets"]["metered"])
        self.assertLess(octets, ledger["octets"]["metered"])

    def test_nfdump_counts_both_directions_and_complains_of_nothing(self):
        collector, ledger, records = self.check_equal(decoders.Nfcapd, "nfdump")
        self.assertEqual(records, ledger["flows"]["exported"])
        self.assertIn("Sequence Errors: 0", collector.process.text())
        self.assertNotRegex(collector.process.text(), r"(?i)option size error|extra bytes")

    def test_nfdump_complains_of_options_records_and_shows_1970(self):
        collector, ledger, log = self.run_to(decoders.Nfcapd, "nfdump", "options: [interfaces]", "timestamps: nanoseconds")
        for key in ("options", "timestamps"):
            self.assertIn("warning: export.collectors.0.%s is " % key, log)
        collector.totals(ledger["flows"]["exported"])
        self.assertRegex(collector.process.text(), r"(?i)option size error|extra bytes")
        listed = subprocess.run(["nfdump", "-R", collector.directory, "-o", "csv"], capture_output=True, text=True).stdout
        self.assertIn("1970-01-01", listed)

    def test_nfdump_counts_a_sequence_failure_for_each_round_of_options_records_without_its_profile(self):
        path = self.path("rounds.ipfix")
        collectors = {name: decoders.Nfcapd(self, name) for name in ("rfc", "nfdump")}
        self.run_live("-n", "127.0.0.1", *(part for setting in (
            *BIFLOWS, "flows.idle-timeout=1", "export.options-interval=1", "export.collectors=[{transport: file, path: %s}, %s]" % (
                path, ", ".join("{host: 127.0.0.1, port: %d, profile: %s}" % (collector.port, name)
                                for name, collector in collectors.items()))) for part in ("--set", setting)),
            capture=self.capture, frames=self.frames,
            before_end=lambda: harness.wait_until(lambda: Templates(path).sets.count(STATISTICS) >= 4, 30, "rounds"))
        failures = {}
        for name, collector in collectors.items():
            collector.totals(None)
            failures[name] = int(re.search(r"Sequence Errors: (\d+)", collector.process.text()).group(1))
        self.assertGreater(failures["rfc"], 0)
        self.assertEqual(failures["nfdump"], 0)

    def test_goflow2_counts_both_directions(self):
        self.check_equal(decoders.Goflow2, "goflow2")

    def test_goflow2_loses_the_reverse_half_of_biflows(self):
        self.check_loses_reverse(decoders.Goflow2, "goflow2")

    def test_pmacct_counts_both_directions_and_knows_flags(self):
        collector, _, _ = self.check_equal(decoders.Nfacctd, "pmacct")
        with open(collector.table, newline="") as source:
            flags = {int(row["TCP_FLAGS"]) for row in csv.DictReader(source) if row["PROTOCOL"] == "tcp"}
        self.assertGreater(len(flags), 1)
        self.assertNotIn(0, flags)

    def test_pmacct_loses_the_reverse_half_of_biflows(self):
        self.check_loses_reverse(decoders.Nfacctd, "pmacct")


class Templates:
    """The templates of an IPFIX file, by id, as lists of (enterprise, element, octets); its records, and the ids of its
    sets."""

    def __init__(self, path):
        with open(path, "rb") as source:
            octets = source.read()
        self.fields, self.sets, self.records, at = {}, [], [], 0
        while at + 16 <= len(octets):
            _, length = struct.unpack_from(">HH", octets, at)
            self.read_sets(octets[at + 16:at + length])
            at += length

    def read_sets(self, message):
        while message:
            kind, size = struct.unpack_from(">HH", message)
            body, message = message[4:size], message[size:]
            self.sets.append(kind)
            if kind == 2:
                self.read_templates(body)
            elif kind in self.fields:
                self.read_records(self.fields[kind], body)

    def read_templates(self, body):
        while len(body) >= 4:
            template, count = struct.unpack_from(">HH", body)
            body, fields = body[4:], []
            for _ in range(count):
                element, octets = struct.unpack_from(">HH", body)
                body, enterprise = body[4:], 0
                if element & 0x8000:
                    (enterprise,), body = struct.unpack_from(">I", body), body[4:]
                fields.append((enterprise, element & 0x7FFF, octets))
            self.fields[template] = fields

    def read_records(self, fields, body):
        size = sum(octets for _, _, octets in fields)
        for start in range(0, len(body) - size + 1, size):
            at, record = start, {}
            for enterprise, element, octets in fields:
                record[enterprise, element] = int.from_bytes(body[at:at + octets], "big")
                at += octets
            self.records.append(record)

    def enterprises(self):
        return {enterprise for fields in self.fields.values() for enterprise, _, _ in fields} - {0}

    def total(self, element):
        return sum(record.get((0, element), 0) + record.get((REVERSE, element), 0) for record in self.records)


class Sent(ProfileCase):
    """The messages to collectors that are not run here."""
    TCP_FLAGS, OCTETS, PACKETS = 6, 1, 2

    def sent(self, profile, *settings):
        """With every profile, packets and octets are those of the ledger."""
        path = self.path(profile + ".ipfix")
        ledger, log = self.run_with("transport: file, path: %s, profile: %s" % (path, profile), *settings)
        self.assertNotIn("warning: export.collectors", log)
        self.check_strictly(path)
        sent = Templates(path)
        self.assertEqual((sent.total(self.PACKETS), sent.total(self.OCTETS)), self.metered(ledger))
        dump = subprocess.run(["ipfixDump", "--in", path, "--data"], capture_output=True, text=True, timeout=120, check=True)
        seen = [sum(int(value) for value in re.findall(r"(?i)\b(?:reverse)?%sDeltaCount : (\d+)$" % what, dump.stdout, re.M))
                for what in ("packet", "octet")]
        self.assertEqual(tuple(seen), self.metered(ledger))
        return sent

    def setUp(self):
        harness.need("ipfixDump")
        super().setUp()

    def test_what_rfcs_say(self):
        for profile in ("rfc", "ipfixcol2"):
            sent = self.sent(profile, "export.ntop-elements=true")
            self.assertEqual(sent.enterprises(), {REVERSE, 32473, 35632})
            self.assertGreater(sent.sets.count(OPTIONS_TEMPLATES), 5)

    def test_uniflows_where_the_reverse_half_would_be_lost(self):
        for profile in ("akvorado", "opentelemetry", "silk"):
            sent = self.sent(profile)
            self.assertEqual(sent.enterprises(), {32473})

    def test_vflow_gets_no_element_but_ianas(self):
        sent = self.sent("vflow", "export.ntop-elements=true", "export.fields=[tunnel, layer2]")
        self.assertEqual(sent.enterprises(), set())

    def test_super_mediator_gets_no_options_records_and_certs_flags(self):
        sent = self.sent("super-mediator")
        self.assertNotIn(OPTIONS_TEMPLATES, sent.sets)
        self.assertIn(CERT, sent.enterprises())
        flags = 0
        for record in sent.records:
            self.assertEqual(record[CERT, UNION_FLAGS], record[0, self.TCP_FLAGS] & 0xFF)
            if (REVERSE, self.TCP_FLAGS) in record:
                self.assertEqual(record[CERT, UNION_FLAGS + 0x4000], record[REVERSE, self.TCP_FLAGS] & 0xFF)
                flags += 1
        self.assertGreater(flags, 0)


if __name__ == "__main__":
    harness.main()
