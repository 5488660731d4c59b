#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Captures to collectors (-n) and onto a terminal: the same records as in the file of --write."""
import contextlib
import json
import os
import pty
import signal
import socket
import subprocess
import threading
import time

import harness
from stream_collector import Authority, Collector, server_context
from terminal_screen import Screen



class Udp:
    """A UDP collector that keeps the datagrams of each sender, one file of IPFIX messages."""

    def __init__(self, family=socket.AF_INET):
        self.socket = socket.socket(family, socket.SOCK_DGRAM)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
        self.socket.bind(("127.0.0.1" if family == socket.AF_INET else "::1", 0))
        self.socket.settimeout(0.1)
        self.port = self.socket.getsockname()[1]

    def octets(self):
        """All received messages; the sender is done."""
        got = bytearray()
        with contextlib.suppress(TimeoutError):
            while True:
                got += self.socket.recv(65536)
        self.socket.close()
        return bytes(got)


class Tcp(threading.Thread):
    """A TCP collector for one connection; it may read slowly."""

    def __init__(self, pause=0.0):
        super().__init__()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.pause, self.got = pause, bytearray()
        self.start()

    def run(self):
        with self.listener.accept()[0] as connection:
            while octets := connection.recv(4096 if self.pause else 65536):
                self.got += octets
                time.sleep(self.pause)

    def octets(self):
        self.join(60)
        self.listener.close()
        return bytes(self.got)


class Case(harness.TestCase):
    def as_set(self, path):
        return sorted(json.dumps({name: value for name, value in record.items() if not name.startswith("@")}, sort_keys=True)
                      for record in self.flows(path))

    def expected(self, *arguments):
        self.tributaryd("--read", harness.DEMO, "--write", self.path("expected.ipfix"), *arguments)
        return self.as_set(self.path("expected.ipfix"))

    def send(self, *arguments, expect=0, capture=harness.DEMO):
        stats = self.path("stats.json")
        result = self.tributaryd("--read", capture, *arguments, "--stats", stats, expect=expect)
        ledger = harness.read_json(stats)
        self.check_ledger(ledger)
        return ledger, result.stderr

    def check_got(self, octets, expected, name="got.ipfix"):
        self.assertEqual(self.as_set(self.path(name, octets)), expected)


class Collectors(Case):
    def test_udp_is_what_is_meant_without_a_transport(self):
        expected = self.expected()
        for word in ("127.0.0.1:%d", "udp://127.0.0.1:%d", "udp://localhost:%d"):
            with self.subTest(word):
                collector = Udp()
                ledger, log = self.send("-n", word % collector.port)
                self.check_got(collector.octets(), expected)
                self.assertEqual(ledger["flows"]["exported"], harness.DEMO_FLOWS)
                self.assertRegex(log, "udp .*:%d: %d flow records, in [0-9]+ messages" % (collector.port, harness.DEMO_FLOWS))

    def test_ipv6(self):
        try:
            collector = Udp(socket.AF_INET6)
        except OSError:
            self.skipTest("no IPv6 here")
        self.send("-n", "[::1]:%d" % collector.port)
        self.check_got(collector.octets(), self.expected())

    def test_tcp(self):
        collector = Tcp()
        self.send("-n", "tcp://127.0.0.1:%d" % collector.port)
        self.check_got(collector.octets(), self.expected())

    def test_tls(self):
        harness.need("openssl")
        authority = Authority(self.path("authority"))
        trusted = ["--set", "export.collectors.0.tls.ca=" + authority.certificate]
        with Collector(server_context(*authority.issue("server"))) as collector:
            ledger, log = self.send("-n", "tls://127.0.0.1:%d" % collector.port, *trusted)
        self.assertEqual((len(collector.streams), collector.faults), (1, []))
        self.check_got(bytes(collector.streams[0]), self.expected())
        self.assertEqual(ledger["flows"]["exported"], harness.DEMO_FLOWS)
        self.assertRegex(log, "tls .*:%d: %d flow records, in [0-9]+ messages" % (collector.port, harness.DEMO_FLOWS))
        for words, bears, settings in (("unable to get local issuer certificate", "IP:127.0.0.1", []),
                                       ("IP address mismatch", "IP:127.0.0.2", trusted)):
            with self.subTest(words), Collector(server_context(*authority.issue("other", bears=bears))) as collector:
                ledger, log = self.send("-n", "tls://127.0.0.1:%d" % collector.port, *settings,
                                        "--set", "export.drain-timeout=1", expect=harness.EX_IOERR)
            self.assertEqual(sum(map(len, collector.streams)), 0)
            self.assertEqual((ledger["flows"]["exported"], ledger["flows"]["lost"]), (0, ledger["flows"]["created"]))
            self.assertIn("its certificate is refused: " + words, log)
            self.assertIn("not all flow records have left", log)

    def test_several_collectors_and_a_file_each_get_all(self):
        udp, tcp, out = Udp(), Tcp(), self.path("out.ipfix")
        self.send("-n", "127.0.0.1:%d" % udp.port, "-n", "tcp://127.0.0.1:%d" % tcp.port, "--write", out)
        expected = self.expected()
        self.check_got(udp.octets(), expected)
        self.check_got(tcp.octets(), expected)
        self.assertEqual(self.as_set(out), expected)

    def test_a_collector_that_reads_slowly_gets_all(self):
        """The records of a capture wait; those of a probe do not."""
        timeouts = ["--set", "flows.idle-timeout=1", "--set", "flows.active-timeout=1"]
        expected = self.expected(*timeouts, "--set", "export.fields=[extremes, layer2, tcp-counts]")
        collector = Tcp(pause=0.05)
        self.send("-n", "tcp://127.0.0.1:%d" % collector.port, *timeouts,
                  "--set", "export.fields=[extremes, layer2, tcp-counts]", "--set", "export.collectors.0.buffer=65536")
        self.check_got(collector.octets(), expected)

    def test_what_set_says_of_collectors_is_heard_and_what_the_file_says_is_not(self):
        config = self.path("probe.yaml", "inputs: [{device: net_null0}]\nflows: {idle-timeout: 1}\nexport:\n"
                                         "  collectors: [{host: 192.0.2.1, observation-domain: 5}]\n")
        collector = Udp()
        self.send("-n", "127.0.0.1:%d" % collector.port, "--config", config, "--set", "export.collectors.0.observation-domain=77")
        got = collector.octets()
        self.assertEqual(int.from_bytes(got[12:16], "big"), 77)
        self.check_got(got, self.expected("--set", "flows.idle-timeout=1"))
        result = self.tributaryd("--read", harness.DEMO, "-n", "tcp://192.0.2.7", "--dump-config")
        self.assertRegex(result.stdout, r'(?s)collectors:.*transport: tcp.*host: "192\.0\.2\.7".*port: 4739')

    def test_nfcapd_has_every_packet_and_octet(self):
        harness.need("nfcapd", "nfdump")
        port = harness.free_port()
        os.mkdir(self.path("flows"))
        with harness.Process("nfcapd", "-w", self.path("flows"), "-b", "127.0.0.1", "-p", str(port)) as collector:
            harness.wait_until(lambda: collector.udp_backlog(port) is not None, 10, "nfcapd")
            ledger, _ = self.send("-n", "127.0.0.1:%d" % port)
            harness.wait_until(lambda: collector.udp_backlog(port) == 0, 10, "nfcapd")
            collector.end()
        text = subprocess.run(["nfdump", "-R", self.path("flows"), "-q", "-N", "-o", "fmt:%pkt %byt"], capture_output=True,
                              text=True, check=True).stdout
        rows = [[int(number) for number in line.split()] for line in text.splitlines() if line.strip()]
        self.assertEqual([len(rows), *map(sum, zip(*rows))], [harness.DEMO_FLOWS, harness.DEMO_PACKETS, harness.DEMO_OCTETS])


class Away(Case):
    """Every loss is reported: the reason, the number of records, and exit code 74."""

    SOON = ["--set", "export.drain-timeout=1"]

    def check_lost(self, collector, reason, *more, capture=harness.DEMO, records=harness.DEMO_FLOWS):
        ledger, log = self.send("-n", collector, *self.SOON, *more, expect=harness.EX_IOERR, capture=capture)
        self.assertEqual((ledger["flows"]["exported"], ledger["flows"]["lost"]), (0, records))
        self.assertRegex(log, reason)
        self.assertIn("error: not all flow records have left: no collector has %d of %d" % (records, records), log)
        return ledger, log

    def test_a_tcp_port_without_a_listener(self):
        self.check_lost("tcp://127.0.0.1:%d" % harness.free_port(socket.SOCK_STREAM), "no connection .Connection refused.")

    def test_a_udp_port_without_a_listener(self):
        self.check_lost("127.0.0.1:%d" % harness.free_port(), "nobody listens there.*Connection refused")

    def test_a_name_that_does_not_resolve(self):
        self.check_lost("no-such-host.invalid", "no-such-host.invalid:4739: name not resolved")

    def test_captures_are_not_read_for_ever_without_a_collector(self):
        """More records than the rings take would wait for ever."""
        def records():
            for number in range(300_000):
                frame = (bytes(12) + b"\x08\x00\x45\x00\x00\x1c\x00\x00\x00\x00\x40\x11\x00\x00" +
                         (0x0A000000 + number).to_bytes(4, "big") + b"\xc0\x00\x02\x01" + b"\x10\x00\x00\x35\x00\x08\x00\x00")
                yield (1_700_000_000 + number // 1000).to_bytes(4, "little") + bytes(4) + 2 * len(frame).to_bytes(4, "little") + frame
        header = bytes.fromhex("d4c3b2a1020004000000000000000000ffff000001000000")
        capture = self.path("many.pcap", header + b"".join(records()))
        for queues in (1, 3):
            begin = time.monotonic()
            ledger, log = self.send("-n", "tcp://127.0.0.1:%d" % harness.free_port(socket.SOCK_STREAM), *self.SOON,
                                    "--set", "flows.idle-timeout=1", "--set", "read.queues=%d" % queues,
                                    expect=harness.EX_IOERR, capture=capture)
            self.assertIn("error: no collector can be reached: the captures are not read on", log)
            self.assertEqual(ledger["flows"]["exported"], 0)
            self.assertLess(time.monotonic() - begin, 20)

    def test_one_of_two_that_is_away_is_a_warning(self):
        collector = Udp()
        _, log = self.send("-n", "127.0.0.1:%d" % collector.port, "-n",
                           "tcp://127.0.0.1:%d" % harness.free_port(socket.SOCK_STREAM), *self.SOON)
        self.check_got(collector.octets(), self.expected())
        self.assertRegex(log, "warning: tcp .*: did not get %d flow records: collector_away" % harness.DEMO_FLOWS)

    def test_what_is_no_collector_is_refused(self):
        for word, reason in (("ftp://h", "ftp:// is no transport; must be udp://, tcp:// or tls://"),
                             ("192.0.2.1:0", "export.collectors.0.port is 0; must be"),
                             ("192.0.2.1:99999", "export.collectors.0.port is 99999; must be"),
                             ("tcp://192.0.2.1:http", "export.collectors.0.port is http; must be"),
                             ("[::1", "this is no address; must be HOST:PORT, .IPV6.:PORT or HOST"),
                             ("a b", "export.collectors.0.host is a b; must be")):
            with self.subTest(word):
                result = self.tributaryd("--read", harness.DEMO, "-n", word, expect=harness.EX_CONFIG)
                self.assertRegex(result.stderr, "error: -n .*: " + reason)


class Table(Case):
    def listed(self):
        self.tributaryd("--read", harness.DEMO, "--write", self.path("out.ipfix"))
        return subprocess.run([harness.TRIBUTARY, "flows", self.path("out.ipfix")], capture_output=True, text=True, check=True,
                              timeout=60).stdout

    def on_terminal(self, *arguments):
        """The standard output on a terminal without a screen, the log, and the exit code."""
        reader, terminal = pty.openpty()
        with subprocess.Popen([harness.TRIBUTARYD, *arguments], stdout=terminal, stderr=subprocess.PIPE) as run:
            os.close(terminal)
            octets = bytearray()
            with contextlib.suppress(OSError):  # EIO: no process has the terminal open any more
                while got := os.read(reader, 65536):
                    octets += got
            os.close(reader)
            return octets.decode().replace("\r\n", "\n"), run.stderr.read().decode(), run.wait(60)

    def test_a_terminal_gets_what_tributary_flows_prints(self):
        for queues in (1, 2):
            table, log, code = self.on_terminal("--read", harness.DEMO, "--set", "read.queues=%d" % queues)
            self.assertEqual(code, 0, log)
            self.assertEqual(sorted(table.splitlines()), sorted(self.listed().splitlines()))
            self.assertEqual(table.splitlines()[-1], self.listed().splitlines()[-1])
            self.assertRegex(log, "info: ledger: packets: %d received" % harness.DEMO_FRAMES)

    def test_on_a_screen_the_ledger_stands_below_the_table(self):
        with Screen(self.directory, 160, 40) as screen:
            screen.type("clear; %s --read %s; echo code $?" % (harness.TRIBUTARYD, harness.DEMO))
            lines = screen.wait_for(r"(?m)^code 0")
        end = next(number for number, line in enumerate(lines) if line.startswith("%d records, %d packets, %d octets" % (
            harness.DEMO_FLOWS, harness.DEMO_PACKETS, harness.DEMO_OCTETS)))
        self.assertIn("info: ledger: packets: %d received" % harness.DEMO_FRAMES, lines[end + 1])

    def test_a_capture_that_cannot_be_read_on_a_terminal(self):
        table, log, code = self.on_terminal("--read", harness.DEMO, self.path("missing"))
        self.assertEqual((code, len(table.splitlines())), (harness.EX_NOINPUT, harness.DEMO_FLOWS + 2))
        self.assertIn("missing: No such file or directory", log)
        table, log, code = self.on_terminal("--read", self.path("missing"))
        self.assertEqual(code, harness.EX_NOINPUT)

    def test_elsewhere_an_output_is_demanded(self):
        result = self.tributaryd("--read", harness.DEMO, expect=harness.EX_USAGE)
        self.assertEqual(result.stdout, "")
        self.assertIn("without --write FILE, -n COLLECTOR or --export", result.stderr)
        _, log, code = self.on_terminal("--read", harness.DEMO, "--stats", "-")
        self.assertEqual(code, harness.EX_USAGE, log)

    def test_a_signal_prints_what_was_metered(self):
        os.mkfifo(self.path("pipe"))
        reader, terminal = pty.openpty()
        with subprocess.Popen([harness.TRIBUTARYD, "--read", self.path("pipe")], stdout=terminal, stderr=subprocess.PIPE) as run:
            os.close(terminal)
            with harness.filled_pipe(self.path("pipe"), harness.DEMO):
                run.send_signal(signal.SIGINT)
                octets = bytearray()
                with contextlib.suppress(OSError):
                    while got := os.read(reader, 65536):
                        octets += got
            self.assertEqual(run.wait(60), 128 + signal.SIGINT)
            self.assertIn(b"interrupted: the table has what was read until then", run.stderr.read())
        os.close(reader)
        self.assertEqual(len(octets.splitlines()), harness.DEMO_FLOWS + 2)

    def test_tributaryd_is_not_linked_with_what_only_listings_of_files_need(self):
        libraries = subprocess.run(["ldd", harness.TRIBUTARYD], capture_output=True, text=True, check=True).stdout
        self.assertNotIn("libarchive", libraries)


if __name__ == "__main__":
    harness.main()
