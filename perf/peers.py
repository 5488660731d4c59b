# SPDX-License-Identifier: Apache-2.0
"""Measures tributaryd and other flow exporters on the same captures, in turn.

    peers.py [--check] [--rounds N] [--flows N...] [--packets N] --work DIRECTORY [RESULTS]

Runs of all programs take turns, round after round. A run's figure is packets that the program was given per second of
CPU time, of all its processes, start-up and export included; what it lost of them is told beside it. Captures and
outputs go to the work directory; peers.json to RESULTS.
tributaryd is looked for in $TRIBUTARY_BUILD, by default `build` in the checkout; the others on PATH.
"""
import argparse
import ctypes
import json
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import time

from ipfix_count import Counter, UdpSink

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TRIBUTARYD = os.path.join(os.environ.get("TRIBUTARY_BUILD", os.path.join(ROOT, "build")), "daemon", "tributaryd")
PR_SET_CHILD_SUBREAPER = 36
LIVE_PACKETS = 32768  # of a capture that net_pcap keeps in buffers and repeats


class Run:
    """Cost and results of one run of a program; None: unknown."""

    def __init__(self, cpu, wall, resident):
        self.cpu, self.wall, self.resident = cpu, wall, resident
        self.packets = self.records = None  # packets in its records, and the records
        self.given = None  # packets given to it; None: the capture's

    def rate(self, capture):
        """Million given packets per CPU-second: it also worked on the packets that it lost."""
        return self.packets_given(capture) / self.cpu / 1e6

    def packets_given(self, capture):
        return capture.packets if self.given is None else self.given

    def lost(self, capture):
        """Packets in no received record."""
        return self.packets_given(capture) - self.packets


def run(command, directory, stop_after=None):
    """Runs a command to the end of its last process, and sums up the use of all of them.

    `stop_after` waits until it is time for SIGTERM, and returns CPU seconds that do not count.
    """
    start, log = time.monotonic(), os.path.join(directory, "log")
    with open(log, "wb") as out:
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=out, cwd=directory)
    cpu, resident, status = 0.0, 0, None
    if stop_after is not None:
        cpu -= stop_after(child, log)
        child.send_signal(signal.SIGTERM)
    while True:
        try:
            pid, ended, used = os.wait4(-1, 0)
        except ChildProcessError:
            break
        cpu += used.ru_utime + used.ru_stime
        resident = max(resident, used.ru_maxrss * 1024)
        if pid == child.pid:
            status = child.returncode = os.waitstatus_to_exitcode(ended)
    if status != 0:
        with open(log, errors="replace") as text:
            raise RuntimeError("%s ended with %d\n%s" % (" ".join(command), status, text.read()[-2000:]))
    return Run(cpu, time.monotonic() - start, resident)


def cpu_seconds(pid):
    """User and system time of a running process (proc(5), stat)."""
    with open("/proc/%d/stat" % pid) as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Capture:
    def __init__(self, path, packets, flows):
        import synthetic_capture  # numpy takes a while to load
        self.path, self.packets, self.flows = path, packets, flows
        self.distinct = synthetic_capture.write(path, packets, flows)

    def warm(self):
        with open(self.path, "rb") as file:
            while file.read(1 << 20):
                pass


class Tributary:
    name, program = "tributaryd --read", TRIBUTARYD

    def measure(self, capture, directory):
        stats = os.path.join(directory, "stats.json")
        result = run([TRIBUTARYD, "--read", capture.path, "--write", os.path.join(directory, "out.ipfix"), "--stats", stats],
                     directory)
        with open(stats) as file:
            ledger = json.load(file)
        result.records, result.packets = ledger["flows"]["exported"], ledger["packets"]["exported"]
        if (result.records, result.packets) != (capture.distinct, capture.packets):
            raise RuntimeError("tributaryd: %d records of %d packets, the capture has %d flows of %d packets" % (
                result.records, result.packets, capture.distinct, capture.packets))
        return result


class TributaryLive:
    """Through EAL, from DPDK's pcap driver, which repeats a capture as fast as it is taken. Start-up does not count."""
    name, program = "tributaryd on net_pcap", TRIBUTARYD

    def __init__(self, seconds):
        self.seconds = seconds

    @staticmethod
    def is_ready(log):
        with open(log, "rb") as file:
            return b"ready" in file.read()

    def measure(self, capture, directory):
        def ready(child, log):
            deadline = time.monotonic() + 60
            while not self.is_ready(log) and time.monotonic() < deadline:
                time.sleep(0.02)
            before = cpu_seconds(child.pid)
            time.sleep(self.seconds)
            return before
        stats, out = os.path.join(directory, "stats.json"), os.path.join(directory, "out.ipfix")
        result = run([TRIBUTARYD, "-i", "net_pcap0,rx_pcap=%s,infinite_rx=1" % capture.path, "-n", "127.0.0.1",
                      "--set", "inputs.0.mempool-size=%d" % (4 * LIVE_PACKETS),
                      "--set", "export.collectors.0={transport: file, path: %s}" % out, "--stats", stats], directory, ready)
        with open(stats) as file:
            ledger = json.load(file)
        packets, flows = ledger["packets"], ledger["flows"]
        if packets["received"] == 0 or packets["received"] != packets["exported"] or flows["created"] != flows["exported"]:
            raise RuntimeError("tributaryd on net_pcap: the ledger does not add up: %s" % ledger)
        result.records, result.packets, result.given = flows["exported"], packets["exported"], packets["received"]
        return result


class Nfpcapd:
    name, program = "nfpcapd", "nfpcapd"

    def measure(self, capture, directory):
        entries = max(524288, capture.flows * 6 // 5)
        result = run(["nfpcapd", "-r", capture.path, "-w", directory, "-B", str(entries), "-t", "3600"], directory)
        os.remove(os.path.join(directory, "log"))  # nfdump would take it for one of nfpcapd's files
        text = subprocess.run(["nfdump", "-I", "-R", directory], capture_output=True, text=True, check=True).stdout
        totals = dict(re.findall(r"^(\w[\w ]*): (\d+)$", text, re.MULTILINE))
        result.records, result.packets = int(totals["Flows"]), int(totals["Packets"])
        return result


class UdpExporter:
    """An exporter that sends IPFIX to a port of 127.0.0.1."""

    def measure(self, capture, directory):
        with UdpSink() as sink:
            result = run(self.command(capture, directory, sink.port), directory)
        counted = sink.count()
        result.records, result.packets = counted.records, counted.packets
        return result


class Softflowd(UdpExporter):
    name, program = "softflowd", "softflowd"

    def command(self, capture, directory, port):
        # -c none: with its control socket it waits there for ever at the end of a capture
        return ["softflowd", "-d", "-r", capture.path, "-n", "127.0.0.1:%d" % port, "-v", "10", "-m", "20000000", "-c", "none",
                "-p", os.path.join(directory, "pid")]


class Pmacctd(UdpExporter):
    name, program = "pmacctd", "pmacctd"

    def command(self, capture, directory, port):
        path = os.path.join(directory, "pmacctd.conf")
        with open(path, "w") as out:
            out.write("pcap_savefile: %s\nplugins: nfprobe\nnfprobe_receiver: 127.0.0.1:%d\nnfprobe_version: 10\n"
                      "nfprobe_maxflows: 20000000\nplugin_buffer_size: 1024000\nplugin_pipe_size: 1024000000\n"
                      "aggregate: src_host, dst_host, src_port, dst_port, proto, tos\n" % (capture.path, port))
        return ["pmacctd", "-f", path]


class Ipfixprobe(UdpExporter):
    name, program = "ipfixprobe", "ipfixprobe"

    def command(self, capture, directory, port):
        size = max(17, (capture.flows * 2).bit_length())
        return ["ipfixprobe", "-i", "pcap;file=" + capture.path, "-s", "cache;size=%d" % size,
                "-o", "ipfix;host=127.0.0.1;port=%d;udp" % port]


class Yaf:
    name, program = "yaf", "yaf"

    def measure(self, capture, directory):
        out = os.path.join(directory, "out.ipfix")
        result = run(["yaf", "--in", capture.path, "--out", out, "--no-stats"], directory)
        counter = Counter()
        with open(out, "rb") as file:
            counter.messages(file.read())
        result.records, result.packets = counter.records, counter.packets
        return result


def found(subjects):
    """The subjects with an installed program; prints the others."""
    there = []
    for subject in subjects:
        if shutil.which(subject.program) is None:
            print("skipped: %s is not installed" % subject.name, file=sys.stderr)
        else:
            there.append(subject)
    return there


def measure(subject, capture, work):
    directory = os.path.join(work, "run")
    shutil.rmtree(directory, ignore_errors=True)
    os.mkdir(directory)
    try:
        return subject.measure(capture, directory)
    finally:
        shutil.rmtree(directory)


def figures(subject, capture, runs, of_ours):
    """One line of the results. `of_ours` are tributaryd's rates in the same rounds."""
    rates = [result.rate(capture) for result in runs]
    ratios = [ours / rate for ours, rate in zip(of_ours, rates)] if of_ours else None
    worst = max(runs, key=lambda result: result.lost(capture))
    return {"program": subject.name, "flows": capture.flows, "packets": capture.packets, "distinct": capture.distinct,
            "mpps_per_cpu_second": statistics.median(rates), "least": min(rates), "most": max(rates),
            "tributaryd_is_faster": statistics.median(ratios) if ratios else None,
            "cpu_seconds": statistics.median(result.cpu for result in runs),
            "wall_seconds": statistics.median(result.wall for result in runs),
            "resident_bytes": max(result.resident for result in runs),
            "records": worst.records, "accounted": worst.packets, "lost": worst.lost(capture)}


def measure_capture(subjects, capture, arguments):
    capture.warm()
    runs = {subject: [] for subject in subjects}
    for _ in range(arguments.rounds):
        for subject in subjects:
            runs[subject].append(measure(subject, capture, arguments.work))
    ours = next((subject for subject in subjects if isinstance(subject, Tributary)), None)
    of_ours = [result.rate(capture) for result in runs[ours]] if ours else None
    return [figures(subject, capture, runs[subject], of_ours) for subject in subjects]


def arguments_of(command_line):
    parser = argparse.ArgumentParser(description="tributaryd and other exporters on the same captures, in turn")
    parser.add_argument("--check", action="store_true", help="small captures, nothing is written")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--flows", type=int, nargs="+", default=[128, 1_000_000])
    parser.add_argument("--packets", type=int, default=8_000_000)
    parser.add_argument("--live-seconds", type=float, default=10)
    parser.add_argument("--work", required=True, help="for captures and outputs; needs some 2 GB")
    parser.add_argument("results", nargs="?")
    arguments = parser.parse_args(command_line)
    if arguments.check:
        arguments.rounds, arguments.flows, arguments.packets, arguments.live_seconds = 1, [128, 5000], 50_000, 0.5
    return arguments


def main():
    arguments = arguments_of(sys.argv[1:])
    try:
        import numpy  # noqa: F401
    except ImportError:
        print("SKIP: python3-numpy is not installed")
        raise SystemExit(77)
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)  # pmacctd's processes outlive the first
    os.makedirs(arguments.work, exist_ok=True)
    offline = found([Tributary(), Nfpcapd(), Softflowd(), Pmacctd(), Yaf(), Ipfixprobe()])
    results = []
    for flows in arguments.flows:
        capture = Capture(os.path.join(arguments.work, "%d.pcap" % flows), arguments.packets, flows)
        results += measure_capture(offline, capture, arguments)
        os.remove(capture.path)
    for flows in (128, LIVE_PACKETS // 2):
        capture = Capture(os.path.join(arguments.work, "live.pcap"), LIVE_PACKETS, flows)
        results += measure_capture(found([TributaryLive(arguments.live_seconds)]), capture, arguments)
        os.remove(capture.path)
    text = json.dumps({"packets": arguments.packets, "rounds": arguments.rounds, "live_packets": LIVE_PACKETS,
                       "lines": results}, indent=2)
    if arguments.results:
        with open(os.path.join(arguments.results, "peers.json"), "w") as out:
            out.write(text + "\n")
    elif not arguments.check:
        print(text)


if __name__ == "__main__":
    main()
