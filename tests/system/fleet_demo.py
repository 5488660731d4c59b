#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tools/fleet-demo: what it prints where the sums agree and where they do not, its exit codes, and that it leaves nothing behind,
also when it is interrupted."""
import contextlib
import os
import re
import signal
import subprocess

import harness
from clickhouse import need_clickhouse
from kafka_broker import need_broker

DEMO = os.path.join(harness.ROOT, "tools", "fleet-demo")
# A listing that leaves out what is not UDP.
NARROW_TRIBUTARY = """#!/bin/sh
exec %s "$@" --filter udp
"""


class FleetDemo(harness.TestCase):
    def setUp(self):
        super().setUp()
        self.work = self.path("work")
        os.mkdir(self.work)
        self.environment = {**os.environ, "TMPDIR": self.work, "TRIBUTARY_BUILD": harness.BUILD}

    def start(self, **environment):
        """With Ctrl-C as in a shell, also where this test ignores it."""
        return subprocess.Popen([DEMO], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
                                env={**self.environment, **environment},
                                preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))

    def run_demo(self, **environment):
        demo = self.start(**environment)
        try:
            out, faults = demo.communicate(timeout=240)
        finally:
            demo.kill()
        self.check_nothing_is_left()
        return demo.returncode, out, faults

    def processes(self):
        """Command lines that name the folder of the demo."""
        found = []
        for process in filter(str.isdigit, os.listdir("/proc")):
            with contextlib.suppress(OSError), open("/proc/%s/cmdline" % process, "rb") as source:
                line = source.read().decode(errors="replace").replace("\0", " ")
                found += [line] if self.work in line else []
        return found

    def check_nothing_is_left(self):
        self.assertEqual(os.listdir(self.work), [])
        harness.wait_until(lambda: self.processes() == [], 10, "the end of all processes")


class Servers(FleetDemo):
    def setUp(self):
        super().setUp()
        need_broker()
        need_clickhouse()

    def test_the_sums_agree(self):
        status, out, faults = self.run_demo()
        self.assertEqual((status, faults), (harness.EX_OK, ""), out)
        sums = re.findall(r"(?m)^  (.+?) +(\d+) flows, (\d+) octets, (\d+) packets$", out)
        self.assertEqual([name for name, *_ in sums], ["the probe's ledger", "ClickHouse", "tributary flows"])
        (records,) = {tuple(map(int, found)) for _, *found in sums}
        self.assertEqual(records[1:], (harness.DEMO_OCTETS, harness.DEMO_PACKETS))
        shares = re.search(r"\n== The sums agree\. One server has (\d+) of the records, the other one (\d+)\.\n\Z", out)
        self.assertEqual(sum(map(int, shares.groups())), records[0])
        rows = [line.split() for line in out.splitlines() if line.count("|") == 2][1:]
        self.assertEqual([row[3:6] for row in rows], [row[7:10] for row in rows])
        self.assertEqual(sum(int(row[4]) for row in rows), harness.DEMO_OCTETS)

    def test_they_do_not(self):
        programs = self.path("build")
        os.makedirs(os.path.join(programs, "daemon"))
        os.symlink(os.path.join(harness.BUILD, "jars"), os.path.join(programs, "jars"))
        os.symlink(harness.TRIBUTARYD, os.path.join(programs, "daemon", "tributaryd"))
        os.chmod(self.path("build/daemon/tributary", NARROW_TRIBUTARY % harness.TRIBUTARY), 0o755)
        status, out, faults = self.run_demo(TRIBUTARY_BUILD=programs)
        self.assertEqual((status, faults), (1, ""), out)
        self.assertTrue(out.endswith("\n== THE SUMS DO NOT AGREE.\n"), out)
        self.assertIn("| - - -".replace(" ", ""), out.replace(" ", ""))  # a row that the listing lacks

    def test_interrupted(self):
        demo = self.start()
        try:
            for line in demo.stdout:
                if "a probe sends" in line:
                    break
            self.assertGreaterEqual(len(self.processes()), 3)
            os.killpg(demo.pid, signal.SIGINT)
            demo.communicate(timeout=60)
        finally:
            demo.kill()
        self.assertEqual(demo.returncode, 128 + signal.SIGINT)
        self.check_nothing_is_left()


class Nothing(FleetDemo):
    def test_without_java(self):
        programs = self.path("bin")
        os.mkdir(programs)
        for name in ("bash", "dirname", "mktemp", "python3", "rm", "kcat"):
            os.symlink("/bin/sh" if name == "kcat" else "/usr/bin/" + name, os.path.join(programs, name))
        status, _, faults = self.run_demo(PATH=programs)
        self.assertEqual((status, faults), (69, "fleet-demo: no kafka, not installed: java\n"))


if __name__ == "__main__":
    harness.main()
