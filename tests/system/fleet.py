#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""docs/fleet on a real Kafka broker and two ClickHouse servers, which are one consumer group. Probes with the configuration of
docs/fleet send captures: the distributed sums equal their ledgers, also after a server was killed and records came twice; those
by minute equal `tributary flows`; the dashboard's queries run."""
import collections
import datetime
import glob
import json
import os
import random
import re
import signal
import socket
import time
import unittest

import harness
from fleet_servers import PARTITIONS, PROBE, SUMS, TOPIC, FleetServers, probe, read
from kafka_case import PCAP_HEADER, Traffic, packets

HALF = 12_000    # packets, two of each flow
LATER = 100_000  # packets later, which are 100 s
TO_END = 3500    # packets, after which all flows of HALF packets before have ended, and none of these has
# What Grafana and its plug-in put into a query.
FILLED = ((r"\$__timeFilter\((.*?\)?)\)(?= AND)", r"(\1 >= toDateTime(0) AND \1 <= toDateTime(4294967295))"),
          (r"\$__interval_s", "60"), (r"\$\{probe:singlequote\}", "'probe1'"))
AIMED = "one of the moments that --all meets by chance: with TRIBUTARY_LONG"
SECONDS_TO_SETTLE = 6  # more than the 2.5 s after which ClickHouse writes what came last
COUNTED_BY_MINUTE = "SELECT sum(records) FROM tributary.flows_by_minute"
RECORDS = "SELECT count() FROM tributary.flows FINAL"
# A few records in each message of the library, one after the other, so that a spool is sent for seconds.
SLOWLY = ("--set", "export.collectors.0.properties={linger.ms: 50, batch.num.messages: 10, "
          "max.in.flight.requests.per.connection: 1}")


def addresses(flow):
    return tuple(flow.get(side + "IPv4Address") or flow[side + "IPv6Address"] for side in ("source", "destination"))


def octets(flow):
    """Of both directions."""
    return flow["octetDeltaCount"] + flow.get("reverseOctetDeltaCount", 0)


def by_minute(flows, name):
    """(Minute of this time, source, destination) -> octets."""
    sums = collections.Counter()
    for flow in flows:
        minute = datetime.datetime.fromtimestamp(flow[name] // 60_000 * 60, datetime.timezone.utc)
        sums[(minute.strftime("%Y-%m-%dT%H:%M:%S"), *addresses(flow))] += octets(flow)
    return sums


class Configuration(harness.TestCase):
    def test_the_probe(self):
        found = self.tributaryd("--config", PROBE, "--check-config").stdout
        self.assertIn("is good", found)
        self.assertIn("kafka kafka1.example:9092,kafka2.example:9092,kafka3.example:9092 topic flows, format json, key flow, "
                      "spool ", found)


class ProbeCase(harness.TestCase):
    """Probes as docs/fleet configures them send captures to self.broker."""

    def setUp(self):
        super().setUp()
        self.listed = []           # what `tributary flows` lists of the captures
        self.exported = [0, 0, 0]  # of the probes' ledgers: flows, octets, packets

    def start_probe(self, capture, *settings):
        return harness.Process(*probe(self.broker, capture, *settings, "--stats", self.path("stats.json")))

    def settle(self, running, capture, *settings):
        """Waits for a probe's end, takes over its ledger, and lists the flows of its capture."""
        self.assertEqual(running.popen.wait(60), harness.EX_OK, running.text())
        ledger = harness.read_json(self.path("stats.json"))
        self.check_ledger(ledger)
        of_probe = [ledger[unit]["exported"] for unit in ("flows", "octets", "packets")]
        self.assertEqual(of_probe[0], ledger["flows"]["created"])
        self.exported = [before + more for before, more in zip(self.exported, of_probe)]
        listing = self.path("listed.ipfix")
        self.tributaryd("--config", PROBE, *settings, "--read", capture, "--write", listing)
        flows = self.flows(listing)
        self.assertEqual([len(flows), sum(map(octets, flows))], of_probe[:2])
        self.listed += flows

    def send(self, capture, *settings):
        with self.start_probe(capture, *settings) as running:
            self.settle(running, capture, *settings)

    def in_spool(self):
        """How many records the spool's files have, whether they were delivered or not."""
        count = 0
        for path in glob.glob(os.path.join(self.broker.path("spool"), "*.spool")):
            with open(path, "rb") as octets:
                count += octets.read().count(b'"tributary:sequenceNumber":')
        return count

    def in_topic(self):
        return sum(self.broker.end_offsets(TOPIC, PARTITIONS).values())

    def spool_and_kill(self, capture, spooled):
        """A probe that reaches no broker is killed when so many records of a capture's packets are in its spool."""
        pipe, nowhere = self.path("pipe"), "127.0.0.1:%d" % harness.free_port(socket.SOCK_STREAM)
        settings = ("flows.idle-timeout=4", "export.flush-interval=0.1", "export.drain-timeout=60",
                    "export.collectors.0.buffer=65536", "export.collectors.0.brokers=" + nowhere)
        words = [word for setting in settings for word in ("--set", setting)]
        with Traffic(pipe, capture), self.start_probe(pipe, *words) as running:
            running.wait_for(lambda: self.in_spool() == spooled, 60, "%d records in the spool" % spooled)
            running.send(signal.SIGKILL)
            running.popen.wait()

    def send_and_kill(self):
        """A probe is killed while it delivers what it finds in its spool. @return  how many records the topic has then"""
        with self.start_probe(self.path("empty.pcap", PCAP_HEADER), *SLOWLY) as running:
            running.wait_for(lambda: self.in_topic() > 0, 60, "records in the topic")
            running.send(signal.SIGKILL)
            running.popen.wait()
        return self.in_topic()

    def send_again(self, count):
        """Puts records of the topic into it once more, as a probe that was killed does from its spool."""
        found = self.broker.messages(TOPIC)[0][:count]
        self.assertEqual(len(found), count)
        lines = [b"%s=%s" % (key, value.rstrip(b"\n")) for _, key, value in found]
        self.broker.kcat("-P", "-t", TOPIC, "-p", "0", "-K", "=", stdin=b"\n".join(lines))


class Fleet(ProbeCase):
    def setUp(self):
        super().setUp()
        self.fleet = self.enterContext(FleetServers())
        self.broker = self.fleet.broker

    def send_in_halves(self, between):
        """A probe sends flows; in their midst something happens, while the servers wait, read, write, or send rows to each other."""
        settings = ("--set", "flows.idle-timeout=1")
        halves = packets(0, HALF), packets(LATER, HALF)
        pipe = self.path("pipe")
        with Traffic(pipe, *halves, at_once=HALF) as traffic, self.start_probe(pipe, *settings) as running:
            running.wait_for(lambda: traffic.written == HALF, 60, "the first half")
            time.sleep(self.moment())
            between()
            traffic.may_go_on.set()
            self.settle(running, self.path("halves.pcap", PCAP_HEADER + halves[0] + halves[1]), *settings)

    @staticmethod
    def moment():
        """Seconds: ClickHouse begins to write what came when nothing has come for 2.5 s, and sends it to the other shard then."""
        seconds = random.Random(harness.SEED).uniform(0, 4)
        print("TRIBUTARY_SEED=%d: after %.3f s" % (harness.SEED, seconds), flush=True)
        return seconds

    def query(self, text, server=0):
        return self.fleet.query(text, server)

    def wait_for_row(self, text, row, seconds=60):
        found = []

        def comes():
            time.sleep(0.2)
            self.fleet.resend()
            found[:] = self.query(text)
            return found == [[str(value) for value in row]]
        try:
            harness.wait_until(comes, seconds, text)
        except AssertionError as error:
            raise AssertionError("%s: %s is the last answer, and %s expected" % (error, found, row)) from None

    def settled_count(self):
        """Records in the sums by minute, when no server has any left to read, to write or to send to the other one."""
        found = [0]
        stands_since = [time.monotonic()]

        def is_settled():
            time.sleep(0.5)
            self.fleet.resend()
            count = int(self.query(COUNTED_BY_MINUTE)[0][0])
            if count != found[0] or self.fleet.to_send() or not self.fleet.group_is_settled():
                found[0], stands_since[0] = count, time.monotonic()
            return count >= self.exported[0] and time.monotonic() - stands_since[0] > SECONDS_TO_SETTLE
        harness.wait_until(is_settled, 90, "sums by minute that do not grow")
        return found[0]

    def send_renumbered(self, stream, numbers):
        """Puts records of another stream into the topic."""
        record = json.loads(self.broker.messages(TOPIC)[0][0][2])
        lines = [json.dumps(record | {"tributary:streamId": stream, "tributary:sequenceNumber": number}) for number in numbers]
        self.broker.kcat("-P", "-t", TOPIC, stdin="\n".join(lines).encode())

    def check_minutes(self):
        rows = self.query("SELECT minute, source_address, destination_address, sum(octets) FROM tributary.flows_by_minute "
                          "GROUP BY minute, source_address, destination_address")
        self.assertEqual({(row[0].replace(" ", "T"), *row[1:3]): int(row[3]) for row in rows},
                         dict(by_minute(self.listed, "flowStartMilliseconds")))
        self.assertEqual(self.query(read("clickhouse", "check.sql")), [])

    def check_dashboard(self):
        """Each query runs, and gives rows; the top talkers are those of `tributary flows`."""
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
        for flow in self.listed:
            talkers[addresses(flow)] += octets(flow)
        first = sorted(talkers.items(), key=lambda talker: (-talker[1], talker[0]))[:20]
        self.assertEqual([(tuple(row[:2]), int(row[2])) for row in rows["Top talkers"]], first)
        self.assertEqual(rows["Records"], [[str(self.exported[0])]])
        self.assertEqual(rows["Records counted twice"], [["0"]])
        self.assertEqual(rows["variable probe"], [["probe1"]])

    def rebuild(self, counted):
        """Makes days anew whose sums count doubles. @param counted  records in the sums by minute"""
        told = self.query(read("clickhouse", "check.sql"))
        self.assertEqual(sum(int(row[3]) for row in told), counted - self.exported[0])
        for day, *_ in told:
            for server in (0, 1):
                self.query(read("clickhouse", "rebuild.sql").replace("DAY", day), server)

    def test_a_killed_probe_sends_again(self):
        """Records of its spool that were on their way when it was killed come twice, with the same stream and number."""
        killed, spooled = packets(0, HALF), HALF // 2
        self.spool_and_kill(killed + packets(LATER, TO_END), spooled)
        before = self.send_and_kill()
        self.assertLess(before, spooled)

        self.send(harness.DEMO)  # it sends what it inherits before
        exported = self.exported[0]
        account, = harness.read_json(self.path("stats.json"))["collectors"]
        self.assertEqual(account["records"], account["inherited"] + exported)
        self.assertGreaterEqual(account["inherited"], spooled - before)
        listing = self.path("killed.ipfix")
        self.tributaryd("--config", PROBE, "--read", self.path("killed.pcap", PCAP_HEADER + killed), "--write", listing)
        self.listed += self.flows(listing)
        self.exported = [len(self.listed), sum(map(octets, self.listed)), self.exported[2] + HALF]
        self.assertEqual(len(self.listed), spooled + exported)

        topic = [json.loads(value) for found in self.broker.messages(TOPIC).values() for _, _, value in found]
        numbers = collections.Counter((record["tributary:streamId"], record["tributary:sequenceNumber"]) for record in topic)
        self.assertEqual((len(numbers), len({stream for stream, _ in numbers})), (self.exported[0], 2))
        self.assertGreater(len(topic), len(numbers))
        self.wait_for_row(SUMS, self.exported)
        self.wait_for_row(COUNTED_BY_MINUTE, [len(topic)])
        self.assertEqual(self.query(SUMS, server=1), self.query(SUMS))
        self.assertEqual(self.query(read("clickhouse", "missing.sql")), [])
        self.rebuild(len(topic))
        self.check_minutes()

    def test_sums_equal_the_ledgers(self):
        self.send(harness.DEMO)
        self.send(harness.DEMO, "--set", "flows.direction=uniflow")
        self.wait_for_row(SUMS, self.exported)
        self.assertEqual(self.exported[1:], [2 * harness.DEMO_OCTETS, 2 * harness.DEMO_PACKETS])
        self.wait_for_row(COUNTED_BY_MINUTE, self.exported[:1])  # the view comes after its table
        self.check_minutes()

        self.send_in_halves(self.fleet.servers[1].kill)
        self.fleet.servers[1].start()
        self.wait_for_row(SUMS, self.exported)
        self.assertEqual(self.query(SUMS, server=1), self.query(SUMS))
        held = [int(self.query("SELECT count() FROM tributary.flows_local FINAL", server)[0][0]) for server in (0, 1)]
        self.assertEqual(sum(held), self.exported[0])
        self.assertGreater(min(held), self.exported[0] // 3)
        self.assertEqual(self.query(read("clickhouse", "missing.sql")), [])
        self.assertEqual(self.query("SELECT count(DISTINCT stream_id) FROM tributary.flows"), [["3"]])

        counted = self.settled_count()  # what was read again, or sent again, is counted twice
        self.send_again(1000)
        counted += 1000
        self.wait_for_row(COUNTED_BY_MINUTE, [counted])
        self.assertEqual(self.query(SUMS, server=1), [[str(value) for value in self.exported]])
        self.rebuild(counted)
        self.check_minutes()
        self.check_dashboard()

        self.send_renumbered("0123456789abcdef", (0, 1, 2, 4))
        self.wait_for_row(RECORDS, [self.exported[0] + 4])
        missing = self.query(read("clickhouse", "missing.sql"))
        self.assertEqual([(row[1], row[3:]) for row in missing], [("0123456789abcdef", ["5", "4", "1"])])

    def slow_down(self, server):
        """A server takes three seconds longer for an insert, from when the rows are in its table of records."""
        self.query("CREATE TABLE tributary.slow (x UInt8) ENGINE = Null; CREATE MATERIALIZED VIEW tributary.slow_view "
                   "TO tributary.slow AS SELECT toUInt8(sleep(3)) AS x FROM tributary.flows_local LIMIT 1", server)

    def wait_for_records_here(self, server):
        harness.wait_until(lambda: self.query("SELECT count() FROM tributary.flows_local", server) != [["0"]], 60, "records")

    @unittest.skipUnless(harness.LONG, AIMED)
    def test_a_server_killed_while_it_takes_rows_from_another_one(self):
        self.slow_down(server=1)
        self.query("INSERT INTO tributary.flows (stream_id, sequence_number) SELECT '0123456789abcdef', number "
                   "FROM system.numbers LIMIT 100")
        self.wait_for_records_here(server=1)
        self.fleet.servers[1].kill()
        harness.wait_until(lambda: self.fleet.put_aside(0), 60, "a file that was put aside")
        self.fleet.servers[1].start()
        self.query("TRUNCATE TABLE tributary.flows_local", server=1)  # as where it is killed a moment sooner
        self.wait_for_row(RECORDS, [100])
        self.assertEqual(self.fleet.put_aside(0), [])

    @unittest.skipUnless(harness.LONG, AIMED)
    def test_a_server_killed_while_it_writes_what_it_read(self):
        """The broker was not told before that it is read: the rows for the other shard are in no file yet."""
        self.fleet.servers[1].kill()
        self.slow_down(server=0)
        record = {"tributary:probeName": "probe1", "iana:flowStartMilliseconds": "2026-01-31T10:00:00.000Z",
                  "iana:flowEndMilliseconds": "2026-01-31T10:00:00.000Z", "tributary:streamId": "0123456789abcdef"}
        lines = [json.dumps(record | {"tributary:sequenceNumber": number}) for number in range(100)]
        self.broker.kcat("-P", "-t", TOPIC, stdin="\n".join(lines).encode())
        self.wait_for_records_here(server=0)
        self.fleet.servers[0].kill()
        for server in self.fleet.servers:
            server.start()
        self.wait_for_row(RECORDS, [100])


if __name__ == "__main__":
    harness.main()
