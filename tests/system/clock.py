#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The host's clock is set back and corrected, for the probe alone: by a library loaded before its C library."""
import struct
import subprocess
import time

import harness
import idle
import live_veth

HOUR = 3600
SHIM = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
static volatile long long *offset;
__attribute__((constructor)) static void map_offset(void) {
    int file = open(getenv("CLOCK_OFFSET_FILE"), O_RDONLY | O_CLOEXEC);
    void *page = mmap(0, 4096, PROT_READ, MAP_SHARED, file, 0);
    offset = page == MAP_FAILED ? 0 : page;
    close(file);
}
int clock_gettime(clockid_t clock, struct timespec *time) {
    int result = syscall(SYS_clock_gettime, clock, time);
    if (result == 0 && clock == CLOCK_REALTIME && offset != 0) time->tv_sec += *offset;
    return result;
}
"""


class Clock(live_veth.LiveCase):
    def setUp(self):
        super().setUp()
        harness.need("cc")
        if harness.SANITIZED:
            self.skipTest("a sanitizer's library wants to be the first")
        subprocess.run(["cc", "-shared", "-fPIC", "-o", self.path("shim.so"), self.path("shim.c", SHIM)], check=True)
        self.path("offset", bytes(4096))
        self.path("packet.pcap", idle.many_flows(1))
        self.packets = 0

    def set_clock(self, seconds):
        with open(self.path("offset"), "r+b") as offset:
            offset.write(struct.pack("<q", seconds))

    def start(self, *command):
        daemon = self.enter(harness.Process(
            "env", "LD_PRELOAD=" + self.path("shim.so"), "CLOCK_OFFSET_FILE=" + self.path("offset"), *command,
            "--stats", self.path("stats.json"), namespace=self.probe))
        daemon.wait_for_log("ready: ")
        return daemon

    def start_probe(self):
        return self.start(
            harness.TRIBUTARYD, "--config", self.path("probe.yaml", """
                inputs: [{name: up, device: "af_packet:trib0", poll: adaptive}]
                flows: {max-flows: 4096, idle-timeout: 600, active-timeout: 86400}
                export: {flush-interval: 0.05, collectors: [{transport: file, path: %s}]}
                telemetry: {listen: ""}
                """ % self.path("out.ipfix")))

    def send(self, daemon):
        """One packet, always of the same flow. @return its true time in ms"""
        subprocess.run(["ip", "netns", "exec", self.sender, "tcpreplay", "-q", "-i", "trib1", self.path("packet.pcap")],
                       check=True, capture_output=True, timeout=60)
        self.packets += 1
        daemon.wait_for_received(self.packets)
        return time.time() * 1000

    def test_an_hour_back_and_forth_leaves_no_record_in_the_future(self):
        daemon = self.start_probe()
        at = [self.send(daemon)]
        self.set_clock(-HOUR)
        daemon.wait_for_log(r"clock was set back by more than 10 s, and 3\d\d\d\.\d+ s of that are not made good")
        at.append(self.send(daemon) - HOUR * 1000)
        clock = daemon.stats()["queues"][0]["clock"]
        self.assertEqual(clock["times_set_back"], 1)
        self.assertAlmostEqual(clock["lead_seconds"], HOUR, delta=1)
        self.set_clock(0)
        daemon.wait_for_log("is right again")
        at.append(self.send(daemon))
        self.assertEqual(daemon.end(), harness.EX_OK, daemon.text())
        ledger = harness.read_json(self.path("stats.json"))
        self.check_ledger(ledger)
        self.assertEqual((ledger["packets"]["metered"], ledger["packets"]["bad_timestamp"]), (3, 1))
        self.assertEqual(ledger["queues"][0]["clock"], {"lead_seconds": 0, "times_set_back": 1})
        records = self.flows(self.path("out.ipfix"))
        # The first ended when the clock went back, the second by its idle timeout when it went forth, the third at the
        # end.
        self.assertEqual([(each["packetDeltaCount"], each["flowEndReason"]) for each in records], [(1, 4), (1, 1), (1, 4)])
        for record, true_time in zip(records, at):
            self.assertAlmostEqual(record["flowStartMilliseconds"], true_time, delta=3000)
            self.assertEqual(record["flowEndMilliseconds"], record["flowStartMilliseconds"])

    def test_preparse_tells_of_it_too(self):
        daemon = self.start(harness.TRIBUTARY, "preparse", "--from", "af_packet:trib0", "--write", self.path("uh.pcap"))
        self.send(daemon)
        self.set_clock(-HOUR)
        daemon.wait_for_log(r"clock was set back by more than 10 s, and 3\d\d\d\.\d+ s of that are not made good")
        self.send(daemon)
        self.set_clock(0)
        daemon.wait_for_log("is right again")
        self.assertEqual(daemon.end(), harness.EX_OK, daemon.text())
        ledger = harness.read_json(self.path("stats.json"))
        self.assertEqual((ledger["packets"]["sent"], ledger["packets"]["bad_timestamp"]), (2, 1))
        self.assertEqual(ledger["streams"][0]["clock"], {"lead_seconds": 0, "times_set_back": 1})

    def test_a_second_back_lets_time_go_on(self):
        daemon = self.start_probe()
        first = self.send(daemon)
        self.set_clock(-1)
        second = self.send(daemon)
        self.assertAlmostEqual(daemon.stats()["queues"][0]["clock"]["lead_seconds"], 1, delta=0.1)
        self.set_clock(0)
        third = self.send(daemon)
        self.assertEqual(daemon.end(), harness.EX_OK, daemon.text())
        self.assertEqual(harness.read_json(self.path("stats.json"))["packets"]["bad_timestamp"], 0)
        self.assertNotIn("clock", daemon.text())
        (record,) = self.flows(self.path("out.ipfix"))
        self.assertEqual(record["packetDeltaCount"], 3)
        self.assertAlmostEqual(record["flowStartMilliseconds"], first, delta=1000)
        self.assertAlmostEqual(record["flowEndMilliseconds"], third, delta=1000)
        self.assertLess(first, second)


if __name__ == "__main__":
    harness.main()
