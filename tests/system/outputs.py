#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Outputs that cannot be written, or that no program reads: an error at once, and never a program that hangs."""
import json
import os
import subprocess

import harness


class StandardOutput(harness.TestCase):
    def test_what_cannot_be_printed_exits_74(self):
        probe = [harness.TRIBUTARYD, "-i", "net_null0", "-n", "127.0.0.1:4739"]
        config = self.path("probe.yaml", "inputs: [{device: net_null0}]\nexport: {collectors: [{host: 127.0.0.1}]}\n")
        for command in ([*probe, "--help"], [*probe, "--version"], [*probe, "--dump-config"], [*probe, "--check-config"],
                        *([harness.TRIBUTARY, *words] for words in (
                            ["--help"], ["--version"], ["flows", "--help"], ["show", "--help"], ["preparse", "--help"],
                            ["check", config], ["plan", "--config", config]))):
            with self.subTest(command=command):
                printed = subprocess.run(command, capture_output=True, text=True, timeout=60)
                self.assertEqual(printed.returncode, harness.EX_OK, printed.stderr)
                with open("/dev/full", "w") as full:
                    result = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60)
                if printed.stdout:
                    self.assertEqual(result.returncode, harness.EX_IOERR)
                    self.assertIn("No space left on device", result.stderr)


class Fifos(harness.TestCase):
    """A FIFO as an output: without a reader it is an error at once, with a reader it may be slow."""

    def setUp(self):
        super().setUp()
        self.fifo = self.path("pipe")
        os.mkfifo(self.fifo)

    def test_an_output_without_a_reader_exits_74_at_once(self):
        read = [harness.TRIBUTARYD, "--read", harness.DEMO]
        out = self.path("out")
        for command in ([*read, "--write", self.fifo], [*read, "--write", out, "--stats", self.fifo],
                        [*read, "--write", out, "--set", "log.file=" + self.fifo],
                        [harness.TRIBUTARYD, "-i", "net_null0", "-n", "127.0.0.1", "--set", "flows.max-flows=4096", "--set",
                         "export.collectors=[{transport: file, path: %s}]" % self.fifo],
                        [harness.TRIBUTARY, "preparse", "--read", harness.DEMO, "--write", self.fifo],
                        [harness.TRIBUTARY, "preparse", "--read", harness.DEMO, "--write", out, "--stats", self.fifo]):
            with self.subTest(command=command), harness.huge_pages():
                result = subprocess.run(command, capture_output=True, text=True, timeout=20)
                self.assertEqual(result.returncode, harness.EX_IOERR, result.stderr)
                self.assertIn("a FIFO that no program reads; start the reader first", result.stderr)

    def test_statistics_reach_a_reader(self):
        with subprocess.Popen(["cat", self.fifo], stdout=subprocess.PIPE) as reader:
            self.tributaryd("--read", harness.DEMO, "--write", self.path("out"), "--stats", self.fifo)
            self.check_ledger(json.loads(reader.communicate(timeout=20)[0]))

    def test_statistics_whose_reader_has_gone_are_an_error(self):
        reader = os.open(self.fifo, os.O_RDONLY | os.O_NONBLOCK)
        with subprocess.Popen([harness.TRIBUTARYD, "--read", "/dev/stdin", "--write", self.path("out"), "--stats", self.fifo],
                              stdin=subprocess.PIPE, stderr=subprocess.PIPE) as run:
            with open(harness.DEMO, "rb") as capture:
                run.stdin.write(capture.read())
                run.stdin.flush()
            harness.wait_until(lambda: os.path.exists(self.path("out")), 20, "the run")
            os.close(reader)
            said = run.communicate(timeout=20)[1]
            self.assertEqual(run.returncode, harness.EX_IOERR, said)
            self.assertIn(b"--stats " + self.fifo.encode(), said)


class FullDisk(harness.TestCase):
    def test_no_start_on_a_full_disk_leaves_a_file_of_a_rotation(self):
        octets = 256 << 10
        small = self.enterContext(harness.small_disk(self.path("small"), octets))
        rotating = ("export.collectors=[{transport: file, path: %s/flows.ipfix, rotation: {interval: 3600, command: "
                    "'echo >>%s'}}]" % (small, self.path("commands")))

        def run(free, expect):
            with open(os.path.join(small, "filler"), "wb") as filler:
                filler.write(bytes(octets - free))
            return self.tributaryd("--read", harness.DEMO, "-n", "127.0.0.1:4739", "--set", rotating, "--stats",
                                   self.path("stats.json"), expect=expect).stderr
        for free in (0, 0, 4096, 32 << 10):
            with self.subTest(free=free):
                log = run(free, harness.EX_IOERR)
                self.assertIn("flows.ipfix: write failed, export ends (No space left on device)", log)
                self.assertNotIn("flows.ipfix: ready", log)
                self.assertEqual(os.listdir(small), ["filler"])
                ledger = harness.read_json(self.path("stats.json"))
                self.check_ledger(ledger)
                self.assertEqual(ledger["flows"]["lost_by_cause"]["write_failed"], harness.DEMO_FLOWS)
        self.assertFalse(os.path.exists(self.path("commands")))
        run(128 << 10, harness.EX_OK)    # the test's own search keeps no data
        finished = [name for name in os.listdir(small) if name != "filler"]
        self.assertEqual(len(finished), 1)
        self.assertEqual(len(self.flows(os.path.join(small, finished[0]))), harness.DEMO_FLOWS)
        self.assertLess(os.stat(os.path.join(small, finished[0])).st_blocks * 512, 64 << 10)
        with open(self.path("commands")) as commands:
            self.assertEqual(len(commands.readlines()), 1)


if __name__ == "__main__":
    harness.main()
