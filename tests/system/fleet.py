#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""docs/fleet on a real Kafka broker and two ClickHouse servers, which are one consumer group: the distributed sums equal those
of the records, also after a server was killed and records were sent twice, and by minute; the dashboard's queries run."""
import collections
import datetime
import json
import os
import re
import time

import harness
from clickhouse import Server, need_clickhouse
from kafka_broker import Broker, need_broker

FLEET = os.path.join(harness.ROOT, "docs", "fleet")
BROKERS = "kafka1.example:9092,kafka2.example:9092"  # as queue.sql has them
PARTITIONS = 4
STREAM = "00c0ffee00c0ffee"
PROTOCOLS = {1: "ICMP", 6: "TCP", 17: "UDP"}
# What Grafana and its plug-in put into a query.
FILLED = ((r"\$__timeFilter\((.*?\)?)\)(?= AND)", r"(\1 >= toDateTime(0) AND \1 <= toDateTime(4294967295))"),
          (r"\$__interval_s", "60"), (r"\$\{probe:singlequote\}", "'probe1'"))
COUNTED_BY_MINUTE = "SELECT sum(records) FROM tributary.flows_by_minute"
SUMS = "SELECT count(), sum(octets), sum(packets) FROM tributary.flows FINAL"


def read(*names):
    with open(os.path.join(FLEET, *names)) as source:
        return source.read()


def iso(milliseconds):
    moment = datetime.datetime.fromtimestamp(milliseconds // 1000, datetime.timezone.utc)
    return "%s.%03dZ" % (moment.strftime("%Y-%m-%dT%H:%M:%S"), milliseconds % 1000)


def json_line(flow, stream, number):
    """A record, listed by `tributary flows --json`, as a line of the topic."""
    line = {"@type": "ipfix.entry"}
    for name, value in flow.items():
        if not name.startswith("@"):
            line["iana:" + name] = iso(value) if name.endswith("Milliseconds") else value
    line["iana:protocolIdentifier"] = PROTOCOLS.get(flow["protocolIdentifier"], str(flow["protocolIdentifier"]))
    line["iana:tcpControlBits"] = ".AP.SF"
    line.update({"iana:exporterIPv4Address": "198.51.100.1", "iana:observationDomainId": 1,
                 "tributary:probeName": "probe1", "tributary:streamId": stream, "tributary:sequenceNumber": number})
    return json.dumps(line)


def start_of_minute(flow):
    return iso(flow["flowStartMilliseconds"] // 60_000 * 60_000)[:19].replace("T", " ")


def addresses(flow):
    return tuple(flow.get(side + "IPv4Address") or flow[side + "IPv6Address"] for side in ("source", "destination"))


class Fleet(harness.TestCase):
    def setUp(self):
        super().setUp()
        need_broker()
        need_clickhouse()
        self.records = self.flows(self.meter("--read", harness.DEMO)[0])
        self.sent = []
        self.broker = self.started(Broker())
        self.broker.create_topic("flows", PARTITIONS)
        self.servers = [Server(), Server()]
        cluster = read("clickhouse", "cluster.xml")
        for number, server in enumerate(self.servers, 1):
            cluster = cluster.replace("clickhouse%d.example</host><port>9000" % number,
                                      "127.0.0.1</host><port>%d" % server.port)
        self.assertNotIn("example", cluster)
        for server in self.servers:  # the shortest that a broker allows
            server.write_config("config.d/cluster.xml", cluster.replace(">10000<", ">6000<"))
            self.started(server)
            server.query(read("clickhouse", "tables.sql"))
        queue = read("clickhouse", "queue.sql").replace(BROKERS, self.broker.plain_address)
        self.assertIn(self.broker.plain_address, queue)
        for server in self.servers:
            server.query(queue)

    def started(self, server):
        self.addCleanup(server.close)
        server.start()
        return server

    def produce(self, numbers, stream=STREAM):
        """Puts records with these numbers into the topic, each flow into one partition."""
        flows = [self.records[number % len(self.records)] for number in numbers]
        lines = ["%s=%s" % ("".join(addresses(flow)), json_line(flow, stream, number)) for flow, number in zip(flows, numbers)]
        self.broker.kcat("-P", "-t", "flows", "-K", "=", "-z", "lz4", stdin="\n".join(lines).encode())
        return flows

    def send(self, numbers, stream=STREAM):
        self.sent += self.produce(numbers, stream)

    def query(self, text, server=0):
        return self.servers[server].query(text)

    def wait_for_row(self, text, row, seconds=60):
        found = []

        def comes():
            time.sleep(0.2)
            found[:] = self.query(text)
            return found == [[str(value) for value in row]]
        try:
            harness.wait_until(comes, seconds, text)
        except AssertionError as error:
            raise AssertionError("%s: %s is the last answer, and %s expected" % (error, found, row)) from None

    def sums(self):
        return [len(self.sent), *(sum(flow[name] for flow in self.sent) for name in ("octetDeltaCount", "packetDeltaCount"))]

    def check_minutes(self):
        sums = collections.Counter()
        for flow in self.sent:
            sums[(start_of_minute(flow), *addresses(flow))] += flow["octetDeltaCount"]
        rows = self.query("SELECT minute, source_address, destination_address, sum(octets) FROM tributary.flows_by_minute "
                          "GROUP BY minute, source_address, destination_address")
        self.assertEqual({tuple(row[:3]): int(row[3]) for row in rows}, dict(sums))
        self.assertEqual(self.query(read("clickhouse", "check.sql")), [])

    def check_dashboard(self):
        """Each query runs, and gives rows; the top talkers are the records' own."""
        dashboard = json.loads(read("grafana", "fleet.json"))
        queries = {panel["title"]: panel["targets"][0]["rawSql"] for panel in dashboard["panels"]}
        queries |= {"variable " + variable["name"]: variable["query"] for variable in dashboard["templating"]["list"]
                    if variable["type"] == "query"}
        rows = {}
        for title, text in queries.items():
            for written, filled in FILLED:
                text = re.sub(written, filled, text)
            self.assertNotIn("$", text)
            rows[title] = self.query(text)
            self.assertGreater(len(rows[title]), 0, title)
        talkers = collections.Counter()
        for flow in self.sent:
            talkers[addresses(flow)] += flow["octetDeltaCount"]
        first = sorted(talkers.items(), key=lambda talker: (-talker[1], talker[0]))[:20]
        self.assertEqual([(tuple(row[:2]), int(row[2])) for row in rows["Top talkers"]], first)
        self.assertEqual(rows["Records"], [[str(len(self.sent))]])
        self.assertEqual(rows["Records counted twice"], [["0"]])
        self.assertEqual(rows["variable probe"], [["probe1"]])

    def test_sums_equal_the_records(self):
        self.send(range(6000))
        self.wait_for_row(SUMS, self.sums())
        self.check_minutes()
        held = [int(self.query("SELECT count() FROM tributary.flows_local FINAL", server)[0][0]) for server in (0, 1)]
        self.assertEqual(sum(held), 6000)
        self.assertGreater(min(held), 2000)
        self.check_dashboard()
        self.assertEqual(self.query(read("clickhouse", "missing.sql")), [])

        self.send(range(6000, 9000))  # it may be reading them when it is killed
        self.servers[1].kill()
        self.send(range(9000, 12_000))
        self.servers[1].start()
        self.wait_for_row(SUMS, self.sums())

        counted = int(self.query(COUNTED_BY_MINUTE)[0][0])  # what the killed server read again is counted twice
        self.produce(range(1000))  # as from the spool of a probe that was killed
        self.wait_for_row(COUNTED_BY_MINUTE, [counted + 1000])
        self.assertEqual(self.query(SUMS, server=1), [[str(value) for value in self.sums()]])
        (day, *told), = self.query(read("clickhouse", "check.sql"))
        self.assertEqual([int(value) for value in told], [counted + 1000, 12_000, counted - 11_000])
        for server in (0, 1):
            self.query(read("clickhouse", "rebuild.sql").replace("DAY", day), server)
        self.check_minutes()
        self.check_dashboard()

        self.send([0, 1, 2, 4], stream="0123456789abcdef")
        self.wait_for_row(SUMS, self.sums())
        missing = self.query(read("clickhouse", "missing.sql"))
        self.assertEqual([(row[1], row[3:]) for row in missing], [("0123456789abcdef", ["5", "4", "1"])])


if __name__ == "__main__":
    harness.main()
