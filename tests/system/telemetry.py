#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The pages of a running probe: judged by the ledger, promtool and Debian's Prometheus."""
import contextlib
import glob
import json
import os
import re
import socket
import subprocess
import urllib.error
import urllib.request

import harness
import service

SAMPLE = re.compile(r'^(tributary_\w+)(?:\{(.*)\})? (\S+)$')


def get(port, page, patience=10):
    """Status and text of a page."""
    try:
        with urllib.request.urlopen("http://127.0.0.1:%d%s" % (port, page), timeout=patience) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def samples(text):
    """{name: {frozenset of (label, value): number}}"""
    families = {}
    for line in text.splitlines():
        if line and not line.startswith("#"):
            name, labels, value = SAMPLE.match(line).groups()
            families.setdefault(name, {})[frozenset(re.findall(r'(\w+)="([^"]*)"', labels or ""))] = float(value)
    return families


def total(families, name, **labels):
    found = [value for own, value in families[name].items() if set(labels.items()) <= own]
    if not found:
        raise AssertionError("no %s with %s" % (name, labels))
    return sum(found)


class ProbeCase(harness.TestCase):
    """A probe of the bundled capture, with telemetry at `port`."""

    def setUp(self):
        super().setUp()
        stack = contextlib.ExitStack()
        self.addCleanup(stack.close)
        self.enter = stack.enter_context
        self.enter(harness.huge_pages())
        self.port = harness.free_port(socket.SOCK_STREAM)

    def probe(self, *settings, listen=None, frames=harness.DEMO_FRAMES):
        daemon = self.enter(harness.Process(
            harness.TRIBUTARYD, "-i", "net_pcap0,rx_pcap=" + harness.DEMO, "-n", "127.0.0.1:%d" % harness.free_port(),
            "--stats", self.path("stats.json"), *(part for setting in (
                "inputs.0.name=up", "flows.max-flows=4096", "telemetry.listen=" + (listen or "127.0.0.1:%d" % self.port),
                *settings) for part in ("--set", setting))))
        daemon.wait_for_log("ready: ")
        daemon.wait_for_received(frames)
        return daemon


class Telemetry(ProbeCase):
    def test_every_number_of_the_ledger_is_there(self):
        # A file's records are exported before the end, and no counter changes afterwards.
        daemon = self.probe("export.collectors=[{transport: file, path: %s}]" % self.path("flows.ipfix"),
                            "flows.idle-timeout=1", "flows.direction=biflow", "inputs.0.parse=trimmed",
                            "inputs.0.trimmed-by=source", "flows.fragments=track")
        daemon.wait_for(lambda: total(samples(get(self.port, "/metrics")[1]), "tributary_active_flow_records") == 0, 60,
                        "all records to be exported")
        families = samples(get(self.port, "/metrics")[1])
        self.assertEqual(daemon.end(), harness.EX_OK, daemon.text())
        ledger = harness.read_json(self.path("stats.json"))
        self.check_ledger(ledger)
        packets, octets, flows = ledger["packets"], ledger["octets"], ledger["flows"]
        plain = {
            "tributary_received_packets_total": packets["received"],
            "tributary_filtered_packets_total": packets["filtered"],
            "tributary_ignored_packets_total": packets["ignored"],
            "tributary_ignored_bytes_total": octets["ignored"],
            "tributary_metered_packets_total": packets["metered"],
            "tributary_metered_bytes_total": octets["metered"],
            "tributary_exported_packets_total": packets["exported"],
            "tributary_exported_bytes_total": octets["exported"],
            "tributary_lost_packets_total": packets["lost"],
            "tributary_lost_bytes_total": octets["lost"],
            "tributary_active_packets": packets["active"],
            "tributary_active_bytes": octets["active"],
            "tributary_bad_timestamp_packets_total": packets["bad_timestamp"],
            "tributary_nic_queue_error_packets_total": packets["nic_queue_errors"],
            "tributary_missing_unified_headers_total": packets["unified_headers_missing"],
            "tributary_untracked_unified_headers_total": packets["unified_headers_untracked"],
            "tributary_nic_missed_packets_total": packets["nic_missed"],
            "tributary_nic_no_buffer_packets_total": packets["nic_no_buffer"],
            "tributary_nic_error_packets_total": packets["nic_errors"],
            "tributary_created_flow_records_total": flows["created"],
            "tributary_exported_flow_records_total": flows["exported"],
            "tributary_lost_flow_records_total": flows["lost"],
            "tributary_active_flow_records": flows["active"],
        }
        self.assertGreater(flows["exported"], 0)
        for name, value in plain.items():
            self.assertEqual(total(families, name), value, name)
        named = (("tributary_ignored_packets_total", "reason", packets["ignored_by_reason"]),
                 ("tributary_cut_headers_total", "header", packets["cut_headers"]),
                 ("tributary_fragments_total", "kind", packets["fragments"]),
                 ("tributary_tcp_unanalysed_segments_total", "kind", packets["tcp_unanalysed"]),
                 ("tributary_ended_flow_records_total", "reason", flows["ended_by_reason"]),
                 ("tributary_lost_flow_records_total", "cause", flows["lost_by_cause"]))
        for name, label, counts in named:
            self.assertEqual({value for labels in families[name] for key, value in labels if key == label}, set(counts))
            for key, count in counts.items():
                self.assertEqual(total(families, name, **{label: key}), count, (name, key))
        self.assertEqual(total(families, "tributary_received_packets_total", input="up", queue="0"), packets["received"])
        account = ledger["collectors"][0]
        counts = {"records": "flow_records_total", "messages": "messages_total", "errors": "errors_total",
                  "octets": "bytes_total", "reconnects": "reconnects_total", "refused": "refused_total",
                  "inherited": "inherited_flow_records_total",
                  "failed": "failed", "connected": "connected"}
        ends_later = {"messages", "octets"}    # the last options records are sent at the end
        for key, name in counts.items():
            told = total(families, "tributary_collector_" + name)
            self.assertTrue(told == account[key] or key in ends_later and 0 < told < account[key], (key, told, account))
        self.assertEqual(total(families, "tributary_ring_records"), 0)
        self.assertEqual(total(families, "tributary_cached_flow_records"), 0)
        self.assertEqual(total(families, "tributary_export_latency_seconds_count"), flows["exported"])
        self.assertEqual(total(families, "tributary_export_latency_seconds_bucket", le="+Inf"), flows["exported"])
        self.assertGreater(total(families, "tributary_export_latency_seconds_sum"), 0)
        # The number of nodes' arenas depends on the machine.
        self.assertGreater(total(families, "tributary_heap_allocated_bytes"), 0)
        self.assertGreater(total(families, "tributary_heap_resident_bytes"), 0)
        self.assertEqual(total(families, "tributary_max_flows"), 4096)
        for thread in ("in-0", "export"):
            self.assertGreater(total(families, "tributary_thread_rounds_total", thread=thread), 0)
            self.assertGreater(total(families, "tributary_thread_cycles_total", thread=thread, state="idle"), 0)

    def test_promtool_finds_nothing_to_say(self):
        harness.need("promtool")
        self.probe()
        text = get(self.port, "/metrics")[1]
        result = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, text=True, timeout=60)
        self.assertEqual((result.returncode, result.stdout + result.stderr), (0, ""))

    def test_a_prometheus_scrapes_it(self):
        harness.need("prometheus")
        daemon = self.probe()
        own = harness.free_port(socket.SOCK_STREAM)
        config = self.path("prometheus.yml", "scrape_configs:\n- job_name: tributary\n  scrape_interval: 1s\n"
                                             "  static_configs: [{targets: ['127.0.0.1:%d']}]\n" % self.port)
        prometheus = self.enter(harness.Process(
            "prometheus", "--config.file=" + config, "--storage.tsdb.path=" + self.path("tsdb"),
            "--web.listen-address=127.0.0.1:%d" % own, "--log.level=error"))

        def asks(query):
            try:
                answer = get(own, "/api/v1/query?query=" + query)
            except urllib.error.URLError:
                return []    # it is starting
            return [float(result["value"][1]) for result in json.loads(answer[1])["data"]["result"]] if answer[0] == 200 else []
        prometheus.wait_for(lambda: asks("tributary_received_packets_total") == [harness.DEMO_FRAMES], 60, "a scrape")
        self.assertEqual(asks("up"), [1])
        self.assertEqual(asks("sum(tributary_metered_bytes_total)"), [harness.DEMO_OCTETS])
        self.assertEqual(daemon.end(), harness.EX_OK, daemon.text())

    def test_health_is_that_of_the_threads(self):
        daemon = self.probe()
        self.assertEqual(get(self.port, "/healthz"), (200, "ok\n"))
        with service.halted(daemon.popen, "in-0"):
            daemon.wait_for(lambda: get(self.port, "/healthz") == (503, "thread in-0 hangs\n"), 30, "its illness")
        daemon.wait_for(lambda: get(self.port, "/healthz") == (200, "ok\n"), 30, "its recovery")

    def test_dpdks_own_socket_tells_the_same(self):
        daemon = self.probe("telemetry.dpdk=true",
                            "export.collectors=[{transport: file, path: %s}]" % self.path("flows.ipfix"))
        (path,) = glob.glob(os.path.join(daemon.runtime.name, "dpdk", "*", "dpdk_telemetry.v2"))
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as client:
            client.connect(path)
            largest = json.loads(client.recv(16384))["max_output_len"]

            def ask(command):
                client.sendall(command.encode())
                return json.loads(client.recv(largest))[command.split(",")[0]]
            ledger, all_queues = ask("/tributary/ledger"), daemon.stats()
            self.assertEqual(ledger["packets/received"], harness.DEMO_FRAMES)
            self.assertEqual(ledger["octets/metered"], harness.DEMO_OCTETS)
            for reason, count in all_queues["packets"]["ignored_by_reason"].items():
                self.assertEqual(ledger["packets/ignored_by_reason/" + reason], count)
            self.assertEqual(ask("/tributary/ports"), ["up"])
            self.assertEqual(ask("/tributary/port,0")["nic_missed"], 0)
            self.assertEqual(ask("/tributary/queues"), ["up/0"])
            queue = ask("/tributary/queue,0")
            self.assertEqual((queue["name"], queue["packets/metered"], queue["ring/records"]), ("up/0", harness.DEMO_PACKETS, 0))
            self.assertEqual(ask("/tributary/collectors"), ["file " + self.path("flows.ipfix")])
            self.assertEqual(ask("/tributary/collector,0")["failed"], 0)
            self.assertEqual(ask("/tributary/threads"), ["in-0", "export"])
            self.assertGreater(ask("/tributary/thread,1")["rounds"], 0)
            self.assertEqual(ask("/tributary/info")["max_flows"], 4096)
            for nothing in ("/tributary/queue", "/tributary/queue,1", "/tributary/queue,x", "/tributary/thread,-1"):
                self.assertIsNone(ask(nothing), nothing)
            self.assertIn("/ethdev/stats", ask("/"))
        self.assertEqual(daemon.end(), harness.EX_OK, daemon.text())
        self.assertEqual(glob.glob(os.path.join(daemon.runtime.name, "dpdk", "*")), [])

    def test_dpdks_own_socket_is_there_only_when_asked_for(self):
        daemon = self.probe()
        self.assertEqual(glob.glob(os.path.join(daemon.runtime.name, "dpdk", "*", "dpdk_telemetry*")), [])
        self.assertEqual(daemon.end(), harness.EX_OK, daemon.text())

    def test_no_other_page_and_no_other_method(self):
        daemon = self.probe()
        for page in ("/", "/metrics/", "/metricsx", "/../../etc/passwd", "/stats"):
            self.assertEqual(get(self.port, page)[0], 404, page)
        with socket.create_connection(("127.0.0.1", self.port)) as peer:
            peer.sendall(b"\x00\xff garbage \r\n\r\n" * 100)
        with socket.create_connection(("127.0.0.1", self.port)) as peer:
            peer.sendall(b"DELETE /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
            self.assertNotIn(b" 200 ", peer.recv(1000).splitlines()[0])
        self.assertEqual(get(self.port, "/healthz")[0], 200)
        self.assertEqual(daemon.end(), harness.EX_OK, daemon.text())

    def stall(self, clients):
        for _ in range(clients):
            self.enter(socket.create_connection(("127.0.0.1", self.port))).sendall(b"GET /metr")

    def test_a_few_clients_that_stall_hold_up_nobody(self):
        self.probe()
        self.stall(6)
        self.assertEqual(get(self.port, "/healthz", patience=4)[0], 200)    # they are cut off after 5 s

    def test_clients_that_stall_are_cut_off_and_do_not_hold_up_the_end(self):
        def answers():
            try:
                return get(self.port, "/healthz")[0] == 200
            except OSError:
                return False    # it took too long
        daemon = self.probe()
        self.stall(12)
        harness.wait_until(answers, 60, "an answer")
        self.stall(12)
        self.assertEqual(daemon.end(), harness.EX_OK, daemon.text())

    def test_an_address_that_is_taken_costs_the_metrics_and_nothing_else(self):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            daemon = self.probe(listen="127.0.0.1:%d" % taken.getsockname()[1])
            self.assertRegex(daemon.text(), "error: no telemetry: telemetry.listen 127.0.0.1:%d cannot be had"
                             % taken.getsockname()[1])
            self.assertEqual(daemon.end(), harness.EX_OK, daemon.text())


if __name__ == "__main__":
    harness.main()
