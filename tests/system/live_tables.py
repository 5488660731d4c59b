#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Declared tables of a running probe: what commands show and end, what collectors get, what the ledger and metrics tell."""
import collections
import json
import re
import subprocess
import urllib.request

import harness

OWN = "32473/dnsTransactionId"  # as an element of the enterprise for documentation

CONFIG = """
    inputs: [{name: up, device: "net_pcap0,%(streams)s", queues: %(queues)d}]
    flows: {max-flows: 4096, idle-timeout: %(idle)s, active-timeout: 300}
    telemetry: {listen: "%(listen)s"}
    fields: [{name: dnsTransactionId, from: payload, offset: 0, octets: 2, as: unsigned16, when: "udp port 53"}]
    tables:
      - {name: ports, key: [destinationTransportPort], values: [max(ipTTL)], max-flows: 1024}
      - {name: dns, key: [dnsTransactionId], filter: "not ip6", values: [distinct(sourceAddress)], max-flows: 1024}
    export:
      flush-interval: 0.05
      drain-timeout: 5
      collectors:
        - {transport: file, path: %(main)s}
        - {transport: file, path: %(tables)s, tables: [ports, dns]}
    """


class LiveTables(harness.TestCase):
    def setUp(self):
        super().setUp()
        self.enterContext(harness.huge_pages())
        self.values = {"streams": "rx_pcap=" + harness.DEMO, "queues": 1, "idle": 30, "listen": "",
                       "main": self.path("main.ipfix"), "tables": self.path("tables.ipfix")}

    def configure(self, **values):
        self.values.update(values)
        return self.path("probe.yaml", CONFIG % self.values)

    def probe(self, frames=harness.DEMO_FRAMES, **values):
        daemon = self.enterContext(harness.Process(harness.TRIBUTARYD, "--config", self.configure(**values), "--stats",
                                                   self.path("stats.json"), "--stats-interval", "0"))
        daemon.wait_for_log("ready: ")
        daemon.wait_for_log("control: ")
        daemon.wait_for(lambda: daemon.stats()["packets"]["received"] >= frames, 30, "packets")
        return daemon

    def ask(self, daemon, *words, expect=harness.EX_OK):
        result = subprocess.run([harness.TRIBUTARY, *words, "--socket", daemon.control_socket], capture_output=True,
                                text=True, timeout=60)
        self.assertEqual(result.returncode, expect, result.stderr + daemon.text())
        return result.stdout if expect == harness.EX_OK else result.stderr

    def shown(self, daemon, table):
        return self.data(self.ask(daemon, "show", "flows", "--table", table, "--json"))

    @staticmethod
    def data(lines):
        """The flows among records as JSON lines: those of options name elements and tables."""
        return [record for record in map(json.loads, lines.splitlines()) if record["@type"] == "data"]

    def end(self, daemon):
        self.assertEqual(daemon.end(), harness.EX_OK, daemon.text())
        ledger = harness.read_json(self.path("stats.json"))
        self.check_ledger(ledger)
        for table in ledger["tables"].values():
            self.check_table(table, ledger["packets"]["metered"])
        return ledger

    def check_table(self, table, metered):
        packets, flows = table["packets"], table["flows"]
        self.assertEqual(packets["metered"], metered)
        self.assertEqual(packets["metered"], packets["filtered"] + packets["filter_not_ready"] + packets["without_field"]
                         + packets["matched"])
        for name, total in (("packets", "in_records"), ("octets", "in_records"), ("flows", "created")):
            unit = table[name]
            self.assertEqual(unit[total], unit["exported"] + unit["lost"] + unit["active"], table)
            self.assertEqual(unit["active"], 0, table)
        self.assertEqual(packets["matched"], packets["in_records"] + sum(packets["refused_by_cause"].values()))
        self.assertEqual(flows["lost"], sum(flows["lost_by_cause"].values()))
        self.assertEqual(flows["created"], sum(flows["ended_by_reason"].values()))

    @staticmethod
    def by_port(records):
        packets = collections.Counter()
        for record in records:
            packets[record.get("destinationTransportPort", 0)] += record["packetDeltaCount"]
        return packets

    def listed(self, path, table):
        result = subprocess.run([harness.TRIBUTARY, "flows", "--json", "--table", table, path], capture_output=True,
                                text=True, timeout=60)
        self.assertEqual(result.returncode, 0, result.stderr)
        return self.data(result.stdout)

    def test_what_commands_show_is_what_collectors_get(self):
        daemon = self.probe()
        main = [json.loads(line) for line in self.ask(daemon, "show", "flows", "--json").splitlines()]
        self.assertEqual(sum(flow["packetDeltaCount"] for flow in main), harness.DEMO_PACKETS)
        ports = self.shown(daemon, "ports")
        self.assertEqual(self.by_port(ports), self.by_port(main))
        self.assertEqual(len(ports), len(self.by_port(main)))
        dns = self.shown(daemon, "dns")
        self.assertEqual(len({flow[OWN] for flow in dns}), len(dns))
        self.assertGreater(len(dns), 1)
        wrong = self.ask(daemon, "show", "flows", "--table", "nets", expect=69)
        self.assertIn("there is no table nets; the tables are main, ports and dns", wrong)

        ledger = self.end(daemon)
        self.assertEqual(list(ledger["tables"]), ["ports", "dns"])
        self.assertEqual(ledger["tables"]["ports"]["flows"]["created"], len(ports))
        self.assertEqual(ledger["tables"]["dns"]["flows"]["exported"], len(dns))
        self.assertEqual(ledger["flows"]["created"], harness.DEMO_FLOWS)
        of_main, of_tables = ledger["collectors"]
        self.assertEqual(of_main["records"], harness.DEMO_FLOWS)
        self.assertEqual(of_tables["records"], len(ports) + len(dns))
        self.assertEqual(len(self.flows(self.path("main.ipfix"))), harness.DEMO_FLOWS)
        self.assertEqual(self.by_port(self.listed(self.path("tables.ipfix"), "ports")), self.by_port(ports))
        self.assertEqual({flow[OWN] for flow in self.listed(self.path("tables.ipfix"), "dns")},
                         {flow[OWN] for flow in dns})

    def test_flush_and_other_timeouts_end_flows_of_tables(self):
        daemon = self.probe()
        ports = len(self.shown(daemon, "ports"))
        flows = ports + len(self.shown(daemon, "dns")) + harness.DEMO_FLOWS
        self.assertEqual(self.ask(daemon, "flush"), "%d flows ended\n" % flows)
        self.assertEqual(self.shown(daemon, "ports"), [])
        daemon.wait_for(lambda: daemon.stats()["tables"]["ports"]["flows"]["exported"] == ports, 30, "records")
        self.assertEqual(self.end(daemon)["tables"]["ports"]["flows"]["ended_by_reason"]["forced"], ports)

        daemon = self.probe()
        self.configure(idle=1)  # tables have the main table's timeouts, unless they have their own
        self.assertIn("flows.idle-timeout", self.ask(daemon, "reload"))
        daemon.wait_for(lambda: daemon.stats()["tables"]["ports"]["flows"]["ended_by_reason"]["idle"] == ports, 30, "the timeout")
        self.end(daemon)

    def test_metrics_have_the_table(self):
        port = harness.free_port()
        daemon = self.probe(listen="127.0.0.1:%d" % port)
        page = urllib.request.urlopen("http://127.0.0.1:%d/metrics" % port, timeout=10).read().decode()
        metered = re.findall(r'^(tributary_table_\w+)\{.*table="ports".*\} (\d+)$', page, re.M)
        self.assertIn(str(harness.DEMO_PACKETS), [value for name, value in metered if "packets" in name])
        self.assertEqual(re.findall(r'^tributary_table_\w+\{.*table="main"', page, re.M), [])
        self.end(daemon)

    def test_queues_make_records_of_their_own(self):
        streams = "rx_pcap=%s,rx_pcap=%s" % (harness.DEMO, harness.DEMO)
        daemon = self.probe(frames=2 * harness.DEMO_FRAMES, streams=streams, queues=2)
        self.assertRegex(daemon.text(), r"table ports: its key is split over queues, so that up to 2 records")
        ports = self.shown(daemon, "ports")
        self.assertEqual(len(ports), 2 * len(self.by_port(ports)))
        self.assertEqual(sum(self.by_port(ports).values()), 2 * harness.DEMO_PACKETS)
        self.end(daemon)

    def test_the_plan_has_their_memory(self):
        plan = subprocess.run([harness.TRIBUTARY, "plan", "--config", self.configure()], capture_output=True, text=True)
        self.assertEqual(plan.returncode, 0, plan.stderr)
        parts = dict(re.findall(r"^(caches of tables|rings of tables) +([\d.]+) ", plan.stdout, re.M))
        self.assertEqual(set(parts), {"caches of tables", "rings of tables"}, plan.stdout)
        self.assertGreater(float(parts["caches of tables"]), 0)


if __name__ == "__main__":
    harness.main()
