#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The steps of a new user with the built package: install it, plan, paste the block, start the service as its unit
does (the test is the service manager), look at it, let Prometheus watch it, lose a collector and have it back."""
import os
import re
import signal
import socket

import alerts
import harness
import package

CONFIG = """inputs:
  - {name: up, device: "net_pcap0,rx_pcap=/demo.pcap", queues: 1}
flows: {max-flows: 65536, idle-timeout: 300, active-timeout: 300}
telemetry: {listen: "127.0.0.1:%d"}
export:
  collectors:
    - {host: 127.0.0.1, port: %d, transport: tcp, spool: {directory: /var/lib/tributary/spool}}
"""
CONFIG_PATH = "/etc/tributary/tributary.yaml"


class NewUser(package.InstalledCase, alerts.PrometheusCase):
    def setUp(self):
        super().setUp()
        for directory in ("proc", "sys"):
            package.run(*self.enter_namespace(), "mount", "--rbind", "/" + directory, self.path("root/" + directory),
                        check=True)
        with open(harness.DEMO, "rb") as capture:
            self.write("/demo.pcap", capture.read())
        # An abstract name, without a file: valid also in the copy of this system.
        self.manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.addCleanup(self.manager.close)
        self.manager.bind("\0tributary-manager-%d" % os.getpid())
        self.manager.settimeout(60)

    def write(self, path, octets):
        self.inside("sh", "-c", "cat >" + path, input=octets, text=False)

    def line_of_unit(self, name):
        unit = self.inside("cat", "/usr/lib/systemd/system/tributary.service").stdout
        return re.search("(?m)^%s=(.*)$" % name, unit).group(1).split()

    def start_service(self):
        """ExecStart with systemd's environment; returns when it reports ready."""
        self.inside("mkdir", "-p", "/run/tributary", "/var/lib/tributary")
        self.inside(*self.line_of_unit("ExecStartPre"))
        service = self.enter(harness.Process(
            *self.enter_copy(), "env", "RUNTIME_DIRECTORY=/run/tributary",
            "NOTIFY_SOCKET=@tributary-manager-%d" % os.getpid(), *self.line_of_unit("ExecStart")))
        try:
            while b"READY=1" not in self.manager.recv(4096).splitlines():
                pass
        except TimeoutError:
            self.fail(service.text())
        return service

    def test_from_the_package_to_an_alert_and_back(self):
        collector = self.start_collector("first")
        self.write(CONFIG_PATH, (CONFIG % (self.port, self.collector_port)).encode())
        plan = self.inside("tributary", "plan").stdout
        block = re.search(r"(?m)^cores:\n(?:  .*\n)+", plan).group()
        self.write(CONFIG_PATH, (CONFIG % (self.port, self.collector_port) + block).encode())
        self.inside("tributary", "check")

        service = self.start_service()
        placed = re.search(r"input: \[(\d+)\]", block).group(1)
        pinned = self.inside("sh", "-c", "grep -l in-0 /proc/%d/task/*/comm" % service.popen.pid).stdout.strip()
        self.assertIn("Cpus_allowed_list:\t%s\n" % placed, self.inside("cat", pinned.replace("comm", "status")).stdout)
        screen = self.inside("tributary", "top", "--interval", "1", "--count", "1", "--flows", "5").stdout
        self.assertRegex(screen, r"(?m)^up/0 +0 +0 +%d " % harness.DEMO_FLOWS)
        self.assertRegex(screen, r"(?m)^%s +up " % re.escape(self.name))
        self.assertIn("FLOWS  %d run; most bit/s over the last " % harness.DEMO_FLOWS, screen)

        self.start_prometheus()
        self.check_that_the_alert_follows(collector)
        self.inside(*self.line_of_unit("ExecReload"))
        self.assertEqual(service.end(signal.SIGTERM), harness.EX_OK, service.text())
        self.assertRegex(service.text(), r"flows: %d created, %d exported, 0 lost, 0 active"
                         % (harness.DEMO_FLOWS, harness.DEMO_FLOWS))
        self.inside("test", "-e", "/run/tributary/control.sock", expect=1)


if __name__ == "__main__":
    harness.main()
