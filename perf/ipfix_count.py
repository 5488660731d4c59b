# SPDX-License-Identifier: Apache-2.0
"""Counts the flow records, and the packets in them, of IPFIX messages from any exporter."""
import socket
import struct
import threading

PACKET_COUNTS = (2, 86)  # packetDeltaCount, packetTotalCount
VARIABLE = 65535


class Counter:
    def __init__(self):
        self.records = self.packets = 0
        self.templates = {}  # (domain, id): [(element, octets)]; None for options

    def messages(self, octets):
        """Counts consecutive messages, as in a file."""
        at = 0
        while at + 16 <= len(octets):
            length = struct.unpack_from("!H", octets, at + 2)[0]
            if struct.unpack_from("!H", octets, at)[0] != 10 or length < 16:
                raise ValueError("no IPFIX message at octet %d" % at)
            self.message(octets[at:at + length])
            at += length

    def message(self, octets):
        domain, at = struct.unpack_from("!I", octets, 12)[0], 16
        while at + 4 <= len(octets):
            number, length = struct.unpack_from("!HH", octets, at)
            if length < 4:
                raise ValueError("a set of %d octets" % length)
            body = octets[at + 4:at + length]
            if number in (2, 3):
                self.template_set(domain, body, 2 if number == 2 else 3)
            elif self.templates.get((domain, number)):
                self.data_set(self.templates[domain, number], body)
            at += length

    def template_set(self, domain, body, header_words):
        at = 0
        while at + 4 <= len(body):
            number, fields = struct.unpack_from("!HH", body, at)
            if number < 256:  # padding
                return
            at, elements = at + 2 * header_words, []
            for _ in range(fields):
                element, octets = struct.unpack_from("!HH", body, at)
                at += 8 if element & 0x8000 else 4
                elements.append((element, octets))
            self.templates[domain, number] = elements if header_words == 2 else None

    def data_set(self, elements, body):
        at, least = 0, sum(1 if octets == VARIABLE else octets for _, octets in elements)
        while at + least <= len(body) and least > 0:
            for element, octets in elements:
                if octets == VARIABLE:
                    octets, at = body[at], at + 1
                    if octets == 255:
                        octets, at = struct.unpack_from("!H", body, at)[0], at + 2
                elif element in PACKET_COUNTS:
                    self.packets += int.from_bytes(body[at:at + octets], "big")
                at += octets
            self.records += 1


class UdpSink:
    """Receives datagrams on a port of 127.0.0.1 while an exporter runs, and reads them afterwards."""

    BUFFER = 256 << 20
    SO_RCVBUFFORCE = 33

    def __init__(self):
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        try:
            self.socket.setsockopt(socket.SOL_SOCKET, self.SO_RCVBUFFORCE, self.BUFFER)
        except PermissionError:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, self.BUFFER)
        self.socket.bind(("127.0.0.1", 0))
        self.socket.settimeout(0.2)
        self.port = self.socket.getsockname()[1]
        self.datagrams = []
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self.receive)

    def receive(self):
        while True:
            try:
                self.datagrams.append(self.socket.recv(65536))
            except socket.timeout:
                if self.ended.is_set():
                    return

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.ended.set()
        self.thread.join()
        self.socket.close()

    def count(self):
        """Call it after the `with` block."""
        counter = Counter()
        for datagram in self.datagrams:
            counter.message(datagram)
        return counter
