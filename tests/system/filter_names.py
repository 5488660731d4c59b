#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Packet filters with host names, with a name server of the test: the effects of slow, missing and negative answers on
the start, a reload, the watchdog and the packets."""
import contextlib
import ctypes
import glob
import os
import shutil
import signal
import socket
import struct
import subprocess
import threading
import time

import harness
import service

CLONE_NEWNET = 0x40000000
EX_UNAVAILABLE = 69
NO_SUCH_NAME, NO_ANSWER = 3, None
A = 1


@contextlib.contextmanager
def inside(namespace):
    """This thread's sockets are in another network namespace meanwhile."""
    libc = ctypes.CDLL(None, use_errno=True)
    own, other = os.open("/proc/self/ns/net", os.O_RDONLY), os.open("/var/run/netns/" + namespace, os.O_RDONLY)
    try:
        if libc.setns(other, CLONE_NEWNET) != 0:
            raise OSError(ctypes.get_errno(), "setns")
        yield
    finally:
        libc.setns(own, CLONE_NEWNET)
        os.close(own)
        os.close(other)


class NameServer:
    """A name server at 127.0.0.1 of a namespace: it answers late with an address, an error code, or not at all."""

    def __init__(self, namespace, answer, delay=0.0):
        self.answer, self.delay, self.queries, self.goes_on = answer, delay, [], True
        with inside(namespace):
            self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            self.socket.bind(("127.0.0.1", 53))
        self.socket.settimeout(0.1)
        self.thread = threading.Thread(target=self.serve)
        self.thread.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.goes_on = False
        self.thread.join()
        self.socket.close()

    def serve(self):
        waiting = []
        while self.goes_on:
            with contextlib.suppress(TimeoutError):
                query, client = self.socket.recvfrom(512)
                self.queries.append(self.name_of(query))
                waiting.append((time.monotonic() + self.delay, query, client))
            for entry in [each for each in waiting if each[0] <= time.monotonic()]:
                waiting.remove(entry)
                self.reply(*entry[1:])

    @staticmethod
    def name_of(query):
        labels, at = [], 12
        while query[at]:
            labels.append(query[at + 1:at + 1 + query[at]].decode())
            at += query[at] + 1
        return ".".join(labels), struct.unpack(">H", query[at + 1:at + 3])[0]

    def reply(self, query, client):
        name, kind = self.name_of(query)
        question = query[12:12 + len(name) + 2 + 4]
        if self.answer == NO_ANSWER:
            return
        if isinstance(self.answer, int):
            self.socket.sendto(query[:2] + struct.pack(">HHHHH", 0x8180 | self.answer, 1, 0, 0, 0) + question, client)
            return
        records = b""
        if kind == A:
            records = b"\xc0\x0c" + struct.pack(">HHIH", A, 1, 0, 4) + socket.inet_aton(self.answer)
        self.socket.sendto(query[:2] + struct.pack(">HHHHH", 0x8180, 1, bool(records), 0, 0) + question + records, client)


class Names(harness.TestCase):
    @classmethod
    def setUpClass(cls):
        harness.need("ip", root=True)

    def setUp(self):
        super().setUp()
        self.enterContext(harness.huge_pages())
        self.namespace = "tribN-%d" % os.getpid()
        self.resolver = os.path.join("/etc/netns", self.namespace)
        os.makedirs(self.resolver)
        self.addCleanup(shutil.rmtree, self.resolver)
        with open(os.path.join(self.resolver, "resolv.conf"), "w") as out:
            out.write("nameserver 127.0.0.1\noptions timeout:5 attempts:1\n")
        subprocess.run(["ip", "netns", "add", self.namespace], check=True)
        self.addCleanup(subprocess.run, ["ip", "netns", "del", self.namespace])
        subprocess.run(["ip", "-n", self.namespace, "link", "set", "lo", "up"], check=True)
        self.manager = self.enterContext(service.NotifySocket(self.path("notify")))
        self.beats, self.listens, self.recorder = [], True, ""
        # The address of the demo capture's busiest host.
        out, _, _ = self.meter("--read", harness.DEMO)
        packets = {}
        for flow in self.flows(out):
            if "sourceIPv4Address" in flow:
                for end in (flow["sourceIPv4Address"], flow["destinationIPv4Address"]):
                    packets[end] = packets.get(end, 0) + flow["packetDeltaCount"]
        self.host = max(packets, key=packets.get)

    def names(self, count):
        return " or ".join("host h%d.example.com" % number for number in range(count))

    def configure(self, expression, other=None):
        device = '"net_pcap%d,rx_pcap=%s,infinite_rx=1"'
        probed = ["{name: named, device: %s, filter: '%s', poll: adaptive}" % (device % (0, harness.DEMO), expression)]
        if other is not None:
            probed.append("{name: other, device: %s, filter: '%s', poll: adaptive}" % (device % (1, harness.DEMO), other))
        return self.path("probe.yaml", """
            inputs: [%s]
            flows: {max-flows: 4096}
            telemetry: {listen: "127.0.0.1:9477"}
            export: {collectors: [{transport: file, path: %s}]}
            %s
            """ % (", ".join(probed), self.path("out.ipfix"), self.recorder))

    def probe(self, expression, other=None):
        config = self.configure(expression, other)
        with service.environment(NOTIFY_SOCKET=self.manager.path, WATCHDOG_USEC="20000000"):
            daemon = self.enterContext(harness.Process(
                harness.TRIBUTARYD, "--config", config, "--stats", self.path("stats.json"), namespace=self.namespace))
        self.started = time.monotonic()
        listener = threading.Thread(target=self.listen_to_the_watchdog)
        listener.start()
        self.addCleanup(listener.join)
        self.addCleanup(setattr, self, "listens", False)
        daemon.wait_for_log("ready: ")
        return daemon

    def listen_to_the_watchdog(self):
        while self.listens:
            if "WATCHDOG=1" in self.manager.heard():
                self.beats.append(time.monotonic())
                self.manager.forget()
            time.sleep(0.02)

    def check_that_the_watchdog_was_fed(self):
        times = [*self.beats, time.monotonic()]
        self.assertGreater(len(self.beats), 1)
        self.assertLess(max(later - earlier for earlier, later in zip(times, times[1:])), 4)

    def health(self):
        with inside(self.namespace):
            peer = socket.create_connection(("127.0.0.1", 9477), timeout=10)
        with peer:
            peer.sendall(b"GET /healthz HTTP/1.0\r\n\r\n")
            answer = b""
            while more := peer.recv(4096):
                answer += more
        head, body = answer.decode().split("\r\n\r\n", 1)
        return int(head.split()[1]), body

    def ask(self, daemon, *words):
        return subprocess.run([harness.TRIBUTARY, *words, "--socket", daemon.control_socket], capture_output=True, text=True,
                              timeout=60)

    def end(self, daemon):
        before = time.monotonic()
        self.assertEqual(daemon.end(), harness.EX_OK, daemon.text())
        self.assertLess(time.monotonic() - before, 5)
        ledger = harness.read_json(self.path("stats.json"))
        self.check_ledger(ledger)
        return ledger

    def check_start(self, hosts, delay):
        with NameServer(self.namespace, self.host, delay) as server:
            daemon = self.probe(self.names(hosts), other="udp")
            ready_after = time.monotonic() - self.started
            self.assertNotIn("its filter is ready", daemon.text())
            self.assertEqual(self.health(), (503, "input named meters nothing, its filter is not ready: its host names are "
                                                  "being resolved\n"))
            daemon.wait_for_log("input named: its filter is ready")
            self.assertLess(ready_after, time.monotonic() - self.started)
            # Each name once, for addresses of both families.
            self.assertEqual(len(server.queries), 2 * hosts)
            self.assertEqual(len(set(server.queries)), 2 * hosts)
            daemon.wait_for(lambda: daemon.stats()["queues"][0]["packets"]["metered"] > 0, 30, "packets of the host")
            daemon.wait_for(lambda: self.health() == (200, "ok\n"), 10, "health")

            asked = len(server.queries)
            before = time.monotonic()
            daemon.send(signal.SIGHUP)
            daemon.wait_for_log("reloaded: nothing has changed")
            self.assertLess(time.monotonic() - before, 1)    # a round of the main loop is short; an answer takes longer
            self.assertEqual(len(server.queries), asked)
            ledger = self.end(daemon)
        named, other = ledger["queues"]
        self.assertGreater(named["packets"]["ignored_by_reason"]["filter_not_ready"], 0)
        self.assertGreater(named["packets"]["filtered"], 0)
        self.assertEqual(other["packets"]["ignored_by_reason"]["filter_not_ready"], 0)
        self.assertGreater(other["packets"]["metered"], 0)
        for flow in self.flows(self.path("out.ipfix")):
            if flow.get("ingressInterface") == 1:
                self.assertIn(self.host, (flow["sourceIPv4Address"], flow["destinationIPv4Address"]))

    def test_the_start_does_not_wait_for_a_name(self):
        self.check_start(1, delay=4)

    def test_the_start_does_not_wait_for_four_names(self):
        self.check_start(4, delay=2)

    def test_without_answers_nothing_is_metered_unfiltered_and_all_else_goes_on(self):
        with NameServer(self.namespace, NO_ANSWER) as server:
            daemon = self.probe(self.names(4), other="")
            self.assertLess(time.monotonic() - self.started, 5)    # the time of one query
            daemon.wait_for_log("input named: its filter is not ready: no address for h0.example.com", 30)
            before = time.monotonic()
            self.assertEqual(self.ask(daemon, "reload").stdout, "reloaded: nothing has changed\n")
            self.assertLess(time.monotonic() - before, 2)
            self.check_that_the_watchdog_was_fed()
            server.answer = self.host    # the network is up
            daemon.wait_for_log("input named: its filter is ready", 30)
            ledger = self.end(daemon)
        named, other = ledger["queues"]
        self.assertGreater(named["packets"]["ignored_by_reason"]["filter_not_ready"], 1000)
        self.assertEqual(other["packets"]["ignored_by_reason"]["filter_not_ready"], 0)
        self.assertGreater(other["packets"]["metered"], 1000)

    def test_an_end_does_not_wait_for_answers(self):
        with NameServer(self.namespace, NO_ANSWER):
            daemon = self.probe(self.names(1))
            ledger = self.end(daemon)
        packets = ledger["packets"]
        self.assertEqual((packets["metered"], packets["filtered"]), (0, 0))
        self.assertEqual(packets["ignored_by_reason"]["filter_not_ready"], packets["received"])
        self.assertEqual(self.flows(self.path("out.ipfix")), [])

    def test_a_reload_waits_for_its_new_names_while_all_goes_on(self):
        with NameServer(self.namespace, self.host, delay=1) as server:
            daemon = self.probe("tcp")
            self.assertNotIn("not ready", daemon.text())
            self.configure(self.names(2))
            answer = self.ask(daemon, "reload")
            self.assertEqual((answer.stdout, answer.returncode), ("reloaded: inputs.0.filter\n", harness.EX_OK))
            self.assertEqual(len(server.queries), 4)
            server.answer = NO_SUCH_NAME
            self.configure("host nobody.example.com")
            refused = self.ask(daemon, "reload")
            self.assertEqual(refused.returncode, EX_UNAVAILABLE)
            self.assertRegex(refused.stderr, r"probe.yaml:2: inputs.0.filter is host nobody.example.com; must be a filter "
                             r"expression in pcap syntax \(no address for nobody.example.com \(.+\)\)")
            self.check_that_the_watchdog_was_fed()
            self.configure(self.names(2))
            self.assertEqual(self.ask(daemon, "reload").stdout, "reloaded: nothing has changed\n")
            ledger = self.end(daemon)
        self.assertEqual(ledger["packets"]["ignored_by_reason"]["filter_not_ready"], 0)

    def test_a_dump_that_nobody_waits_for_asks_for_no_further_name(self):
        path = self.path("recorder.sock")
        self.recorder = "recorder: {memory: 4MiB, socket: %s}" % path

        def dump(expression):
            client = self.enterContext(socket.socket(socket.AF_UNIX))
            client.connect(path)
            client.sendall(b'dump {"last": 1, "for": 3600, "filter": "%s"}\n' % expression.encode())
            return client
        with NameServer(self.namespace, NO_ANSWER) as server:
            daemon = self.probe("tcp")
            clients = [dump(self.names(40)) for _ in range(4)]  # they have all places
            harness.wait_until(lambda: server.queries, 30, "a question")
            for client in clients:
                client.close()
            harness.wait_until(lambda: self.ask_recorder(path).returncode == harness.EX_OK, 5, "a place for another dump")
            dump(self.names(40))
            asked = len(server.queries)
            harness.wait_until(lambda: len(server.queries) > asked, 30, "a question")
            self.end(daemon)

    def ask_recorder(self, path):
        return subprocess.run([harness.TRIBUTARY, "dump", "--socket", path, "--last", "1", "--filter", "tcp", "--write",
                               self.path("dump.pcapng")], capture_output=True, timeout=60)

    def test_an_end_during_a_reload_does_not_wait_for_answers(self):
        with NameServer(self.namespace, NO_ANSWER) as server:
            daemon = self.probe("tcp")
            self.configure(self.names(1))
            client = subprocess.Popen([harness.TRIBUTARY, "reload", "--socket", daemon.control_socket], text=True,
                                      stderr=subprocess.PIPE)
            harness.wait_until(lambda: server.queries, 30, "a question")
            daemon.send(signal.SIGHUP)    # another reload waits
            self.end(daemon)
            self.assertRegex(client.communicate(timeout=10)[1], "tributaryd is stopping|the answer was cut off")
            self.assertEqual(client.returncode, EX_UNAVAILABLE)

    def test_a_reload_gives_up_before_its_client_does(self):
        with open(os.path.join(self.resolver, "resolv.conf"), "w") as out:
            out.write("nameserver 127.0.0.1\noptions timeout:30 attempts:1\n")
        with NameServer(self.namespace, NO_ANSWER):
            daemon = self.probe("tcp")
            self.configure(self.names(1))
            refused = self.ask(daemon, "reload")
            self.assertIn("not ready within 20 s; no answer with the addresses of its host names", refused.stderr)
            self.check_that_the_watchdog_was_fed()
            self.end(daemon)

    def run_here(self, *arguments):
        return subprocess.run(["ip", "netns", "exec", self.namespace, *arguments], capture_output=True, text=True, timeout=60)

    def test_a_check_asks_no_name_server(self):
        with NameServer(self.namespace, NO_ANSWER) as server:
            for command in ([harness.TRIBUTARYD, "--check-config", "--config"], [harness.TRIBUTARY, "check"]):
                good = self.run_here(*command, self.configure(self.names(4)))
                self.assertEqual(good.returncode, harness.EX_OK, good.stderr)
                bad = self.run_here(*command, self.configure(self.names(4) + " or or"))
                self.assertEqual(bad.returncode, harness.EX_CONFIG)
                self.assertIn("syntax error", bad.stderr)
            self.assertEqual(server.queries, [])

    def test_captures_are_read_with_names(self):
        read = [harness.TRIBUTARYD, "--read", harness.DEMO, "--write", self.path("out.ipfix"), "--set",
                "read.filter=" + self.names(2)]
        with NameServer(self.namespace, self.host) as server:
            good = self.run_here(*read)
            self.assertEqual(good.returncode, harness.EX_OK, good.stderr)
            self.assertEqual(len(server.queries), 4)    # each name once for all link types
            _, ledger, _ = self.meter("--read", harness.DEMO, "--set", "read.filter=host " + self.host)
            self.assertIn("%d filtered" % ledger["packets"]["filtered"], good.stderr)
            server.answer = NO_SUCH_NAME
            bad = self.run_here(*read)
            self.assertEqual(bad.returncode, EX_UNAVAILABLE, bad.stderr)
            self.assertIn("no address for h0.example.com", bad.stderr)
            server.answer = NO_ANSWER
            waiting = subprocess.Popen(["ip", "netns", "exec", self.namespace, *read], stderr=subprocess.DEVNULL)
            asked = len(server.queries)
            harness.wait_until(lambda: len(server.queries) > asked, 30, "a question")
            waiting.send_signal(signal.SIGINT)
            self.assertEqual(waiting.wait(4), 128 + signal.SIGINT)


class Long(harness.TestCase):
    """A filter without a name that takes libpcap about a second to compile."""

    def test_a_signal_ends_the_start(self):
        self.enterContext(harness.huge_pages())
        expression = "host " + " or ".join("1.%d.%d.%d" % (i % 9, i % 13, i % 250) for i in range(300))
        config = self.path("probe.yaml", """
            inputs: [{name: long, device: "net_pcap0,rx_pcap=%s", filter: '%s'}]
            flows: {max-flows: 4096}
            export: {collectors: [{transport: file, path: %s}]}
            """ % (harness.DEMO, expression, self.path("out.ipfix")))
        begin = time.monotonic()
        daemon = self.enterContext(harness.Process(harness.TRIBUTARYD, "--config", config, "--stats", self.path("stats.json")))
        daemon.wait_for(lambda: "filter" in self.threads(daemon), 60, "compiles the filter that it has checked")
        compiling, signalled = time.monotonic() - begin, time.monotonic()
        self.assertEqual(daemon.end(), harness.EX_OK, daemon.text())
        self.assertGreater(compiling, 0.5)
        self.assertLess(time.monotonic() - signalled, compiling * 0.75)
        self.assertNotIn("host names", daemon.text())

    @staticmethod
    def threads(daemon):
        names = set()
        for task in glob.glob("/proc/%d/task/*/comm" % daemon.popen.pid):
            with contextlib.suppress(OSError), open(task) as comm:
                names.add(comm.read().strip())
        return names


if __name__ == "__main__":
    harness.main()
