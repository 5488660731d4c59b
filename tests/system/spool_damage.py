#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Damaged spool files, in use and between two processes: whole records arrive, the rest is lost by cause."""
import os

import faults
import harness
from faults import FLOWS, many_flows
from stream_collector import Collector


class SpoolDamage(faults.FaultCase):
    def test_a_damaged_spool_file_in_use_is_a_loss_with_a_name(self):
        """One bit of a message's header, the end of a file, and a file's whole content, while the probe runs."""
        def flip(path):
            with open(path, "r+b") as file:
                file.seek(24)
                octet = file.read(1)[0]
                file.seek(24)
                file.write(bytes([octet ^ 0x10]))

        def overwrite(path):
            with open(path, "r+b") as file:
                file.write(bytes(os.path.getsize(path)))
        directory = "damaged"
        damages = {"bit": (flip, 1, 300), "cut": (lambda path: os.truncate(path, 70_000), 300, 3000),
                   "overwritten": (overwrite, 1000, 4000)}
        for name, (damage, least, most) in damages.items():
            with self.subTest(name), harness.huge_pages():
                port = harness.free_port()
                with self.probe("tcp", port, *self.spool(directory, 1 << 23)) as daemon:
                    daemon.wait_for_received(FLOWS)
                    self.wait_until_spooled(directory)
                    files = sorted(file for file in os.listdir(self.path(directory)) if file.endswith(".spool"))
                    damage(os.path.join(self.path(directory), files[2]))
                    with Collector(None, port=port) as collector:
                        daemon.wait_for_log(r"a part of it is damaged, \d+ records are lost")
                        daemon.wait_for_log("the spool is empty again")
                        ledger = self.end(daemon)
                numbers, last = self.numbers_in(collector.streams)
                lost = ledger["flows"]["lost_by_cause"]["spool_damaged"]
                self.assertTrue(least <= lost <= most, lost)
                self.assertEqual((ledger["flows"]["lost"], ledger["flows"]["exported"]), (lost, FLOWS - lost))
                self.assertEqual((len(numbers), len(set(numbers))), (FLOWS - lost, FLOWS - lost))
                self.assertEqual(last["notSentFlowTotalCount"], lost)
                self.assertEqual(ledger["collectors"][0]["spool_estimated"], 0)

    def test_a_damaged_spool_file_of_the_former_process_is_a_loss_with_a_name(self):
        """A message's header, a frame without a message, the file's own header and its end: whole records arrive, and
        nothing is there for the next process."""
        directory, few = "inherited", many_flows(self.path("few.pcap"), 100)
        with harness.huge_pages():
            port = harness.free_port()
            with self.probe("tcp", port, *self.spool(directory, 1 << 23)) as daemon:
                daemon.wait_for_received(FLOWS)
                self.end(daemon)
            spool = self.path(directory)
            files = [os.path.join(spool, file) for file in sorted(os.listdir(spool)) if file.endswith(".spool")]
            with open(files[0], "r+b") as file:
                file.seek(40)
                file.write(b"\xff" * 8)
            with open(files[1], "r+b") as file:
                file.write(bytes(16))
            os.truncate(files[2], 70_000)
            with open(files[3], "r+b") as file:
                file.write(os.urandom(os.path.getsize(files[3])))
            with Collector(None, port=port) as collector, \
                    self.probe("tcp", port, *self.spool(directory, 1 << 23), capture=few) as daemon:
                daemon.wait_for_log(r"of which \d+ are an estimate")
                daemon.wait_for_log("the spool is empty again")
                ledger = self.end(daemon)
            numbers, _ = self.numbers_in(collector.streams)
            account = ledger["collectors"][0]
            lost = account["lost_by_cause"]["spool_damaged"]
            self.assertEqual(account["inherited"] + ledger["flows"]["created"], account["records"] + lost)
            self.assertGreater(account["spool_estimated"], 0)
            self.assertEqual(len(numbers), account["records"])
            arrived = account["records"] - ledger["flows"]["created"]
            self.assertLess(abs(FLOWS - arrived - lost), 0.02 * FLOWS)    # the estimate is good
            self.assertEqual(os.listdir(spool), ["lock"])


if __name__ == "__main__":
    harness.main()
