#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Export by TLS, judged by Python's ssl: who is trusted, who is refused, and that nothing leaves in the clear."""
import os
import socket
import ssl
import subprocess
import threading

import harness

IPFIX_VERSION = b"\x00\x0a"


def openssl(*arguments):
    subprocess.run(["openssl", *arguments], check=True, capture_output=True)


class Authority:
    """A certificate authority in a directory of its own."""

    def __init__(self, directory):
        os.mkdir(directory)
        self.directory = directory
        self.certificate, self.key = self.path("ca.pem"), self.path("ca.key")
        openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
                "-subj", "/CN=tributary test authority", "-keyout", self.key, "-out", self.certificate)

    def path(self, name):
        return os.path.join(self.directory, name)

    def issue(self, name, bears="IP:127.0.0.1", start="20200101000000Z", end="20900101000000Z"):
        """Certificate and key of somebody who bears this subjectAltName, good from `start` to `end`."""
        certificate, key, request = (self.path(name + suffix) for suffix in (".pem", ".key", ".csr"))
        extensions, database, config = self.path(name + ".ext"), self.path("index.txt"), self.path("ca.conf")
        openssl("req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                "-subj", "/CN=" + name, "-keyout", key, "-out", request)
        for path, text in ((extensions, "subjectAltName=" + bears), (database, ""),
                           (config, "[ca]\ndefault_ca=a\n[a]\ndatabase=%s\nnew_certs_dir=%s\ndefault_md=sha256\n"
                                    "policy=p\nrand_serial=yes\n[p]\ncommonName=supplied\n"
                                    % (database, self.directory))):
            with open(path, "w") as out:
                out.write(text)
        openssl("ca", "-batch", "-config", config, "-cert", self.certificate, "-keyfile", self.key, "-in", request,
                "-out", certificate, "-startdate", start, "-enddate", end, "-extfile", extensions, "-notext")
        return certificate, key


class Collector:
    """Takes TLS connections on 127.0.0.1, or TCP ones without a context, and keeps what they bring."""

    def __init__(self, context=None):
        self.context = context
        self.streams, self.faults = [], []
        self.server = socket.create_server(("127.0.0.1", 0))
        self.port = self.server.getsockname()[1]
        self.thread = threading.Thread(target=self.serve)
        self.thread.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.shutdown(socket.SHUT_RDWR)
        self.thread.join()
        self.server.close()

    def serve(self):
        while True:
            try:
                connection, _ = self.server.accept()
            except OSError:
                return
            try:
                if self.context:
                    connection = self.context.wrap_socket(connection, server_side=True)
                self.read(connection)
            except OSError as fault:    # ssl.SSLError is one
                self.faults.append(str(fault))
            connection.close()

    def read(self, connection):
        if not self.context:
            connection.sendall(b"220 collector at your service\r\n")
        self.streams.append(b"")
        while octets := connection.recv(65536):
            self.streams[-1] += octets


def server_context(certificate, key, authority=None, version=None):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    if authority:
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(authority.certificate)
    if version:
        context.minimum_version = context.maximum_version = version
    return context


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
        stream = self.path("stream.ipfix", collector.streams[0])
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
        with Collector() as collector:
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
