#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""An input thread is alone on its core and makes no system call while packets come; all other threads, those of libraries too,
run on the helper cores."""
import contextlib
import os
import re
import signal
import subprocess

import harness

PAUSE = 2   # seconds of packets under strace


def cpus_of(text):
    """The CPUs of a list as the kernel writes it, 0-3,8."""
    cpus = set()
    for part in text.split(","):
        first, _, last = part.partition("-")
        cpus |= set(range(int(first), int(last or first) + 1))
    return cpus


def tasks(pid):
    """{thread id: (name, CPUs it may run on)} of a process."""
    found = {}
    for task in os.listdir("/proc/%d/task" % pid):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):   # a command's thread has ended
            with open("/proc/%d/task/%s/status" % (pid, task)) as status:
                fields = dict(line.split(":\t", 1) for line in status.read().splitlines() if ":\t" in line)
            found[int(task)] = fields["Name"], cpus_of(fields["Cpus_allowed_list"])
    return found


def system_calls(thread):
    """The names of the system calls that a thread makes in PAUSE seconds."""
    with open(os.devnull, "w") as null:
        tracer = subprocess.Popen(["strace", "-p", str(thread)], stdout=null, stderr=subprocess.PIPE, text=True)
        attached = tracer.stderr.readline()
        if "attached" not in attached:
            tracer.kill()
            tracer.communicate()
            raise harness.unittest.SkipTest("strace may not trace a thread here: " + attached.strip())
        with contextlib.suppress(subprocess.TimeoutExpired):
            tracer.wait(PAUSE)
        tracer.send_signal(signal.SIGINT)
        lines = tracer.communicate(timeout=30)[1].splitlines()
    # A call that the tracer has cut short by attaching or detaching stands there as resumed or unfinished.
    return re.findall(r"(?m)^(\w+)\(", "\n".join(lines))


class Helpers(harness.TestCase):
    def setUp(self):
        super().setUp()
        if len(os.sched_getaffinity(0)) < 2:
            self.skipTest("an input thread needs a core of its own: this machine has one core")

    def start(self, *arguments):
        """A probe with packets without end, and with all threads that a configuration brings."""
        self.port = harness.free_port()
        config = self.path("probe.yaml", """
            flows: {max-flows: 65536}
            inputs:
              - {name: up, device: "net_pcap0,rx_pcap=%s,infinite_rx=1", filter: "ip or ip6 or arp"}
            export:
              flush-interval: 0.1
              collectors:
                - {transport: file, path: "%s", rotation: {interval: 1}}
                - {host: 127.0.0.1, port: %d}
            telemetry: {listen: "127.0.0.1:%d", dpdk: true}
            """ % (harness.DEMO, self.path("flows.ipfix"), harness.free_port(), self.port))
        stack = contextlib.ExitStack()
        self.addCleanup(stack.close)
        stack.enter_context(harness.huge_pages())
        daemon = stack.enter_context(harness.Process(harness.TRIBUTARYD, "--config", config, *arguments))
        daemon.wait_for_log("ready: ")
        daemon.wait_for(lambda: daemon.stats()["packets"]["received"] > 1000, 30, "packets")
        return daemon, config

    def split(self, pid):
        """(the input thread, its CPUs, the others)"""
        others = tasks(pid)
        thread = next(task for task, (name, _) in others.items() if name == "in-0")
        return thread, others.pop(thread)[1], others

    def test_all_threads_but_one_keep_away_from_the_input_threads_core(self):
        daemon, config = self.start()
        thread, cpus, others = self.split(daemon.popen.pid)
        self.assertEqual(len(cpus), 1)
        names = {name for name, _ in others.values()}
        self.assertLessEqual({"export", "telemetry", "control", "files", "eal-intr-thread", "telemetry-v2"}, names)
        helpers = next(own for name, own in others.values() if name == "export")   # auto: with the export thread
        for name, own in others.values():
            self.assertEqual(own, helpers, name)
        self.assertFalse(helpers & cpus)
        plan = subprocess.run([harness.TRIBUTARY, "plan", "--config", config], capture_output=True, text=True, check=True).stdout
        planned = set(re.findall(r"(?m)^([\w-]+)", plan[plan.index("\nhelper thread"):plan.index("\ncores:")]))
        main = tasks(daemon.popen.pid)[daemon.popen.pid][0]
        self.assertLessEqual(names - {"export", main} - planned, {"rte_mp_handle"})
        self.assertEqual(daemon.end(), harness.EX_OK, daemon.text())

    def test_configured_helper_cores(self):
        """On a machine of two cores the export thread's and the helpers' is the same, but an input thread's never is."""
        cores = sorted(os.sched_getaffinity(0))
        daemon, _ = self.start("--set", "cores.helpers=[%d]" % cores[0])
        _, cpus, others = self.split(daemon.popen.pid)
        self.assertFalse(cpus & {cores[0]})
        for name, own in others.values():
            if name != "export":
                self.assertEqual(own, {cores[0]}, name)
        self.assertEqual(daemon.end(), harness.EX_OK, daemon.text())

    def test_an_input_thread_makes_no_system_call(self):
        harness.need("strace", root=True)
        daemon, _ = self.start()
        thread, _, others = self.split(daemon.popen.pid)
        export = next(task for task, (name, _) in others.items() if name == "export")
        self.assertIn("clock_nanosleep", system_calls(export))   # strace sees what a thread does
        before = daemon.stats()["packets"]["received"]
        self.assertEqual(system_calls(thread), [])
        self.assertGreater(daemon.stats()["packets"]["received"], before)
        self.assertEqual(daemon.end(), harness.EX_OK, daemon.text())


if __name__ == "__main__":
    harness.main()
