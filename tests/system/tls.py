#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Export by TLS, judged by Python's ssl: who is trusted, who is refused, and that nothing leaves in the clear."""
import ssl
import subprocess

import harness
from stream_collector import Authority, Collector, read_to_end, server_context

IPFIX_VERSION = b"\x00\x0a"


def greet(connection, stream):
    """What a mail server would do."""
    connection.sendall(b"220 collector at your service\r\n")
    read_to_end(connection, stream)


class Tls(harness.DemoProbeCase):
    def setUp(self):
        super().setUp()
        harness.need("openssl", "ipfixDump")
        self.authority = Authority(self.path("authority"))

    def run_to(self, collector, *settings, connections=0):
        return self.run_live("-n", "127.0.0.1:%d" % collector.port, *(
            argument for setting in ("transport=tls", "tls.ca=" + self.authority.certificate, *settings)
            for argument in ("--set", "export.collectors.0." + setting)), "--set", "export.drain-timeout=1",
            before_end=lambda: harness.wait_until(
                lambda: len(collector.streams) + len(collector.faults) >= connections, 30, "connections"))

    def check_arrival(self, collector, ledger):
        created = ledger["flows"]["created"]
        self.assertEqual((ledger["flows"]["exported"], ledger["flows"]["lost"]), (created, 0))
        self.assertEqual((len(collector.streams), collector.faults), (1, []))
        stream = self.path("stream.ipfix", bytes(collector.streams[0]))
        self.assertEqual(len(self.flows(stream)), created)
        self.assertEqual(self.options(stream)[-1]["@domain"], 1)
        dump = subprocess.run(["ipfixDump", "--in", stream, "--stats"], capture_output=True, text=True, timeout=60)
        self.assertEqual(dump.stderr, "")

    def check_refusal(self, collector, words, *settings):
        """Refused with one line, tried again, and not a record leaves."""
        ledger, log = self.run_to(collector, *settings, connections=2)
        flows = ledger["flows"]
        self.assertEqual((flows["exported"], flows["lost"]), (0, flows["created"]))
        self.assertGreater(flows["created"], 0)
        told = [line for line in log.splitlines() if "tls 127.0.0.1:%d: no connection" % collector.port in line]
        self.assertEqual(len(told), 1, log)
        self.assertIn(words, told[0])
        self.assertGreaterEqual(ledger["collectors"][0]["errors"], 2)
        for stream in collector.streams:
            self.assertNotIn(IPFIX_VERSION, stream[:2])

    def test_records_arrive_by_either_version(self):
        for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
            with self.subTest(version.name), Collector(
                    server_context(*self.authority.issue("server"), version=version)) as collector:
                ledger, log = self.run_to(collector)
                self.assertIn("tls 127.0.0.1:%d: ready" % collector.port, log)
            self.check_arrival(collector, ledger)

    def test_a_server_without_tickets_is_waited_for_not_for_ever(self):
        context = server_context(*self.authority.issue("server"), version=ssl.TLSVersion.TLSv1_3)
        context.num_tickets = 0
        with Collector(context) as collector:
            ledger, _ = self.run_to(collector, connections=1)
        self.check_arrival(collector, ledger)

    def test_the_probe_shows_its_certificate(self):
        server = self.authority.issue("server")
        certificate, key = self.authority.issue("probe", bears="DNS:probe.example")
        with Collector(server_context(*server, authority=self.authority)) as collector:
            ledger, _ = self.run_to(collector, "tls.certificate=" + certificate, "tls.key=" + key)
        self.check_arrival(collector, ledger)

    def test_a_probe_that_is_refused_by_its_certificate_counts_nothing_as_exported(self):
        for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
            context = server_context(*self.authority.issue("server"), authority=self.authority, version=version)
            with self.subTest(version.name), Collector(context) as collector:
                self.check_refusal(collector, "TLS: ")
            self.assertEqual(collector.streams, [])

    def test_another_name_can_be_demanded(self):
        with Collector(server_context(*self.authority.issue("server", bears="DNS:flows.example"))) as collector:
            ledger, _ = self.run_to(collector, "tls.name=flows.example")
        self.check_arrival(collector, ledger)

    def test_a_certificate_of_somebody_else_is_refused(self):
        stranger = Authority(self.path("stranger"))
        with Collector(server_context(*stranger.issue("server"))) as collector:
            self.check_refusal(collector, "its certificate is refused: unable to get local issuer certificate")

    def test_a_certificate_with_another_name_is_refused(self):
        with Collector(server_context(*self.authority.issue("server", bears="IP:127.0.0.2"))) as collector:
            self.check_refusal(collector, "its certificate is refused: IP address mismatch")
        with Collector(server_context(*self.authority.issue("server", bears="DNS:*.example"))) as collector:
            self.check_refusal(collector, "its certificate is refused: hostname mismatch", "tls.name=flows.test")

    def test_a_certificate_of_another_time_is_refused(self):
        for words, start, end in (("certificate has expired", "20200101000000Z", "20200102000000Z"),
                                  ("certificate is not yet valid", "20890101000000Z", "20890102000000Z")):
            with self.subTest(words), Collector(
                    server_context(*self.authority.issue("server", start=start, end=end))) as collector:
                self.check_refusal(collector, "its certificate is refused: " + words)

    def test_a_peer_that_speaks_no_tls_is_refused(self):
        with Collector(behave=greet) as collector:
            self.check_refusal(collector, "TLS: wrong version number")
        for stream in collector.streams:
            self.assertEqual(stream[:2], b"\x16\x03")    # a handshake record (RFC 8446 5.1)

    def test_files_that_cannot_be_read_are_named(self):
        certificate, _ = self.authority.issue("probe")
        _, other_key = self.authority.issue("other")
        broken = self.path("broken.pem", "no certificate")
        for settings, words in ((("tls.ca=/nowhere/ca.pem",), "certificate authorities /nowhere/ca.pem: No such file"),
                                (("tls.ca=" + broken,), "certificate authorities " + broken),
                                (("tls.certificate=" + broken, "tls.key=" + other_key), "certificate " + broken),
                                (("tls.certificate=" + certificate, "tls.key=" + other_key),
                                 "key %s: key values mismatch" % other_key)):
            with self.subTest(words):
                result = subprocess.run(
                    [harness.TRIBUTARYD, "-i", "net_null0", "-n", "127.0.0.1:4740",
                     "--set", "export.collectors.0.transport=tls",
                     *(part for each in settings for part in ("--set", "export.collectors.0." + each))],
                    capture_output=True, text=True, timeout=60)
                self.assertNotEqual(result.returncode, harness.EX_OK)
                self.assertIn(words, result.stdout + result.stderr)


if __name__ == "__main__":
    harness.main()
