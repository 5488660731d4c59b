#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Losses of inputs before the probe: exactly the sent and not received packets, or unknown."""
import contextlib
import ctypes
import glob
import os
import signal
import socket
import struct
import subprocess

import harness
import live_veth
import telemetry

CLONE_NEWNET = 0x40000000
RING_FRAMES = 16_384    # of each of an af_packet input's queues, at the default mtu
TELEMETRY = 9477


def raw_socket(namespace, interface):
    """A socket that sends frames from an interface of another namespace."""
    libc = ctypes.CDLL(None, use_errno=True)
    own, other = os.open("/proc/self/ns/net", os.O_RDONLY), os.open("/var/run/netns/" + namespace, os.O_RDONLY)
    try:
        if libc.setns(other, CLONE_NEWNET) != 0:
            raise OSError(ctypes.get_errno(), "setns")
        try:
            sender = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
            sender.bind((interface, 0))
            return sender
        finally:
            libc.setns(own, CLONE_NEWNET)
    finally:
        os.close(own)
        os.close(other)


def frame(number):
    """One UDP packet of a thousand flows."""
    udp = struct.pack("!HHHH", 1000 + number % 1000, 53, 28, 0) + bytes(20)
    ip = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 20 + len(udp), 0, 0, 64, 17, 0, bytes((10, 1, 0, 1)), bytes((10, 2, 0, 1)))
    return b"\x02" * 12 + b"\x08\x00" + ip + udp


@contextlib.contextmanager
def stopped(daemon):
    """Stops all of its threads, until the end of the block."""
    def states():
        for stat in glob.glob("/proc/%d/task/*/stat" % daemon.popen.pid):
            with open(stat) as source:
                yield source.read().rsplit(")", 1)[1].split()[0]
    daemon.send(signal.SIGSTOP)
    try:
        harness.wait_until(lambda: set(states()) == {"T"}, 10, "all threads to stop")
        yield
    finally:
        daemon.send(signal.SIGCONT)


class InputCase(live_veth.LiveCase):
    def setUp(self):
        harness.need("ip", "curl", root=True)
        super().setUp()

    def start_or_skip_af_xdp(self, interface):
        try:
            return self.start("af_xdp:" + interface)
        except AssertionError as error:
            if "ended with 69" in str(error):
                self.skipTest("no AF_XDP here: " + str(error).splitlines()[-1])
            raise

    def start(self, *devices, settings=()):
        """A probe with inputs a, b, ... on these devices."""
        inputs = ", ".join('{name: %s, device: "%s", poll: adaptive%s}' % (
            name, device, "" if isinstance(queues, str) else ", queues: %d" % queues)
            for name, (device, queues) in zip("abcd", (each if isinstance(each, tuple) else (each, "") for each in devices)))
        config = self.path("probe.yaml", "inputs: [%s]\nflows: {max-flows: 4096}\ncores: {numa: \"off\"}\n"
                           "telemetry: {listen: \"127.0.0.1:%d\"}\n"
                           "export: {collectors: [{transport: file, path: %s}]}\n" % (
                               inputs, TELEMETRY, self.path("flows.ipfix")))
        daemon = self.enter(harness.Process(harness.TRIBUTARYD, "--config", config, *(
            part for setting in settings for part in ("--set", setting)), "--stats", self.path("stats.json"),
            namespace=self.probe))
        daemon.wait_for_log("ready: ")
        return daemon

    def page(self, name):
        """Status and text of a page of the probe's telemetry, in its namespace."""
        answer = subprocess.run(["ip", "netns", "exec", self.probe, "curl", "-s", "-w", "\n%{http_code}",
                                 "http://127.0.0.1:%d/%s" % (TELEMETRY, name)], capture_output=True, text=True, timeout=30)
        text, _, code = answer.stdout.rpartition("\n")
        return int(code), text

    def metrics(self):
        return telemetry.samples(self.page("metrics")[1])

    def top(self, daemon, expect=harness.EX_OK):
        result = subprocess.run([harness.TRIBUTARY, "top", "--count", "1", "--interval", "1", "--flows", "0", "--socket",
                                 daemon.control_socket], capture_output=True, text=True, timeout=30)
        self.assertEqual(result.returncode, expect, result.stderr)
        return result.stdout

    def send(self, interface, count, namespace=None):
        with contextlib.closing(raw_socket(namespace or self.sender, interface)) as sender:
            for number in range(count):
                sender.send(frame(number))

    def end(self, daemon, expect=harness.EX_OK):
        """The ledger at the end; checks that it adds up."""
        self.assertEqual(daemon.end(), expect, daemon.text())
        ledger = harness.read_json(self.path("stats.json"))
        self.check_ledger(ledger)
        return ledger


class Missed(InputCase):
    def lose(self, daemon, sent):
        """Sends more than the rings of a stopped probe hold."""
        with stopped(daemon):
            self.send("trib1", sent)

    def check_that_all_is_known(self, daemon, sent):
        """Checks these losses everywhere that the probe reports them. @return the ledger at the end"""
        def all_there():
            packets = daemon.stats()["packets"]
            return packets["received"] + packets["nic_missed"] == sent
        daemon.wait_for(all_there, 30, "the packets that were sent")
        running = daemon.stats()
        missed = running["packets"]["nic_missed"]
        self.assertEqual(telemetry.total(self.metrics(), "tributary_nic_missed_packets_total", input="a"), missed)
        self.assertEqual(telemetry.total(self.metrics(), "tributary_nic_queue_error_packets_total"), missed)
        screen = self.top(daemon)
        self.assertIn("LOST SINCE START  %d packets by the NIC" % missed, screen)
        self.assertRegex(screen, r"(?m)^a +up +0 +%d +0 +0$" % missed)
        ledger = self.end(daemon)
        self.assertEqual(ledger["packets"]["received"] + ledger["packets"]["nic_missed"], sent)
        self.assertEqual(ledger["packets"]["nic_missed"], missed)
        self.assertEqual(ledger["ports"][0]["nic_missed"], missed)
        for queue in ledger["queues"]:
            self.assertEqual(queue["packets"]["nic_queue_errors"] == 0, queue["packets"]["received"] < RING_FRAMES)
        self.assertEqual(sum(queue["packets"]["nic_queue_errors"] for queue in ledger["queues"]), missed)
        told = [record for record in self.options(self.path("flows.ipfix")) if "droppedPacketTotalCount" in record]
        self.assertEqual(told[-1]["droppedPacketTotalCount"], missed)
        self.assertIn("%d NIC missed" % missed, daemon.text())
        return ledger

    def test_what_af_packet_drops_is_counted(self):
        daemon = self.start("af_packet:trib0")
        sent = 3 * RING_FRAMES
        self.lose(daemon, sent)
        ledger = self.check_that_all_is_known(daemon, sent)
        self.assertEqual(ledger["packets"]["received"], RING_FRAMES)

    def test_what_af_packet_drops_is_counted_for_each_queue(self):
        daemon = self.start(("af_packet:trib0", 2))
        sent = 4 * RING_FRAMES
        self.lose(daemon, sent)
        self.check_that_all_is_known(daemon, sent)

    def test_losses_go_on_to_be_counted_between_looks(self):
        """The kernel clears its count when it is read: many readers at once must not lose any of it."""
        daemon = self.start("af_packet:trib0")
        sent = 0
        for _ in range(4):
            self.lose(daemon, RING_FRAMES + 1000)
            sent += RING_FRAMES + 1000
            readers = [subprocess.Popen([harness.TRIBUTARY, "stats", "--socket", daemon.control_socket],
                                        stdout=subprocess.DEVNULL) for _ in range(8)]
            self.metrics()
            for reader in readers:
                self.assertEqual(reader.wait(30), 0)
            daemon.wait_for(lambda: daemon.stats()["packets"]["received"] % RING_FRAMES == 0, 30, "an empty ring")
        ledger = self.end(daemon)
        self.assertEqual((ledger["packets"]["received"], ledger["packets"]["nic_missed"]), (4 * RING_FRAMES, 4000))
        self.assertEqual(sent, 4 * RING_FRAMES + 4000)

    def test_two_inputs_on_one_interface_have_a_count_each(self):
        """Both are in one fanout group: the kernel gives each packet to one of the three sockets."""
        daemon = self.start("af_packet:trib0", ("net_af_packet9,iface=trib0,qpairs=2,blocksz=65536,framesz=2048,"
                                                "framecnt=%d" % RING_FRAMES, 2))
        sent = 4 * RING_FRAMES
        self.lose(daemon, sent)
        daemon.wait_for(lambda: daemon.stats()["packets"]["received"] == 3 * RING_FRAMES, 30, "what the rings held")
        ledger = self.end(daemon)
        self.assertEqual(ledger["packets"]["nic_missed"], RING_FRAMES)
        first, *second = (queue["packets"]["nic_queue_errors"] for queue in ledger["queues"])
        self.assertEqual([port["nic_missed"] for port in ledger["ports"]], [first, sum(second)])


class UnreadQueues(InputCase):
    def check_refusal(self, device, queues, pairs):
        config = self.path("probe.yaml", "inputs: [{name: a, device: \"%s\", queues: %d}]\nflows: {max-flows: 4096}\n"
                           "cores: {numa: \"off\"}\nexport: {collectors: [{transport: file, path: %s}]}\n" % (
                               device, queues, self.path("flows.ipfix")))
        result = subprocess.run(["ip", "netns", "exec", self.probe, harness.TRIBUTARYD, "--config", config],
                                capture_output=True, text=True, timeout=60)
        self.assertEqual(result.returncode, harness.EX_CONFIG, result.stderr)
        self.assertRegex(result.stderr, r"input a: queues is %d, but .* has a qpairs of %d: .*queues and qpairs must be the "
                         "same" % (queues, pairs))

    def test_a_socket_that_no_thread_reads_is_refused(self):
        """The kernel would give it its share of the packets unnoticed."""
        self.check_refusal("net_af_packet0,iface=trib0,qpairs=2", 1, 2)
        self.check_refusal("net_af_packet0,iface=trib0", 2, 1)


class MissedByXdp(InputCase):
    def test_what_af_xdp_drops_is_counted(self):
        """The driver counts the packets without a buffer, not those without room in the ring."""
        for command in ("link add q0 netns %s type veth peer name q1 netns %s" % (self.probe, self.sender),
                        "-n %s link set q0 up" % self.probe, "-n %s link set q1 up" % self.sender):
            subprocess.run(["ip", *command.split()], check=True)    # one queue each
        daemon = self.start_or_skip_af_xdp("q0")
        sent = 20_000
        with stopped(daemon):
            self.send("q1", sent)
        packets = lambda: daemon.stats()["packets"]
        daemon.wait_for(lambda: packets()["received"] + packets()["nic_missed"] == sent, 30, "the packets that were sent")
        self.assertRegex(self.top(daemon), r"(?m)^a +up +0 +%d +0 +0$" % packets()["nic_missed"])
        ledger = self.end(daemon)
        self.assertEqual(ledger["packets"]["received"] + ledger["packets"]["nic_missed"], sent)
        self.assertGreater(ledger["packets"]["nic_missed"], sent / 2)
        self.assertEqual(ledger["queues"][0]["packets"]["nic_queue_errors"], ledger["packets"]["nic_missed"])


class Unknown(InputCase):
    def test_a_tap_does_not_tell(self):
        daemon = self.start("net_tap0,iface=trib2")
        self.assertIn("input a: how many packets it misses is unknown: driver net_tap does not tell", daemon.text())
        self.send("trib2", 100, self.probe)
        daemon.wait_for_received(100)
        families = self.metrics()
        for absent in ("tributary_nic_missed_packets_total", "tributary_nic_queue_error_packets_total"):
            self.assertNotIn(absent, families)
        self.assertEqual(telemetry.total(families, "tributary_nic_no_buffer_packets_total"), 0)
        screen = self.top(daemon)
        self.assertIn("LOST NOW  nic_missed unknown\nLOST SINCE START  unknown packets by the NIC", screen)
        self.assertRegex(screen, r"(?m)^a +up +unknown +unknown +0 +0$")
        stats = subprocess.run([harness.TRIBUTARY, "stats", "--socket", daemon.control_socket], capture_output=True,
                               text=True, check=True, timeout=30).stdout
        self.assertRegex(stats, r"(?m)^packets\.nic_missed  unknown$")
        ledger = self.end(daemon)
        self.assertIsNone(ledger["packets"]["nic_missed"])
        self.assertIsNone(ledger["ports"][0]["nic_missed"])
        self.assertIsNone(ledger["queues"][0]["packets"]["nic_queue_errors"])
        self.assertIn("unknown NIC missed", daemon.text())
        told = [record for record in self.options(self.path("flows.ipfix")) if "ignoredPacketTotalCount" in record]
        self.assertGreater(len(told), 0)
        for record in told:
            self.assertNotIn("droppedPacketTotalCount", record)

    def test_what_one_of_two_inputs_knows_is_still_there(self):
        daemon = self.start("net_tap0,iface=trib2", "af_packet:trib0")
        families = self.metrics()
        self.assertEqual(families["tributary_nic_missed_packets_total"], {frozenset({("input", "b")}): 0})
        screen = self.top(daemon)
        self.assertRegex(screen, r"(?m)^b +up +0 +0 +0 +0$")
        self.assertIn("LOST SINCE START  unknown packets by the NIC", screen)
        ledger = self.end(daemon)
        self.assertEqual([port["nic_missed"] for port in ledger["ports"]], [None, 0])
        self.assertIsNone(ledger["packets"]["nic_missed"])


if __name__ == "__main__":
    harness.main()
