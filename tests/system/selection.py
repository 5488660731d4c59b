#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The selection of metered frames: filters, judged by tcpdump, and sampling."""
import ctypes
import math
import os
import subprocess

import harness

PCAPS = os.path.join(harness.SHARED, "pcaps")


COMPILED = "compiled to machine code"
INTERPRETED = "interpreted: this process may not make memory executable, as under MemoryDenyWriteExecute= of the unit"
PR_SET_MDWE, PR_MDWE_REFUSE_EXEC_GAIN = 65, 1  # <linux/prctl.h>, since Linux 6.3


class Prohibition:
    """Tests and the programs that they start may not make memory executable: what a unit with MemoryDenyWriteExecute=
    forbids. A process cannot take that back, so each such program begins as a process that forbids it to itself."""
    PREFIX = ["/usr/bin/python3", "-c", "import ctypes, os, sys; ctypes.CDLL(None).prctl(%d, %d, 0, 0, 0); "
              "os.execv(sys.argv[1], sys.argv[1:])" % (PR_SET_MDWE, PR_MDWE_REFUSE_EXEC_GAIN)]

    @staticmethod
    def need(test):
        """Asks the kernel, in a child."""
        child = os.fork()
        if child == 0:
            os._exit(ctypes.CDLL(None).prctl(PR_SET_MDWE, PR_MDWE_REFUSE_EXEC_GAIN, 0, 0, 0) != 0)
        if os.waitpid(child, 0)[1] != 0:
            test.skipTest("this kernel has no PR_SET_MDWE")


class MachineCode(harness.TestCase):
    def read(self, prefix, expression):
        """The ledger's packets, and the log."""
        stats = self.path("stats.json")
        result = subprocess.run([*prefix, harness.TRIBUTARYD, "--read", harness.DEMO, "--write", self.path("out"),
                                 "--stats", stats, "--set", "read.filter=" + expression],
                                capture_output=True, text=True, timeout=60)
        self.assertEqual(result.returncode, harness.EX_OK, result.stderr)
        return harness.read_json(stats)["packets"], result.stderr

    def test_where_memory_cannot_be_made_executable_filters_are_interpreted_alike(self):
        Prohibition.need(self)
        for expression in ("tcp[tcpflags] & tcp-syn != 0", "udp port 53", "greater 200"):
            with self.subTest(expression):
                compiled, log = self.read([], expression)
                self.assertIn("info: the filter is %s\n" % COMPILED, log)
                interpreted, log = self.read(Prohibition.PREFIX, expression)
                self.assertIn("info: the filter is %s\n" % INTERPRETED, log)
                self.assertEqual(compiled, interpreted)
                self.assertTrue(0 < compiled["filtered"] < compiled["received"])

    def test_a_filter_with_a_loop_is_interpreted(self):
        _, log = self.read([], "ip6 protochain 6")
        self.assertIn("info: the filter is interpreted: it has a loop\n", log)

    def live(self, prefix):
        """The log of a probe with two filters."""
        config = self.path("two.yaml", "inputs:\n  - {name: in0, device: net_null0, filter: tcp}\n"
                                       "  - {name: in1, device: net_null1, filter: udp}\n"
                                       "flows: {max-flows: 4096}\n"
                                       "export: {collectors: [{transport: file, path: %s}]}\n" % self.path("live.ipfix"))
        with harness.huge_pages(), harness.Process(*prefix, harness.TRIBUTARYD, "--config", config) as daemon:
            daemon.wait_for_log("ready")
            self.assertEqual(daemon.end(), harness.EX_OK, daemon.text())
            return daemon.text()

    def test_a_probe_says_how_each_filter_is_run_and_the_prohibition_once(self):
        Prohibition.need(self)
        log = self.live([])
        for name in ("in0", "in1"):
            self.assertIn("info: input %s: its filter is %s\n" % (name, COMPILED), log)
        log = self.live(Prohibition.PREFIX)
        self.assertEqual(log.count("filters are %s; docs/filters.md tells how to allow it\n" % INTERPRETED), 1, log)
        self.assertNotIn("its filter is", log)

    def test_the_check_says_it_too(self):
        result = self.tributaryd("--check-config", "-i", "net_null0", "-n", "127.0.0.1", "--set", "inputs.0.filter=tcp")
        self.assertIn("filter tcp (%s)" % COMPILED, result.stdout)


class Filter(harness.TestCase):
    def matching(self, capture, expression, queues=1):
        _, ledger, _ = self.meter("--read", capture, "--set", "read.filter=" + expression,
                                  "--set", "read.queues=%d" % queues)
        packets = ledger["packets"]
        return packets["received"] - packets["filtered"], packets

    def test_the_bundled_capture(self):
        harness.need("tcpdump")
        for expression in ("udp port 53", "not tcp", "tcp[tcpflags] & tcp-syn != 0", "arp", "ip6", "vlan 100 and tcp",
                           "greater 1000", "host 192.0.2.1 or net 10.0.0.0/8"):
            for queues in (1, 3):
                with self.subTest(expression, queues=queues):
                    matching, packets = self.matching(harness.DEMO, expression, queues)
                    self.assertEqual(packets["received"], harness.DEMO_FRAMES)
                    self.assertEqual(matching, harness.tcpdump_count(harness.DEMO, expression))
                    self.assertEqual(packets["metered"] + packets["ignored"], matching)

    def test_link_types_of_other_captures(self):
        harness.need("tcpdump")
        if not os.path.isdir(PCAPS):
            self.skipTest("no captures in " + harness.SHARED)
        for capture in ("ndpi--ocs.pcap", "suricata-verify--smb-length-5786.pcap", "tcptrace--dlt_null.pcap",
                        "ndpi--rtsp.pcapng", "zeek--linux_dlt_sll2.pcap", "zeek--zerortt.pcap", "zeek--pppoe.pcap"):
            path = os.path.join(PCAPS, capture)
            for expression in ("tcp", "udp or icmp", "ip6", "src port 53"):
                with self.subTest(capture, expression=expression):
                    count = harness.tcpdump_count(path, expression)
                    # tcpdump refuses expressions that cannot match a frame of this link type
                    self.assertEqual(self.matching(path, expression)[0], 0 if count is None else count)

    def test_the_same_records_for_any_number_of_queues(self):
        runs = []
        for queues in (1, 3):
            out, _, _ = self.meter("--read", harness.DEMO, "--set", "read.filter=tcp", "--set", "read.queues=%d" % queues)
            runs.append(sorted(str([item for item in record.items() if item[0][0] != "@"]) for record in self.flows(out)))
        self.assertEqual(runs[0], runs[1])
        self.assertGreater(len(runs[0]), 1)

    def test_an_expression_that_is_none_is_a_configuration_error(self):
        path = self.path("bad.yaml", "inputs:\n  - device: net_null0\n    filter: udp prt 53\n"
                                     "export: {collectors: [{host: 192.0.2.1}]}\n")
        result = self.tributaryd("--check-config", "--config", path, expect=harness.EX_CONFIG)
        self.assertIn("bad.yaml:3: inputs.0.filter is udp prt 53; must be a filter expression in pcap syntax (",
                      result.stderr)
        result = self.tributaryd("--read", harness.DEMO, "--write", self.path("out"), "--set", "read.filter=ip and ip6",
                                 expect=harness.EX_CONFIG)
        self.assertIn("--set read.filter=ip and ip6: read.filter is ip and ip6; must be", result.stderr)


class Sampling(harness.TestCase):
    def sample(self, n, method, queues=1, *options):
        _, ledger, _ = self.meter("--read", harness.DEMO, "--set", "read.sampling=%d" % n,
                                  "--set", "read.sampling-method=" + method, "--set", "read.queues=%d" % queues, *options)
        packets = ledger["packets"]
        not_sampled = packets["ignored_by_reason"]["not_sampled"]
        return packets["received"] - packets["filtered"] - not_sampled, ledger

    def test_count_based_each_nth_frame_of_a_queue(self):
        for n in (1, 2, 10, 951, 952):
            with self.subTest(n=n):
                taken, ledger = self.sample(n, "count")
                self.assertEqual(taken, math.ceil(harness.DEMO_FRAMES / n))
                self.assertEqual(ledger["packets"]["received"], harness.DEMO_FRAMES)
        for queue in self.sample(10, "count", 3)[1]["queues"]:
            packets = queue["packets"]
            self.assertEqual(packets["received"] - packets["ignored_by_reason"]["not_sampled"],
                             math.ceil(packets["received"] / 10))

    def test_of_those_only_that_pass_the_filter(self):
        harness.need("tcpdump")
        taken, _ = self.sample(7, "count", 1, "--set", "read.filter=tcp")
        self.assertEqual(taken, math.ceil(harness.tcpdump_count(harness.DEMO, "tcp") / 7))

    def test_records_hold_what_was_sampled_unscaled(self):
        taken, ledger = self.sample(3, "count")
        packets = ledger["packets"]
        arp = packets["ignored_by_reason"]["arp"]
        self.assertEqual(packets["metered"] + arp, taken)
        self.assertEqual(packets["exported"], packets["metered"])

    def test_random_takes_about_its_share(self):
        # Of 951 frames 1 in 2: by chance less often than once in 10^20 outside these bounds.
        self.assertTrue(325 < self.sample(2, "random")[0] < 626)
        self.assertEqual(self.sample(1, "random")[0], harness.DEMO_FRAMES)
        self.assertEqual(self.sample(4294967295, "random")[0], 0)


class Live(harness.TestCase):
    """A capture gives the same flows offline and through DPDK's pcap driver, without root."""

    def live(self, *options):
        arguments = ["-i", "net_pcap0,rx_pcap=" + harness.DEMO, "-n", "127.0.0.1", "--set", "flows.max-flows=4096",
                     "--set", "export.collectors.0={transport: file, path: %s}" % self.path("live.ipfix")]
        for option in options:
            arguments += ["--set", "inputs.0." + option]
        stats = self.path("live.json")
        with harness.huge_pages(), harness.Process(harness.TRIBUTARYD, *arguments, "--stats", stats) as daemon:
            daemon.wait_for_log("ready")
            daemon.wait_for_received(harness.DEMO_FRAMES)
            self.assertEqual(daemon.end(), harness.EX_OK, daemon.text())
        ledger = harness.read_json(stats)
        self.check_ledger(ledger)
        return ledger

    def offline(self, *options):
        arguments = []
        for option in options:
            arguments += ["--set", "read." + option]
        return self.meter("--read", harness.DEMO, *arguments)[1]

    def check_same(self, live, offline):
        for name in ("received", "metered", "ignored", "filtered", "cut_headers"):
            self.assertEqual(live["packets"][name], offline["packets"][name], name)
        reasons = [{reason: count for reason, count in ledger["packets"]["ignored_by_reason"].items() if count}
                   for ledger in (live, offline)]
        self.assertEqual(*reasons)
        self.assertEqual(live["octets"]["metered"], offline["octets"]["metered"])

    def test_filter_and_sampling(self):
        options = ["filter=tcp or udp", "sampling=5", "sampling-method=count"]
        live = self.live(*options)
        self.check_same(live, self.offline(*options))
        self.assertGreater(live["packets"]["filtered"], 0)
        self.assertGreater(live["packets"]["ignored_by_reason"]["not_sampled"], 0)

    def test_whole_packets_of_which_the_first_octets_are_looked_at(self):
        options = ["parse=trimmed", "trim-length=64"]
        live = self.live(*options, "trimmed-by=source")
        self.check_same(live, self.offline(*options))
        self.assertEqual(live["packets"]["metered"], harness.DEMO_PACKETS)
        self.assertEqual(live["octets"]["metered"], harness.DEMO_OCTETS)

    def test_a_driver_that_cannot_cut_is_refused_with_those_that_can(self):
        result = self.tributaryd("-i", "net_pcap0,rx_pcap=" + harness.DEMO, "-n", "127.0.0.1", "--set",
                                 "inputs.0.parse=trimmed", "--set", "flows.max-flows=4096", expect=harness.EX_CONFIG)
        self.assertIn("trimmed-by is driver, but driver net_pcap does not offer buffer split; of DPDK 22.11's drivers "
                      "only mlx5 (mlx5_pci) can cut packets at a length. trimmed-by: source takes", result.stderr)


if __name__ == "__main__":
    harness.main()
