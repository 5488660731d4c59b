#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Records as JSON and CSV lines, by file, TCP and TLS: every record, once, with its number; also over a kill and a restart.
Judged by Python's json, the ledger, and `tributary flows` of the same records as IPFIX."""
import collections
import glob
import json
import os
import resource
import signal
import subprocess

import harness
from faults import many_flows
from stream_collector import Authority, Collector, server_context

PROBE = "west-1"
REVERSE = "iana@reverse:%s@reverse"
TOTALS = (harness.DEMO_PACKETS, harness.DEMO_OCTETS)
QUOTA = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int fclose(FILE* file) {
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fileno(file));
    const ssize_t length = readlink(link, path, sizeof path);
    const int result = ((int (*)(FILE*))dlsym(RTLD_NEXT, "fclose"))(file);
    if (length < 5 || memcmp(path + length - 5, ".part", 5) != 0) return result;
    errno = EDQUOT;
    return EOF;
}
"""


def lines_of(octets):
    """The records of whole lines."""
    assert octets.endswith(b"\n"), octets[-200:]
    return [json.loads(line) for line in octets.decode("utf-8").splitlines()]


def read_lines(*paths):
    records = []
    for path in paths:
        with open(path, "rb") as lines:
            records += lines_of(lines.read())
    return records


def totals(records):
    return tuple(sum(record.get("iana:" + name, 0) + record.get(REVERSE % name, 0) for record in records)
                 for name in ("packetDeltaCount", "octetDeltaCount"))


class Case(harness.TestCase):
    def run_offline(self, collector, *settings, expect=harness.EX_OK, capture=harness.DEMO):
        """Meters the bundled capture for one collector: its ledger and its log."""
        stats = self.path("stats.json")
        result = self.tributaryd("--read", capture, "-n", "127.0.0.1:4739", "--stats", stats,
                                 *(part for setting in ("export.collectors=[{%s}]" % collector, "export.probe.name=" + PROBE,
                                                        *settings) for part in ("--set", setting)), expect=expect)
        ledger = harness.read_json(stats)
        self.check_ledger(ledger)
        return ledger, result.stderr

    def check_numbers(self, records, streams=1):
        """In each stream each number from 0 is there once."""
        numbers = collections.defaultdict(list)
        for record in records:
            self.assertEqual((record["@type"], record["tributary:probeName"]), ("ipfix.entry", PROBE))
            numbers[record["tributary:streamId"]].append(record["tributary:sequenceNumber"])
        self.assertEqual(len(numbers), streams)
        for stream, found in numbers.items():
            self.assertRegex(stream, "^[0-9a-f]{16}$")
            self.assertEqual(sorted(found), list(range(len(found))))

    def check_all(self, records, ledger, count=harness.DEMO_FLOWS):
        self.check_numbers(records)
        self.assertEqual(len(records), count)
        self.assertEqual(totals(records), TOTALS)
        for numbers in (account["numbers"] for account in ledger["collectors"] if "numbers" in account):
            self.assertEqual((numbers["stream"], numbers["next"], numbers["lost"], numbers["unlisted"]),
                             (records[0]["tributary:streamId"], count, [], 0))
        self.assertEqual((ledger["packets"]["exported"], ledger["octets"]["exported"]), TOTALS)
        self.assertEqual(ledger["flows"]["exported"], ledger["flows"]["created"])

    def ipfix(self, *settings):
        path = self.path("same.ipfix")
        self.run_offline("transport: file, path: " + path, *settings)
        return path


class Offline(Case):
    @staticmethod
    def lines(name):
        with open(name) as text:
            return text.read().splitlines()

    def file(self, form="json", more="", *settings):
        path = self.path("flows." + form)
        ledger, _ = self.run_offline("transport: file, path: %s, format: %s%s" % (path, form, more), *settings)
        return path, ledger

    def test_the_lines_have_the_elements_of_ipfix(self):
        path, ledger = self.file("json", "", "export.fields=[extremes, layer2, tcp-counts, fragments]",
                                 "export.probe.address=2001:db8::9", "export.observation-domain=77")
        records = read_lines(path)
        self.check_all(records, ledger)
        same = self.flows(self.ipfix("export.fields=[extremes, layer2, tcp-counts, fragments]"))
        self.assertEqual(len(same), len(records))
        for record, other in zip(records, same):
            self.assertEqual(record["iana:exporterIPv6Address"], "2001:db8::9")
            self.assertEqual(record["iana:observationDomainId"], 77)
            own = {name: value for name, value in record.items() if name not in (
                "@type", "iana:exporterIPv6Address", "iana:observationDomainId", "tributary:probeName", "tributary:streamId",
                "tributary:sequenceNumber")}
            wanted = {"iana:" + name: value for name, value in other.items() if not name.startswith("@")}
            self.assertEqual(list(own), list(wanted))
            for name, value in wanted.items():
                if isinstance(value, int) and not name.startswith(("iana:flowStart", "iana:flowEndM")) and name not in (
                        "iana:protocolIdentifier", "iana:tcpControlBits"):
                    self.assertEqual(own[name], value, name)
                elif name.endswith("Address"):
                    self.assertEqual(own[name].lower(), value, name)

    def test_biflows_and_the_two_uniflows_of_each(self):
        path, ledger = self.file("json", "", "flows.direction=biflow")
        biflows = read_lines(path)
        self.check_all(biflows, ledger, ledger["flows"]["created"])
        pairs = [record for record in biflows if REVERSE % "packetDeltaCount" in record]
        self.assertGreater(len(pairs), 10)
        os.unlink(path)
        path, ledger = self.file("json", ", direction: uniflow", "flows.direction=biflow")
        uniflows = read_lines(path)
        self.check_all(uniflows, ledger, len(biflows) + len(pairs))
        self.assertFalse([name for record in uniflows for name in record if "reverse" in name])

    def test_csv_is_what_flows_prints(self):
        for settings in ([], ["flows.direction=biflow", "flows.tcp-analysis=true", "export.fields=[tunnel]"]):
            with self.subTest(settings):
                path, _ = self.file("csv", "", *settings)
                printed = subprocess.run([harness.TRIBUTARY, "flows", "--csv", self.ipfix(*settings)], capture_output=True,
                                         check=True).stdout
                with open(path, "rb") as lines:
                    self.assertEqual(lines.read(), printed)
                for name in glob.glob(self.path("flows*")) + glob.glob(self.path("same*")):
                    os.unlink(name)

    def test_tcp_and_tls(self):
        harness.need("openssl")
        authority = Authority(self.path("authority"))
        for transport, context in (("tcp", None), ("tls", server_context(*authority.issue("server")))):
            with self.subTest(transport), Collector(context) as collector:
                trust = ", tls: {ca: %s}" % authority.certificate if context else ""
                ledger, _ = self.run_offline("transport: %s, host: 127.0.0.1, port: %d, format: json%s"
                                             % (transport, collector.port, trust))
                self.assertEqual((len(collector.streams), collector.faults), (1, []))
                self.check_all(lines_of(bytes(collector.streams[0])), ledger)

    def test_rotation(self):
        flows = 30_000
        capture = many_flows(self.path("many.pcap"), flows)
        for form in ("json", "csv"):
            with self.subTest(form):
                ledger, _ = self.run_offline("transport: file, path: %s, format: %s, rotation: {size: 1048576}"
                                             % (self.path("flows." + form), form), capture=capture)
                self.assertEqual(ledger["flows"]["exported"], flows)
                names = sorted(glob.glob(self.path("flows-*." + form)))
                self.assertGreater(len(names), 2)
                self.assertLessEqual(max(map(os.path.getsize, names)), 1 << 20)
                lines = [self.lines(name) for name in names]
                heads = len(names) if form == "csv" else 0
                self.assertEqual(sum(each[0].startswith("flowStartMilliseconds,") for each in lines), heads)
                self.assertEqual(sum(map(len, lines)), flows + heads)
                if form == "json":
                    self.check_numbers(read_lines(*names))

    def test_standard_output(self):
        result = subprocess.run([harness.TRIBUTARYD, "--read", harness.DEMO, "-n", "127.0.0.1:4739", "--set",
                                 "export.collectors=[{transport: file, path: /dev/stdout, format: json}]"],
                                capture_output=True, timeout=60)
        self.assertEqual(result.returncode, harness.EX_OK, result.stderr)
        self.assertEqual(totals(lines_of(result.stdout)), TOTALS)

    def test_a_full_disk_is_an_error_and_an_account(self):
        ledger, log = self.run_offline("transport: file, path: /dev/full, format: json", expect=harness.EX_IOERR)
        self.assertEqual((ledger["flows"]["exported"], ledger["flows"]["lost_by_cause"]["write_failed"]), (0, harness.DEMO_FLOWS))
        self.assertIn("No space left on device", log)

    def test_the_numbers_that_a_collector_never_gets(self):
        """It is away until the end: all numbers are lost, for that cause."""
        ledger, _ = self.run_offline("transport: tcp, host: 127.0.0.1, port: %d, format: json" % harness.free_port(),
                                     "export.drain-timeout=0.5", expect=harness.EX_IOERR)
        account, = ledger["collectors"]
        numbers = account["numbers"]
        self.assertRegex(numbers["stream"], "^[0-9a-f]{16}$")
        self.assertEqual(numbers, {"stream": numbers["stream"], "next": harness.DEMO_FLOWS, "unlisted": 0, "lost": [
            {"stream": numbers["stream"], "first": 0, "last": harness.DEMO_FLOWS - 1, "cause": "collector_away"}]})
        self.assertEqual(account["lost_by_cause"]["collector_away"], harness.DEMO_FLOWS)

    def test_the_numbers_that_a_full_spool_has_lost(self):
        """Those of a former process are named by the next one, and those that arrive are all others."""
        flows, port, streams = 20_000, harness.free_port(), []
        capture = many_flows(self.path("many.pcap"), flows)
        spool = ("transport: tcp, host: 127.0.0.1, port: %d, format: json, buffer: 65536, spool: {directory: %s, max-size: %%d}"
                 % (port, self.path("spool")))
        lost = set()

        def note(ledger, octets):
            account, = ledger["collectors"]
            self.assertEqual((account["numbers"]["next"], account["numbers"]["unlisted"]), (flows, 0))
            self.assertLessEqual(account["spool_octets"], octets)
            ranges = account["numbers"]["lost"]
            listed = set(harness.numbers_in(ranges))
            self.assertEqual({each["cause"] for each in ranges}, {"spool_full"})
            self.assertEqual(len(listed), account["lost_by_cause"]["spool_full"])
            self.assertEqual(lost & listed, set())
            lost.update(listed)
            streams.append(account["numbers"]["stream"])
        for octets in (9 << 20, 8 << 20):
            ledger, _ = self.run_offline(spool % octets, "export.drain-timeout=0.2", capture=capture, expect=harness.EX_IOERR)
            note(ledger, octets)
        self.assertEqual({stream for stream, _ in lost}, set(streams))  # the second has lost of both
        with Collector(port=port) as collector:
            ledger, _ = self.run_offline(spool % (1 << 24))
        arrived = [(record["tributary:streamId"], record["tributary:sequenceNumber"])
                   for record in lines_of(bytes(collector.streams[0])) if record["tributary:streamId"] in streams]
        self.assertEqual(ledger["collectors"][0]["numbers"]["lost"], [])
        self.assertGreater(len(arrived), 500)
        self.assertEqual(len(arrived) + len(lost), 2 * flows)
        self.assertEqual(set(arrived) | lost, {(stream, number) for stream in streams for number in range(flows)})

    def test_what_cannot_be_is_refused(self):
        for collector, fault in (
                ("host: 192.0.2.1, format: json", "format is json, but transport is udp"),
                ("host: 192.0.2.1, transport: tcp, format: json", "port is missing"),
                ("host: 192.0.2.1, transport: tcp, port: 9, format: csv", "format is csv, but transport is not file"),
                ("transport: file, path: /tmp/x, format: json, profile: nfdump", "profile is given, but format is json"),
                ("transport: file, path: /tmp/x, format: json, sampling: none", "sampling is given, but format is json"),
                ("transport: file, path: /tmp/x, format: csv, timestamps: nanoseconds", "timestamps is given, but format is csv")):
            with self.subTest(collector):
                result = self.tributaryd("--read", harness.DEMO, "-n", "127.0.0.1:4739", "--check-config", "--set",
                                         "export.collectors=[{%s}]" % collector, expect=harness.EX_CONFIG)
                self.assertIn("export.collectors.0." + fault, result.stderr)


class Convert(Case):
    """`tributary flows --write`."""

    SETTINGS = ("flows.direction=biflow", "flows.tcp-analysis=true", "export.fields=[extremes, layer2, tunnel]")

    def convert(self, *arguments, expect=harness.EX_OK, **options):
        result = subprocess.run([harness.TRIBUTARY, "flows", *arguments], timeout=60,
                                **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options})
        self.assertEqual(result.returncode, expect, result.stderr)
        return result

    def test_json_is_what_the_collector_gets(self):
        live = self.path("live.json")
        self.run_offline("transport: file, path: %s, format: json" % live, *self.SETTINGS)
        self.convert(self.ipfix(*self.SETTINGS), "--write", self.path("made.json"), "--format", "json")
        made = read_lines(self.path("made.json"))
        self.assertEqual(totals(made), TOTALS)
        for record, other in zip(read_lines(live), made, strict=True):
            for name in ("tributary:probeName", "tributary:streamId", "tributary:sequenceNumber"):
                del record[name]
            self.assertEqual(list(record.items()), list(other.items()))

    def test_csv_is_the_listing(self):
        ipfix, made = self.ipfix(), self.path("made.csv")
        self.convert(ipfix, "--write", made, "--format", "csv", "--filter", "udp")
        with open(made, "rb") as lines:
            self.assertEqual(lines.read(), self.convert(ipfix, "--csv", "--filter", "udp").stdout)

    def test_ipfix_has_the_same_records_and_options(self):
        ipfix, made = self.ipfix(*self.SETTINGS), self.path("made.ipfix")
        self.convert(ipfix, "--write", made, "--format", "ipfix")

        def bare(records):
            return [{name: value for name, value in record.items() if name not in ("@template", "@sequence", "templateId")}
                    for record in records]
        before, after = self.all_records(ipfix), self.all_records(made)
        self.assertEqual(bare(after), bare(before))
        self.assertGreater(len(self.options(made)), 0)
        # Templates have new ids, of which options records speak too.
        ids = {old["@template"]: new["@template"] for old, new in zip(before, after)}
        told = [(old["templateId"], new["templateId"]) for old, new in zip(before, after) if "templateId" in old]
        self.assertGreater(len(told), 8)
        self.assertEqual(len(set(told)), len({old for old, _ in told}))
        self.assertEqual(len(set(told)), len({new for _, new in told}))
        self.assertEqual([new for _, new in told], [ids.get(old, new) for old, new in told])
        os.unlink(made)
        self.convert(ipfix, "--write", made, "--format", "ipfix", "--filter", "udp")
        # What describes elements is kept.
        after = self.all_records(made)
        types = [record for record in after if record["@type"] == "options"]
        self.assertEqual(bare(types), bare(record for record in before if "informationElementName" in record))
        self.assertEqual(bare(record for record in after if record not in types),
                         bare(self.all_records(ipfix, "--filter", "udp")))
        self.assertGreater(len(self.flows(made)), 10)
        self.convert(ipfix, "--write", "-", "--format", "ipfix", "--top", "3", expect=harness.EX_USAGE)

    def test_standard_output_has_what_is_selected(self):
        records = lines_of(self.convert(self.ipfix(), "--write", "-", "--format", "json", "--filter", "udp").stdout)
        self.assertEqual({record["iana:protocolIdentifier"] for record in records}, {"UDP"})

    def test_a_file_that_exists_stays(self):
        ipfix, kept = self.ipfix(), self.path("kept", "mine")
        os.symlink("nowhere", self.path("dangling"))
        for name in (kept, self.path("dangling")):
            result = self.convert(ipfix, "--write", name, "--format", "json", expect=harness.EX_IOERR)
            self.assertIn(name.encode() + b": exists, and is not overwritten", result.stderr)
        with open(kept) as text:
            self.assertEqual(text.read(), "mine")
        self.assert_names("dangling", "kept", "same.ipfix", "stats.json")

    def assert_names(self, *names, directory="."):
        self.assertEqual(sorted(os.listdir(self.path(directory))), sorted(names))

    def check_retry(self, name):
        """The command that is right finds nothing in its way, and its file is whole."""
        self.assertFalse(glob.glob(self.path(name + "*")))
        self.convert(self.path("same.ipfix"), "--write", self.path(name), "--format", "json")
        self.assertEqual(totals(read_lines(self.path(name))), TOTALS)
        os.unlink(self.path(name))

    @staticmethod
    def limit_file():
        """A program that reads what it writes ends here."""
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))

    def directory_of_files(self):
        """More octets than a stream holds back, in names before those of the outputs."""
        os.mkdir(self.path("all"))
        for name in self.INPUTS:
            os.link(self.path("same.ipfix") if os.path.exists(self.path("same.ipfix")) else self.ipfix(),
                    self.path("all/" + name))
        return self.path("all")

    INPUTS = ("a.ipfix", "b.ipfix", "c.ipfix", "d.ipfix")

    def test_an_output_in_the_listed_directory_is_no_input(self):
        directory = self.directory_of_files()
        for form in ("ipfix", "json", "csv"):
            with self.subTest(form):
                made = self.path("all/made." + form)
                self.convert(directory, "--write", made, "--format", form, preexec_fn=self.limit_file)
                self.assert_names(*self.INPUTS, "made." + form, directory="all")
                # Export times go back from one input to the next, which the strict decoder would refuse.
                listed = subprocess.run([harness.TRIBUTARY, "flows", "--json", made], capture_output=True).stdout
                lines = [line for line in listed.splitlines() if b'"@type":"data"' in line]
                count = len(lines) if form == "ipfix" else len(Offline.lines(made)) - (form == "csv")
                self.assertEqual(count, len(self.INPUTS) * harness.DEMO_FLOWS)
                os.unlink(made)

    def test_an_output_that_is_an_input_is_refused(self):
        directory = self.directory_of_files()
        made = self.path("all/made.ipfix")
        with open(made, "wb") as out:
            run = self.convert(directory, "--write", "-", "--format", "ipfix", stdout=out, preexec_fn=self.limit_file,
                               expect=harness.EX_IOERR)
        self.assertEqual(os.path.getsize(made), 0)
        self.assertIn(made.encode() + b": is the output, and cannot be an input, too", run.stderr)
        os.unlink(made)
        os.symlink("made.ipfix.part", self.path("all/link.ipfix"))
        for source in (made + ".part", directory):
            with self.subTest(source):
                run = self.convert(source, "--write", made, "--format", "ipfix", preexec_fn=self.limit_file,
                                   expect=harness.EX_IOERR)
                self.assertIn(b": is the output, and cannot be an input, too", run.stderr)
                self.assert_names(*self.INPUTS, "link.ipfix", directory="all")

    def test_a_failed_conversion_leaves_no_file(self):
        with open(self.ipfix(), "rb") as whole:
            octets = whole.read()
        good = self.path("same.ipfix")
        os.mkdir(self.path("empty"))
        for inputs, status in (((self.path("made"),), os.EX_NOINPUT), ((good, self.path("missing")), os.EX_NOINPUT),
                               ((self.path("text", "no IPFIX\n"),), os.EX_DATAERR),
                               ((good, self.path("text")), os.EX_DATAERR),
                               ((self.path("cut", octets[:-9]),), os.EX_DATAERR),
                               ((self.path("empty"),), os.EX_NOINPUT)):
            with self.subTest(inputs):
                run = self.convert(*inputs, "--write", self.path("made"), "--format", "json", expect=status)
                self.assertIn(self.path("made").encode() + b": is not written, because not all inputs could be read whole; "
                              b"--write - writes what can be read", run.stderr)
                self.check_retry("made")
        self.assertEqual(totals(lines_of(self.convert(good, self.path("text"), "--write", "-", "--format", "json",
                                                      expect=os.EX_DATAERR).stdout)), TOTALS)

    def test_a_directory_without_files_is_not_blamed_on_the_output(self):
        os.mkdir(self.path("empty"))
        run = self.convert(self.path("empty"), "--write", self.path("empty/made"), "--format", "ipfix", expect=os.EX_NOINPUT)
        self.assertIn(b"no finished file is in this directory\n", run.stderr)
        self.assert_names(directory="empty")

    def run_full(self, name, **options):
        run = subprocess.run([harness.TRIBUTARY, "flows", self.path("same.ipfix"), "--write", name, "--format", "json"],
                             capture_output=True, timeout=60, **options)
        self.assertEqual(run.returncode, harness.EX_IOERR, run.stderr)
        return run.stderr

    def test_a_full_disk_leaves_no_file(self):
        self.ipfix()

        def limit():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (16_384, 16_384))
        self.assertIn(b"cannot write the listing: File too large", self.run_full(self.path("made"), preexec_fn=limit))
        self.check_retry("made")
        self.assertIn(b"cannot write the listing: No space left on device", self.run_full("/dev/full"))
        self.assertFalse(os.path.exists("/dev/full.part"))

    def test_an_error_of_close_leaves_no_file(self):
        """That of a quota, or of NFS."""
        harness.need("cc")
        if harness.SANITIZED:
            self.skipTest("a sanitizer's library wants to be the first")
        subprocess.run(["cc", "-shared", "-fPIC", "-o", self.path("quota.so"), self.path("quota.c", QUOTA), "-ldl"], check=True)
        self.ipfix()
        said = self.run_full(self.path("made"), env={**os.environ, "LD_PRELOAD": self.path("quota.so")})
        self.assertIn(b"made.part: cannot write: Disk quota exceeded", said)
        self.check_retry("made")

    def test_what_cannot_be_created(self):
        self.ipfix()
        for name, fault in (("none/made", b"none/made.part: No such file or directory"), ("", b": No such file or directory"),
                            ("n" * 252, b"n.part: File name too long"), (".", b": Is a directory")):
            with self.subTest(name):
                self.assertIn(fault, self.run_full(name and self.path(name), cwd=self.directory))
        self.assert_names("same.ipfix", "stats.json")

    def test_a_part_that_exists_stays(self):
        self.ipfix()
        self.path("made.part", "another's")
        said = self.run_full(self.path("made"))
        self.assertIn(b"made.part: exists: another program is writing it, or a conversion that was killed has left it, and "
                      b"then it can be removed", said)
        with open(self.path("made.part")) as text:
            self.assertEqual(text.read(), "another's")
        os.unlink(self.path("made.part"))
        self.check_retry("made")

    def test_a_file_that_comes_meanwhile_stays(self):
        """The flows are not lost."""
        with open(self.ipfix(), "rb") as whole, subprocess.Popen(
                [harness.TRIBUTARY, "flows", "-", "--write", self.path("made"), "--format", "json"], stdin=subprocess.PIPE,
                stderr=subprocess.PIPE) as run:
            harness.wait_until(lambda: os.path.exists(self.path("made.part")), 30, "the part")
            self.path("made", "another's")
            said = run.communicate(whole.read(), timeout=60)[1]
        self.assertEqual(run.returncode, harness.EX_IOERR, said)
        self.assertIn(b"made.part: is whole, but cannot be renamed to " + self.path("made").encode() + b": File exists", said)
        self.assertEqual(totals(read_lines(self.path("made.part"))), TOTALS)
        with open(self.path("made")) as text:
            self.assertEqual(text.read(), "another's")

    def test_a_fifo_is_written_itself(self):
        fifo = self.path("fifo")
        os.mkfifo(fifo)
        with subprocess.Popen(["cat", fifo], stdout=subprocess.PIPE) as reader:
            self.convert(self.ipfix(), "--write", fifo, "--format", "json")
            self.assertEqual(totals(lines_of(reader.communicate(timeout=60)[0])), TOTALS)
        self.assert_names("fifo", "same.ipfix", "stats.json")

    def test_what_cannot_be_written_is_refused(self):
        for arguments in (("--write", "-"), ("--format", "json"), ("--write", "-", "--format", "xml"),
                          ("--write", "-", "--format", "json", "--by", "src-net"),
                          ("--write", "-", "--format", "json", "--csv"), ("--write", "-", "--format", "csv", "--json")):
            with self.subTest(arguments):
                self.convert(self.path("any.ipfix"), *arguments, expect=harness.EX_USAGE)


class Live(Case):
    def probe(self, collector):
        return harness.Process(
            harness.TRIBUTARYD, "-i", "net_pcap0,rx_pcap=" + harness.DEMO, "-n", "127.0.0.1:4739", "--stats",
            self.path("stats.json"), *(part for setting in (
                "export.collectors=[{%s}]" % collector, "export.probe.name=" + PROBE, "flows.max-flows=4096",
                "flows.idle-timeout=1", "flows.active-timeout=1", "export.flush-interval=0.05", "export.drain-timeout=1")
                for part in ("--set", setting)))

    def end(self, daemon):
        self.assertEqual(daemon.end(), harness.EX_OK, daemon.text())
        ledger = harness.read_json(self.path("stats.json"))
        self.check_ledger(ledger)
        return ledger

    def wait_for_packets(self, daemon, term):
        daemon.wait_for_log("control: ")
        daemon.wait_for(lambda: daemon.stats()["packets"][term] == harness.DEMO_PACKETS, 60, "all records")

    def wait_for_copies(self, daemon):
        self.wait_for_packets(daemon, "exported")

        def each_has_all():
            ledger = daemon.stats()
            return {account["records"] for account in ledger["collectors"]} == {ledger["flows"]["exported"]}
        daemon.wait_for(each_has_all, 60, "all records, in each file")

    def test_a_part_of_a_killed_run_is_cut_to_whole_lines(self):
        forms = ("json", "csv")
        collectors = "}, {".join("transport: file, path: %s, format: %s, rotation: {interval: 3600, fsync: true}"
                                 % (self.path("flows." + form), form) for form in forms)
        with harness.huge_pages():
            with self.probe(collectors) as daemon:
                daemon.wait_for_log("ready")
                self.wait_for_copies(daemon)
                self.assertEqual(daemon.end(signal.SIGKILL), -signal.SIGKILL)
            parts = {form: glob.glob(self.path("flows-*.%s.part" % form)) for form in forms}
            for part, in parts.values():
                with open(part, "ab") as out:
                    out.write(b'{"@type":"ipf')
            with self.probe(collectors) as daemon:
                for form in forms:
                    daemon.wait_for_log(r"flows-\S*\.%s\S* is finished now, without the last 13 octets, of a line" % form)
                self.wait_for_copies(daemon)
                self.end(daemon)
        for form, (part,) in parts.items():
            names = sorted(glob.glob(self.path("flows-*." + form)))
            self.assertEqual(len(names), 2)
            self.assertIn(part[:-len(".part")], names)
            if form == "json":
                self.check_numbers(read_lines(*names), streams=2)
                for name in names:
                    self.assertEqual(totals(read_lines(name)), TOTALS)
            for name in names:
                with open(name) as lines:
                    self.assertEqual(lines.read().count("flowStartMilliseconds,"), 1 if form == "csv" else 0)

    def test_a_reload_changes_the_format(self):
        config = self.path("probe.yaml")

        def configure(form):
            with open(config, "w") as out:
                out.write("inputs: [{device: 'net_pcap0,rx_pcap=%s'}]\nflows: {max-flows: 4096, idle-timeout: 1, active-timeout: 1}\n"
                          "export:\n  probe: {name: %s}\n  flush-interval: 0.05\n  collectors: [{host: 127.0.0.1, port: %d, "
                          "transport: tcp, format: %s}]\n" % (harness.DEMO, PROBE, collector.port, form))
        with harness.huge_pages(), Collector() as collector:
            configure("json")
            with harness.Process(harness.TRIBUTARYD, "--config", config, "--stats", self.path("stats.json")) as daemon:
                daemon.wait_for_log("ready")
                self.wait_for_packets(daemon, "exported")
                configure("ipfix")
                daemon.send(signal.SIGHUP)
                daemon.wait_for(lambda: len(collector.streams) == 2 and len(collector.streams[1]) > 16, 30, "another session")
                self.end(daemon)
        records = lines_of(bytes(collector.streams[0]))
        self.check_numbers(records)
        self.assertEqual(totals(records), TOTALS)
        self.assertEqual(collector.streams[1][:2], b"\0\x0a")

    def test_lines_wait_in_a_spool_across_a_restart(self):
        port = harness.free_port()
        spool = self.path("spool")
        collector = "transport: tcp, host: 127.0.0.1, port: %d, format: json, buffer: 65536, spool: {directory: %s}" % (port, spool)
        with harness.huge_pages():
            with self.probe(collector) as daemon:
                daemon.wait_for_log("ready")
                daemon.wait_for_received(harness.DEMO_FRAMES)
                ledger = self.end(daemon)
            self.assertEqual(ledger["packets"]["spooled"], harness.DEMO_PACKETS)
            with Collector(port=port) as other:
                with self.probe(collector) as daemon:
                    daemon.wait_for_log("ready")
                    self.wait_for_packets(daemon, "exported")
                    ledger = self.end(daemon)
            records = lines_of(b"".join(map(bytes, other.streams)))
        self.check_numbers(records, streams=2)
        self.assertEqual(totals(records), tuple(2 * each for each in TOTALS))
        self.assertEqual(ledger["packets"]["exported"], harness.DEMO_PACKETS)


if __name__ == "__main__":
    harness.main()
