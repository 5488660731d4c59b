#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Unreachable collectors, in a network namespace of the test: no record counts as exported."""
import contextlib
import os
import re
import subprocess
import time

import harness


@contextlib.contextmanager
def host():
    """A namespace with one interface, 10.9.9.1, alone on its link."""
    name = "tribN-%d" % os.getpid()
    run = lambda *command: subprocess.run(["ip", *command], check=True)
    try:
        run("netns", "add", name)
        run("-n", name, "link", "set", "lo", "up")
        run("-n", name, "link", "add", "v0", "type", "veth", "peer", "name", "v1")
        run("-n", name, "address", "add", "10.9.9.1/24", "dev", "v0")
        for interface in ("v0", "v1"):
            run("-n", name, "link", "set", interface, "up")
        yield name
    finally:
        subprocess.run(["ip", "netns", "del", name], stderr=subprocess.DEVNULL)


class Nowhere(harness.TestCase):
    def setUp(self):
        super().setUp()
        harness.need("ip", root=True)
        stack = contextlib.ExitStack()
        self.addCleanup(stack.close)
        self.enter = stack.enter_context
        self.namespace = self.enter(host())
        self.enter(harness.huge_pages())

    def probe(self, *settings):
        daemon = self.enter(harness.Process(
            harness.TRIBUTARYD, "-i", "net_pcap0,rx_pcap=" + harness.DEMO, "-n", "10.9.9.2", "--stats",
            self.path("stats.json"), *(part for setting in (
                "flows.max-flows=4096", "flows.idle-timeout=1", "export.flush-interval=0.1", "export.drain-timeout=1",
                *settings) for part in ("--set", setting)), namespace=self.namespace))
        daemon.wait_for_log("ready: ")
        daemon.wait_for_received(harness.DEMO_FRAMES)
        return daemon

    def end(self, daemon):
        self.assertEqual(daemon.end(), harness.EX_OK, daemon.text())
        ledger = harness.read_json(self.path("stats.json"))
        self.check_ledger(ledger)
        return ledger["flows"], ledger["collectors"]

    def test_a_udp_collector_whose_host_is_off_gets_nothing(self):
        daemon = self.probe()
        daemon.wait_for_log("No route to host")    # after three seconds
        flows, _ = self.end(daemon)
        self.assertEqual((flows["exported"], flows["lost"]), (0, flows["created"]))

    def test_it_is_no_failover_target(self):
        daemon = self.probe("export.mode=failover", "export.collectors.1={transport: file, path: %s}" % self.path("f"))
        daemon.wait_for_log("No route to host")
        time.sleep(5)    # for the next try, which is not logged
        flows, collectors = self.end(daemon)
        self.assertEqual((flows["exported"], flows["lost"]), (flows["created"], 0))
        self.assertEqual(len(re.findall("has the records from now on", daemon.text())), 1, daemon.text())
        self.assertEqual([account["records"] for account in collectors], [0, flows["created"]])

    def test_a_connection_to_itself_is_none(self):
        subprocess.run(["ip", "netns", "exec", self.namespace, "sh", "-c",
                        "echo 40000 40001 >/proc/sys/net/ipv4/ip_local_port_range"], check=True)
        daemon = self.probe("export.collectors=[{host: 127.0.0.1, port: 40000, transport: tcp}]")
        daemon.wait_for_log("Connection refused")
        flows, _ = self.end(daemon)
        self.assertEqual((flows["exported"], flows["lost"]), (0, flows["created"]))


if __name__ == "__main__":
    harness.main()
