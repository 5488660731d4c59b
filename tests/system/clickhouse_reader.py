#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Messages and lines read by the current ClickHouse, which PyPI has as a Python package, from files and from topics of a real
broker: FlowMessages by the tables and queries of goflow2's own kit for ClickHouse and Grafana, and by our schema; JSON lines
by their names. RawFlow's IPFIX messages are read by the decoder that Akvorado has from goflow2."""
import collections
import fcntl
import json
import os
import re
import shutil
import subprocess
import sys
import unittest

import goflow2_module
import harness
import kafka_export
from fleet_servers import filled, read
from kafka_broker import Broker, need_broker

PACKAGE, VERSION = "chdb-core", "26.9.0"
FOLDER = os.path.join(harness.BUILD, "collectors", "chdb-" + VERSION)
INSTALL_SECONDS = 300
# Reads statements as a list, and prints the rows of each.
RUN = """
import json, sys
from chdb import session
database = session.Session(sys.argv[1])
answers = [str(database.query(text, "JSONCompact")) for text in json.load(sys.stdin)]
json.dump([json.loads(answer)["data"] if answer.strip() else [] for answer in answers], sys.stdout)
"""
KIT = ("compose", "kcg")
NAME, ADDRESS = "west-1", "192.0.2.9"
PARTITIONS = 4


def install():
    """None, with the package in the build folder, or one line on why it is not there."""
    work = FOLDER + ".new"
    shutil.rmtree(work, ignore_errors=True)
    python = os.path.join(work, "bin", "python")
    # Pandas and pyarrow, which it asks for, are for data frames.
    steps = ([sys.executable, "-m", "venv", work],
             [python, "-m", "pip", "install", "-q", "--no-deps", "--only-binary=:all:", "%s==%s" % (PACKAGE, VERSION)])
    for step in steps:
        try:
            done = subprocess.run(step, capture_output=True, text=True, timeout=INSTALL_SECONDS)
        except subprocess.TimeoutExpired:
            return "no chdb: %s took more than %d s" % (step[2], INSTALL_SECONDS)
        if done.returncode != 0:
            return "no chdb: %s: %s" % (step[2], goflow2_module.last_line(done.stdout + done.stderr))
    os.rename(work, FOLDER)
    return None


def need_chdb():
    """Skips the test where the package cannot be had. One of several tests installs it."""
    os.makedirs(os.path.dirname(FOLDER), exist_ok=True)
    with open(FOLDER + ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        reason = None if os.path.isdir(FOLDER) else install()
    if reason is not None:
        raise unittest.SkipTest(reason)


def kit(*names):
    """A file of goflow2's kit for Kafka, ClickHouse and Grafana."""
    with open(os.path.join(goflow2_module.fetch(), *KIT, *names)) as source:
        return source.read()


class Reader(harness.TestCase):
    def setUp(self):
        super().setUp()
        need_chdb()

    def query(self, *statements):
        """The rows of each statement. The tables of a test stay with it."""
        done = subprocess.run([os.path.join(FOLDER, "bin", "python"), "-c", RUN, self.path("database")],
                              input=json.dumps(statements), capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr[-4000:])
        return json.loads(done.stdout)

    def meter(self, direction, *collector):
        """Meters the bundled capture for a collector, by its keys. @return  packets and octets of its ledger"""
        stats = self.path("stats.json")
        config = self.path("probe.yaml", "flows: {direction: %s}\nexport:\n  probe: {name: %s, address: %s}\n"
                           "  collectors: [{%s}]\n" % (direction, NAME, ADDRESS, ", ".join(collector)))
        self.tributaryd("--config", config, "--read", harness.DEMO, "--export", "--stats", stats)
        ledger = harness.read_json(stats)
        self.check_ledger(ledger)
        self.assertEqual(ledger["flows"]["lost"], 0)
        return [ledger["packets"]["exported"], ledger["octets"]["exported"]]

    def to_file(self, form, direction):
        """@return  the file's path, packets and octets of the ledger"""
        path = self.path("%s.%s" % (direction, form))
        return path, self.meter(direction, "transport: file", "format: " + form, "path: " + path)

    def uniflows(self):
        """The flows of the capture as `tributary flows` lists them: (source, destination, octets, packets), and how often."""
        path = self.path("same.ipfix")
        self.tributaryd("--read", harness.DEMO, "--write", path, "--set", "flows.direction=uniflow")
        return collections.Counter(
            (*(row.get(end + "IPv4Address") or row[end + "IPv6Address"] for end in ("source", "destination")),
             row["octetDeltaCount"], row["packetDeltaCount"]) for row in self.flows(path))

    # FlowMessages

    def check_kit(self, path, single, sums):
        """Fills the tables of goflow2's kit, with nothing changed but the broker that they read from, and asks them what its
        dashboard does.
        @param path    of messages, for file()
        @param single  they are bare, one in each file: not what the kit reads, so the format is another
        @param sums    packets, octets"""
        script = kit("clickhouse", "create.sh").replace("\\`", "`")
        statements = [text.strip() for text in re.findall(r"CREATE (?:TABLE|MATERIALIZED VIEW) [^;]*;", script)]
        self.assertEqual(len(statements), 5)
        columns, kafka = re.fullmatch(r".*? flows\s*\((.*)\) ENGINE = Kafka\(\)\s*SETTINGS(.*);", statements[0], re.S).groups()
        settings = dict(re.findall(r"(\w+) = '([^']*)'", kafka))
        schema, message = settings["kafka_schema"].split(":")
        self.assertEqual((settings["kafka_format"], schema, message), ("Protobuf", "flow.proto", "FlowMessage"))
        schema = os.path.join(goflow2_module.fetch(), *KIT, "clickhouse", schema)
        text = json.loads(kit("grafana", "dashboards", "viz-ch.json"))
        talkers = [target["query"].replace("$table", "flows_raw").replace("$timeFilter", "1")
                   for panel in text["panels"] for target in panel.get("targets", []) if "NumToString" in target["query"]]
        self.assertEqual(len(talkers), 2)
        shown = ["if(etype = 0x800, IPv4NumToString(reinterpretAsUInt32(substring(reverse(%s), 13, 4))), IPv6NumToString(%s))"
                 % (name, name) for name in ("src_addr", "dst_addr", "sampler_address")]
        shown[2] = shown[2].replace("etype = 0x800", "1")
        answers = self.query(
            "DROP DATABASE IF EXISTS kit", "CREATE DATABASE kit", "USE kit",
            re.sub(r"ENGINE = Kafka.*", "ENGINE = Null", statements[0], flags=re.S), *statements[1:],
            "INSERT INTO flows SELECT * FROM file('%s', '%s', '%s') SETTINGS format_schema = '%s:%s'"
            % (path, "ProtobufSingle" if single else settings["kafka_format"], columns, schema, message),
            "SELECT %s, bytes, packets FROM flows_raw" % ", ".join(shown[:2]),
            "SELECT DISTINCT sampling_rate, %s FROM flows_raw" % shown[2],
            "SELECT sum(packets), sum(bytes), sum(count) FROM flows_5m",
            "SELECT count() FROM flows_raw WHERE time_received_ns < time_flow_start_ns OR toYear(time_flow_start_ns) != 2026",
            *talkers)
        rows, probe, by_time, late, sources, destinations = answers[-6:]
        flows = self.uniflows()
        self.assertEqual(collections.Counter(map(tuple, rows)), flows)
        self.assertEqual(probe, [[1, ADDRESS]])
        self.assertEqual(by_time, [[*sums, sum(flows.values())]])
        self.assertEqual(late, [[0]])
        for place, talkers in enumerate((sources, destinations)):
            octets = collections.Counter()
            for flow, times in flows.items():
                octets[flow[place]] += flow[2] * times
            self.assertEqual(dict(talkers), dict(octets))

    def check_ours(self, path, form):
        """What FlowMessage cannot carry, in the same messages."""
        schema = os.path.join(harness.ROOT, "docs", "tributary_flow.proto")
        numbers, = self.query("SELECT probe_name, stream_sequence, stream, flow_end_reason FROM file('%s', '%s') ORDER BY 2 "
                              "SETTINGS format_schema = '%s:TributaryFlow'" % (path, form, schema))
        self.assertEqual([row[:2] for row in numbers], [[NAME, number] for number in range(harness.DEMO_FLOWS)])
        self.assertEqual(len({row[2] for row in numbers}), 1)
        self.assertLessEqual({row[3] for row in numbers}, {1, 2, 3, 4})

    # JSON lines

    def check_fleet(self, path, sums):
        """Fills the tables of docs/fleet of one server, twice, and asks for each record once."""
        tables, queue = ([text.strip() for text in re.sub("--.*", "", read("clickhouse", name)).split(";") if text.strip()]
                         for name in ("tables.sql", "queue.sql"))
        tables = [text for text in tables if "Distributed" not in text]
        columns, = re.findall(r"\((.*)\) ENGINE = Kafka", queue[0], re.S)
        self.assertEqual(re.findall("kafka_format = '(.*)'", queue[0]), ["JSONEachRow"])
        put = "INSERT INTO tributary.flows_queue SELECT * FROM file('%s', 'JSONEachRow', '%s')" % (path, columns)
        answers = self.query(
            "DROP DATABASE IF EXISTS tributary", *tables, re.sub(r"ENGINE = Kafka.*", "ENGINE = Null", queue[0], flags=re.S),
            filled(queue[1], "TO tributary.flows AS", "TO tributary.flows_local AS"), put,
            "SELECT sum(packets), sum(octets), sum(records) FROM tributary.flows_by_minute_local", put,
            "SELECT source_address, destination_address, octets, packets, reverse_octets, reverse_packets "
            "FROM tributary.flows_local FINAL",
            "SELECT DISTINCT probe_name, probe_address, toYear(flow_start) FROM tributary.flows_local",
            "SELECT sequence_number FROM tributary.flows_local FINAL ORDER BY sequence_number")
        by_minute, _, rows, probe, numbers = answers[-5:]
        self.assertEqual(by_minute, [[*sums, len(rows)]])
        found = collections.Counter(tuple(row[:4]) for row in rows)
        found.update((row[1], row[0], *row[4:]) for row in rows if row[5] > 0)
        self.assertEqual(found, self.uniflows())
        self.assertEqual(probe, [[NAME, ADDRESS, 2026]])
        self.assertEqual(numbers, [[number] for number in range(len(rows))])
        return len(rows)


class Files(Reader):
    def test_flow_messages(self):
        for direction in ("uniflow", "biflow"):
            with self.subTest(direction):
                path, sums = self.to_file("flowmessage", direction)
                self.assertEqual(sums, [harness.DEMO_PACKETS, harness.DEMO_OCTETS])
                self.check_ours(path, "Protobuf")
                self.check_kit(path, False, sums)

    def test_json(self):
        rows = {}
        for direction in ("uniflow", "biflow"):
            with self.subTest(direction):
                path, sums = self.to_file("json", direction)
                rows[direction] = self.check_fleet(path, sums)
        self.assertEqual(rows["uniflow"], harness.DEMO_FLOWS)
        self.assertLess(rows["biflow"], harness.DEMO_FLOWS)


class Topics(Reader):
    """Each message of a topic is read as those of a file are."""

    @classmethod
    def setUpClass(cls):
        need_chdb()
        need_broker()
        cls.broker = cls.enterClassContext(Broker())

    def to_topic(self, form, direction, *more):
        """@return  the values of the messages, as kcat prints them; packets and octets of the ledger"""
        name = "-".join((form, *more)).replace(": ", "-")
        self.broker.create_topic(name, partitions=PARTITIONS)
        sums = self.meter(direction, "transport: kafka", "brokers: '%s'" % self.broker.plain_address, "topic: " + name,
                          "format: " + form, *more)
        return [value for found in self.broker.messages(name).values() for _, _, value in found], sums

    def test_flow_messages(self):
        values, sums = self.to_topic("flowmessage", "biflow")
        self.assertEqual(len(values), harness.DEMO_FLOWS)  # a biflow is two
        path = self.path("topic.messages", b"".join(values))
        self.check_ours(path, "Protobuf")
        self.check_kit(path, False, sums)

        values, sums = self.to_topic("flowmessage", "uniflow", "delimited: false")
        for number, value in enumerate(values):
            self.path("%d.message" % number, value)
        self.check_ours(self.path("*.message"), "ProtobufSingle")
        self.check_kit(self.path("*.message"), True, sums)

    def test_json(self):
        values, sums = self.to_topic("json", "biflow")
        self.assertEqual(self.check_fleet(self.path("topic.json", b"\n".join(values)), sums), len(values))

    def test_rawflow(self):
        """The Go proxy has not got Akvorado: its frame is parted here, and its decoder is goflow2's."""
        values, sums = self.to_topic("rawflow", "uniflow")
        path = self.path("topic.ipfix", b"".join(kafka_export.Ipfix.payload_of(value)[2] for value in values))
        found = subprocess.run([goflow2_module.build("alone"), path], capture_output=True, text=True, timeout=60)
        self.assertEqual((found.returncode, found.stdout),
                         (0, "%d %d %d\n" % (harness.DEMO_FLOWS, sums[1], sums[0])), found.stderr)


if __name__ == "__main__":
    harness.main()
