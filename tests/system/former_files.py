#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Files of a killed probe: the next one keeps them, and finishes those of a rotation."""
import glob
import re
import signal

import harness


class FormerFiles(harness.TestCase):
    def probe(self, collector):
        return harness.Process(
            harness.TRIBUTARYD, "-i", "net_pcap0,rx_pcap=" + harness.DEMO, "-n", "127.0.0.1:4739", "--stats",
            self.path("stats.json"), *(part for setting in (
                "export.collectors=[{transport: file, path: %s%s}]" % (self.path("flows.ipfix"), collector),
                "flows.max-flows=4096", "flows.idle-timeout=1", "flows.active-timeout=1", "export.flush-interval=0.05")
                for part in ("--set", setting)))

    def wait_until_written(self, daemon):
        daemon.wait_for_log("control: ")
        def is_written():
            packets = daemon.stats()["packets"]
            return packets["exported"] == packets["metered"] == harness.DEMO_PACKETS
        daemon.wait_for(is_written, 60, "all records")

    def run_and_kill(self, collector):
        """Waits until every flow is written."""
        with self.probe(collector) as daemon:
            daemon.wait_for_log("ready")
            self.wait_until_written(daemon)
            self.assertEqual(daemon.end(signal.SIGKILL), -signal.SIGKILL)

    def run_to_its_end(self, collector, *logs):
        with self.probe(collector) as daemon:
            daemon.wait_for_log("ready")
            for log in logs:
                daemon.wait_for_log(log)
            self.wait_until_written(daemon)
            self.assertEqual(daemon.end(), harness.EX_OK, daemon.text())
        self.check_ledger(harness.read_json(self.path("stats.json")))

    def check_all(self, names):
        """Each file can be read alone, and has every flow; also by a foreign reader."""
        for name in names:
            self.assertEqual(sum(flow["packetDeltaCount"] for flow in self.flows(name)), harness.DEMO_PACKETS, name)
            harness.need("ipfixDump")
            result = harness.subprocess.run(["ipfixDump", "--in", name], capture_output=True, text=True, timeout=60)
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertEqual(len(re.findall(r"data record ", result.stdout)), len(self.all_records(name)), name)

    def test_a_file_of_a_killed_run_is_kept(self):
        with harness.huge_pages():
            self.run_and_kill("")
            self.run_to_its_end("", r"of a former run \(its file is now .*/flows-\d{8}T\d{6}Z\.ipfix\)")
        names = glob.glob(self.path("flows*.ipfix"))
        self.assertEqual(len(names), 2)
        self.check_all(names)

    def test_a_part_of_a_killed_run_is_finished(self):
        command = self.path("finished")
        collector = ", rotation: {interval: 3600, fsync: true, command: \"echo >>%s\"}" % command
        with harness.huge_pages():
            self.run_and_kill(collector)
            part, = glob.glob(self.path("flows-*.ipfix.part"))
            with open(part, "ab") as out:    # in the middle of a message
                out.write(b"\0\x0a\x04\0" + bytes(100))
            self.run_to_its_end(collector, r"is finished now, without the last 104 octets")
        names = glob.glob(self.path("flows-*"))
        self.assertEqual(len(names), 2)
        self.assertIn(part[:-len(".part")], names)
        self.check_all(names)
        with open(command) as lines:
            self.assertEqual(sorted(lines.read().split()), sorted(names))


if __name__ == "__main__":
    harness.main()
