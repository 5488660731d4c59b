#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The live path: two queues on a veth pair, judged by the sender's count, nfdump and tshark."""
import contextlib
import os
import re
import signal
import subprocess

import harness

PORT, LOOPS = 4739, 3


@contextlib.contextmanager
def wire():
    """Two namespaces joined by a veth pair: tribA with the probe, tribB with the sender."""
    names = ["tribA-%d" % os.getpid(), "tribB-%d" % os.getpid()]
    run = lambda *command: subprocess.run(command, check=True)
    try:
        for name in names:
            run("ip", "netns", "add", name)
            # no packets from the kernel itself
            run("ip", "netns", "exec", name, "sh", "-c", "echo 1 >/proc/sys/net/ipv6/conf/all/disable_ipv6")
        run("ip", "link", "add", "trib0", "netns", names[0], "numrxqueues", "2", "numtxqueues", "2", "type", "veth",
            "peer", "name", "trib1", "netns", names[1], "numrxqueues", "2", "numtxqueues", "2")
        run("ip", "-n", names[0], "link", "set", "lo", "up")
        run("ip", "-n", names[0], "link", "set", "trib0", "up", "promisc", "on")
        run("ip", "-n", names[1], "link", "set", "trib1", "up")
        yield names
    finally:
        for name in names:
            subprocess.run(["ip", "netns", "del", name], stderr=subprocess.DEVNULL)


def replay(namespace, interface="trib1"):
    """Sends the bundled capture; returns tcpreplay's own count of sent packets."""
    result = subprocess.run(["ip", "netns", "exec", namespace, "tcpreplay", "-q", "-K", "--pps", "5000", "-l", str(LOOPS),
                             "-i", interface, harness.DEMO], capture_output=True, text=True, timeout=120)
    if result.returncode != 0:
        raise AssertionError("tcpreplay: " + result.stdout + result.stderr)
    return int(re.search(r"Successful packets:\s+(\d+)", result.stdout + result.stderr).group(1))


def nfdump_totals(directory):
    text = subprocess.run(["nfdump", "-I", "-R", directory], capture_output=True, text=True, check=True).stdout
    return {name: int(value) for name, value in re.findall(r"^(\w[\w ]*): (\d+)$", text, re.MULTILINE)}


class LiveCase(harness.TestCase):
    """A test with a probe and a sender in namespaces of their own."""

    def setUp(self):
        super().setUp()
        harness.need("ip", "tcpreplay", "nfcapd", "nfdump", "tcpdump", "tshark", root=True)
        stack = contextlib.ExitStack()
        self.addCleanup(stack.close)
        self.enter = stack.enter_context
        self.probe, self.sender = self.enter(wire())
        self.enter(harness.huge_pages())

    def start_collector(self):
        os.mkdir(self.path("flows"))
        collector = self.enter(harness.Process("nfcapd", "-w", self.path("flows"), "-b", "127.0.0.1", "-p", str(PORT),
                                               namespace=self.probe))
        harness.wait_until(lambda: collector.udp_backlog(PORT) is not None, 10, "nfcapd")
        return collector


class LiveVeth(LiveCase):
    def start_probe(self):
        config = self.path("probe.yaml", """
            flows: {max-flows: 65536}
            inputs:
              - {name: uplink, device: "af_packet:trib0", interface-index: 7, queues: 2}
            export:
              collectors:
                - {host: 127.0.0.1, port: %d, transport: udp}
            """ % PORT)
        daemon = self.enter(harness.Process(harness.TRIBUTARYD, "--config", config, "--stats", self.path("stats.json"),
                                            namespace=self.probe))
        daemon.wait_for_log("ready")
        return daemon

    def start_tap(self):
        """The second judge captures the same datagrams on the loopback device."""
        tap = self.enter(harness.Process("tcpdump", "-i", "lo", "-n", "--immediate-mode", "-U", "-s", "0", "-Z", "root",
                                         "-w", self.path("export.pcap"), "udp port %d" % PORT, namespace=self.probe))
        tap.wait_for_log("listening on")
        return tap

    def wait_for_judges(self, collector, account):
        """Waits until both have read their datagrams, with headers of 58 octets a datagram and 24 a file."""
        octets = 24 + account["octets"] + 58 * account["messages"]
        harness.wait_until(lambda: os.path.getsize(self.path("export.pcap")) >= octets, 10, "tcpdump")
        harness.wait_until(lambda: collector.udp_backlog(PORT) == 0, 10, "nfcapd")

    def test_every_packet_sent_is_at_the_collector(self):
        collector, tap = self.start_collector(), self.start_tap()
        daemon = self.start_probe()
        sent = replay(self.sender)
        daemon.wait_for_received(sent)
        self.assertEqual(daemon.end(), harness.EX_OK, daemon.text())
        ledger = harness.read_json(self.path("stats.json"))
        self.check_ledger(ledger)
        self.wait_for_judges(collector, ledger["collectors"][0])
        collector.end()
        tap.end(signal.SIGINT)

        packets, octets, flows = ledger["packets"], ledger["octets"], ledger["flows"]
        self.assertEqual(sent, LOOPS * harness.DEMO_FRAMES)
        self.assertEqual(packets["received"], sent)
        self.assertEqual(packets["ignored"], LOOPS * harness.DEMO_ARP)
        self.assertEqual(packets["metered"], LOOPS * harness.DEMO_PACKETS)
        self.assertEqual(octets["metered"], LOOPS * harness.DEMO_OCTETS)
        self.assertEqual(octets["ignored"], LOOPS * harness.DEMO_ARP_OCTETS)
        self.assertEqual((flows["exported"], flows["lost"], flows["active"]), (flows["created"], 0, 0))
        self.assertEqual(len(ledger["queues"]), 2)
        for queue in ledger["queues"]:
            self.assertGreater(queue["packets"]["received"], 0)

        totals = nfdump_totals(self.path("flows"))
        self.assertEqual(totals["Flows"], flows["exported"])
        self.assertEqual(totals["Packets"], packets["metered"])
        self.assertEqual(totals["Bytes"], octets["metered"])
        self.assertEqual(totals["Sequence failures"], 0)

        messages = harness.tshark_records(self.path("export.pcap"), "-d", "udp.port==%d,cflow" % PORT)
        self.assertEqual(sum(records for records, _ in messages), flows["exported"])
        self.assertEqual([number for number, (_, fault) in enumerate(messages) if fault], [])

    def test_a_link_that_goes_down_and_up_is_logged_and_survived(self):
        self.start_collector()
        daemon = self.start_probe()
        first = replay(self.sender)
        daemon.wait_for_received(first)
        subprocess.run(["ip", "-n", self.sender, "link", "set", "trib1", "down"], check=True)
        daemon.wait_for_log("link down")
        subprocess.run(["ip", "-n", self.sender, "link", "set", "trib1", "up"], check=True)
        daemon.wait_for_log("(?s)link down.*link up")
        daemon.wait_for_received(first + replay(self.sender))
        self.assertEqual(daemon.end(), harness.EX_OK, daemon.text())
        self.check_ledger(harness.read_json(self.path("stats.json")))

    def test_sigusr1_logs_the_statistics_and_sigint_ends_as_sigterm_does(self):
        self.start_collector()
        daemon = self.start_probe()
        sent = replay(self.sender)
        daemon.wait_for_received(sent)  # by SIGUSR1
        self.assertEqual(daemon.end(signal.SIGINT), harness.EX_OK, daemon.text())
        ledger = harness.read_json(self.path("stats.json"))
        self.check_ledger(ledger)
        self.assertEqual(ledger["packets"]["received"], sent)
        self.assertEqual((ledger["flows"]["exported"], ledger["flows"]["lost"]), (ledger["flows"]["created"], 0))


if __name__ == "__main__":
    harness.main()
