# SPDX-License-Identifier: Apache-2.0
"""Measures idle input threads: their cost, their wake-up, and bursts out of silence.

    idle.py DIRECTORY     reads machine.txt there, writes idle.json and idle.md beside it

Each way of waiting is a run of tributaryd of its own, round after round. A packet's way from the sender's clock to the
probe's (flowStartNanoseconds) has the kernel's part in it, which is the same for all of a device: what waiting adds is
the difference to `busy`. tributaryd is looked for in $TRIBUTARY_BUILD, by default `build` in the checkout.
"""
import contextlib
import ctypes
import json
import os
import random
import signal
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import time

from report import table

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PROGRAMS = os.path.join(os.environ.get("TRIBUTARY_BUILD", os.path.join(ROOT, "build")), "daemon")
ROUNDS, WAKE_UPS, BURSTS, BURST_PACKETS = 3, 1000, 20, 4096
IDLE_SECONDS = 3
# Device, sending interface, and its namespace: the probe's or another.
DEVICES = {"af_packet": ("af_packet:trib0", "trib1", "sender"), "tap": ("net_tap0,iface=trib2", "trib2", "probe")}


@contextlib.contextmanager
def namespaces():
    """{which: name} of two namespaces joined by trib0 and trib1."""
    names = {which: "trib-idle-%s-%d" % (which, os.getpid()) for which in ("probe", "sender")}
    try:
        for name in names.values():
            subprocess.run(["ip", "netns", "add", name], check=True)
            subprocess.run(["ip", "netns", "exec", name, "sh", "-c", "echo 1 >/proc/sys/net/ipv6/conf/all/disable_ipv6"],
                           check=True)
        subprocess.run(["ip", "link", "add", "trib0", "netns", names["probe"], "type", "veth", "peer", "name", "trib1",
                        "netns", names["sender"]], check=True)
        for which, interface in (("probe", "trib0"), ("sender", "trib1")):
            subprocess.run(["ip", "-n", names[which], "link", "set", interface, "up"], check=True)
        yield names
    finally:
        for name in names.values():
            subprocess.run(["ip", "netns", "del", name], stderr=subprocess.DEVNULL)


def frame(number, burst):
    """60 octets of IPv4/UDP; each packet is a flow of its own, with its number as ports."""
    ip = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 46, 0, 0, 64, 17, 0, bytes((10, burst, number >> 16 & 255, 1)),
                     bytes((192, 0, 2, 1)))
    udp = struct.pack("!HHHH", number & 0xFFFF, 20000, 26, 0)
    return b"\x02" * 12 + b"\x08\x00" + ip + udp + bytes(18)


def enter(descriptor):
    """Moves this thread into a network namespace (setns(2))."""
    clone_newnet = 0x40000000
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.setns(descriptor, clone_newnet) != 0:
        raise OSError(ctypes.get_errno(), "setns")


class Sender:
    """A packet socket in a namespace."""

    def __init__(self, namespace, interface):
        own = os.open("/proc/self/ns/net", os.O_RDONLY)
        try:
            with open("/run/netns/" + namespace) as other:
                enter(other.fileno())
            self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
            self.socket.bind((interface, 0))
        finally:
            enter(own)
            os.close(own)

    def wake_up(self, count):
        """Sends so many packets, each after a silence. Returns nanoseconds since 1970 by packet."""
        times = []
        for number in range(count):
            time.sleep(random.uniform(0.002, 0.008))
            packet = frame(number, 0)
            times.append(time.time_ns())
            self.socket.send(packet)
        return times

    def burst(self, number):
        """Sends packets as fast as one socket takes them. Returns the seconds."""
        packets = [frame(each, number) for each in range(BURST_PACKETS)]
        time.sleep(0.1)
        begun = time.monotonic()
        for packet in packets:
            self.socket.send(packet)
        return time.monotonic() - begun


class Probe:
    """A tributaryd from a device into a file, with its input thread on the last CPU."""

    def __init__(self, work, namespace, device, poll):
        self.flows, self.stats, self.log = (os.path.join(work, name) for name in ("flows.ipfix", "stats.json", "log"))
        settings = ("inputs.0.poll=" + poll, "flows.max-flows=1048576", "cores.numa=off", 'telemetry.listen=""',
                    "cores.input=[%d]" % (os.cpu_count() - 1), "export.timestamps=nanoseconds",
                    "export.collectors=[{transport: file, path: %s}]" % self.flows)
        with open(self.log, "w") as log:
            self.process = subprocess.Popen(
                ["ip", "netns", "exec", namespace, os.path.join(PROGRAMS, "tributaryd"), "-i", device, "-n", "127.0.0.1:4739", "--stats",
                 self.stats, *(part for setting in settings for part in ("--set", setting))],
                stdout=log, stderr=log, env={**os.environ, "RUNTIME_DIRECTORY": work})
        while "ready: " not in self.text():
            if self.process.poll() is not None:
                raise RuntimeError(self.text())
            time.sleep(0.05)

    def text(self):
        with open(self.log) as log:
            return log.read()

    def way(self):
        """The log's text about the idle wait."""
        return self.text().split("idle threads ")[1].split("\n")[0]

    def cpu_seconds(self):
        """Of the input thread."""
        for task in os.listdir("/proc/%d/task" % self.process.pid):
            with open("/proc/%d/task/%s/stat" % (self.process.pid, task)) as stat:
                name, numbers = stat.read().split("(", 1)[1].rsplit(")", 1)
            if name == "in-0":
                return sum(map(int, numbers.split()[11:13])) / os.sysconf("SC_CLK_TCK")
        raise RuntimeError("no input thread")

    def end(self):
        """The ledger, and {(burst, number): nanoseconds since 1970} of the packets."""
        self.process.send_signal(signal.SIGTERM)
        if self.process.wait() != 0:
            raise RuntimeError(self.text())
        listed = subprocess.run([os.path.join(PROGRAMS, "tributary"), "flows", "--json", self.flows], capture_output=True,
                                text=True, check=True).stdout
        seen = {}
        for line in listed.splitlines():
            flow = json.loads(line)
            if flow["@type"] != "data":
                continue
            burst, high = map(int, flow["sourceIPv4Address"].split(".")[1:3])
            seen[burst, high << 16 | flow["sourceTransportPort"]] = flow["flowStartNanoseconds"]
        with open(self.stats) as ledger:
            return json.load(ledger), seen


def measure(names, device, poll):
    """One run with one device and one poll mode."""
    argument, interface, where = DEVICES[device]
    with tempfile.TemporaryDirectory(dir="/dev/shm") as work:
        probe = Probe(work, names["probe"], argument, poll)
        try:
            sender = Sender(names[where], interface)
            before = probe.cpu_seconds()
            time.sleep(IDLE_SECONDS)
            share = (probe.cpu_seconds() - before) / IDLE_SECONDS
            sent = sender.wake_up(WAKE_UPS)
            took = sum(sender.burst(number + 1) for number in range(BURSTS))
            time.sleep(0.5)
            way = probe.way()
            ledger, seen = probe.end()
        finally:
            probe.process.kill()
    given = WAKE_UPS + BURSTS * BURST_PACKETS
    if ledger["packets"]["metered"] != len(seen) or any((0, number) not in seen for number in range(WAKE_UPS)):
        raise RuntimeError("%s, %s: records and ledger do not agree, or a single packet was lost: %s; %d records"
                           % (device, poll, ledger["packets"], len(seen)))
    return {"device": device, "poll": poll, "way": way, "cpu": share,
            "latency": [seen[0, number] - sent[number] for number in range(WAKE_UPS)],
            "burst_rate": BURSTS * BURST_PACKETS / took, "lost": given - ledger["packets"]["metered"]}


HEAD = """# Idle input threads

%s

Made by `perf/idle`: %d runs of each way in turn, each of %d packets out of silence and %d bursts of %d packets. *CPU* is of
the input thread while nothing comes. *Delay* is from before the sender's system call until the probe's clock when it takes
the packet, for a packet 2 to 8 ms after the one before; the kernel's part in it is the same for both rows of a device.
*Lost* are packets of the bursts, which came as fast as one socket takes them. No NIC's interrupt has been measured.

"""


def main(directory):
    runs = []
    with namespaces() as names:
        for number in range(ROUNDS):
            for device in DEVICES:
                for poll in ("busy", "adaptive"):
                    print("round %d: %s, %s" % (number + 1, device, poll), flush=True)
                    runs.append(measure(names, device, poll))
    rows = []
    for device in DEVICES:
        for poll in ("busy", "adaptive"):
            own = [run for run in runs if (run["device"], run["poll"]) == (device, poll)]
            delays = sorted(delay / 1000 for run in own for delay in run["latency"])
            rows.append([device, poll, own[0]["way"], "%.1f %%" % (100 * statistics.median(run["cpu"] for run in own)),
                         "%.0f us" % statistics.median(delays), "%.0f us" % delays[len(delays) * 99 // 100],
                         "%.2f M/s" % (statistics.median(run["burst_rate"] for run in own) / 1e6),
                         "%d of %d" % (sum(run["lost"] for run in own), len(own) * BURSTS * BURST_PACKETS)])
    with open(os.path.join(directory, "idle.json"), "w") as figures:
        json.dump([{key: value for key, value in run.items() if key != "latency"} for run in runs], figures, indent=1)
    with open(os.path.join(directory, "machine.txt")) as machine, open(os.path.join(directory, "idle.md"), "w") as page:
        page.write(HEAD % (machine.read().strip(), ROUNDS, WAKE_UPS, BURSTS, BURST_PACKETS))
        page.write(table(["device", "poll", "idle threads", "CPU", "delay: median", "99 %", "bursts", "lost"], rows))


main(sys.argv[1])
