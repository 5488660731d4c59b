# SPDX-License-Identifier: Apache-2.0
"""What docs/fleet describes, small, on the loopback address: a broker with the topic, and two ClickHouse servers that are one
consumer group, each with the tables of docs/fleet. Used by tests and by tools/fleet-demo."""
import contextlib
import glob
import os
import subprocess

import harness
from clickhouse import Server, need_clickhouse
from kafka_broker import Broker, Client, need_broker

FLEET = os.path.join(harness.ROOT, "docs", "fleet")
PROBE = os.path.join(FLEET, "probe.yaml")
BROKERS = "kafka1.example:9092,kafka2.example:9092"  # as queue.sql has them
TOPIC, PARTITIONS, GROUP = "flows", 4, "tributary"
# Of all shards, each record once: records, octets and packets of both directions.
SUMS = "SELECT count(), sum(octets + reverse_octets), sum(packets + reverse_packets) FROM tributary.flows FINAL"


def read(*names):
    """A file of docs/fleet."""
    with open(os.path.join(FLEET, *names)) as source:
        return source.read()


def filled(text, written, value):
    """A file of docs/fleet with a value of this machine instead of the one that is written there."""
    if written not in text:
        raise AssertionError("docs/fleet has no " + written)
    return text.replace(written, value)


def probe(broker, capture, *arguments):
    """The command line of a probe as docs/fleet configures it, that sends the flows of a capture into the broker's topic."""
    collector = {"brokers": broker.plain_address, "spool.directory": broker.path("spool")}
    given = [argument for key, value in collector.items()
             for argument in ("--set", "export.collectors.0.%s=%s" % (key, value))]
    return [harness.TRIBUTARYD, "--config", PROBE, *given, "--read", capture, "--export", *arguments]


class FleetServers:
    """A context: the servers and their folders are gone after it. @throws unittest.SkipTest where one of them cannot be had"""

    def __init__(self):
        need_broker()
        need_clickhouse()
        self.stack = contextlib.ExitStack()
        self.broker, self.servers = None, []

    def __enter__(self):
        with self.stack:
            self.start()
            self.stack = self.stack.pop_all()
        return self

    def __exit__(self, *_):
        self.stack.close()

    def made(self, server):
        self.stack.callback(server.close)
        return server

    def start(self):
        self.servers = [self.made(Server()) for _ in range(2)]
        self.broker = self.made(Broker())
        cluster = filled(read("clickhouse", "cluster.xml"), ">10000<", ">6000<")  # the shortest that a broker allows
        # So soon a server learns that the other one joins the group: after 3 s by default.
        cluster = filled(cluster, "</session_timeout_ms>", "</session_timeout_ms><heartbeat_interval_ms>300</heartbeat_interval_ms>")
        for number, server in enumerate(self.servers, 1):
            cluster = filled(cluster, "clickhouse%d.example</host><port>9000" % number,
                             "127.0.0.1</host><port>%d" % server.port)
        for server in self.servers:
            server.write_config("config.d/cluster.xml", cluster)
            server.write_config("users.d/profile.xml", read("clickhouse", "profile.xml"))
            server.launch()
        self.broker.start()
        self.broker.create_topic(TOPIC, PARTITIONS)
        for server in self.servers:
            server.wait()
            server.query(read("clickhouse", "tables.sql"))
        queue = filled(read("clickhouse", "queue.sql"), BROKERS, self.broker.plain_address)
        for server in self.servers:
            server.query(queue)
        # As long as servers still join the group, one may read again what another had read.
        harness.wait_until(self.group_is_settled, 60, "both servers in one group")

    def group_is_settled(self):
        with Client(self.broker.plain_address) as client:
            return client.group_is_settled(GROUP, len(self.servers))

    def query(self, text, server=0):
        return self.servers[server].query(text)

    def resend(self):
        """As clickhouse-resend.timer does."""
        for server in self.servers:
            subprocess.run([os.path.join(FLEET, "clickhouse", "resend.sh"), server.path("data")], check=True)

    def files_to_send(self, server, *folder):
        return glob.glob(self.servers[server].path("data", "data", "tributary", "flows", "*", *folder, "*.bin"))

    def put_aside(self, server):
        """Files for the other shard that a server takes for damaged."""
        return self.files_to_send(server, "broken")

    def to_send(self):
        """All files for the other shard."""
        return [path for server in range(len(self.servers))
                for path in self.files_to_send(server) + self.put_aside(server)]
