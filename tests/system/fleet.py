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
from stream_collector import Collector

FLEET = os.path.join(harness.ROOT, "docs", "fleet")
BROKERS = "kafka1.example:9092,kafka2.example:9092"  # as queue.sql has them
PARTITIONS = 4
STREAM = "00c0ffee00c0ffee"
# What Grafana and its plug-in put into a query.
FILLED = ((r"\$__timeFilter\((.*?\)?)\)(?= AND)", r"(\1 >= toDateTime(0) AND \1 <= toDateTime(4294967295))"),
          (r"\$__interval_s", "60"), (r"\$\{probe:singlequote\}", "'probe1'"))
COUNTED_BY_MINUTE = "SELECT sum(records) FROM tributary.flows_by_minute"
SUMS = "SELECT count(), sum(octets + reverse_octets), sum(packets + reverse_packets) FROM tributary.flows FINAL"


def read(*names):
    with open(os.path.join(FLEET, *names)) as source:
        return source.read()


def numbered(record, stream, number):
    """The same record of another stream."""
    return record | {"tributary:streamId": stream, "tributary:sequenceNumber": number}


def addresses(record):
    return tuple(record.get("iana:%sIPv4Address" % side) or record["iana:%sIPv6Address" % side]
                 for side in ("source", "destination"))


def both_directions(record, name):
    return record["iana:" + name] + record.get("iana@reverse:%s@reverse" % name, 0)


def totals(records):
    return [len(records), *(sum(both_directions(record, name) for record in records)
                            for name in ("octetDeltaCount", "packetDeltaCount"))]


def by_minute(records, name):
    """(Minute of this time, source, destination) -> octets."""
    sums = collections.Counter()
    for record in records:
        sums[(record[name][:17] + "00", *addresses(record))] += both_directions(record, "octetDeltaCount")
    return sums


class FleetCase(harness.TestCase):
    def json_records(self, *settings):
        """The bundled capture's records, as a probe writes them as JSON lines."""
        with Collector() as collector:
            given = ("collectors.0.transport=tcp", "collectors.0.format=json", "probe.name=probe1",
                     "probe.address=198.51.100.1")
            self.tributaryd("--read", harness.DEMO, "-n", "127.0.0.1:%d" % collector.port, *settings,
                            *(argument for setting in given for argument in ("--set", "export." + setting)))
        records = [json.loads(line) for line in collector.streams[0].splitlines()]
        self.assertEqual(totals(records)[1:], [harness.DEMO_OCTETS, harness.DEMO_PACKETS])
        return records

    def started(self, server):
        self.addCleanup(server.close)
        server.start()
        return server


class Fleet(FleetCase):
    def setUp(self):
        super().setUp()
        need_broker()
        need_clickhouse()
        self.records = self.json_records()
        self.biflows = self.json_records("--set", "flows.direction=biflow")
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

    def produce(self, records):
        """Puts them into the topic, each flow into one partition."""
        lines = ["%s=%s" % ("".join(addresses(record)), json.dumps(record)) for record in records]
        self.broker.kcat("-P", "-t", "flows", "-K", "=", "-z", "lz4", stdin="\n".join(lines).encode())

    def send(self, records):
        self.sent += records
        self.produce(records)

    def stream(self, numbers):
        return [numbered(self.records[number % len(self.records)], STREAM, number) for number in numbers]

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

    def check_minutes(self):
        rows = self.query("SELECT minute, source_address, destination_address, sum(octets) FROM tributary.flows_by_minute "
                          "GROUP BY minute, source_address, destination_address")
        self.assertEqual({(row[0].replace(" ", "T"), *row[1:3]): int(row[3]) for row in rows},
                         dict(by_minute(self.sent, "iana:flowStartMilliseconds")))
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
        for record in self.sent:
            talkers[addresses(record)] += both_directions(record, "octetDeltaCount")
        first = sorted(talkers.items(), key=lambda talker: (-talker[1], talker[0]))[:20]
        self.assertEqual([(tuple(row[:2]), int(row[2])) for row in rows["Top talkers"]], first)
        self.assertEqual(rows["Records"], [[str(len(self.sent))]])
        self.assertEqual(rows["Records counted twice"], [["0"]])
        self.assertEqual(rows["variable probe"], [["probe1"]])

    def check_listed(self):
        """The lines have each flow that `tributary flows` lists, with its minute, addresses and octets."""
        listed = collections.Counter()
        for flow in self.flows(self.meter("--read", harness.DEMO)[0]):
            start = datetime.datetime.fromtimestamp(flow["flowStartMilliseconds"] // 60_000 * 60, datetime.timezone.utc)
            pair = (flow.get(side + "IPv4Address") or flow[side + "IPv6Address"] for side in ("source", "destination"))
            listed[(start.strftime("%Y-%m-%dT%H:%M:%S"), *pair)] += flow["octetDeltaCount"]
        self.assertEqual(by_minute(self.records, "iana:flowStartMilliseconds"), listed)

    def test_sums_equal_the_records(self):
        self.check_listed()
        self.send(self.records + self.biflows + self.stream(range(6000)))
        self.wait_for_row(SUMS, totals(self.sent))
        self.check_minutes()
        held = [int(self.query("SELECT count() FROM tributary.flows_local FINAL", server)[0][0]) for server in (0, 1)]
        self.assertEqual(sum(held), len(self.sent))
        self.assertGreater(min(held), 2000)
        self.check_dashboard()
        self.assertEqual(self.query(read("clickhouse", "missing.sql")), [])

        self.send(self.stream(range(6000, 9000)))  # it may be reading them when it is killed
        self.servers[1].kill()
        self.send(self.stream(range(9000, 12_000)))
        self.servers[1].start()
        self.wait_for_row(SUMS, totals(self.sent))

        counted = int(self.query(COUNTED_BY_MINUTE)[0][0])  # what the killed server read again is counted twice
        self.produce(self.stream(range(1000)))  # as from the spool of a probe that was killed
        counted += 1000
        self.wait_for_row(COUNTED_BY_MINUTE, [counted])
        self.assertEqual(self.query(SUMS, server=1), [[str(value) for value in totals(self.sent)]])
        (day, *told), = self.query(read("clickhouse", "check.sql"))
        self.assertEqual([int(value) for value in told], [counted, len(self.sent), counted - len(self.sent)])
        for server in (0, 1):
            self.query(read("clickhouse", "rebuild.sql").replace("DAY", day), server)
        self.check_minutes()
        self.check_dashboard()

        self.send([numbered(self.records[number], "0123456789abcdef", number) for number in (0, 1, 2, 4)])
        self.wait_for_row(SUMS, totals(self.sent))
        missing = self.query(read("clickhouse", "missing.sql"))
        self.assertEqual([(row[1], row[3:]) for row in missing], [("0123456789abcdef", ["5", "4", "1"])])


if __name__ == "__main__":
    harness.main()
