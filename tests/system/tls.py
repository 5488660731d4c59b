#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Export by TLS, judged by Python's ssl: trusted and refused collectors, and no data in the clear."""
import os
import re
import shutil
import socket
import ssl
import subprocess

import control
import harness
from stream_collector import Authority, Collector, read_to_end, server_context

IPFIX_VERSION = b"\x00\x0a"


def greet(connection, stream):
    """Like a mail server."""
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
        """Refused with one line and their number at the end, tried again, and no record leaves."""
        ledger, log = self.run_to(collector, *settings, connections=2)
        flows = ledger["flows"]
        self.assertEqual((flows["exported"], flows["lost"]), (0, flows["created"]))
        self.assertGreater(flows["created"], 0)
        told = [line for line in log.splitlines() if "tls 127.0.0.1:%d: no connection" % collector.port in line]
        self.assertIn(words, told[0])
        self.assertEqual([line for line in told[1:] if not re.search("(once|[0-9]+ times) more$", line)], [], log)
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
        for version, words in ((ssl.TLSVersion.TLSv1_2, "the collector ends TLS with the alert handshake failure"),
                               (ssl.TLSVersion.TLSv1_3, "the collector requires a certificate of ours, and got none")):
            context = server_context(*self.authority.issue("server"), authority=self.authority, version=version)
            with self.subTest(version.name), Collector(context) as collector:
                self.check_refusal(collector, words)
            self.assertEqual(collector.streams, [])

    def test_a_refusal_of_the_probes_certificate_is_told_as_that(self):
        stranger = Authority(self.path("stranger"))
        for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
            for words, issued in (
                    ("it has expired, or is not valid yet",
                     self.authority.issue("old", start="20200101000000Z", end="20200102000000Z")),
                    ("the collector does not know the authority that has signed it", stranger.issue("probe"))):
                context = server_context(*self.authority.issue("server"), authority=self.authority, version=version)
                with self.subTest((version.name, words)), Collector(context) as collector:
                    self.check_refusal(collector, "the collector refuses our certificate: " + words,
                                       "tls.certificate=" + issued[0], "tls.key=" + issued[1])

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


class Renewal(control.ControlCase):
    """New files under the same paths, while the probe runs."""

    def setUp(self):
        super().setUp()
        harness.need("openssl")
        self.authority, self.next = Authority(self.path("authority")), Authority(self.path("next"))
        self.server = self.authority.issue("server")
        self.files = {name: self.path(name + ".pem") for name in ("ca", "certificate", "key")}
        for name, source in zip(self.files, (self.authority.certificate, *self.authority.issue("probe"))):
            shutil.copy(source, self.files[name])

    def collector(self, port, more=""):
        return "{transport: tls, host: 127.0.0.1, port: %d, tls: {ca: %s, certificate: %s, key: %s}%s}" % (
            port, *self.files.values(), more)

    def names(self, *collectors):
        return " and ".join("tls 127.0.0.1:%d" % collector.port for collector in collectors)

    def test_a_renewed_certificate_is_taken_by_a_reload_and_by_new_connections_only(self):
        any_client = self.enterContext(Collector(server_context(*self.server)))
        choosy = self.enterContext(Collector(server_context(*self.server, authority=self.next)))
        daemon = self.probe(collectors="%s, %s" % (
            self.collector(any_client.port, ", spool: {directory: %s}" % self.path("spool")),
            self.collector(choosy.port)))
        self.wait_for_received(daemon)
        harness.wait_until(lambda: any_client.streams and choosy.faults, 30, "a connection and a refusal")
        self.assertEqual(self.ask(daemon, "reload"), "reloaded: nothing has changed\n")

        certificate, key = self.next.issue("renewed")
        shutil.copy(certificate, self.files["certificate"])    # the key does not belong to it
        refusal = self.ask(daemon, "reload", expect=control.EX_UNAVAILABLE)
        self.assertIn("%s: tls: key %s: key values mismatch; the former ones stay in use"
                      % (self.names(any_client), self.files["key"]), refusal)
        os.replace(key, self.files["key"])
        both = self.names(any_client, choosy)
        self.assertEqual(self.ask(daemon, "reload"),
                         "reloaded: the TLS files of %s (new connections use them)\n" % both)
        for collector in (any_client, choosy):
            self.assertIn(self.names(collector) + ": its TLS files were read anew", daemon.text())
        self.ask(daemon, "flush")
        daemon.wait_for(lambda: [each["records"] for each in daemon.stats()["collectors"]] == [harness.DEMO_FLOWS] * 2,
                        30, "records")
        self.assertEqual(self.ask(daemon, "reload"), "reloaded: nothing has changed\n")
        self.end(daemon)
        self.assertEqual((len(any_client.streams), any_client.faults), (1, []))    # the connection went on
        self.assertGreater(len(choosy.streams), 0)

    def test_renewed_authorities_and_files_that_are_gone(self):
        port = harness.free_port(socket.SOCK_STREAM)
        daemon = self.probe(collectors=self.collector(port))
        self.wait_for_received(daemon)
        os.rename(self.files["ca"], self.path("kept.pem"))
        self.assertIn("tls: certificate authorities %s: No such file or directory; the former" % self.files["ca"],
                      self.ask(daemon, "reload", expect=control.EX_UNAVAILABLE))
        os.symlink(self.next.certificate, self.files["ca"])
        with Collector(server_context(*self.next.issue("server")), port=port) as collector:
            self.assertIn("the TLS files of " + self.names(collector), self.ask(daemon, "reload"))
            self.ask(daemon, "flush")
            daemon.wait_for(lambda: daemon.stats()["flows"]["exported"] == harness.DEMO_FLOWS, 30, "records")
            self.end(daemon)
        self.assertEqual(len(collector.streams), 1)


if __name__ == "__main__":
    harness.main()
