#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The probe as a service: its notifications to a service manager (a socket of the test), the handling of a thread that
hangs, the units judged by systemd's own tools, and the rights that they leave."""
import contextlib
import ctypes
import os
import re
import shutil
import signal
import socket
import subprocess
import unittest

import harness
import live_veth

UNITS = os.path.join(harness.ROOT, "systemd")
PTRACE_DETACH, PTRACE_SEIZE, PTRACE_INTERRUPT, WALL = 17, 0x4206, 0x4207, 0x40000000


@contextlib.contextmanager
def environment(**variables):
    """Sets the environment of programs started meanwhile."""
    os.environ.update(variables)
    try:
        yield
    finally:
        for name in variables:
            del os.environ[name]


class NotifySocket:
    """A service manager's socket, and its notifications since the last reset."""

    def __init__(self, path):
        self.path, self.words = path, []
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(path)
        self.socket.setblocking(False)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()
        os.unlink(self.path)

    def heard(self):
        with contextlib.suppress(BlockingIOError):
            while datagram := self.socket.recv(4096):
                self.words += datagram.decode().splitlines()
        return self.words

    def forget(self):
        self.heard()
        self.words = []


@contextlib.contextmanager
def halted(process, name):
    """Stops one thread of a process, by tracing it; the thread goes on afterwards."""
    libc = ctypes.CDLL(None, use_errno=True)
    for thread in os.listdir("/proc/%d/task" % process.pid):
        with open("/proc/%d/task/%s/comm" % (process.pid, thread)) as comm:
            if comm.read().strip() == name:
                break
    else:
        raise AssertionError("no thread " + name)
    thread = int(thread)
    for request in (PTRACE_SEIZE, PTRACE_INTERRUPT):
        if libc.ptrace(request, thread, None, None) != 0:
            raise unittest.SkipTest("no ptrace here: " + os.strerror(ctypes.get_errno()))
    os.waitpid(thread, WALL)
    try:
        yield
    finally:
        libc.ptrace(PTRACE_DETACH, thread, None, None)


class Service(harness.TestCase):
    def setUp(self):
        super().setUp()
        stack = contextlib.ExitStack()
        self.addCleanup(stack.close)
        stack.enter_context(harness.huge_pages())
        self.manager = stack.enter_context(NotifySocket(self.path("notify")))
        self.telemetry = harness.free_port(socket.SOCK_STREAM)

    @contextlib.contextmanager
    def started(self, **variables):
        """A probe started by a service manager."""
        with environment(NOTIFY_SOCKET=self.manager.path, **variables):
            process = harness.Process(
                harness.TRIBUTARYD, "-i", "net_pcap0,rx_pcap=" + harness.DEMO, "-n",
                "127.0.0.1:%d" % harness.free_port(), "--set", "flows.max-flows=4096",
                "--set", "telemetry.listen=127.0.0.1:%d" % self.telemetry)
        with process as daemon:
            self.wait_for_word(daemon, "READY=1")
            yield daemon

    def wait_for_word(self, daemon, pattern):
        daemon.wait_for(lambda: any(re.fullmatch(pattern, word) for word in self.manager.heard()), 60, pattern)

    def test_readiness_status_and_stopping(self):
        with self.started() as daemon:
            self.assertRegex(daemon.text(), "ready: 1 queue")
            self.wait_for_word(daemon, r"STATUS=\d+ packets/s, %d flows active, \d+ records/s exported, [01] of 1 collectors "
                               "reached; lost so far: 0 records, 0 packets by NICs" % harness.DEMO_FLOWS)
            self.assertEqual(daemon.end(), harness.EX_OK, daemon.text())
        words = self.manager.heard()
        self.assertEqual(words.count("READY=1"), 1)
        self.assertLess(words.index("READY=1"), words.index("STOPPING=1"))
        self.assertNotIn("WATCHDOG=1", words)    # not requested

    def test_a_ready_probe_takes_connections(self):
        with self.started() as daemon:
            with socket.create_connection(("127.0.0.1", self.telemetry)), socket.socket(socket.AF_UNIX) as control:
                control.connect(daemon.control_socket)
            self.assertEqual(daemon.end(), harness.EX_OK, daemon.text())

    def test_a_reload_is_told_and_its_end(self):
        with self.started() as daemon:
            self.manager.forget()
            daemon.send(signal.SIGHUP)
            self.wait_for_word(daemon, "READY=1")
            self.assertIn("reloaded: nothing has changed", daemon.text())
            words = self.manager.heard()
            self.assertLess(words.index("RELOADING=1"), words.index("READY=1"))
            self.assertEqual(daemon.end(), harness.EX_OK, daemon.text())

    def test_a_probe_that_cannot_start_is_never_ready(self):
        with environment(NOTIFY_SOCKET=self.manager.path):
            self.tributaryd("-i", "af_packet:no-such-if", "-n", "127.0.0.1", expect=69)
        self.assertEqual(self.manager.heard(), [])

    def check_hanging(self, thread):
        with self.started(WATCHDOG_USEC="20000000") as daemon:
            self.wait_for_word(daemon, "WATCHDOG=1")
            with halted(daemon.popen, thread):
                daemon.wait_for_log("thread %s hangs" % thread)
                self.manager.forget()
                self.wait_for_word(daemon, "STATUS=.*")    # sent every five seconds
                self.assertNotIn("WATCHDOG=1", self.manager.heard())
            daemon.wait_for_log("thread %s goes on again" % thread)
            self.wait_for_word(daemon, "WATCHDOG=1")
            self.assertEqual(daemon.end(), harness.EX_OK, daemon.text())

    def test_an_input_thread_that_hangs_ends_the_signs_of_life(self):
        self.check_hanging("in-0")

    def test_an_export_thread_that_hangs_ends_the_signs_of_life(self):
        self.check_hanging("export")

    def test_a_probe_that_was_killed_starts_again(self):
        for _ in range(2):
            self.manager.forget()
            with self.started() as daemon:
                daemon.popen.kill()
                daemon.popen.wait()


class Units(harness.TestCase):
    """The units as installed, except for the program's path."""

    def setUp(self):
        super().setUp()
        harness.need("systemd-analyze")
        for name in os.listdir(UNITS):
            if re.search(r"\.(service|target)$", name):
                shutil.copy(os.path.join(UNITS, name), self.directory)
        for name in ("tributary.service", "tributary@.service"):
            with open(os.path.join(harness.BUILD, "systemd", name)) as unit:
                self.path(name, re.sub("(Exec(Start|StartPre|Reload)=)[^ ]+", r"\1" + harness.TRIBUTARYD, unit.read()))

    def analyze(self, *arguments):
        return subprocess.run(["systemd-analyze", *arguments], capture_output=True, text=True, timeout=60)

    def test_systemd_finds_nothing_to_say(self):
        for name in ("tributary.service", "tributary@west.service", "tributary-hugepages@0.service",
                     "tributary-hugepages.target"):
            instance = self.path(name)
            if not os.path.exists(instance):
                shutil.copy(re.sub("@[^.]*", "@", instance), instance)
            result = self.analyze("verify", instance)
            self.assertEqual((result.returncode, result.stdout + result.stderr), (0, ""), name)

    def test_the_service_is_exposed_little(self):
        for name in ("tributary.service", "tributary@.service"):
            result = self.analyze("security", "--offline=true", "--threshold=30", self.path(name))
            self.assertEqual(result.returncode, 0, result.stdout + result.stderr)


class Rights(live_veth.LiveCase):
    """A probe of the user nobody, with exactly the capabilities that the unit leaves."""

    def test_af_packet_with_the_units_capabilities(self):
        harness.need("setpriv", root=True)
        with open(os.path.join(harness.BUILD, "systemd", "tributary.service")) as unit:
            names = re.search("^AmbientCapabilities=(.*)$", unit.read(), re.MULTILINE).group(1).split()
        rights = ",".join("+" + name.lower().removeprefix("cap_") for name in names)
        os.chmod(self.directory, 0o755)
        runtime = self.path("run")
        os.mkdir(runtime)
        os.chown(runtime, 65534, 65534)
        pages = self.path("pages")    # only root may read it, and the probe does not need it
        os.mkdir(pages)
        subprocess.run(["mount", "-t", "hugetlbfs", "-o", "mode=0700", "none", pages], check=True)
        self.addCleanup(subprocess.run, ["umount", pages], check=True)
        with environment(RUNTIME_DIRECTORY=runtime):
            daemon = self.enter(harness.Process(
                "setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--no-new-privs",
                "--inh-caps=-all," + rights, "--ambient-caps=-all," + rights, "--bounding-set=-all," + rights,
                harness.TRIBUTARYD, "-i", "af_packet:trib0", "-n", "127.0.0.1:4739", "--set", "flows.max-flows=4096",
                namespace=self.probe))
        daemon.wait_for_log("ready: ")
        sent = live_veth.replay(self.sender)
        daemon.wait_for_received(sent)
        self.assertEqual(daemon.end(), harness.EX_OK, daemon.text())


if __name__ == "__main__":
    harness.main()
