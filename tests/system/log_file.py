#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The log in a file: all lines after the start, in files of limited size, and the reason of the end."""
import contextlib
import fcntl
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
            self.assertRegex(daemon.text(), "warning: log.file %s: cannot be written \\(.*Is a directory\\); its lines follow here\n"
                             % self.log)
            os.rmdir(self.log)
            daemon.send(signal.SIGUSR1)
            daemon.wait_for(lambda: self.said("statistics: "), 30, "the file again")
            self.assertEqual(daemon.end(), harness.EX_OK, self.text())
            self.assertNotIn("statistics: ", daemon.text())
            self.assertEqual(daemon.text().count("cannot be written"), 1)
            self.assertIn("log.file %s: can be written again\n" % self.log, daemon.text())
        self.assertIn("ledger", self.text())

    def test_a_full_disk_is_told_once_on_standard_error_and_the_lines_follow_there(self):
        result = subprocess.run([harness.TRIBUTARYD, "--read", harness.DEMO, "--write", self.path("flows.ipfix"),
                                 "--set", "log.file=/dev/full"], capture_output=True, text=True, timeout=60)
        self.assertEqual(result.returncode, harness.EX_OK, result.stderr)
        self.assertEqual(result.stderr.count("log.file /dev/full: cannot be written ("), 1, result.stderr)
        self.assertIn("No space left on device", result.stderr)
        self.assertIn("ledger", result.stderr)

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

    def test_captures_leave_the_log_file_of_a_configuration_to_its_probe(self):
        config = self.path("live.yaml", "inputs: [{device: net_null0}]\nlog: {file: %s}\n"
                                        "export: {collectors: [{host: 127.0.0.1}]}\n" % self.log)
        arguments = [harness.TRIBUTARYD, "--config", config, "--read", harness.DEMO]
        for outputs in (["--write", self.path("flows.ipfix")], ["-n", "127.0.0.1:9"]):
            result = subprocess.run([*arguments, *outputs, "--set", "export.drain-timeout=1"], capture_output=True, text=True,
                                    timeout=60)
            self.assertIn("ledger", result.stderr)
            self.assertFalse(os.path.exists(self.log))
        subprocess.run([*arguments, "--write", self.path("flows.ipfix"), "--set", "log.file=" + self.log], check=True,
                       capture_output=True, timeout=60)
        self.assertIn("ledger", self.text())

    def second(self, *settings):
        return subprocess.run([harness.TRIBUTARYD, "--read", harness.DEMO, "--write", self.path("second.ipfix"),
                               *(part for setting in ("log.file=" + self.log, *settings) for part in ("--set", setting))],
                              capture_output=True, text=True, timeout=60)

    def test_a_second_process_with_the_same_file_is_refused(self):
        with harness.huge_pages(), self.probe() as daemon:
            daemon.wait_for(lambda: self.said("ready: "), 30, "the log")
            link = self.path("link.log")
            os.symlink(self.log, link)
            for path in (self.log, link):
                result = self.second("log.file=" + path)
                self.assertEqual(result.returncode, harness.EX_IOERR, result.stderr)
                self.assertIn("log.file: %s: another process writes it" % path, result.stderr)
            self.assertFalse(os.path.exists(self.path("second.ipfix")))
            with self.probe() as other:
                self.assertEqual(other.popen.wait(30), harness.EX_IOERR)
                self.assertIn("another process writes it", other.text())
            self.assertEqual(self.text().count("ready: "), 1)
            self.assertEqual(daemon.end(), harness.EX_OK)
            self.assertIn("SIGTERM: stopping", self.text())
        self.assertEqual(self.second().returncode, harness.EX_OK)    # the lock ended with its process

    def test_each_file_of_a_size_is_locked(self):
        with harness.huge_pages(), self.probe("log.max-size=%d" % SMALLEST) as daemon:
            daemon.wait_for(lambda: self.said("ready: "), 30, "the log")

            def next_file():
                daemon.send(signal.SIGUSR1)
                return os.path.exists(self.path("probe.1.log"))
            daemon.wait_for(next_file, 60, "the next file")
            daemon.wait_for(lambda: os.path.exists(self.log), 5, "the next file")
            result = self.second()
            self.assertEqual(result.returncode, harness.EX_IOERR, result.stderr)
            self.assertEqual(daemon.end(), harness.EX_OK)

    def test_a_file_that_another_process_has_meanwhile_is_left_to_it(self):
        with harness.huge_pages(), self.probe() as daemon:
            daemon.wait_for(lambda: self.said("ready: "), 30, "the log")
            os.rename(self.log, self.path("moved"))    # like logrotate
            with open(self.log, "a") as other:
                fcntl.flock(other, fcntl.LOCK_EX)
                daemon.send(signal.SIGHUP)
                daemon.wait_for_log("reloaded: nothing has changed")
            daemon.send(signal.SIGUSR1)
            daemon.wait_for(lambda: self.said("statistics: "), 30, "the file")
            self.assertEqual(daemon.end(), harness.EX_OK)
        self.assertNotIn("reloaded", self.text())

    def test_a_fifo_never_holds_up_the_probe(self):
        os.mkfifo(self.log)
        result = self.second()
        self.assertEqual(result.returncode, harness.EX_IOERR, result.stderr)
        self.assertIn("log.file: %s: a FIFO that no program reads; start the reader first" % self.log, result.stderr)
        reader = os.open(self.log, os.O_RDONLY | os.O_NONBLOCK)
        with harness.huge_pages(), self.probe() as daemon:
            lines = b""

            def is_ready():
                nonlocal lines
                with contextlib.suppress(BlockingIOError):
                    lines += os.read(reader, 1 << 16)
                return b"ready: " in lines
            daemon.wait_for(is_ready, 30, "a line")

            def says_it_elsewhere():    # the FIFO takes 64 KiB
                daemon.send(signal.SIGUSR1)
                return "statistics: " in daemon.text()
            daemon.wait_for(says_it_elsewhere, 60, "a line on standard error")
            os.close(reader)
            daemon.send(signal.SIGHUP)
            daemon.wait_for_log("reloaded: nothing has changed")
            self.assertEqual(daemon.end(), harness.EX_OK, daemon.text())


if __name__ == "__main__":
    harness.main()
