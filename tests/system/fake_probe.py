# SPDX-License-Identifier: Apache-2.0
"""A control socket with fixed answers, for tests of `tributary`."""
import contextlib
import ipaddress
import json
import os
import socket
import struct
import threading


def ntp(seconds):
    """dateTimeMicroseconds (RFC 7011 6.1.9) of seconds since 1970."""
    return struct.pack(">II", int(seconds) + 2_208_988_800, int((seconds % 1) * (1 << 32)))


def message(sets, number=0):
    body = b"".join(struct.pack(">HH", set_id, 4 + len(octets)) + octets for set_id, octets in sets)
    return struct.pack(">HHIII", 10, 16 + len(body), 1_700_000_000, number, 1) + body


# element and octets; 8 and 12 are the IPv4 addresses, 27 and 28 the IPv6 ones
REST = [(7, 2), (11, 2), (4, 1), (1, 8), (2, 8), (154, 8), (155, 8)]
TEMPLATES = {4: (256, [(8, 4), (12, 4), *REST]), 6: (257, [(27, 16), (28, 16), *REST])}


def flow_stream(flows):
    """IPFIX of flows: (protocol, source, port, destination, port, octets, packets, start, end)."""
    described = b"".join(struct.pack(">HH", number, len(fields)) + b"".join(struct.pack(">HH", *field) for field in fields)
                         for number, fields in TEMPLATES.values())
    messages = [message([(2, described)])]
    for protocol, source, source_port, destination, destination_port, octets, packets, start, end in flows:
        ends = [ipaddress.ip_address(address) for address in (source, destination)]
        record = b"".join(end.packed for end in ends) + struct.pack(
            ">HHBQQ", source_port, destination_port, protocol, octets, packets) + ntp(start) + ntp(end)
        messages.append(message([(TEMPLATES[ends[0].version][0], record)]))
    return b"".join(messages)


class FakeProbe:
    """Answers stats, figures and flows as set, for every client, until it is closed."""

    def __init__(self, path):
        self.path, self.stats, self.figures, self.flows = path, {}, {}, []
        self.refusal = {}       # command: its failure
        self.raw_stats = None   # octets in place of stats
        self.silent = False     # takes commands without an answer
        self.clients = []
        self.listener = None

    def __enter__(self):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.path)
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(self.path)
        self.listener.listen(16)
        self.thread = threading.Thread(target=self.serve, args=(self.listener,), daemon=True)
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.thread.join()
        self.listener.close()
        os.unlink(self.path)
        for client in self.clients:
            client.close()

    def serve(self, listener):
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            with contextlib.suppress(OSError):
                self.answer(client)

    def answer(self, client):
        command = client.makefile("rb").readline().decode().strip()
        if self.silent:
            self.clients.append(client)
            return
        octets = {"stats": lambda: self.raw_stats or json.dumps(self.stats).encode(),
                  "figures": lambda: json.dumps(self.figures).encode(), "flows": lambda: flow_stream(self.flows)}[command]()
        with client:
            if command in self.refusal:
                client.sendall(bytes(4) + self.refusal[command].encode())
                return
            client.sendall(struct.pack(">I", len(octets)) + octets + bytes(4) + b"ok")
