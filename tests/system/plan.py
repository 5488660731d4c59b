#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`tributary plan` on the test's machine: its block is valid in a configuration, and for a probe."""
import os
import re
import subprocess

import harness

CONFIG = """inputs:
  - {name: up, device: "net_pcap0,rx_pcap=%s"}
export:
  collectors: [{host: 127.0.0.1}]
""" % harness.DEMO


class Plan(harness.TestCase):
    def plan(self, *arguments, expect=harness.EX_OK):
        result = subprocess.run([harness.TRIBUTARY, "plan", *arguments], capture_output=True, text=True, timeout=60)
        self.assertEqual(result.returncode, expect, result.stderr)
        return result

    def block(self, *arguments):
        text = self.plan(*arguments).stdout
        return re.search(r"^cores:\n(  .*\n)+", text, re.MULTILINE).group(0)

    def test_the_block_is_taken_as_it_is(self):
        block = self.block("--config", self.path("probe.yaml", CONFIG))
        config = self.path("planned.yaml", CONFIG + block)
        self.tributaryd("--check-config", "--config", config)
        with harness.huge_pages(), harness.Process(harness.TRIBUTARYD, "--config", config, "--set",
                                                   "flows.max-flows=4096", "--set", 'telemetry.listen=""') as daemon:
            daemon.wait_for_log("ready: ")
            daemon.wait_for_received(harness.DEMO_FRAMES)
            cpus = {}
            for thread in os.listdir("/proc/%d/task" % daemon.popen.pid):
                with open("/proc/%d/task/%s/status" % (daemon.popen.pid, thread)) as status:
                    fields = dict(line.split(":\t", 1) for line in status.read().splitlines() if ":\t" in line)
                cpus[fields["Name"]] = fields["Cpus_allowed_list"]
            self.assertEqual(daemon.end(), harness.EX_OK, daemon.text())
        planned = re.match(r"cores:\n  export: (\d+)\n  input: \[(\d+)\]\n  helpers: \[(\d+)\]\n  numa: strict\n", block)
        self.assertEqual((cpus["export"], cpus["in-0"], cpus["tributaryd"]), planned.groups())

    def test_a_device_without_a_file(self):
        text = self.plan("-i", "af_packet:lo", "--set", "inputs.0.queues=3").stdout
        self.assertRegex(text, r"(?m)^node +CPUs +isolated +huge pages")
        self.assertEqual(len(re.findall(r"(?m)^af_packet:lo queue \d ", text)), 3)
        self.assertRegex(text, r"(?m)^  input: \[\d+, \d+, \d+\]$")

    def test_what_is_configured_now_is_not_in_the_way(self):
        config = self.path("probe.yaml", CONFIG + "cores: {export: 4000, input: [4001], helpers: 4002, numa: strict}\n")
        self.assertNotIn("400", self.block("--config", config))

    def test_devices_that_are_not_there_are_named_with_those_that_are(self):
        """Their node is unknown: a plan without it would be wrong."""
        config = self.path("probe.yaml", "inputs: [{name: up, device: af_packet:nosuch0}, {device: \"0000:ff:1f.7\"}, "
                           "{device: af_packet:lo}]\nexport: {collectors: [{host: 127.0.0.1}]}\n")
        result = self.plan("--config", config, expect=69)
        self.assertRegex(result.stderr, r"input up: this machine has no interface nosuch0 now; its interfaces: .*\blo\b.*; "
                                        r"input 0000:ff:1f\.7: this machine has no PCI device 0000:ff:1f\.7 now; its "
                                        r"network controllers: ")
        self.assertEqual(result.stdout, "")
        self.assertIn("no interface nosuch1 now", self.plan("-i", "af_xdp:nosuch1", expect=69).stderr)
        self.plan("-i", "net_tap0,iface=nosuch2")   # the driver makes it

    def test_a_bad_configuration_is_named(self):
        result = self.plan("--config", self.path("bad.yaml", CONFIG + "flow: {}\n"), expect=harness.EX_CONFIG)
        self.assertRegex(result.stderr, r"bad.yaml:5: .*flow")
        self.assertEqual(result.stdout, "")
        self.plan("--config", "a", "-i", "b", expect=harness.EX_USAGE)


if __name__ == "__main__":
    harness.main()
