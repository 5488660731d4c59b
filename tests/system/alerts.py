#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The alert rules and the dashboard: judged by promtool, and by a Prometheus of Debian's that scrapes a running probe."""
import itertools
import json
import os
import re
import socket
import subprocess
import urllib.error
import urllib.parse

import collectors
import harness
import telemetry

MONITORING = os.path.join(harness.ROOT, "docs", "monitoring")
RULES = os.path.join(MONITORING, "tributary.rules.yaml")
RULE_TESTS = os.path.join(MONITORING, "tributary.rules.test.yaml")
DASHBOARD = os.path.join(MONITORING, "grafana", "tributary.json")

# A metric with its matchers, once groupings and ranges are gone.
SELECTOR = re.compile(r'(?<![\w:])([a-zA-Z_:][\w:]*)(?![\w:]|\s*\()(\{[^}]*\})?')
GROUPING = re.compile(r'\b(?:by|without|on|ignoring|group_left|group_right)\s*\([^)]*\)')
WORDS = {"and", "or", "unless", "bool", "offset"}
PROMETHEUS_OWN = {"up", "scrape_duration_seconds", "ALERTS"}
# Only at shutdown, after the last scrape: the log has it. And of declared tables alone, whose alert is for all causes.
CAUSES_WITHOUT_ALERT = {"collector_away", "no_collector"}
# A table whose packets go from queue to queue has all metrics that a table can have; a recorder has its own.
WITH_TABLE = ("inputs.0.device=net_pcap0,rx_pcap=%s,rx_pcap=%s" % (harness.DEMO, harness.DEMO), "inputs.0.queues=2",
              "tables=[{name: nets, key: [ipTTL], spread: key}]", "recorder.memory=2MiB")


def selectors(expression):
    """[(metric, its matchers as text)] of a PromQL expression."""
    plain = re.sub(r'\[[^\]"]*\]', "", GROUPING.sub("", expression))
    return [found for found in SELECTOR.findall(plain) if found[0] not in WORDS]


def values_of(node, name):
    """All values of a key, however deep in a JSON document."""
    if isinstance(node, dict):
        if name in node:
            yield node[name]
        node = list(node.values())
    if isinstance(node, list):
        yield from itertools.chain.from_iterable(values_of(child, name) for child in node)


def read(path):
    with open(path) as source:
        return source.read()


def dashboard_panels():
    panels = harness.read_json(DASHBOARD)["panels"]
    return [panel for panel in panels + list(itertools.chain.from_iterable(values_of(panels, "panels")))
            if panel["type"] != "row"]


def for_prometheus(expression):
    """A dashboard's expression in Grafana's form, for all instances."""
    return expression.replace("$__rate_interval", "1m").replace("$instance", ".*")


def promtool(*arguments):
    result = subprocess.run(["promtool", *arguments], capture_output=True, text=True, timeout=60)
    return result.returncode, result.stdout + result.stderr


class Files(harness.TestCase):
    def setUp(self):
        super().setUp()
        harness.need("prometheus", "promtool")

    def test_promtool_finds_no_fault_in_the_rules(self):
        self.assertEqual(promtool("check", "rules", "--lint=all", "--lint-fatal", RULES)[0], 0)

    def test_each_alert_fires_when_it_should_and_not_for_a_healthy_probe(self):
        code, text = promtool("test", "rules", RULE_TESTS)
        self.assertEqual(code, 0, text)

    def test_each_alert_is_among_those_that_are_expected_to_fire(self):
        alerts = re.findall(r"- alert: (\w+)", read(RULES))
        expected = re.findall(r"labels: '\{alertname=\"(\w+)\"", read(RULE_TESTS))
        self.assertEqual(sorted(alerts), sorted(set(expected)))

    def test_each_alert_has_what_an_operator_needs(self):
        _, *alerts = re.split(r"^  - alert: ", read(RULES), flags=re.MULTILINE)
        for alert in alerts:
            self.assertRegex(alert, r"(?s)\n    for: \w+\n    labels: \{severity: (critical|warning)\}\n    annotations:\n"
                                    r"      summary: .+\n      description: .+")

    def test_the_dashboard_is_whole(self):
        panels = dashboard_panels()
        every = harness.read_json(DASHBOARD)["panels"]
        self.assertEqual(len({panel["id"] for panel in every}), len(every))
        for panel in panels:
            self.assertTrue(panel["description"].endswith("."), panel["title"])
            self.assertTrue(panel["fieldConfig"]["defaults"]["unit"], panel["title"])
            self.assertTrue(panel["targets"], panel["title"])
            self.assertEqual({source["uid"] for source in values_of(panel, "datasource")}, {"${DS_PROMETHEUS}"})
        for one, other in itertools.combinations([panel["gridPos"] for panel in every], 2):
            apart = any(one[at] + one[size] <= other[at] or other[at] + other[size] <= one[at]
                        for at, size in (("x", "w"), ("y", "h")))
            self.assertTrue(apart, (one, other))


class Told(telemetry.ProbeCase):
    """A probe, to compare its metrics with the files."""

    def setUp(self):
        super().setUp()
        harness.need("prometheus", "promtool")
        self.probe("flows.fragments=track", *WITH_TABLE, "triggers=[{name: t, when: packets > 1M, directory: %s}]" %
                   self.path("triggers"), frames=2 * harness.DEMO_FRAMES)
        self.told = telemetry.samples(telemetry.get(self.port, "/metrics")[1])

    def test_the_tests_of_the_rules_have_the_labels_that_a_probe_tells(self):
        told = {name: {frozenset(label for label, _ in labels) for labels in family} for name, family in self.told.items()}
        series = re.findall(r"series: '(tributary_\w+)\{([^}]*)\}'", read(RULE_TESTS))
        self.assertGreater(len(series), 50)
        for name, labels in series:
            self.assertIn(frozenset(re.findall(r'(\w+)="', labels)) - {"job", "instance"}, told[name], name)

    def test_what_alerts_say_they_can_say(self):
        labels = {label for family in self.told.values() for labels in family for label, _ in labels}
        said = set(re.findall(r"\$labels\.(\w+)", read(RULES)))
        self.assertLessEqual(said, labels | {"instance"})

    def test_each_cause_of_loss_has_an_alert(self):
        causes = {dict(labels)["cause"] for labels in self.told["tributary_lost_flow_records_total"]}
        alerts = set()
        for matched in re.findall(r'cause=~?"([^"]+)"', read(RULES)):
            alerts.update(matched.split("|"))
        self.assertEqual(alerts, causes - CAUSES_WITHOUT_ALERT)


class PrometheusCase(telemetry.ProbeCase):
    """A Prometheus with the rules that scrapes a probe every second; and a TCP collector for that probe."""

    def setUp(self):
        super().setUp()
        harness.need("prometheus", "promtool")
        self.own = harness.free_port(socket.SOCK_STREAM)
        self.collector_port = harness.free_port(socket.SOCK_STREAM)
        self.name = "tcp 127.0.0.1:%d" % self.collector_port

    def start_prometheus(self):
        config = self.path("prometheus.yml", """
            global: {scrape_interval: 1s, evaluation_interval: 1s}
            rule_files: [%s]
            scrape_configs:
            - job_name: tributary
              static_configs: [{targets: ['127.0.0.1:%d']}]
            """ % (RULES, self.port))
        self.prometheus = self.enter(harness.Process(
            "prometheus", "--config.file=" + config, "--storage.tsdb.path=" + self.path("tsdb"),
            "--web.listen-address=127.0.0.1:%d" % self.own, "--log.level=error"))
        self.wait_for_samples("sum_over_time(up[1m]) > 2")

    def start_collector(self, name):
        return self.enter(collectors.TcpCollector(None, self.collector_port, self.path(name)))

    def wait_for(self, condition, what):
        """Waits for a true value, and returns it. A scrape may fail on a busy machine."""
        found = []

        def holds():
            found[:] = [condition()]
            return found[0]
        self.prometheus.wait_for(holds, 30, what)
        return found[0]

    def wait_for_samples(self, expression):
        return self.wait_for(lambda: self.samples(expression), "samples of " + expression)

    def api(self, page, **arguments):
        """(data, error) of Prometheus's answer."""
        try:
            answer = json.loads(telemetry.get(self.own, "/api/v1/%s?%s" % (page, urllib.parse.urlencode(arguments)))[1])
        except (urllib.error.URLError, ValueError):
            return {}, "it starts"
        return answer.get("data", {}), answer.get("error", "")

    def samples(self, expression):
        """[(labels, value)] of an instant query; a refused one fails the test, unless Prometheus still starts."""
        data, error = self.api("query", query=expression)
        self.assertIn(error, ("", "it starts"), expression)
        return [(sample["metric"], float(sample["value"][1])) for sample in data.get("result", ())]

    def rules(self):
        groups = self.api("rules")[0].get("groups", ())
        return [rule for group in groups for rule in group["rules"]]

    def alerts(self):
        """{name: [alert]} of pending and firing alerts."""
        states = {}
        for rule in self.rules():
            self.assertIn(rule["health"], ("ok", "unknown"), rule.get("lastError"))
            for alert in rule["alerts"]:
                states.setdefault(rule["name"], []).append(alert)
        return states

    def only_alert(self, name):
        alerts = self.alerts()
        return alerts[name] if set(alerts) == {name} else []

    def connected(self):
        return [value for _, value in self.samples('tributary_collector_connected{collector="%s"}' % self.name)]

    def check_that_the_alert_follows(self, collector):
        """A collector goes away and comes back, and one alert with it."""
        self.wait_for(lambda: self.connected() == [1], "its connection")
        self.wait_for(lambda: not self.alerts(), "no alert")
        collector.end()
        self.wait_for(lambda: self.connected() == [0], "its loss")
        alert, = self.wait_for(lambda: self.only_alert("TributaryCollectorDisconnected"), "the alert, and no other")
        self.assertEqual((alert["state"], alert["labels"]["collector"], alert["labels"]["severity"]),
                         ("pending", self.name, "warning"))
        self.assertEqual(alert["annotations"]["summary"], "127.0.0.1:%d does not reach %s." % (self.port, self.name))
        self.start_collector("second")
        self.wait_for(lambda: self.connected() == [1], "its return")
        # The lost connection counts as an error; only more errors are an alert.
        self.wait_for(lambda: set(self.alerts()) <= {"TributaryCollectorErrors"}, "the end of the alert")


class Watched(PrometheusCase):
    """A probe with two collectors, and a Prometheus with the rules that scrapes it every second."""

    def setUp(self):
        super().setUp()
        self.collector = self.start_collector("first")
        os.mkdir(self.path("spool"))
        self.daemon = self.probe(
            "export.collectors=[{host: 127.0.0.1, port: %d, transport: tcp, spool: {directory: %s}}, {transport: file, path: %s}]"
            % (self.collector_port, self.path("spool"), self.path("flows.ipfix")), "flows.idle-timeout=1", "flows.fragments=track")
        self.start_prometheus()

    def test_what_is_asked_for_is_what_a_probe_tells(self):
        told = set(telemetry.samples(telemetry.get(self.port, "/metrics")[1]))
        dashboard = list(values_of(harness.read_json(DASHBOARD), "expr"))
        rules = [rule["query"] for rule in self.wait_for(self.rules, "the rules")]
        self.assertGreater(len(dashboard), len(dashboard_panels()))
        self.assertGreater(len(rules), 20)
        for expression in rules + dashboard:
            asked_for = selectors(for_prometheus(expression))
            self.assertTrue(asked_for, expression)
            for metric, matchers in asked_for:
                if metric.startswith(("tributary_table_", "tributary_recorder_", "tributary_dump", "tributary_trigger_")):  # see Told
                    continue
                self.assertIn(metric, told | PROMETHEUS_OWN, expression)
                if metric != "ALERTS":
                    self.wait_for_samples("count(%s%s)" % (metric, matchers))

    def test_each_panel_shows_something(self):
        only_what_moves = re.compile(r" > 0$")
        self.wait_for_samples("rate(tributary_thread_rounds_total[1m]) > 0")
        for target in itertools.chain.from_iterable(panel["targets"] for panel in dashboard_panels()):
            for labels, _ in self.wait_for_samples(only_what_moves.sub("", for_prometheus(target["expr"]))):
                self.assertLessEqual(set(re.findall(r"\{\{(\w+)\}\}", target["legendFormat"])), set(labels), target)
        asked_for = list(values_of(harness.read_json(DASHBOARD)["templating"], "definition"))
        self.assertEqual(asked_for, ["label_values(tributary_build_info, instance)"])
        self.wait_for_samples("tributary_build_info")

    def test_when_every_record_has_arrived_nothing_waits_anywhere(self):
        expressions = {panel["title"]: for_prometheus(panel["targets"][0]["expr"]) for panel in dashboard_panels()}
        titles = ("Active flow records", "Fill of the flow cache", "Records that wait for a collector", "Fill of the rings",
                  "Still to come, mode copy (buffer and spool)", "Packets that the ledger cannot explain")

        def found():
            return [value for title in titles for _, value in self.samples(expressions[title])]
        self.wait_for_samples("tributary_exported_flow_records_total >= %d" % harness.DEMO_FLOWS)
        self.wait_for(lambda: found() == [0] * 7, "seven zeros")    # two collectors get records

    def test_a_collector_that_goes_away_and_comes_back_is_told(self):
        self.check_that_the_alert_follows(self.collector)
        self.assertEqual(self.daemon.end(), harness.EX_OK, self.daemon.text())
        self.prometheus.wait_for(lambda: "TributaryDown" in self.alerts(), 30, "the alert for a probe that ended")


if __name__ == "__main__":
    harness.main()
