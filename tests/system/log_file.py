#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The log in a file: everything that is said after the start, in files of a size, and an end that says why."""
import os
import signal
import subprocess

import harness

SMALLEST = 4096


class LogFile(harness.TestCase):
    def setUp(self):
        super().setUp()
        self.log = self.path("probe.log")

    def probe(self, *settings):
        return harness.Process(
            harness.TRIBUTARYD, "-i", "net_pcap0,rx_pcap=" + harness.DEMO, "-n", "127.0.0.1:4739", *(part for setting in (
                "flows.max-flows=4096", "log.file=" + self.log,
                "export.collectors=[{transport: file, path: %s}]" % self.path("flows.ipfix"), *settings)
                for part in ("--set", setting)))

    def text(self, path=None):
        with open(path or self.log) as log:
            return log.read()

    def said(self, words):
        return os.path.exists(self.log) and words in self.text()

    def test_all_lines_are_there_and_none_on_standard_error(self):
        with harness.huge_pages(), self.probe() as daemon:
            daemon.wait_for(lambda: self.said("ready: "), 30, "the log")
            self.assertEqual(daemon.end(), harness.EX_OK, self.text())
            self.assertEqual(daemon.text(), "")
        self.assertRegex(self.text().splitlines()[0], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}[+-]\d\d:\d\d \w+: ")
        self.assertIn("SIGTERM: stopping", self.text())
        with harness.huge_pages(), self.probe() as daemon:
            daemon.wait_for(lambda: self.text().count("ready: ") == 2, 30, "the log to be appended to")
            daemon.end()

    def test_files_change_by_size_and_the_oldest_goes(self):
        with harness.huge_pages(), self.probe("log.max-size=%d" % SMALLEST, "log.max-files=3") as daemon:
            daemon.wait_for(lambda: self.said("ready: "), 30, "the log")
            older = [self.path("probe.%d.log" % number) for number in (1, 2, 3)]

            def asked():
                daemon.send(signal.SIGUSR1)
                return os.path.exists(older[1]) and "ready: " not in self.text(older[1])
            daemon.wait_for(asked, 60, "the first file to go")
            self.assertEqual(daemon.end(), harness.EX_OK)
        self.assertFalse(os.path.exists(older[2]))
        for path in (self.log, *older[:2]):
            self.assertLessEqual(os.path.getsize(path), SMALLEST)

    def test_a_file_that_cannot_be_written_is_tried_again(self):
        with harness.huge_pages(), self.probe() as daemon:
            daemon.wait_for(lambda: self.said("ready: "), 30, "the log")
            os.rename(self.log, self.path("moved"))
            os.mkdir(self.log)
            daemon.send(signal.SIGHUP)    # opens it anew
            daemon.wait_for_log("reloaded: nothing has changed")
            os.rmdir(self.log)
            daemon.send(signal.SIGUSR1)
            daemon.wait_for(lambda: self.said("statistics: "), 30, "the file again")
            self.assertEqual(daemon.end(), harness.EX_OK, self.text())
            self.assertNotIn("statistics: ", daemon.text())
        self.assertIn("ledger", self.text())

    def test_errors_are_on_standard_error_too(self):
        result = subprocess.run([harness.TRIBUTARYD, "-i", "af_packet:trib-none", "-n", "127.0.0.1:4739",
                                 "--set", "log.file=" + self.log], capture_output=True, text=True, timeout=60)
        self.assertEqual(result.returncode, 69, result.stderr)
        self.assertIn("no network interface trib-none", result.stderr)
        self.assertIn("no network interface trib-none", self.text())

    def test_a_file_that_cannot_be_opened_is_told_before_anything_else(self):
        result = subprocess.run([harness.TRIBUTARYD, "--read", harness.DEMO, "--write", self.path("flows.ipfix"),
                                 "--set", "log.file=" + self.path("nowhere", "\n") + "/x.log"],
                                capture_output=True, text=True, timeout=60)
        self.assertEqual(result.returncode, harness.EX_IOERR, result.stderr)
        self.assertIn("log.file: ", result.stderr)
        self.assertFalse(os.path.exists(self.path("flows.ipfix")))


if __name__ == "__main__":
    harness.main()
