#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Many clients that are silent, slow, or read nothing: telemetry and the control socket answer others."""
import contextlib
import http.client
import itertools
import os
import selectors
import shlex
import signal
import socket
import subprocess
import sys
import threading
import time

import harness
from faults import many_flows

CLIENTS = 200
TELEMETRY_SECONDS, CONTROL_SECONDS = 10, 5  # a connection's in total
FLOWS = 100_000  # as IPFIX, more than a socket holds
# More than may wait, each a process of its own with one connection.
SILENT_PROCESSES = """
import os, signal, socket, sys
theirs, ours = os.pipe()
for _ in range(70):
    if os.fork() == 0:
        client = socket.socket(socket.AF_UNIX)
        client.connect(sys.argv[1])
        os.write(ours, b".")
        signal.pause()
    os.read(theirs, 1)
print("all wait", flush=True)
signal.pause()
"""


class Crowd:
    """Clients that connect, send `words` octet by octet, one a second (or nothing), and reconnect when closed."""

    def __init__(self, connect, words=b"", pause=1.0):
        self.connect, self.words, self.pause = connect, words, pause
        self.times = 0  # connections made
        self.lives = []  # seconds of each connection
        self.is_over = threading.Event()
        self.thread = threading.Thread(target=self.run)

    def __enter__(self):
        self.selector = selectors.DefaultSelector()
        for _ in range(CLIENTS):
            self.come()
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.is_over.set()
        self.thread.join()
        for key in list(self.selector.get_map().values()):
            key.fileobj.close()
        self.selector.close()

    def come(self):
        client = self.connect()
        client.setblocking(False)
        self.times += 1
        self.selector.register(client, selectors.EVENT_READ, [time.monotonic(), 0])

    def go(self, client):
        self.lives.append(time.monotonic() - self.selector.unregister(client).data[0])
        client.close()
        self.come()

    def run(self):
        next_words = time.monotonic()
        while not self.is_over.is_set():
            for key, _ in self.selector.select(0.05):
                with contextlib.suppress(BlockingIOError):
                    if self.is_closed(key.fileobj):
                        self.go(key.fileobj)
            if self.words and time.monotonic() >= next_words:
                next_words += self.pause
                self.say()

    @staticmethod
    def is_closed(client):
        try:
            return not client.recv(1 << 16)
        except ConnectionError:
            return True

    def say(self):
        for key in list(self.selector.get_map().values()):
            said = key.data[1]
            with contextlib.suppress(BlockingIOError):
                try:
                    key.fileobj.send(self.words[said:said + 1])
                    key.data[1] = min(said + 1, len(self.words) - 2)  # never the end
                except ConnectionError:
                    self.go(key.fileobj)


class CrowdCase(harness.TestCase):
    def setUp(self):
        super().setUp()
        self.enterContext(harness.huge_pages())
        self.port = harness.free_port(socket.SOCK_STREAM)

    def probe(self, capture=harness.DEMO, max_flows=4096):
        daemon = self.enterContext(harness.Process(
            harness.TRIBUTARYD, "-i", "net_pcap0,rx_pcap=" + capture, "-n", "127.0.0.1:%d" % harness.free_port(),
            "--set", "flows.max-flows=%d" % max_flows, "--set", "telemetry.listen=127.0.0.1:%d" % self.port,
            "--set", "export.drain-timeout=0"))
        daemon.wait_for_log("ready: ")
        daemon.wait_for_log("control: ")
        return daemon

    def answers_in_time(self, seconds, ask, shares_address=False):
        """Asks repeatedly; returns the time of the slowest answer. One that waited for a client's time to end would take
        CONTROL_SECONDS; a busy machine takes one or two. There a client that shares its address with the crowd may lose its
        place to newer ones before it has sent its request: then it asks again, in the same time."""
        slowest, end = 0, time.monotonic() + seconds * (20 if harness.LONG else 1)
        limit = CONTROL_SECONDS if harness.SANITIZED else CONTROL_SECONDS / 2
        while time.monotonic() < end:
            begin = time.monotonic()
            while True:
                try:
                    ask()
                    break
                except ConnectionError as error:
                    if not shares_address or time.monotonic() - begin >= limit:
                        raise
                    print("asked again:", error)
            slowest = max(slowest, time.monotonic() - begin)
            self.assertLess(slowest, limit)
            time.sleep(0.1)
        return slowest


class Telemetry(CrowdCase):
    def connect(self, client="127.0.0.1"):
        return socket.create_connection(("127.0.0.1", self.port), timeout=5, source_address=(client, 0))

    def get(self, page="/healthz", method="GET", client="127.0.0.1"):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=5, source_address=(client, 0))
        with contextlib.closing(connection):
            connection.request(method, page)
            answer = connection.getresponse()
            return answer.status, answer.getheaders(), answer.read()

    def ask(self, page="/healthz"):
        status, _, text = self.get(page)
        self.assertEqual((status, text) if page == "/healthz" else status, (200, b"ok\n") if page == "/healthz" else 200)

    def test_silent_clients(self):
        daemon = self.probe()
        with Crowd(self.connect):
            self.answers_in_time(3, self.ask, shares_address=True)
            self.answers_in_time(1, lambda: self.ask("/metrics"), shares_address=True)
        daemon.wait_for_log(r"telemetry: \d+ connection\(s\) closed to make room for others: 128 wait at the most")
        self.assertEqual(daemon.end(), harness.EX_OK, daemon.text())

    def test_silent_clients_of_many_addresses(self):
        self.probe()
        addresses = itertools.cycle("127.0.0.%d" % number for number in range(2, 2 + CLIENTS))
        with Crowd(lambda: self.connect(next(addresses))):
            self.answers_in_time(2, self.ask)                                           # from the lowest address
            self.answers_in_time(1, lambda: self.assertEqual(self.get(client="127.0.0.254")[0], 200))

    def test_dripping_clients(self):
        daemon = self.probe()
        with Crowd(self.connect, b"GET /healthz HTTP/1.1\r\nHost: x\r\nX: " + b"x" * 100):
            self.answers_in_time(3, self.ask, shares_address=True)
            self.answers_in_time(1, lambda: self.ask("/metrics"), shares_address=True)
        self.assertEqual(daemon.end(), harness.EX_OK, daemon.text())

    def test_a_client_has_its_time_in_total(self):
        daemon = self.probe()
        with self.connect() as silent, self.connect() as dripping:
            begin, said = time.monotonic(), b"GET /metrics HTTP/1.1\r\nX: "
            dripping.settimeout(0.5)
            with contextlib.suppress(ConnectionError):
                while time.monotonic() < begin + 3 * TELEMETRY_SECONDS:
                    dripping.send(said[:1])
                    said = said[1:] or b"x"
                    with contextlib.suppress(TimeoutError):
                        if not dripping.recv(100):
                            break
            self.assertAlmostEqual(time.monotonic() - begin, TELEMETRY_SECONDS, delta=1)
            silent.settimeout(1)
            self.assertEqual(silent.recv(1), b"")
        daemon.wait_for_log(r"telemetry: [12] connection\(s\) closed: no whole request came, .* within 10 s")
        self.assertEqual(daemon.end(), harness.EX_OK, daemon.text())

    def test_the_client_with_the_most_connections_loses_them(self):
        self.probe()
        with self.connect("127.0.0.2") as other, Crowd(self.connect):
            self.answers_in_time(1, lambda: self.assertEqual(self.get(client="127.0.0.3")[0], 200))
            other.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")  # the oldest connection still has its place
            self.assertIn(b"200 OK", other.recv(1000))

    def test_pages_and_methods(self):
        self.probe()
        plain = "text/plain; charset=utf-8"
        for method, page, status, kind in (
                ("GET", "/healthz", 200, plain), ("HEAD", "/healthz", 200, plain), ("GET", "/healthz?a=b", 200, plain),
                ("GET", "/metrics", 200, "text/plain; version=0.0.4; charset=utf-8"),
                ("HEAD", "/metrics", 200, "text/plain; version=0.0.4; charset=utf-8"),
                ("GET", "/", 404, plain), ("HEAD", "/healthz/", 404, plain), ("POST", "/healthz", 405, plain),
                ("PUT", "/metrics", 405, plain), ("DELETE", "/metrics", 405, plain), ("NONSENSE", "/", 405, plain)):
            with self.subTest(method=method, page=page):
                found, headers, text = self.get(page, method)
                headers = dict(headers)
                self.assertEqual((found, headers["Content-Type"]), (status, kind))
                self.assertEqual(headers.get("Allow"), "GET, HEAD" if status == 405 else None)
                self.assertEqual(len(text) > 0, method != "HEAD")
                self.assertGreater(int(headers["Content-Length"]), 0)
        self.assertEqual(self.get("/" + "x" * 100_000)[0], 414)

    def test_without_descriptors_the_oldest_client_goes(self):
        daemon = self.probe()
        silent = [self.enterContext(self.connect()) for _ in range(20)]
        self.ask()
        in_use = len(os.listdir("/proc/%d/fd" % daemon.popen.pid))
        subprocess.run(["prlimit", "--pid", str(daemon.popen.pid), "--nofile=%d:" % in_use], check=True)
        self.answers_in_time(1, self.ask)
        self.assertIn(silent[0].recv(1), (b"", None))
        self.assertEqual(daemon.end(), harness.EX_OK, daemon.text())


class Control(CrowdCase):
    def connect(self):
        client = socket.socket(socket.AF_UNIX)
        client.settimeout(5)
        client.connect(self.path_of_socket)
        return client

    def probe(self, *arguments):
        daemon = super().probe(*arguments)
        self.path_of_socket = daemon.control_socket
        return daemon

    def reload(self):
        result = subprocess.run([harness.TRIBUTARY, "reload", "--socket", self.path_of_socket], capture_output=True, text=True,
                                timeout=30)
        self.assertEqual((result.returncode, result.stdout), (0, "reloaded: nothing has changed\n"), result.stderr)

    def test_silent_clients(self):
        daemon = self.probe()
        with Crowd(self.connect):
            self.answers_in_time(3, self.reload)
        daemon.wait_for_log(r"control: \d+ connection\(s\) closed to make room for others: 64 wait at the most")
        self.assertEqual(daemon.end(), harness.EX_OK, daemon.text())

    def test_silent_processes(self):
        daemon = self.probe()
        reload = shlex.join([harness.TRIBUTARY, "reload", "--socket", self.path_of_socket])
        clients = [self.enterContext(subprocess.Popen(     # the first one's process has the lowest number, the last one's the highest
            ["sh", "-c", "read go; exec " + command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True))
            for command in (reload, shlex.join([sys.executable, "-c", SILENT_PROCESSES, self.path_of_socket]), reload)]
        self.addCleanup(os.killpg, clients[1].pid, signal.SIGKILL)
        clients[1].stdin.write(b"\n")
        clients[1].stdin.flush()
        self.assertEqual(clients[1].stdout.readline(), b"all wait\n")
        for client in (clients[0], clients[2]):
            self.assertEqual(client.communicate(b"\n", timeout=30)[0], b"reloaded: nothing has changed\n")
        daemon.wait_for_log(r"control: \d+ connection\(s\) closed to make room for others: 64 wait at the most")
        self.assertEqual(daemon.end(), harness.EX_OK, daemon.text())

    def test_dripping_clients(self):
        daemon = self.probe()
        with Crowd(self.connect, b"reload" + b" " * 100):
            self.answers_in_time(3, self.reload)
        self.assertEqual(daemon.end(), harness.EX_OK, daemon.text())

    def test_a_client_has_its_time_in_total(self):
        daemon = self.probe()
        with self.connect() as client:
            begin = time.monotonic()
            client.settimeout(0.5)
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                while time.monotonic() < begin + 3 * CONTROL_SECONDS:
                    client.send(b"x")
                    with contextlib.suppress(TimeoutError):
                        if not client.recv(1):
                            break
            self.assertAlmostEqual(time.monotonic() - begin, CONTROL_SECONDS, delta=1)
        daemon.wait_for_log(r"control: 1 connection\(s\) closed: no command came, .* within 5 s")
        self.assertEqual(daemon.end(), harness.EX_OK, daemon.text())

    def test_clients_that_do_not_read(self):
        daemon = self.probe(many_flows(self.path("many.pcap"), FLOWS), 1 << 18)
        daemon.wait_for_received(FLOWS)
        readers = []
        for _ in range(CLIENTS):
            client = self.enterContext(self.connect())
            client.sendall(b"flows\n")
            readers.append(client)
            if len(readers) in (16, 32, CLIENTS):
                self.answers_in_time(1, self.reload)
        daemon.wait_for_log(r"control: \d+ client\(s\) cut off that read too slowly: all 16 threads are taken")
        self.assertEqual(daemon.end(), harness.EX_OK, daemon.text())

    def test_without_descriptors_the_oldest_client_goes(self):
        daemon = self.probe()
        silent = [self.enterContext(self.connect()) for _ in range(20)]
        self.reload()
        in_use = len(os.listdir("/proc/%d/fd" % daemon.popen.pid))
        subprocess.run(["prlimit", "--pid", str(daemon.popen.pid), "--nofile=%d:" % in_use], check=True)
        stats = subprocess.run([harness.TRIBUTARY, "stats", "--socket", self.path_of_socket], capture_output=True, timeout=30)
        self.assertEqual(stats.returncode, 0, stats.stderr)
        self.assertEqual(silent[0].recv(1), b"")
        self.assertEqual(daemon.end(), harness.EX_OK, daemon.text())

    def test_a_socket_whose_owner_is_busy_or_speaks_otherwise_stays(self):
        for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_SEQPACKET):
            with self.subTest(kind), contextlib.ExitStack() as stack:
                path = self.path("taken-%d.sock" % kind)
                owner = stack.enter_context(socket.socket(socket.AF_UNIX, kind))
                owner.bind(path)
                if kind == socket.SOCK_STREAM:
                    owner.listen(0)
                    stack.enter_context(socket.socket(socket.AF_UNIX)).connect(path)    # its queue is full
                before = os.stat(path)
                daemon = stack.enter_context(harness.Process(
                    harness.TRIBUTARYD, "-i", "net_pcap0,rx_pcap=" + harness.DEMO, "-n", "127.0.0.1:%d" % harness.free_port(),
                    "--set", "flows.max-flows=4096", "--set", "export.drain-timeout=0", "--set", "control.socket=" + path))
                daemon.wait_for_log("error: no control socket: .*another process listens there")
                self.assertEqual(daemon.end(), harness.EX_OK)
                self.assertEqual(os.stat(path).st_ino, before.st_ino)


if __name__ == "__main__":
    harness.main()
