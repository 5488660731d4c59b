#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The Kafka broker that other tests export into: it keeps what it took over a kill and a restart, refuses what it is set to
refuse, and is gone with the test, also with one that is killed. Ports of servers, of which tests at once share none."""
import concurrent.futures
import os
import signal
import socket
import subprocess
import sys

import harness
from kafka_broker import Broker, BrokerProcess, Client, need_broker

# A test that is killed while its broker runs; prints the broker's process and folder.
KILLED_TEST = """
import sys
sys.path.insert(0, %r)
from kafka_broker import Broker
with Broker() as broker:
    print(broker.process.pid, broker.directory, flush=True)
    sys.stdin.read()
"""

# A test beside another one; prints the ports that it was given of those named.
TEST_BESIDE = """
import socket, sys
sys.path.insert(0, %r)
import harness
print(*(harness.free_port(socket.SOCK_STREAM, %r) for _ in range(%d)), flush=True)
sys.stdin.read()
"""


def lines(messages):
    return sorted(value for partition in messages.values() for _, _, value in partition)


class Kept(harness.TestCase):
    def setUp(self):
        super().setUp()
        need_broker()

    def test_messages_outlive_a_killed_broker(self):
        first = [b"before %d" % number for number in range(1000)]
        with Broker() as broker:
            broker.create_topic("flows", partitions=4)
            with self.assertRaisesRegex(AssertionError, "exists"):
                broker.create_topic("flows")
            broker.kcat("-P", "-t", "flows", "-X", "sticky.partitioning.linger.ms=0", stdin=b"\n".join(first))
            held = broker.messages("flows")
            self.assertEqual((lines(held), sorted(held)), (sorted(first), [0, 1, 2, 3]))
            broker.kill()
            broker.start()
            broker.kcat("-P", "-t", "flows", "-p", "2", "-K", "=", stdin=b"key=two\nlines, one key=\n")
            held = broker.messages("flows")
            self.assertEqual(lines(held), sorted([*first, b"two", b""]))
            self.assertEqual([(key, value) for _, key, value in held[2][-2:]], [(b"key", b"two"), (b"lines, one key", b"")])
            self.assertEqual(broker.end_offsets("flows", 4), {part: len(found) for part, found in held.items()})
            for found in held.values():
                self.assertEqual([offset for offset, _, _ in found], list(range(len(found))))
            broker.create_topic("narrow", max_message_bytes=2000)
            with self.assertRaisesRegex(AssertionError, "Message size too large"):
                broker.kcat("-P", "-t", "narrow", stdin=b"x" * 4000)
            self.assertEqual(broker.messages("narrow"), {})
            directory, process = broker.directory, broker.process
        self.assertFalse(os.path.exists(directory))
        self.assertIsNotNone(process.returncode)

    @staticmethod
    def listed(broker, *settings):
        """Whether a client with these settings is let in, through the listener of clients."""
        arguments = [argument for setting in settings for argument in ("-X", setting)]
        asked = subprocess.run(["kcat", "-b", broker.address, "-L", "-m", "2", *arguments], capture_output=True, timeout=60)
        return asked.returncode == 0

    def test_a_client_shows_a_password_and_knows_the_name(self):
        login = ("sasl.mechanism=PLAIN", "sasl.username=probe", "security.protocol=SASL_SSL")
        with Broker(users={"probe": "right"}, certificate="DNS:another.example") as broker:
            authority, right = "ssl.ca.location=" + broker.ca, "sasl.password=right"
            any_name = "ssl.endpoint.identification.algorithm=none"
            settings = [(*login, authority, right, any_name), (*login, authority, right),
                        (*login, authority, "sasl.password=wrong", any_name), (*login, right, any_name), ()]
            with concurrent.futures.ThreadPoolExecutor(len(settings)) as pool:
                let_in = list(pool.map(lambda chosen: self.listed(broker, *chosen), settings))
            self.assertEqual(let_in, [True, False, False, False, False])
            broker.pause()
            self.assertFalse(self.listed(broker, *login, authority, right, any_name))
            broker.resume()
            self.assertTrue(self.listed(broker, *login, authority, right, any_name))

    def test_it_is_gone_with_a_killed_test(self):
        code = KILLED_TEST % os.path.dirname(os.path.abspath(__file__))
        with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as test:
            process, directory = test.stdout.readline().decode().split()
            self.assertTrue(os.path.exists(directory))
            test.send_signal(signal.SIGKILL)
        harness.wait_until(lambda: not os.path.exists("/proc/" + process), 20, "the broker's end")
        harness.wait_until(lambda: not os.path.exists(directory), 20, "the folder to go")


class Ports(harness.TestCase):
    def test_tests_at_once_get_different_ones(self):
        """Between the choice of a port and the start of its server, which takes seconds, no listener shows that it is taken."""
        first = harness.free_port(socket.SOCK_STREAM)
        among, own = range(first - 40, first), set()
        code = TEST_BESIDE % (os.path.dirname(os.path.abspath(__file__)), among, 10)
        with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as beside:
            taken = {int(port) for port in beside.stdout.readline().split()}
            self.assertEqual((len(taken), taken - set(among)), (10, set()))
            with self.assertRaisesRegex(AssertionError, "no port is free"):
                while True:
                    own.add(harness.free_port(socket.SOCK_STREAM, among))
            self.assertEqual(own & taken, set())
            self.assertGreater(len(own), 10)


class FleetOfBrokers(harness.TestCase):
    """docs/fleet/kafka/server.properties, for three brokers on one machine."""

    def members(self):
        with open(os.path.join(harness.ROOT, "docs", "fleet", "kafka", "server.properties")) as source:
            text = source.read()
        ports = []
        while len(ports) < 6:
            ports += [port for port in [harness.free_port(socket.SOCK_STREAM)] if port not in ports]
        for number, (port, controller) in enumerate(zip(ports[::2], ports[1::2]), 1):
            text = text.replace("%d@kafka%d.example:9093" % (number, number), "%d@127.0.0.1:%d" % (number, controller))
        members = []
        for number, (port, controller) in enumerate(zip(ports[::2], ports[1::2]), 1):
            member = BrokerProcess("127.0.0.1:%d" % port)
            self.addCleanup(member.close)
            own = {"node.id=1": "node.id=%d" % number, "kafka1.example:9092": member.plain_address,
                   "PLAINTEXT://:9092": "PLAINTEXT://" + member.plain_address,
                   "CONTROLLER://:9093": "CONTROLLER://127.0.0.1:%d" % controller,
                   "/var/lib/kafka": member.path("data")}
            mine = text
            for written, filled in own.items():
                self.assertIn(written, mine)
                mine = mine.replace(written, filled)
            member.write_properties(mine)
            members.append(member)
        return members

    def kcat(self, *arguments, stdin=b""):
        brokers = ",".join(member.plain_address for member in self.brokers)
        return subprocess.run(["kcat", "-b", brokers, *arguments], input=stdin, capture_output=True, timeout=120)

    def produce(self, numbers):
        done = self.kcat("-P", "-t", "flows", "-X", "acks=all", "-X", "partitioner=random", "-X", "message.timeout.ms=20000",
                         stdin=b"\n".join(b"%d" % number for number in numbers))
        return done.returncode == 0

    def test_one_of_three_may_fail(self):
        if not harness.LONG:
            self.skipTest("three brokers take a minute: with TRIBUTARY_LONG")
        need_broker()
        self.brokers = self.members()
        for broker in self.brokers:
            broker.launch()
        for broker in self.brokers:
            broker.wait()
        with Client(self.brokers[0].plain_address) as client:
            client.create_topic("flows", partitions=24, copies=3, settings={})
        self.assertTrue(self.produce(range(1000)))
        self.brokers[0].kill()
        self.assertTrue(self.produce(range(1000, 2000)))
        held = self.kcat("-C", "-t", "flows", "-o", "beginning", "-e", "-q").stdout.split()
        self.assertEqual(sorted(map(int, held)), list(range(2000)))
        self.brokers[1].kill()
        self.assertFalse(self.produce([2000]))


if __name__ == "__main__":
    harness.main()
