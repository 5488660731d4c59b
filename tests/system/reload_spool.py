#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`tributary reload` of a collector with a spool: its address and limits change; other changes are refused by name."""
import socket

import collectors
import control
import harness
from control import EX_UNAVAILABLE


class ReloadSpool(control.ControlCase):
    def spooled(self, port, more=""):
        return "{transport: tcp, host: 127.0.0.1, port: %d, spool: {directory: %s}%s}" % (port, self.path("spool"), more)

    def test_a_spool_stays_until_a_restart(self):
        port = harness.free_port(socket.SOCK_STREAM)
        file = self.values["collectors"]
        daemon = self.probe(collectors=self.spooled(port) + ", " + file)
        for collectors_now, why in (
                (file, "would be removed"),
                (self.spooled(port, ", timestamps: nanoseconds, direction: uniflow") + ", " + file,
                 "timestamps and direction would change")):
            self.configure(collectors=collectors_now)
            self.assertIn("tcp 127.0.0.1:%d: %s, and it has a spool; that needs a restart" % (port, why),
                          self.ask(daemon, "reload", expect=EX_UNAVAILABLE))
        self.end(daemon)

    def test_what_waits_goes_to_the_new_address_of_a_collector_with_a_spool(self):
        former, port = (harness.free_port(socket.SOCK_STREAM) for _ in range(2))
        daemon = self.probe(collectors=self.spooled(former))
        self.wait_for_received(daemon)
        self.ask(daemon, "flush")
        collector = self.enterContext(collectors.TcpCollector(None, port, self.path("tcp")))
        self.configure(collectors=self.spooled(port, ", buffer: 65536"))
        self.assertEqual(self.ask(daemon, "reload"), "reloaded: export.collectors\n")
        daemon.wait_for(lambda: daemon.stats()["flows"]["exported"] == harness.DEMO_FLOWS, 60, "records")
        ledger = self.end(daemon)
        self.assertEqual(ledger["flows"]["lost"], 0)
        self.assertEqual([(each["name"], each["records"]) for each in ledger["collectors"]],
                         [("tcp 127.0.0.1:%d" % port, harness.DEMO_FLOWS)])
        self.assertEqual(len(self.flows(*collector.files())), harness.DEMO_FLOWS)


if __name__ == "__main__":
    harness.main()
