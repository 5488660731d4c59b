#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The jobs of docs/fleet/flink, run by Flink over a topic of a real broker: totals equal the records', each once, and the
windows have their top talkers."""
import collections
import json
import os
import subprocess

import fleet
import harness
import maven_jars
from kafka_broker import Broker, need_broker

FLINK = maven_jars.Jars("flink", [
    *("org.apache.flink:%s:2.2.1" % name for name in (
        "flink-clients", "flink-table-api-java-bridge", "flink-table-planner-loader", "flink-table-runtime", "flink-json",
        "flink-connector-base")),
    "org.apache.flink:flink-sql-connector-kafka:5.0.0-2.2", "org.slf4j:slf4j-simple:1.7.36"])
OPENED = ("lang", "util", "util.concurrent", "net", "io", "time")  # packages of Java that Flink looks into
RUNNER = os.path.join(harness.ROOT, "tests", "system", "flink", "RunSql.java")
RECORDS, TWICE = 3000, 500


class Flink(fleet.FleetCase):
    def setUp(self):
        super().setUp()
        if not harness.LONG:
            self.skipTest("Flink takes a minute: with TRIBUTARY_LONG")
        need_broker()
        reason = FLINK.why_missing()
        if reason is not None:
            self.skipTest(reason)
        records = self.json_records() + self.json_records("--set", "flows.direction=biflow")
        self.sent = [fleet.numbered(records[number % len(records)], fleet.STREAM, number) for number in range(RECORDS)]
        self.broker = self.started(Broker())
        self.broker.create_topic("flows", 4)

    def produce(self, records):
        lines = [json.dumps(record) for record in records]
        self.broker.kcat("-P", "-t", "flows", "-X", "partitioner=random", stdin="\n".join(lines).encode())

    def run_job(self, *names):
        """What files of docs/fleet/flink print, where the topic ends with what it holds."""
        paths = []
        for name in names:
            text = fleet.read("flink", name).replace(fleet.BROKERS, self.broker.plain_address)
            if name == "flows.sql":
                text = text.replace("'format' =", "'scan.bounded.mode' = 'latest-offset',\n'format' =")
            paths.append(self.path(name, text))
        command = ["java", "-Xmx1g", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
                   *("--add-opens=java.base/java.%s=ALL-UNNAMED" % name for name in OPENED),
                   "-Dorg.slf4j.simpleLogger.defaultLogLevel=error", "-cp", FLINK.class_path, RUNNER, *paths]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, 0, done.stderr[-4000:])
        return done.stdout

    def test_totals_equal_the_records(self):
        self.produce(self.sent + self.sent[:TWICE])
        self.assertEqual(self.run_job("flows.sql", "totals.sql"), "+I[%d, %d, %d]\n" % tuple(fleet.totals(self.sent)))

    def test_windows_have_their_top_talkers(self):
        self.produce(self.sent)
        self.broker.create_topic("top-talkers", 1)
        self.run_job("flows.sql", "top_talkers.sql")
        windows = collections.defaultdict(list)
        for (start, *talker), octets in fleet.by_minute(self.sent, "iana:flowEndMilliseconds").items():
            windows[start].append((-octets, *talker))
        expected = [[start, place, *talker, -octets] for start in sorted(windows)
                    for place, (octets, *talker) in enumerate(sorted(windows[start])[:10], 1)]
        rows = [json.loads(value) for _, _, value in self.broker.messages("top-talkers")[0]]
        self.assertEqual(sorted([row["window_start"], row["place"], row["source"], row["destination"], row["octets"]]
                                for row in rows), expected)


if __name__ == "__main__":
    harness.main()
