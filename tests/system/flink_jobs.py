#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The jobs of docs/fleet/flink, run by Flink over a topic of a real broker that probes have filled: totals equal their ledgers,
each record once, and the windows have the top talkers of `tributary flows`."""
import collections
import json
import os
import subprocess

import harness
import maven_jars
from fleet import ProbeCase, by_minute
from fleet_servers import BROKERS, PARTITIONS, TOPIC, read
from kafka_broker import Broker, need_broker
from kafka_case import PCAP_HEADER, packets

FLINK = maven_jars.Jars("flink", [
    *("org.apache.flink:%s:2.2.1" % name for name in (
        "flink-clients", "flink-table-api-java-bridge", "flink-table-planner-loader", "flink-table-runtime", "flink-json",
        "flink-connector-base")),
    "org.apache.flink:flink-sql-connector-kafka:5.0.0-2.2", "org.slf4j:slf4j-simple:1.7.36"])
OPENED = ("lang", "util", "util.concurrent", "net", "io", "time")  # packages of Java that Flink looks into
RUNNER = os.path.join(harness.ROOT, "tests", "system", "flink", "RunSql.java")
TWICE = 500


class Flink(ProbeCase):
    def setUp(self):
        super().setUp()
        if not harness.LONG:
            self.skipTest("Flink takes a minute: with TRIBUTARY_LONG")
        need_broker()
        reason = FLINK.why_missing()
        if reason is not None:
            self.skipTest(reason)
        self.broker = self.enterContext(Broker())
        self.broker.create_topic(TOPIC, PARTITIONS)
        self.send(self.path("many.pcap", PCAP_HEADER + packets(0, 6000)))  # of an earlier time than the others: windows want that
        self.send(harness.DEMO)
        self.send(harness.DEMO, "--set", "flows.direction=uniflow")

    def run_job(self, *names):
        """What files of docs/fleet/flink print, where the topic ends with what it holds."""
        paths = []
        for name in names:
            text = read("flink", name).replace(BROKERS, self.broker.plain_address)
            if name == "flows.sql":
                text = text.replace("'format' =", "'scan.bounded.mode' = 'latest-offset',\n'format' =")
            paths.append(self.path(name, text))
        command = ["java", "-Xmx1g", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
                   *("--add-opens=java.base/java.%s=ALL-UNNAMED" % name for name in OPENED),
                   "-Dorg.slf4j.simpleLogger.defaultLogLevel=error", "-cp", FLINK.class_path, RUNNER, *paths]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, 0, done.stderr[-4000:])
        return done.stdout

    def test_totals_equal_the_ledgers(self):
        self.send_again(TWICE)
        self.assertEqual(self.run_job("flows.sql", "totals.sql"), "+I[%d, %d, %d]\n" % tuple(self.exported))

    def test_windows_have_their_top_talkers(self):
        self.broker.create_topic("top-talkers", 1)
        self.run_job("flows.sql", "top_talkers.sql")
        windows = collections.defaultdict(list)
        for (start, *talker), octets in by_minute(self.listed, "flowEndMilliseconds").items():
            windows[start].append((-octets, *talker))
        expected = [[start, place, *talker, -octets] for start in sorted(windows)
                    for place, (octets, *talker) in enumerate(sorted(windows[start])[:10], 1)]
        rows = [json.loads(value) for _, _, value in self.broker.messages("top-talkers")[0]]
        self.assertEqual(sorted([row["window_start"], row["place"], row["source"], row["destination"], row["octets"]]
                                for row in rows), expected)


if __name__ == "__main__":
    harness.main()
