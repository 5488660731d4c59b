#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Collectors that others wrote read the same totals as the ledger has: nfcapd, nfacctd of pmacct, goflow2, tshark and
ipfixDump, over the bundled capture and over one of the shared collection. Of many flows that end together, by UDP and with
the receive buffers that they have by themselves, they get every one; sampled packets they scale to those that were there."""
import contextlib
import csv
import glob
import json
import os
import re
import shutil
import signal
import struct
import subprocess

import harness
import live_veth
import stream_collector

GOFLOW2 = "github.com/netsampler/goflow2/v2/cmd/goflow2@v2.2.6"
# Some thousand flows of many applications and no more than a socket's buffer holds, if a collector is slow.
REAL = os.path.join(harness.SHARED, "pcaps", "large-apps-A.pcap")


class Collector:
    """A foreign collector that takes datagrams at `port`; its totals() are packets, octets and flows."""

    def __init__(self, test, *command):
        self.process = test.enter(harness.Process(*command))
        self.process.wait_for(lambda: self.process.udp_backlog(self.port) is not None, 30, "a socket")

    def has_read_all(self):
        self.process.wait_for(lambda: self.process.udp_backlog(self.port) == 0, 30, "the collector to read")


class Nfcapd(Collector):
    def __init__(self, test, name="nfcapd"):
        harness.need("nfcapd", "nfdump")
        self.port, self.directory = harness.free_port(), test.path(name)
        os.mkdir(self.directory)
        super().__init__(test, "nfcapd", "-w", self.directory, "-b", "127.0.0.1", "-p", str(self.port))

    def totals(self, _):
        self.has_read_all()
        self.process.end()
        text = live_veth.nfdump_totals(self.directory)
        return text["Packets"], text["Bytes"], text["Flows"]


class Nfacctd(Collector):
    AGGREGATE = "src_host, dst_host, src_port, dst_port, proto, tcpflags, vlan, in_iface, timestamp_start, timestamp_end"

    def __init__(self, test, *settings):
        harness.need("nfacctd")
        self.port, self.table = harness.free_port(), test.path("nfacctd.csv")
        super().__init__(test, shutil.which("nfacctd"), "-f", test.path("nfacctd.conf", "\n".join([
            "daemonize: false", "nfacctd_ip: 127.0.0.1", "nfacctd_port: %d" % self.port, "plugins: print[all]",
            "aggregate[all]: " + self.AGGREGATE,
            "print_output[all]: csv", "print_output_file[all]: " + self.table, "print_output_file_append[all]: true",
            "print_refresh_time[all]: 300", "nfacctd_time_new: true", *settings, ""])))

    def rows(self):
        self.has_read_all()
        self.process.end(signal.SIGINT)
        harness.wait_until(lambda: "Purging cache - END" in self.process.text(), 30, "nfacctd's table")
        if re.search(r"(?i)discarded|unknown template|malformed|missing data", self.process.text()):
            raise AssertionError(self.process.text())
        with open(self.table, newline="") as source:
            return [row for row in csv.DictReader(source) if row["PACKETS"].isdigit()]

    def totals(self, _):
        rows = self.rows()
        return sum(int(row["PACKETS"]) for row in rows), sum(int(row["BYTES"]) for row in rows), len(rows)


class Goflow2(Collector):
    def __init__(self, test):
        if shutil.which("go") is None:
            test.skipTest("Go is missing, so goflow2 cannot be built")
        program = os.path.join(harness.BUILD, "collectors", GOFLOW2.rpartition("@")[2], "goflow2")
        if not os.path.exists(program):  # takes 20 s, and needs the network
            environment = dict(os.environ, GOBIN=os.path.dirname(program), GOFLAGS="-mod=mod")
            try:
                built = subprocess.run(["go", "install", GOFLOW2], capture_output=True, text=True, timeout=400,
                                       env=environment)
            except subprocess.TimeoutExpired:
                test.skipTest("goflow2 cannot be built within 400 s")
            if built.returncode != 0:
                test.skipTest("goflow2 cannot be built: " + built.stderr.strip().splitlines()[-1])
        self.port, self.table = harness.free_port(), test.path("goflow2.json")
        super().__init__(test, program, "-listen",
                         "netflow://127.0.0.1:%d?count=1&workers=1" % self.port, "-addr", "", "-format", "json",
                         "-transport", "file", "-transport.file", self.table)

    def rows(self):
        with open(self.table) as source:
            return [json.loads(line) for line in source if line.endswith("\n")]

    def totals(self, flows):
        self.process.wait_for(lambda: len(self.rows()) >= flows, 30, "goflow2's records")
        if re.search(r"(?i)level=error|panic", self.process.text()):
            raise AssertionError(self.process.text())
        rows = self.rows()
        return sum(row["packets"] for row in rows), sum(row["bytes"] for row in rows), len(rows)


def tshark_totals(path):
    harness.need("tshark")
    fields = ("cflow.packets", "cflow.octets")
    command = ["tshark", "-r", path, "-T", "fields", "-E", "occurrence=a", "-E", "aggregator=,"]
    for field in fields:
        command += ["-e", field]
    text = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout
    packets, octets = ([int(value) for line in text.splitlines() for value in line.split("\t")[index].split(",") if value]
                       for index in range(len(fields)))
    return sum(packets), sum(octets), len(octets)


def ipfix_dump_totals(path):
    harness.need("ipfixDump")
    dump = subprocess.run(["ipfixDump", "--in", path, "--data"], capture_output=True, text=True, timeout=120, check=True)
    if "out of sequence" in dump.stderr:
        raise AssertionError(dump.stderr)
    packets, octets = ([int(value) for value in re.findall(name + r" : (\d+)$", dump.stdout, re.MULTILINE)]
                       for name in ("packetDeltaCount", "octetDeltaCount"))
    return sum(packets), sum(octets), len(octets)


class Bundled(harness.DemoProbeCase):
    """Each collector alone, so that a missing one is a skipped test."""
    capture, frames = harness.DEMO, harness.DEMO_FRAMES

    def setUp(self):
        super().setUp()
        stack = contextlib.ExitStack()
        self.addCleanup(stack.close)
        self.enter = stack.enter_context

    def run_to(self, *collector):
        """The ledger of a live run over the capture."""
        return self.run_live(*collector, capture=self.capture, frames=self.frames)[0]

    def check(self, totals, ledger):
        self.assertEqual(totals, (ledger["packets"]["metered"], ledger["octets"]["metered"],
                                  ledger["flows"]["exported"]))

    def check_datagrams(self, make):
        collector = make(self)
        ledger = self.run_to("-n", "127.0.0.1:%d" % collector.port)
        self.check(collector.totals(ledger["flows"]["exported"]), ledger)

    def test_nfcapd(self):
        self.check_datagrams(Nfcapd)

    def test_nfacctd(self):
        self.check_datagrams(Nfacctd)

    def test_goflow2(self):
        self.check_datagrams(Goflow2)

    def check_file(self, totals):
        path = self.path("flows.ipfix")
        ledger = self.run_to("-n", "127.0.0.1", "--set", "export.collectors=[{transport: file, path: %s}]" % path)
        self.check_strictly(path)
        self.check(totals(path), ledger)

    def test_tshark(self):
        self.check_file(tshark_totals)

    def test_ipfix_dump(self):
        self.check_file(ipfix_dump_totals)


class Real(Bundled):
    capture, frames = REAL, 18188

    def setUp(self):
        if not os.path.exists(REAL):
            self.skipTest("no " + REAL)
        super().setUp()


def write_capture(path, packets):
    """A capture of TCP packets over IPv4: an address of the source, and flags, for each."""
    with open(path, "wb") as out:
        out.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1))
        for number, (source, flags) in enumerate(packets):
            frame = bytes(12) + b"\x08\x00" + struct.pack(
                ">BBHHHBBHI4sHHIIBBHHH", 0x45, 0, 40, 0, 0, 64, 6, 0, source, b"\xc0\x00\x02\x01", 1024, 443, number, 0,
                0x50, flags, 1024, 0, 0)
            out.write(struct.pack("<IIII", 1_600_000_000, number, len(frame), len(frame)) + frame)
    return path


class Made(harness.DemoProbeCase):
    """Runs over captures made by the test."""
    SYN, ACK, PUSH = 0x02, 0x10, 0x08

    def setUp(self):
        super().setUp()
        stack = contextlib.ExitStack()
        self.addCleanup(stack.close)
        self.enter = stack.enter_context

    def run_to(self, collector, packets, *settings):
        capture = write_capture(self.path("made.pcap"), packets)
        ledger, _ = self.run_live("-n", "127.0.0.1:%d" % collector.port,
                                  *(part for setting in settings for part in ("--set", setting)),
                                  capture=capture, frames=len(packets), max_flows=65536)
        self.assertEqual((ledger["flows"]["lost"], ledger["collectors"][0]["lost"]), (0, 0))
        return ledger


class ManyFlows(Made):
    """50,000 flows that end together, with the probe: 2.7 MB; a receive buffer holds an eighth of that."""
    FLOWS = 50_000

    def check_all_arrive(self, make):
        collector = make(self)
        ledger = self.run_to(collector, [(0x0A000000 + number, self.SYN) for number in range(self.FLOWS)])
        self.assertEqual(ledger["flows"]["exported"], self.FLOWS)
        self.assertEqual(collector.totals(self.FLOWS), (self.FLOWS, 40 * self.FLOWS, self.FLOWS))

    def test_nfcapd(self):
        self.check_all_arrive(Nfcapd)

    def test_nfacctd(self):
        self.check_all_arrive(Nfacctd)

    def test_goflow2(self):
        self.check_all_arrive(Goflow2)


class Sampling(Made):
    """10,000 packets of 100 flows; the probe meters some: the collector's totals."""
    PACKETS = [(0x0A000000 + number // 100, Made.SYN if number % 100 < 10 else Made.ACK | Made.PUSH)
               for number in range(10_000)]
    RENORMALIZE = "nfacctd_renormalize: true"

    def scaled_by_nfacctd(self, collector):
        rows = collector.rows()
        return {source: sum(int(row["PACKETS"]) for row in rows if row["SRC_IP"] == source)
                for source in {row["SRC_IP"] for row in rows}}, {row["TCP_FLAGS"] for row in rows}

    def check_nfacctd(self, *settings, rate):
        collector = Nfacctd(self, self.RENORMALIZE)
        ledger = self.run_to(collector, self.PACKETS, "export.collectors.0.tcp-control-bits=1", *settings)
        packets, flags = self.scaled_by_nfacctd(collector)
        self.assertEqual(sum(packets.values()), rate * ledger["packets"]["metered"])
        self.assertIn("26", flags)
        self.assertLessEqual(flags, {"2", "24", "26"})
        return ledger, packets

    def check_goflow2(self, *settings, rate):
        collector = Goflow2(self)
        ledger = self.run_to(collector, self.PACKETS, *settings)
        self.assertEqual(collector.totals(ledger["flows"]["exported"])[0], ledger["packets"]["metered"])
        self.assertEqual({row["sampling_rate"] for row in collector.rows()}, {rate})
        flags = {row["tcp_flags"] for row in collector.rows()}
        self.assertIn(26, flags)
        self.assertLessEqual(flags, {2, 24, 26})
        return ledger

    def test_nfacctd_scales_to_the_packets_that_were_there(self):
        _, packets = self.check_nfacctd("inputs.0.sampling=10", rate=10)
        self.assertEqual(set(packets.values()), {100})
        self.assertEqual(len(packets), 100)

    def test_nfacctd_scales_random_samples_by_their_rate(self):
        ledger, _ = self.check_nfacctd("inputs.0.sampling=10", "inputs.0.sampling-method=random", rate=10)
        self.assertLess(abs(ledger["packets"]["metered"] - 1000), 200)  # six standard deviations

    def test_nfacctd_leaves_what_is_not_sampled(self):
        self.check_nfacctd(rate=1)

    def test_nfacctd_scales_inputs_that_differ_each_by_its_own_rate(self):
        collector = Nfacctd(self, self.RENORMALIZE)
        self.run_to_differing(collector)
        packets, _ = self.scaled_by_nfacctd(collector)
        self.assertEqual(packets.pop("11.0.0.0"), 10_000)
        self.assertEqual(set(packets.values()), {100})

    def run_to_differing(self, collector):
        """10,000 packets with one in 10 metered, and 10,000 others with one in 100 metered."""
        other = write_capture(self.path("other.pcap"), [(0x0B000000, self.ACK)] * 10_000)
        capture = write_capture(self.path("made.pcap"), self.PACKETS)
        ledger, _ = self.run_live("-n", "127.0.0.1:%d" % collector.port, "--set", "inputs.0.sampling=10",
                                  "--set", "inputs.1={device: 'net_pcap1,rx_pcap=%s', sampling: 100}" % other,
                                  capture=capture, frames=20_000)
        self.assertEqual(ledger["packets"]["metered"], 1100)

    def check_nfcapd(self, *settings, rate):
        collector = Nfcapd(self)
        ledger = self.run_to(collector, self.PACKETS, *settings)
        self.assertEqual(collector.totals(None)[0], rate * ledger["packets"]["metered"])
        self.assertIn("Sequence Errors: 0", collector.process.text())

    def test_nfcapd_scales_to_the_packets_that_were_there(self):
        self.check_nfcapd("inputs.0.sampling=10", rate=10)

    def test_nfcapd_scales_random_samples_by_their_rate(self):
        self.check_nfcapd("inputs.0.sampling=10", "inputs.0.sampling-method=random", rate=10)

    def test_nfcapd_leaves_what_is_not_sampled(self):
        self.check_nfcapd(rate=1)

    def test_nfcapd_scales_inputs_that_differ_each_by_its_own_rate(self):
        collector = Nfcapd(self)
        self.run_to_differing(collector)
        self.assertEqual(collector.totals(None)[0], 20_000)

    def test_goflow2_knows_the_rate(self):
        self.check_goflow2("inputs.0.sampling=10", rate=10)

    def test_goflow2_knows_the_rate_of_random_samples(self):
        self.check_goflow2("inputs.0.sampling=10", "inputs.0.sampling-method=random", rate=10)

    def test_goflow2_knows_that_nothing_is_sampled(self):
        self.check_goflow2(rate=1)


class Types(Made):
    """For a collector that resolves names when it reads a template: types before the templates (RFC 5610)."""
    ENTERPRISE, TYPES_TEMPLATE = 4242, 0xFF07

    def check_order(self, octets):
        """Checks in one session that our elements in a template were described before. Returns their number."""
        described, needed, at = set(), set(), 0
        while at < len(octets):
            version, length = struct.unpack_from(">HH", octets, at)
            self.assertEqual(version, 10)
            message, at = octets[at + 16:at + length], at + length
            while message:
                kind, size = struct.unpack_from(">HH", message)
                body, message = message[4:size], message[size:]
                if kind == self.TYPES_TEMPLATE:
                    while body:
                        described.add(struct.unpack_from(">IH", body))
                        body = body[11 + body[10]:]    # 10 octets, then the name after its length
                elif kind == 2:
                    needed |= self.elements_of_ours(body)
                    self.assertLessEqual(needed, described)
        return len(needed)

    def elements_of_ours(self, body):
        elements = set()
        while body:
            count, at = struct.unpack_from(">H", body, 2)[0], 4
            for _ in range(count):
                element = struct.unpack_from(">H", body, at)[0]
                enterprise = struct.unpack_from(">I", body, at + 4)[0] if element & 0x8000 else 0
                at += 8 if element & 0x8000 else 4
                if enterprise == self.ENTERPRISE:
                    elements.add((enterprise, element & 0x7FFF))
            body = body[at:]
        return elements

    def test_in_each_session_and_each_file(self):
        def read(connection, stream):
            while octets := connection.recv(65536):
                stream += octets
                if len(collector.streams) == 1 and len(stream) > 3000:
                    return    # the connection is closed, and opened again
        rotated = self.path("flows.ipfix")
        files = lambda suffix: sorted(glob.glob(self.path("flows-*.ipfix" + suffix)))
        with stream_collector.Collector(None, read) as collector:
            def until_there_is_more_than_one():
                harness.wait_until(lambda: len(collector.streams) > 1 and len(collector.streams[1]) > 3000, 30, "sessions")
                harness.wait_until(lambda: len(files("")) > 1, 30, "files")
            self.run_live(
                "-n", "127.0.0.1:%d" % collector.port, *(part for setting in (
                    "export.collectors.0.transport=tcp", "export.enterprise-number=%d" % self.ENTERPRISE,
                    "export.collectors.1={transport: file, path: %s, rotation: {interval: 1}}" % rotated,
                    "flows.tcp-analysis=true", "flows.direction=biflow", "flows.idle-timeout=1",
                    "export.flush-interval=0.1") for part in ("--set", setting)),
                before_end=until_there_is_more_than_one, frames=len(Sampling.PACKETS),
                capture=write_capture(self.path("made.pcap"), Sampling.PACKETS))
        sessions = [stream_collector.whole_messages(stream) for stream in collector.streams]
        for path in files(""):
            with open(path, "rb") as source:
                sessions.append(source.read())
        elements = [self.check_order(octets) for octets in sessions]
        self.assertGreater(max(elements[:len(collector.streams)]), 0)
        self.assertGreater(max(elements[len(collector.streams):]), 0)
        names = [name for path in files("") for record in self.flows(path) for name in record]
        self.assertIn("retransmissions", names)
        self.assertEqual([name for name in names if re.match(r"e\d+id|\d+/", name)], [])  # no element by its number


if __name__ == "__main__":
    harness.main()
