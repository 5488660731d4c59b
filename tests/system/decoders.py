#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Collectors that others wrote read the same totals as the ledger has: nfacctd of pmacct, and goflow2. nfcapd is in
live_veth.py, tshark and ipfixDump are in offline.py."""
import csv
import json
import os
import re
import shutil
import signal
import subprocess

import harness

GOFLOW2 = "github.com/netsampler/goflow2/v2/cmd/goflow2@v2.2.1"


class Decoders(harness.DemoProbeCase):
    def check_totals(self, packets, octets, flows, ledger):
        self.assertEqual((packets, octets, flows), (ledger["packets"]["metered"], ledger["octets"]["metered"],
                                                    ledger["flows"]["exported"]))
        self.assertEqual((packets, octets, flows), (harness.DEMO_PACKETS, harness.DEMO_OCTETS, harness.DEMO_FLOWS))

    def run_to(self, collector, port):
        """A run whose datagrams the collector has all read."""
        collector.wait_for(lambda: collector.udp_backlog(port) is not None, 30, "a socket")
        ledger, _ = self.run_live("-n", "127.0.0.1:%d" % port)
        collector.wait_for(lambda: collector.udp_backlog(port) == 0, 30, "the collector to read")
        return ledger

    def test_nfacctd(self):
        harness.need("nfacctd")
        port, table = harness.free_port(), self.path("flows.csv")
        config = self.path("nfacctd.conf", "\n".join([
            "daemonize: false", "nfacctd_ip: 127.0.0.1", "nfacctd_port: %d" % port, "plugins: print[all]",
            "aggregate[all]: src_host, dst_host, src_port, dst_port, proto, in_iface, timestamp_start",
            "print_output[all]: csv", "print_output_file[all]: " + table, "print_output_file_append[all]: true",
            "print_refresh_time[all]: 300", "nfacctd_time_new: true", ""]))
        with harness.Process(shutil.which("nfacctd"), "-f", config) as collector:
            ledger = self.run_to(collector, port)
            collector.end(signal.SIGINT)
            harness.wait_until(lambda: "Purging cache - END" in collector.text(), 30, "nfacctd's table")
            log = collector.text()
        self.assertNotRegex(log, r"(?i)discarded|unknown template|malformed")
        with open(table, newline="") as source:
            rows = [row for row in csv.DictReader(source) if row["PACKETS"].isdigit()]
        self.check_totals(sum(int(row["PACKETS"]) for row in rows), sum(int(row["BYTES"]) for row in rows), len(rows),
                          ledger)

    def test_goflow2(self):
        if shutil.which("go") is None:
            self.skipTest("Go is missing, so goflow2 cannot be built")
        environment = dict(os.environ, GOBIN=self.path("bin"), GOFLAGS="-mod=mod")
        built = subprocess.run(["go", "install", GOFLOW2], capture_output=True, text=True, timeout=400, env=environment)
        if built.returncode != 0:
            self.skipTest("goflow2 cannot be built: " + built.stderr[-300:])
        port, table = harness.free_port(), self.path("flows.json")
        with harness.Process(self.path("bin/goflow2"), "-listen", "netflow://127.0.0.1:%d?count=1&workers=1" % port,
                             "-addr", "", "-format", "json", "-transport", "file", "-transport.file",
                             table) as collector:
            ledger = self.run_to(collector, port)

            def records():
                with open(table) as source:
                    return [json.loads(line) for line in source if line.endswith("\n")]
            collector.wait_for(lambda: len(records()) >= ledger["flows"]["exported"], 30, "goflow2's records")
            rows = records()
            log = collector.text()
        self.assertIsNone(re.search(r"(?i)level=error|panic", log), log)
        self.check_totals(sum(row["packets"] for row in rows), sum(row["bytes"] for row in rows), len(rows), ledger)


if __name__ == "__main__":
    harness.main()
