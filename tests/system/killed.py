#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A probe that is killed during traffic and started again: the time until it polls, the records in its spool, and the
losses, by the sender's count, the ledgers of both processes and the collector."""
import json
import os
import re
import signal
import socket
import subprocess
import time

import collectors
import harness
import live_veth
import service

# On an idle machine it is far below 2 s.
SOON = 10
RATE = 20_000    # packets a second
CONFIG = """
    inputs: [{name: uplink, device: "af_packet:trib0", queues: 2}]
    flows: {max-flows: 65536, idle-timeout: 1, active-timeout: 1}
    telemetry: {listen: ""}
    export:
      flush-interval: 0.05
      options-interval: 0
      collectors: [{host: 127.0.0.1, port: %d, transport: tcp, buffer: 65536, spool: {directory: %s}}]
    """


class Killed(live_veth.LiveCase):
    def start(self):
        """The probe, and the seconds until it reported ready."""
        began = time.monotonic()
        with service.environment(NOTIFY_SOCKET=self.manager.path):
            daemon = self.enter(harness.Process(harness.TRIBUTARYD, "--config", self.config, "--stats",
                                                self.path("stats.json"), namespace=self.probe))
        daemon.wait_for(lambda: "READY=1" in self.manager.heard(), 60, "readiness")
        took = time.monotonic() - began
        self.manager.forget()
        daemon.wait_for_log("control: ")
        return daemon, took

    def spooled(self, directory):
        """Octets in its files."""
        return sum(os.path.getsize(os.path.join(directory, name)) for name in os.listdir(directory)
                   if name.endswith(".spool"))

    def received_by_interface(self):
        text = subprocess.run(["ip", "-n", self.probe, "-j", "-s", "link", "show", "trib0"], capture_output=True, check=True)
        return json.loads(text.stdout)[0]["stats64"]["rx"]["packets"]

    def test_what_a_kill_costs_is_known(self):
        self.manager = self.enter(service.NotifySocket(self.path("notify")))
        port = harness.free_port(socket.SOCK_STREAM)
        spool = self.path("spool")
        self.config = self.path("probe.yaml", CONFIG % (port, spool))
        first, _ = self.start()
        traffic = self.enter(harness.Process("tcpreplay", "-q", "-K", "--unique-ip", "--pps", str(RATE), "-l", "200", "-i",
                                             "trib1", harness.DEMO, namespace=self.sender))
        # The collector is away.
        first.wait_for(lambda: self.spooled(spool) > 100_000, 60, "records in the spool")
        before = first.stats()
        first.send(signal.SIGKILL)
        first.popen.wait()
        second, took = self.start()
        print("ready again after %.2f s" % took)
        self.assertLess(took, SOON)
        traffic.popen.wait(120)
        sent = int(re.search(r"Successful packets:\s+(\d+)", traffic.text()).group(1))
        self.assertEqual(self.received_by_interface(), sent)
        collector = self.enter(collectors.TcpCollector(self.probe, port, self.path("tcp")))
        collector.wait_until_quiet()
        self.assertEqual(second.end(), harness.EX_OK, second.text())
        after = harness.read_json(self.path("stats.json"))
        self.check_ledger(after)

        inherited = after["collectors"][0]["inherited"]
        flows = self.flows(*collector.files())
        self.assertEqual(len(flows), inherited + after["flows"]["exported"])
        self.assertEqual(after["flows"]["lost"], 0)
        # Accounted by the first one and not yet in the spool: its cache, its rings, its open message.
        self.assertGreater(inherited, 0)
        packets = sum(flow["packetDeltaCount"] for flow in flows)
        # After the last look at the first one, most of them while no probe polled: the interface has counted them, and
        # no ledger has.
        unseen = sent - before["packets"]["received"] - after["packets"]["received"]
        print("%d packets sent, %d in records, %d in no ledger" % (sent, packets, unseen))
        self.assertLess(unseen, RATE * SOON)
        self.assertLess(packets, sent)
        in_spool = packets - after["packets"]["exported"]
        self.assertLess(in_spool, before["packets"]["metered"] + RATE)


if __name__ == "__main__":
    harness.main()
