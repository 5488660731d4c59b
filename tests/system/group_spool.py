#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Mode failover with a spool for the group: records that no collector can take go to the first one reached, each record
once, also after a kill, and losses have a cause."""
import contextlib
import os
import signal
import subprocess

import faults
import harness
from faults import FLOWS, many_flows
from stream_collector import Collector


FEW = 100


class GroupSpool(faults.FaultCase):
    def setUp(self):
        super().setUp()
        self.few = many_flows(self.path("few.pcap"), FEW)
        self.ports = [harness.free_port() for _ in range(3)]

    @contextlib.contextmanager
    def failover(self, *settings, capture=None, octets=1 << 30):
        """A probe with three TCP collectors and a spool."""
        with self.process(*settings, capture=capture, octets=octets) as daemon:
            daemon.wait_for_log("ready: ")
            yield daemon

    def process(self, *settings, capture=None, octets=1 << 30):
        return harness.Process(*self.command(*settings, capture=capture, octets=octets))

    def command(self, *settings, capture=None, octets=1 << 30):
        collectors = ", ".join("{host: 127.0.0.1, port: %d, transport: tcp, buffer: 65536}" % port for port in self.ports)
        return (
            harness.TRIBUTARYD, "-i", "net_pcap0,rx_pcap=" + (capture or self.capture), "-n", "127.0.0.1:%d" % self.ports[0], "--stats",
            self.path("stats.json"),
            *(part for setting in (
                "export.collectors=[%s]" % collectors, "export.mode=failover", "export.spool.directory=" + self.path("spool"),
                "export.spool.max-size=%d" % octets, "flows.max-flows=131072", "flows.idle-timeout=1",
                "export.flush-interval=0.1", "export.drain-timeout=3", *settings) for part in ("--set", setting)))

    def end(self, daemon):
        ledger = super().end(daemon)
        spool = ledger["spool"]
        self.assertEqual(spool["inherited"] + spool["stored"], spool["handed_over"] + spool["lost"] + spool["spooled"])
        self.assertEqual(spool["lost"], sum(spool["lost_by_cause"].values()))
        self.assertEqual(spool["waiting"], 0)
        return ledger

    def leave_in_spool(self, how=None):
        """Runs a probe with all collectors away."""
        with self.failover() as daemon:
            daemon.wait_for_received(FLOWS)
            daemon.wait_for_log("failover: no collector can be reached")
            daemon.wait_for_log("failover: records go to the spool")
            self.wait_until_spooled("spool")
            if how is not None:
                daemon.send(how)
                daemon.popen.wait()
                return None
            return self.end(daemon)

    def test_the_collector_that_comes_first_gets_every_record_once(self):
        with harness.huge_pages(), self.failover() as daemon:
            daemon.wait_for_received(FLOWS)
            daemon.wait_for_log("failover: records go to the spool")
            self.wait_until_spooled("spool")
            with Collector(None, port=self.ports[1]) as collector:
                daemon.wait_for_log("failover: the spool is empty again")
                ledger = self.end(daemon)
        numbers, last = self.numbers_in(collector.streams)
        self.assertEqual(sorted(numbers), list(range(FLOWS)))
        self.assertEqual((ledger["flows"]["exported"], ledger["flows"]["lost"]), (FLOWS, 0))
        self.assertEqual([account["records"] for account in ledger["collectors"]], [0, FLOWS, 0])
        self.assertEqual((last["exportedFlowRecordTotalCount"], last["notSentFlowTotalCount"]), (FLOWS, 0))
        self.assertGreater(ledger["spool"]["stored"], FLOWS // 2)
        self.assertEqual(os.listdir(self.path("spool")), ["lock"])

    def test_a_check_tells_what_other_fields_would_lose(self):
        with harness.huge_pages(), self.failover(capture=self.few) as daemon:
            daemon.wait_for_received(FEW)
            self.end(daemon)
            self.assertIn("flows: %d created, 0 exported, 0 lost, %d in the spool, 0 active" % (FEW, FEW), daemon.text())
        for settings, lost in (((), ""), (("flows.direction=biflow",), "which holds %d records that were made for other "
                                          "fields; a start with this configuration loses them" % FEW)):
            check = subprocess.run([*self.command(*settings), "--check-config"], capture_output=True, text=True, timeout=60)
            self.assertEqual(check.returncode, harness.EX_OK, check.stderr)
            self.assertIn("spool %s of at most 1024 MiB for what" % self.path("spool"), check.stdout)
            self.assertEqual("which holds" in check.stderr, lost != "", check.stderr)
            self.assertIn(lost, check.stderr)
        self.assertEqual(len(os.listdir(self.path("spool"))), 2)    # the lock, and the file

    def test_the_next_process_sends_what_the_former_one_left(self):
        with harness.huge_pages():
            former = self.leave_in_spool()
            self.assertEqual(former["flows"]["spooled"], FLOWS)
            self.assertEqual(former["spool"]["spooled"], FLOWS)
            with self.failover(capture=self.few) as daemon, Collector(None, port=self.ports[2]) as collector:
                daemon.wait_for_log(r"info: failover: the spool holds records of a former run \(%d; directory /" % FLOWS)
                daemon.wait_for_received(FEW)
                daemon.wait_for_log("failover: the spool is empty again")
                ledger = self.end(daemon)
        numbers, _ = self.numbers_in(collector.streams)
        self.assertEqual(len(numbers), FLOWS + ledger["flows"]["created"])
        self.assertEqual(sorted(numbers[:FLOWS]), list(range(FLOWS)))    # oldest first
        self.assertEqual(ledger["flows"]["exported"], ledger["flows"]["created"])
        self.assertEqual(ledger["spool"]["inherited"], FLOWS)
        self.assertEqual(ledger["collectors"][2]["records"], FLOWS + ledger["flows"]["created"])

    def test_a_kill_costs_nothing_that_was_in_the_spool(self):
        with harness.huge_pages():
            self.leave_in_spool(signal.SIGKILL)
            with self.failover(capture=self.few) as daemon:    # all are away again
                daemon.wait_for_log("former run .%d;" % FLOWS)
                with Collector(None, port=self.ports[0]) as collector:
                    daemon.wait_for_received(FEW)
                    daemon.wait_for_log("failover: the spool is empty again")
                    ledger = self.end(daemon)
        numbers, _ = self.numbers_in(collector.streams)
        self.assertEqual(sorted(numbers), sorted([*range(FLOWS), *range(FEW)]))
        self.assertEqual((ledger["spool"]["inherited"], ledger["spool"]["lost"]), (FLOWS, 0))

    def test_a_layout_that_has_changed_is_a_loss_with_a_name(self):
        with harness.huge_pages():
            self.leave_in_spool(signal.SIGKILL)
            with self.failover("flows.direction=biflow", capture=self.few) as daemon, \
                    Collector(None, port=self.ports[0]) as collector:
                daemon.wait_for_received(FEW)
                daemon.wait_for_log("failover: what the spool held is lost.* .%d records." % FLOWS)
                ledger = self.end(daemon)
        numbers, _ = self.numbers_in(collector.streams)
        self.assertEqual(len(numbers), ledger["flows"]["exported"])
        self.assertEqual(ledger["spool"]["lost_by_cause"]["spool_unusable"], FLOWS)
        self.assertEqual(ledger["flows"]["lost"], 0)    # none belongs to this process

    def test_damage_costs_what_it_is_in(self):
        with harness.huge_pages():
            self.leave_in_spool()
            spool = self.path("spool")
            files = [os.path.join(spool, file) for file in sorted(os.listdir(spool)) if file.endswith(".spool")]
            with open(files[0], "r+b") as file:
                for at in (24, 100_000):
                    file.seek(at)
                    octet = file.read(1)[0]
                    file.seek(at)
                    file.write(bytes([octet ^ 0x10]))
            with self.failover(capture=self.few) as daemon, Collector(None, port=self.ports[1]) as collector:
                daemon.wait_for_received(FEW)
                daemon.wait_for_log(r"failover: the spool failed .a part of it is damaged, \d+ records are lost")
                daemon.wait_for_log("failover: the spool is empty again")
                ledger = self.end(daemon)
        numbers, last = self.numbers_in(collector.streams)
        account = ledger["spool"]
        lost = account["lost_by_cause"]["spool_damaged"]
        self.assertTrue(2 <= lost <= 2000, lost)
        self.assertEqual(len(numbers), account["handed_over"] - account["stored"] + ledger["flows"]["created"])
        self.assertEqual(last["notSentFlowTotalCount"], lost)
        self.assertEqual(os.listdir(spool), ["lock"])

    def test_a_full_spool_loses_the_oldest_by_name(self):
        flows = 200_000
        capture = many_flows(self.path("more.pcap"), flows)
        with harness.huge_pages(), self.failover("flows.max-flows=262144", capture=capture, octets=1 << 23) as daemon:
            daemon.wait_for_received(flows)
            daemon.wait_for_log("failover: the spool is full, its oldest records are lost")
            self.wait_until_spooled("spool")
            with Collector(None, port=self.ports[2]) as collector:
                daemon.wait_for_log("failover: the spool is empty again")
                ledger = self.end(daemon)
        numbers, last = self.numbers_in(collector.streams)
        lost = ledger["flows"]["lost_by_cause"]["spool_full"]
        self.assertGreater(lost, 50_000)
        self.assertEqual((len(numbers), len(set(numbers))), (flows - lost, flows - lost))
        self.assertEqual(ledger["flows"]["exported"], flows - lost)
        self.assertEqual(last["notSentFlowTotalCount"], lost)

    def test_a_disk_without_room_is_a_loss_with_a_name(self):
        self.enterContext(harness.small_disk(self.path("spool"), 2 << 20))
        with harness.huge_pages(), self.failover() as daemon:
            daemon.wait_for_received(FLOWS)
            daemon.wait_for_log("failover: the spool failed .No space left on device.")
            with Collector(None, port=self.ports[0]) as collector:
                daemon.wait_for_log("failover: the spool is empty again")
                ledger = self.end(daemon)
        numbers, _ = self.numbers_in(collector.streams)
        self.assertEqual(sorted(numbers), list(range(FLOWS)))    # they waited in rings and caches
        self.assertEqual(ledger["flows"]["exported"], FLOWS)

    def test_no_other_file_may_be_in_its_directory(self):
        for name in ("spool/tributaryd.log", "spool"):
            with self.subTest(name), self.process("log.file=" + self.path(name)) as daemon:
                self.assertEqual(daemon.popen.wait(60), harness.EX_USAGE)
                self.assertIn("log.file, %s, is in the directory of export.spool" % self.path(name), daemon.text())


if __name__ == "__main__":
    harness.main()
