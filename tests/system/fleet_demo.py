#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tools/fleet-demo: what it prints where the sums agree and where they do not, its exit codes, and that it leaves nothing behind,
also when it is interrupted."""
import contextlib
import os
import random
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


class Demo:
    """One that runs, with its files in a folder of its own, which it makes."""

    def __init__(self, work, **environment):
        os.mkdir(work)
        self.work = work
        # With Ctrl-C as in a shell, also where this test ignores it.
        self.process = subprocess.Popen(
            [DEMO], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
            env={**os.environ, "TRIBUTARY_BUILD": harness.BUILD, **environment, "TMPDIR": work},
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))

    def processes(self):
        """Command lines that name its folder."""
        found = []
        for process in filter(str.isdigit, os.listdir("/proc")):
            with contextlib.suppress(OSError), open("/proc/%s/cmdline" % process, "rb") as source:
                line = source.read().decode(errors="replace").replace("\0", " ")
                found += [line] if self.work in line else []
        return found


class DemoCase(harness.TestCase):
    def start(self, name="work", **environment):
        demo = Demo(self.path(name), **environment)
        self.addCleanup(demo.process.kill)
        return demo

    def end(self, demo):
        """@return  the exit code, and what it has printed, also of faults"""
        out, faults = demo.process.communicate(timeout=240)
        self.assertEqual(os.listdir(demo.work), [])
        harness.wait_until(lambda: demo.processes() == [], 10, "the end of all processes")
        return demo.process.returncode, out, faults


class Servers(DemoCase):
    def setUp(self):
        super().setUp()
        need_broker()
        need_clickhouse()

    def narrow_build(self):
        """A build whose listing leaves something out."""
        programs = self.path("build")
        os.makedirs(os.path.join(programs, "daemon"))
        os.symlink(os.path.join(harness.BUILD, "jars"), os.path.join(programs, "jars"))
        os.symlink(harness.TRIBUTARYD, os.path.join(programs, "daemon", "tributaryd"))
        os.chmod(self.path("build/daemon/tributary", NARROW_TRIBUTARY % harness.TRIBUTARY), 0o755)
        return programs

    def check_agreement(self, status, out, faults):
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

    def check_difference(self, status, out, faults):
        self.assertEqual((status, faults), (1, ""), out)
        self.assertTrue(out.endswith("\n== THE SUMS DO NOT AGREE.\n"), out)
        self.assertIn("| - - -".replace(" ", ""), out.replace(" ", ""))  # a row that the listing lacks

    def test_the_sums_agree_or_do_not(self):
        """Two demos, which mostly wait, at once."""
        demos = self.start("whole"), self.start("narrow", TRIBUTARY_BUILD=self.narrow_build())
        for demo, check in zip(demos, (self.check_agreement, self.check_difference)):
            with self.subTest(demo.work):
                check(*self.end(demo))

    def test_interrupted(self):
        """While the servers start, or with all of them there."""
        line_before = random.Random(harness.SEED).choice(("starting a Kafka broker", "a probe sends"))
        print("TRIBUTARY_SEED=%d: %s" % (harness.SEED, line_before), flush=True)
        demo = self.start()
        for line in demo.process.stdout:
            if line_before in line:
                break
        harness.wait_until(lambda: sum("server.properties" in line or "config.xml" in line for line in demo.processes()) == 3,
                           60, "the processes of three servers")
        os.killpg(demo.process.pid, signal.SIGINT)
        self.assertEqual(self.end(demo)[0], 128 + signal.SIGINT)


class Nothing(DemoCase):
    def test_without_java(self):
        programs = self.path("bin")
        os.mkdir(programs)
        for name in ("bash", "dirname", "mktemp", "python3", "rm", "kcat"):
            os.symlink("/bin/sh" if name == "kcat" else "/usr/bin/" + name, os.path.join(programs, name))
        status, _, faults = self.end(self.start(PATH=programs))
        self.assertEqual((status, faults), (69, "fleet-demo: no kafka, not installed: java\n"))


if __name__ == "__main__":
    harness.main()
