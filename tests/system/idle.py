#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Threads that wait without packets: their CPU time from the kernel, and no lost packet."""
import glob
import os
import struct
import subprocess
import time

import harness
import live_veth

IDLE_SECONDS = 2


def cpu_seconds(daemon, thread):
    """CPU time of a thread of this name, from the kernel."""
    for folder in glob.glob("/proc/%d/task/*" % daemon.popen.pid):
        with open(folder + "/stat") as stat:
            name, numbers = stat.read().split("(", 1)[1].rsplit(")", 1)
        if name == thread:
            user, system = numbers.split()[11:13]
            return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")
    raise AssertionError("no thread " + thread)


def many_flows(count):
    """A capture of so many UDP packets, each of a flow of its own."""
    pcap = [struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1)]
    for number in range(count):
        ip = struct.pack("!BBHHHBBH4sI", 0x45, 0, 46, 0, 0, 64, 17, 0, bytes((10, 0, 0, 1)), 0x0B000000 | number)
        frame = b"\x02" * 12 + b"\x08\x00" + ip + struct.pack("!HHHH", 1000, 2000, 26, 0) + bytes(18)
        pcap.append(struct.pack("<IIII", 1_700_000_000, number, len(frame), len(frame)) + frame)
    return b"".join(pcap)


class Idle(live_veth.LiveCase):
    def probe_on(self, device, *settings):
        daemon = self.enter(harness.Process(
            harness.TRIBUTARYD, "-i", device, "-n", "127.0.0.1:4739", "--stats", self.path("stats.json"), *(
                part for setting in (
                    "flows.max-flows=65536", "inputs.0.name=up", "cores.numa=off",
                    "export.collectors=[{transport: file, path: %s}]" % self.path("flows.ipfix"), *settings)
                for part in ("--set", setting)), namespace=self.probe))
        daemon.wait_for_log("ready: ")
        return daemon

    def check_that_it_waits_and_wakes(self, daemon, sender, interface):
        before = cpu_seconds(daemon, "in-0")
        time.sleep(IDLE_SECONDS)
        self.assertLess(cpu_seconds(daemon, "in-0") - before, IDLE_SECONDS / 2)
        sent = live_veth.replay(sender, interface)
        daemon.wait_for_received(sent)
        self.assertEqual(daemon.end(), harness.EX_OK, daemon.text())
        ledger = harness.read_json(self.path("stats.json"))
        self.check_ledger(ledger)
        self.assertEqual(ledger["packets"]["received"], sent)
        self.assertEqual(ledger["packets"]["metered"], harness.DEMO_PACKETS * live_veth.LOOPS)

    def test_a_driver_without_interrupts_is_polled_between_sleeps(self):
        daemon = self.probe_on("af_packet:trib0", "inputs.0.poll=adaptive")
        # The speed is unknown: the 4096 descriptors are those of a NIC of 10 Gbit/s.
        self.assertIn("input up: idle threads sleep 137 us at a time", daemon.text())
        self.check_that_it_waits_and_wakes(daemon, self.sender, "trib1")

    def test_a_driver_with_interrupts_is_waited_for(self):
        daemon = self.probe_on("net_tap0,iface=trib2", "inputs.0.poll=adaptive")
        self.assertIn("input up: idle threads wait for the NIC's interrupt", daemon.text())
        self.check_that_it_waits_and_wakes(daemon, self.probe, "trib2")

    def test_a_thread_that_waits_ends_many_flows_without_a_wait(self):
        """No other packets are on the link: scans of the cache and timeouts do not wait for packets."""
        daemon = self.probe_on("net_tap0,iface=trib2", "inputs.0.poll=adaptive", "flows.idle-timeout=3")
        flows = 60_000
        frames = self.path("many.pcap", many_flows(flows))
        subprocess.run(["ip", "netns", "exec", self.probe, "tcpreplay", "-q", "-K", "--pps", "30000", "-i", "trib2", frames],
                       check=True, capture_output=True, timeout=120)
        daemon.wait_for_received(flows)
        begun = time.monotonic()
        text = subprocess.run([harness.TRIBUTARY, "flush", "--socket", daemon.control_socket], capture_output=True, text=True,
                              timeout=60).stdout
        self.assertRegex(text, r"^\d+ flows ended$")
        self.assertLess(time.monotonic() - begun, 5)
        daemon.wait_for(lambda: daemon.stats()["flows"]["exported"] == flows, 30, "all records")
        self.assertEqual(daemon.end(), harness.EX_OK, daemon.text())

    def test_a_thread_that_waits_takes_commands(self):
        daemon = self.probe_on("net_tap0,iface=trib2", "inputs.0.poll=adaptive")
        sent = live_veth.replay(self.probe, "trib2")
        daemon.wait_for_received(sent)
        begun = time.monotonic()
        flushed = subprocess.run([harness.TRIBUTARY, "flush", "--socket", daemon.control_socket], capture_output=True, text=True)
        self.assertEqual(flushed.stdout, "%d flows ended\n" % harness.DEMO_FLOWS)
        self.assertLess(time.monotonic() - begun, 5)
        self.assertEqual(daemon.end(), harness.EX_OK, daemon.text())


if __name__ == "__main__":
    harness.main()
