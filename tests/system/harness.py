# SPDX-License-Identifier: Apache-2.0
"""Shared by the system tests: the programs under test, the ledger's equations, namespaces, judges.

Every test file runs alone: `python3 tests/system/offline.py [-k NAME]`; the build directory is $TRIBUTARY_BUILD,
by default `build` in the checkout. Exit codes are meson's: 77 when nothing could be run.
"""
import concurrent.futures
import contextlib
import fcntl
import json
import os
import random
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import termios
import time
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("TRIBUTARY_BUILD", os.path.join(ROOT, "build"))
SHARED = os.environ.get("TRIBUTARY_SHARED", os.path.join(os.path.dirname(ROOT), "shared"))
SANITIZED = os.environ.get("TRIBUTARY_SANITIZED", "") != ""  # programs take five times as long: a test may use less
LONG = os.environ.get("TRIBUTARY_LONG", "") != ""  # time for rare events
SEED = int(os.environ.get("TRIBUTARY_SEED") or random.randrange(2**32))  # of what a test draws; it prints the seed
TRIBUTARYD = os.path.join(BUILD, "daemon", "tributaryd")
TRIBUTARY = os.path.join(BUILD, "daemon", "tributary")

DEMO = os.path.join(ROOT, "tests", "data", "demo.pcap")
# demo.pcap, counted by capinfos and tshark (tests/data/README.md)
DEMO_FRAMES, DEMO_PACKETS, DEMO_OCTETS, DEMO_ARP, DEMO_ARP_OCTETS, DEMO_FLOWS = 951, 947, 570_901, 4, 176, 84

EX_OK, EX_USAGE, EX_NOINPUT, EX_OSERR, EX_IOERR, EX_CONFIG = 0, 64, 66, 71, 74, 78


class TestCase(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.directory = tempfile.mkdtemp(prefix="tributary-test-")
        self.addCleanup(shutil.rmtree, self.directory, ignore_errors=True)

    def path(self, name, content=None):
        path = os.path.join(self.directory, name)
        if content is not None:
            with open(path, "wb" if isinstance(content, bytes) else "w") as out:
                out.write(content)
        return path

    def tributaryd(self, *arguments, expect=EX_OK, timeout=120):
        """Runs tributaryd to its end and checks its exit code."""
        result = subprocess.run([TRIBUTARYD, *arguments], capture_output=True, text=True, timeout=timeout)
        self.assertEqual(result.returncode, expect, "tributaryd %s\n%s" % (" ".join(arguments), result.stderr))
        return result

    def meter(self, *arguments, expect=EX_OK):
        """Offline run: path of the IPFIX file, ledger (checked), process result."""
        out, stats = self.path("out.ipfix"), self.path("stats.json")
        result = self.tributaryd(*arguments, "--write", out, "--stats", stats, expect=expect)
        ledger = read_json(stats)
        self.check_ledger(ledger)
        return out, ledger, result

    def all_records(self, *arguments):
        """Records of flows and of options, printed by `tributary flows --json` from a faultless file."""
        self.check_strictly(arguments[0])
        result = subprocess.run([TRIBUTARY, "flows", "--json", *arguments], capture_output=True, text=True, timeout=60)
        self.assertEqual(result.returncode, 0, result.stderr)
        return [json.loads(line) for line in result.stdout.splitlines()]

    def check_strictly(self, path):
        """Checks the messages of a file, or of one session, by the strict decoder, if it is there."""
        decoder = os.path.join(SHARED, "oracle", "ipfix2json.py")
        if os.path.exists(decoder):
            result = subprocess.run([sys.executable, decoder, "--strict", "--out", os.devnull, path], capture_output=True,
                                    text=True, timeout=120)
            self.assertEqual(result.returncode, 0, result.stderr[-2000:])

    def flows(self, *arguments):
        return [record for record in self.all_records(*arguments) if record["@type"] == "data"]

    def options(self, *arguments):
        return [record for record in self.all_records(*arguments) if record["@type"] == "options"]

    @staticmethod
    def for_setting(captures, setting, settings):
        """Those of captures that are judged in one of several settings: the small ones in each, the large ones in one each, in
        turn, and so all under sanitizers, unless $TRIBUTARY_LONG is set."""
        large = [capture for capture in captures if (os.path.getsize(capture) > 2**18 or SANITIZED) and not LONG]
        return [capture for capture in captures if capture not in large or large.index(capture) % settings == setting]

    def check_captures(self, captures, difference):
        """Judges captures in parallel: difference(capture, directory) returns the difference, or None."""
        def judge(capture):
            with tempfile.TemporaryDirectory(prefix="tributary-captures-") as directory:
                try:
                    return difference(capture, directory), None
                except AssertionError as error:
                    return None, error

        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            verdicts = dict(zip(captures, pool.map(judge, captures)))
        for capture, (different, fault) in verdicts.items():
            with self.subTest(capture):
                if fault is not None:
                    raise fault
                self.assertIsNone(different)

    def check_ledger(self, ledger):
        """Checks the equations of a ledger at exit: no records are active, and every loss has a cause."""
        for account in [ledger, *ledger["queues"]]:
            packets, flows = account["packets"], account["flows"]
            self.assertEqual(packets["received"], packets["metered"] + packets["ignored"] + packets["filtered"], account)
            self.assertEqual(packets["ignored"], sum(packets["ignored_by_reason"].values()), account)
            self.assertEqual(flows["lost"], sum(flows["lost_by_cause"].values()), account)
            for name, total in (("packets", "metered"), ("octets", "metered"), ("flows", "created")):
                unit = account[name]
                self.assertEqual(unit[total], unit["exported"] + unit["lost"] + unit["active"], (name, account))
                self.assertEqual(unit["active"], unit["spooled"], (name, account))
            self.assertEqual(flows["created"], sum(flows["ended_by_reason"].values()), account)
        for group in ("packets", "octets", "flows"):
            for name, total in ledger[group].items():
                parts = [queue[group][name] for queue in ledger["queues"] if name in queue[group]]
                if isinstance(total, int) and parts:
                    self.assertEqual(total, sum(parts), "%s.%s of the queues" % (group, name))


class DemoProbeCase(TestCase):
    """The live path without root: DPDK's pcap driver reads a capture, by default the bundled one."""

    def run_live(self, *arguments, before_end=lambda: None, capture=DEMO, frames=DEMO_FRAMES, max_flows=4096):
        stats = self.path("stats.json")
        with huge_pages(), Process(
                TRIBUTARYD, "-i", "net_pcap0,rx_pcap=" + capture, *arguments,
                "--set", "flows.max-flows=%d" % max_flows, "--stats", stats) as daemon:
            daemon.wait_for_log("ready")
            daemon.wait_for_received(frames)
            before_end()
            self.assertEqual(daemon.end(), EX_OK, daemon.text())
            log = daemon.text()
        ledger = read_json(stats)
        self.check_ledger(ledger)
        self.assertEqual(ledger["packets"]["received"], frames)
        if capture == DEMO:
            self.assertEqual((ledger["packets"]["metered"], ledger["octets"]["metered"], ledger["flows"]["created"]),
                             (DEMO_PACKETS, DEMO_OCTETS, DEMO_FLOWS))
        return ledger, log


def read_json(path):
    with open(path) as source:
        return json.load(source)


def numbers_in(ranges):
    """(stream, number) for each sequence number that is in ranges of a ledger."""
    return [(each["stream"], number) for each in ranges for number in range(each["first"], each["last"] + 1)]


def need(*programs, root=False):
    """Skips the test if a program or root is missing."""
    missing = [program for program in programs if shutil.which(program) is None]
    if missing:
        raise unittest.SkipTest("not installed: " + " ".join(missing))
    if root and os.geteuid() != 0:
        raise unittest.SkipTest("needs root")
    if root and subprocess.run(["unshare", "-n", "true"], capture_output=True).returncode != 0:
        raise unittest.SkipTest("this root may not make network namespaces")


def wait_until(condition, seconds, what):
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError("gave up waiting for " + what)
        time.sleep(0.02)


@contextlib.contextmanager
def small_disk(directory, octets):
    """Makes a directory that has room for so many octets. Skips the test where that cannot be."""
    need("mount", root=True)
    os.mkdir(directory)
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=%d" % octets, "tmpfs", directory], capture_output=True)
    if mounted.returncode != 0:
        raise unittest.SkipTest("this root may not mount")
    try:
        yield directory
    finally:
        subprocess.run(["umount", "-l", directory], check=False)


@contextlib.contextmanager
def filled_pipe(path, capture):
    """A pipe with a reader that has read a capture, and waits for more. Yields the writing end."""
    with open(path, "wb", buffering=0) as pipe, open(capture, "rb") as source:
        pipe.write(source.read())
        wait_until(lambda: struct.unpack("i", fcntl.ioctl(pipe, termios.FIONREAD, bytes(4))) == (0,), 10, "a reader")
        yield pipe


class Process:
    """A program in the background; its log can be read while it runs, and it ends with the `with` block. Its control
    socket is in a directory of its own, as systemd would make one."""

    def __init__(self, *command, namespace=None):
        enter = ["ip", "netns", "exec", namespace] if namespace else []
        self.log = tempfile.NamedTemporaryFile("r+", prefix="tributary-log-")
        self.runtime = tempfile.TemporaryDirectory(prefix="tributary-run-")
        self.command = command
        self.popen = subprocess.Popen([*enter, *command], stdout=self.log, stderr=subprocess.STDOUT,
                                      env={**os.environ, "RUNTIME_DIRECTORY": self.runtime.name})

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.popen.poll() is None:
            self.popen.kill()
        self.popen.wait()
        self.log.close()
        self.runtime.cleanup()

    @property
    def control_socket(self):
        return os.path.join(self.runtime.name, "control.sock")

    def text(self):
        with open(self.log.name) as log:
            return log.read()

    def send(self, number):
        self.popen.send_signal(number)

    def stats(self):
        """A running probe's ledger."""
        return json.loads(subprocess.run([TRIBUTARY, "stats", "--json", "--socket", self.control_socket],
                                         capture_output=True, check=True, timeout=60).stdout)

    def wait_for(self, condition, seconds, what):
        """Like wait_until, but fails at once when the program ends, with its log."""
        def holds():
            if condition():
                return True
            if self.popen.poll() is not None:
                raise AssertionError("%s ended with %d" % (self.command[0], self.popen.returncode))
            return False
        try:
            wait_until(holds, seconds, what)
        except AssertionError as error:
            raise AssertionError("%s; the log:\n%s" % (error, self.text())) from None

    def wait_for_log(self, pattern, seconds=60):
        self.wait_for(lambda: re.search(pattern, self.text()), seconds, "%r in the log" % pattern)

    def wait_for_received(self, packets):
        """Asks tributaryd for its statistics until it has seen so many packets."""
        def all_there():
            self.send(signal.SIGUSR1)
            return "packets: %d received" % packets in self.text()
        self.wait_for(all_there, 30, "%d packets in the statistics" % packets)

    def end(self, number=signal.SIGTERM, timeout=60):
        self.send(number)
        return self.popen.wait(timeout)

    def udp_backlog(self, port):
        """Octets that wait in the socket bound to a port of the process's namespace; None: no such socket."""
        with open("/proc/%d/net/udp" % self.popen.pid) as table:
            for line in table.readlines()[1:]:
                fields = line.split()
                if fields[1].endswith(":%04X" % port):
                    return int(fields[4].split(":")[1], 16)
        return None


@contextlib.contextmanager
def huge_pages(count=512):
    """Reserves huge pages if there are none and it may; restores the former number."""
    path = "/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages"
    try:
        with open(path) as source:
            before = int(source.read())
        if before == 0:
            with open(path, "w") as out:
                out.write(str(count))
    except OSError:
        before = None
    try:
        yield
    finally:
        if before == 0:
            with open(path, "w") as out:
                out.write("0")


reserved_ports = []  # sockets, each of which reserves one port until the process ends


def reserve_port(port):
    """Whether no other test that runs, of this process or another one, was given the port: a name of which the kernel has
    one, beside the ports of a network namespace, and which goes with the process that has it."""
    reservation = socket.socket(socket.AF_UNIX)
    try:
        reservation.bind("\0tributary-test-port-%d" % port)
    except OSError:
        reservation.close()
        return False
    reserved_ports.append(reservation)
    return True


def free_port(kind=socket.SOCK_DGRAM, among=None):
    """A port of the loopback address without a listener just now, never the same twice, nor one that a test beside this one
    was given. The kernel gives none of this range to a connection, so it stays free: not even the connection that tries to
    reach the port can get it.

    @param among  the ports to choose from; None: the 12,000 below those of connections"""
    if among is None:
        with open("/proc/sys/net/ipv4/ip_local_port_range") as limits:
            lowest = int(limits.read().split()[0])
        among = range(max(1024, lowest - 12_000), lowest)
    for port in random.sample(among, len(among)):
        with socket.socket(socket.AF_INET, kind) as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            if reserve_port(port):
                return port
    raise AssertionError("no port is free")


def tcpdump_count(capture, expression):
    """Frames of a capture that match, by tcpdump; None: it cannot read the capture (mixed link types)."""
    result = subprocess.run(["tcpdump", "-nn", "--count", "-r", capture, expression], capture_output=True, text=True,
                            timeout=60)
    found = re.search(r"^(\d+) packet", result.stdout, re.MULTILINE)
    return int(found.group(1)) if result.returncode == 0 and found else None


def tshark_records(path, *options):
    """Per IPFIX message: flow records, and whether its sequence number is wrong, by tshark."""
    fields = ["cflow.octets", "cflow.unexpected_sequence_number"]
    command = ["tshark", "-r", path, *options, "-Y", "cflow", "-T", "fields", "-E", "occurrence=a", "-E", "aggregator=,"]
    for field in fields:
        command += ["-e", field]
    result = subprocess.run(command, capture_output=True, text=True, timeout=120)
    if result.returncode != 0:
        raise AssertionError("tshark: " + result.stderr)
    messages = []
    for line in result.stdout.splitlines():
        octets, fault = (line.split("\t") + [""])[:2]
        messages.append((len(octets.split(",")) if octets else 0, bool(fault)))
    return messages


def main():
    if not os.access(TRIBUTARYD, os.X_OK):
        raise SystemExit("no program to test: " + TRIBUTARYD)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # at meson's timeout every `with` block cleans up
    run = unittest.main(exit=False, verbosity=2)
    if run.result.testsRun and len(run.result.skipped) == run.result.testsRun:
        print("SKIP: " + "; ".join(sorted({reason for _, reason in run.result.skipped})))
        raise SystemExit(77)
    raise SystemExit(0 if run.result.wasSuccessful() else 1)
