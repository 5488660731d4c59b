#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The system gives no more threads, memory or descriptors: metering goes on without, or ends in order with its ledger."""
import contextlib
import os
import signal
import socket
import subprocess

import harness
from faults import many_flows
from stream_collector import Collector

NO_USER = 64_321  # threads are counted by user: this one has no other process


def limit(process, name, value):
    subprocess.run(["prlimit", "--pid", str(process.popen.pid), "--%s=%s:" % (name, value)], check=True)


class ResourcesCase(harness.TestCase):
    FLOWS = 40_000

    def setUp(self):
        super().setUp()
        harness.need("prlimit", "setpriv", root=True)
        self.capture = many_flows(self.path("many.pcap"), self.FLOWS)
        self.stats = self.path("stats.json")

    def configure(self, collectors, **more):
        return self.path("probe.json", harness.json.dumps({
            "inputs": [{"device": "net_pcap0,rx_pcap=" + self.capture}],
            "flows": {"max-flows": 65536, "idle-timeout": 1, "active-timeout": 2},
            "export": {"collectors": collectors, "flush-interval": 0.1, "drain-timeout": 2}, **more}))

    def check_end(self, daemon, expect=harness.EX_OK):
        self.assertEqual(daemon.end(timeout=120), expect, daemon.text())
        ledger = harness.read_json(self.stats)
        self.check_ledger(ledger)
        return ledger


class Threads(ResourcesCase):
    """The limit of threads is per user, so the probe runs as a user."""
    FLOWS = 1000  # datagrams leave at a pace

    def run_with(self, threads, config):
        os.chown(self.directory, NO_USER, NO_USER)
        with contextlib.suppress(FileNotFoundError):
            os.remove(self.stats)
        command = ["setpriv", "--reuid=%d" % NO_USER, "--regid=%d" % NO_USER, "--clear-groups", "--inh-caps=-all,+ipc_lock",
                   "--ambient-caps=-all,+ipc_lock", "--bounding-set=-all,+ipc_lock", "--no-new-privs",
                   "prlimit", "--nproc=%d:%d" % (threads, threads)]
        with harness.Process(*command, harness.TRIBUTARYD, "--config", config, "--stats", self.stats) as daemon:
            os.chown(daemon.runtime.name, NO_USER, NO_USER)
            harness.wait_until(lambda: "ready: " in daemon.text() or daemon.popen.poll() is not None, 60, "ready")
            if daemon.popen.poll() is not None:
                self.assertEqual(daemon.popen.returncode, harness.EX_OSERR, (threads, daemon.text()))
                return None
            daemon.wait_for_received(self.FLOWS)
            ledger = self.check_end(daemon)
            self.assertEqual(ledger["packets"]["received"], self.FLOWS)
            return daemon.text()

    def test_without_threads_for_its_services_it_meters(self):
        config = self.configure(
            [{"transport": "file", "path": self.path("flows.ipfix"), "rotation": {"size": 1 << 20}},
             {"host": "localhost", "port": harness.free_port()}],
            telemetry={"listen": "127.0.0.1:%d" % harness.free_port(socket.SOCK_STREAM)})
        os.chmod(self.directory, 0o755)
        logs = {}
        with harness.huge_pages():
            for threads in (2, 4, 5, 6, 7, 8, 12, 30):
                with self.subTest(threads=threads):
                    logs[threads] = self.run_with(threads, config)
        self.assertIsNone(logs[2])
        self.assertNotIn("no telemetry", logs[30])
        self.assertNotIn("no control socket", logs[30])
        # The limit without a thread for the service depends on whether a resolving thread has ended by then.
        seen = list(logs.values())
        with harness.huge_pages():
            for threads in 3 * list(range(3, 13)):
                if any(log and "no telemetry: " in log for log in seen):
                    return
                seen.append(self.run_with(threads, config))
        self.fail(seen)


class Memory(ResourcesCase):
    def test_memory_that_ends_is_a_full_buffer(self):
        away = [{"host": "127.0.0.1", "port": harness.free_port(socket.SOCK_STREAM), "transport": "tcp",
                 "buffer": 1 << 30} for _ in range(3)]
        away[1]["host"], away[2]["host"] = "127.0.0.2", "127.0.0.3"
        config = self.configure(away)
        for room in (0, 1 << 20, 4 << 20):
            with self.subTest(room=room), harness.huge_pages(), harness.Process(
                    harness.TRIBUTARYD, "--config", config, "--stats", self.stats) as daemon:
                daemon.wait_for_log("ready: ")
                with open("/proc/%d/statm" % daemon.popen.pid) as statm:
                    used = int(statm.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
                limit(daemon, "as", used + room)
                daemon.wait_for_received(self.FLOWS)
                daemon.wait_for_log("the system gives no more memory")
                self.assertIsNone(daemon.popen.poll(), daemon.text())
                ledger = self.check_end(daemon)
                self.assertEqual(ledger["flows"]["created"], self.FLOWS)
                self.assertEqual(ledger["flows"]["lost"], self.FLOWS)

    def test_offline_any_limit_ends_with_words(self):
        codes = set()
        for megabytes in (*range(40, 132, 6), 150, 180, 200, 240, 280, 350, 500, 700, 1000):
            # Where memory is short while libraries are loaded, GnuTLS or libgpg-error end the process before main().
            loaded = subprocess.run(["prlimit", "--as=%d" % (megabytes << 20), harness.TRIBUTARYD, "--version"],
                                    capture_output=True)
            if loaded.returncode != harness.EX_OK:
                self.assertLess(megabytes, 60)
                continue
            out = self.path("out.ipfix")
            with contextlib.suppress(FileNotFoundError):
                os.remove(self.stats)
            result = subprocess.run(
                ["prlimit", "--as=%d" % (megabytes << 20), harness.TRIBUTARYD, "--read", self.capture, "--write", out,
                 "--set", "flows.max-flows=65536", "--stats", self.stats], capture_output=True, text=True, timeout=120)
            codes.add(result.returncode)
            with self.subTest(megabytes=megabytes):
                self.assertIn(result.returncode, (harness.EX_OK, harness.EX_NOINPUT, harness.EX_OSERR), result.stderr)
                if "ledger: " in result.stderr:
                    self.check_ledger(harness.read_json(self.stats))
        self.assertIn(harness.EX_OK, codes)
        self.assertIn(harness.EX_OSERR, codes)


class Descriptors(ResourcesCase):
    def test_without_descriptors_it_goes_on_and_comes_back(self):
        port = harness.free_port(socket.SOCK_STREAM)
        config = self.configure(
            [{"host": "127.0.0.1", "port": port, "transport": "tcp"},
             {"transport": "file", "path": self.path("flows.ipfix"), "rotation": {"size": 1 << 20}}])
        with harness.huge_pages(), harness.Process(
                harness.TRIBUTARYD, "--config", config, "--stats", self.stats) as daemon:
            daemon.wait_for_log("ready: ")
            limit(daemon, "nofile", len(os.listdir("/proc/%d/fd" % daemon.popen.pid)))
            daemon.send(signal.SIGHUP)
            daemon.wait_for_log("not reloaded: ")
            with Collector(port=port) as collector:
                daemon.wait_for_received(self.FLOWS)
                limit(daemon, "nofile", 1024)
                daemon.send(signal.SIGHUP)
                daemon.wait_for_log("reloaded: nothing has changed")
                daemon.wait_for_log(r"tcp 127.0.0.1:\d+: ready")
                ledger = self.check_end(daemon)
            self.assertTrue(collector.streams)
            self.assertEqual(ledger["flows"]["exported"], self.FLOWS)
            self.assertEqual([each["records"] for each in ledger["collectors"]], [self.FLOWS, self.FLOWS])

    def test_a_file_goes_on_until_there_is_a_descriptor_for_the_next(self):
        rotation = {"interval": 1, "command": "ls >/dev/null"}
        config = self.configure([{"transport": "file", "path": self.path("flows.ipfix"), "rotation": rotation}])
        with harness.huge_pages(), harness.Process(
                harness.TRIBUTARYD, "--config", config, "--stats", self.stats) as daemon:
            daemon.wait_for_log("ready: ")
            limit(daemon, "nofile", len(os.listdir("/proc/%d/fd" % daemon.popen.pid)))
            daemon.wait_for_log(r"warning: file \S+: the next file cannot be opened now, and this one goes on \(Too many open files")
            self.assertEqual(len(self.files()), 1)
            limit(daemon, "nofile", 1024)
            daemon.wait_for(lambda: len(self.files()) > 1 or not self.files()[0].endswith(".part"), 30, "a whole file")
            ledger = self.check_end(daemon)
        self.assertEqual((ledger["flows"]["exported"], ledger["flows"]["lost"]), (self.FLOWS, 0))
        self.assertEqual(sum(len(self.flows(self.path(name))) for name in self.files()), self.FLOWS)

    def files(self):
        return [name for name in os.listdir(self.directory) if name.startswith("flows")]


if __name__ == "__main__":
    harness.main()
