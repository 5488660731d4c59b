# SPDX-License-Identifier: Apache-2.0
"""Collectors by TCP and TLS with the behaviour that a test needs, in threads of the test, and certificates for them."""
import os
import socket
import ssl
import subprocess
import threading


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
        """Certificate and key with this subjectAltName, valid from `start` to `end`."""
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


def server_context(certificate, key, authority=None, version=None):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    if authority:
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(authority.certificate)
    if version:
        context.minimum_version = context.maximum_version = version
    return context


def read_to_end(connection, stream):
    """Appends all received octets to `stream`, a bytearray."""
    while octets := connection.recv(65536):
        stream += octets


class Collector:
    """Takes connections on 127.0.0.1, one after the other, by TLS with a context; keeps their octets in `streams`."""

    def __init__(self, context=None, behave=read_to_end, port=0, receive_buffer=None):
        self.context, self.behave = context, behave
        self.streams, self.faults = [], []
        self.server = socket.socket()
        self.server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if receive_buffer:
            self.server.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.server.bind(("127.0.0.1", port))
        self.server.listen()
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
                self.streams.append(bytearray())
                self.behave(connection, self.streams[-1])
            except OSError as fault:    # includes ssl.SSLError
                self.faults.append(str(fault))
            connection.close()


def whole_messages(stream):
    """The octets of whole IPFIX messages."""
    at = 0
    while len(stream) >= at + 4 and len(stream) >= at + int.from_bytes(stream[at + 2:at + 4], "big"):
        at += int.from_bytes(stream[at + 2:at + 4], "big")
    return bytes(stream[:at])
