#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Records into a real Kafka broker, read back by kcat: packets and octets equal the ledger, each flow is in one partition, no
number is missing; and what the ledger says while brokers are killed, stopped, narrow or refuse the probe."""
import json
import os
import re
import shutil
import socket
import struct
import subprocess
import time
import unittest

import harness
from kafka_broker import Broker, need_broker

PARTITIONS = 4
PACKETS, OCTETS = "iana:packetDeltaCount", "iana:octetDeltaCount"
PASSWORD = "a-secret-that-nobody-may-see"
FLOWS = 20_000
EX_IOERR = 74  # records were lost
# Each fault is tried so many times.
TURNS = 20 if harness.LONG else 2


def packets(first, count):
    """Octets of a capture: a UDP packet for each of so many flows, of which every other one goes back."""
    parts = []
    for number in range(first, first + count):
        flow = number // 2
        ends = [socket.inet_aton("10.%d.%d.1" % (flow >> 8 & 0xFF, flow & 0xFF)), socket.inet_aton("198.51.100.7")]
        ports = [1024 + (flow >> 16), 53]
        if number % 2 == 1:
            ends.reverse()
            ports.reverse()
        ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 46, 0, 0, 64, 17, 0, *ends)
        frame = bytes(12) + b"\x08\0" + ip + struct.pack(">HHHH", *ports, 26, 0) + bytes(18)
        parts.append(struct.pack("<IIII", 1_700_000_000 + number // 1000, number % 1000, len(frame), len(frame)) + frame)
    return b"".join(parts)


class KafkaExport(harness.TestCase):
    def setUp(self):
        super().setUp()
        need_broker()

    def config(self, broker, collector="", flows="direction: uniflow, idle-timeout: 1", topic="flows", drain=20):
        """A configuration whose collector is this broker's topic `flows`, with more keys."""
        return self.path("probe.yaml", """
            flows: {%s}
            export:
              probe: {name: probe-1, address: 192.0.2.7}
              flush-interval: 0.1
              drain-timeout: %d
              collectors:
              - {transport: kafka, format: json, brokers: "%s", topic: %s%s}
            """ % (flows, drain, broker.address, topic, collector and ", " + collector))

    def run_probe(self, config, capture=harness.DEMO, expect=0):
        """Meters a capture into the topic. @return  its ledger, and all that it has printed"""
        stats = self.path("stats.json")
        result = self.tributaryd("--config", config, "--read", capture, "--export", "--stats", stats, timeout=240,
                                 expect=expect)
        return self.ledger(), result.stdout + result.stderr

    def ledger(self):
        ledger = harness.read_json(self.path("stats.json"))
        self.check_ledger(ledger)
        return ledger

    def run_broken(self, config, breaks, topic_holds):
        """Meters FLOWS flows; in their midst, when the topic has some of them, something breaks.
        @return  the ledger, and all that the probe has printed"""
        pipe = self.path("capture")
        if not os.path.exists(pipe):
            os.mkfifo(pipe)
        with harness.Process(harness.TRIBUTARYD, "--config", config, "--read", pipe, "--export", "--stats",
                             self.path("stats.json")) as probe:
            with open(pipe, "wb", buffering=0) as capture:
                capture.write(struct.pack("<IHHIIII", 0xA1B2C3D4, 2, 4, 0, 0, 262144, 1))
                capture.write(packets(0, FLOWS // 2))
                harness.wait_until(topic_holds, 60, "records in the topic")
                breaks()
                capture.write(packets(FLOWS // 2, FLOWS // 2))
            status, ledger = probe.popen.wait(timeout=240), self.ledger()
            self.assertEqual(status, EX_IOERR if ledger["flows"]["lost"] else 0, probe.text())
            return ledger, probe.text()

    @staticmethod
    def topic(broker, name="flows"):
        """Partition -> its records, in order."""
        return {partition: [json.loads(value) for _, _, value in found] for partition, found in broker.messages(name).items()}

    @staticmethod
    def flow_of(record):
        """The same for both directions."""
        ends = sorted((record.get("iana:%sIPv4Address" % end) or record.get("iana:%sIPv6Address" % end),
                       record.get("iana:%sTransportPort" % end, 0)) for end in ("source", "destination"))
        return (*ends, record["iana:protocolIdentifier"])

    def check_order(self, topic):
        """Each flow is in one partition, and numbers grow in each: nothing is there twice."""
        places = {}
        for partition, records in topic.items():
            numbers = [record["tributary:sequenceNumber"] for record in records]
            self.assertEqual(numbers, sorted(set(numbers)))
            for record in records:
                self.assertEqual(places.setdefault(self.flow_of(record), partition), partition)

    @staticmethod
    def totals(topic):
        records = [record for found in topic.values() for record in found]
        reverse = [name.replace("iana:", "iana@reverse:") + "@reverse" for name in (PACKETS, OCTETS)]
        return [len(records), *(sum(record[name] + record.get(back, 0) for record in records)
                                for name, back in zip((PACKETS, OCTETS), reverse))]

    def check_account(self, ledger, topic):
        """exported <= stored <= exported + unconfirmed, and all that is missing has its cause."""
        flows = ledger["flows"]
        stored, unconfirmed = self.totals(topic)[0], flows["lost_by_cause"]["unconfirmed"]
        self.assertLessEqual(flows["exported"], stored)
        self.assertLessEqual(stored, flows["exported"] + unconfirmed)
        self.assertEqual(flows["created"], flows["exported"] + flows["lost"] + flows["spooled"])
        self.check_order(topic)
        self.check_numbers(ledger, topic)

    def check_numbers(self, ledger, topic):
        """Each number that is missing is in a range, and those that were given are exported or in a range. Records that were
        lost before they had a number are in no range."""
        account, = ledger["collectors"]
        numbers = account["numbers"]
        present = {record["tributary:sequenceNumber"] for records in topic.values() for record in records}
        self.assertLessEqual({record["tributary:streamId"] for records in topic.values() for record in records},
                             {numbers["stream"]})
        ranges = {}
        for each in numbers["lost"]:
            self.assertEqual(each["stream"], numbers["stream"])
            ranges.setdefault(each["cause"], []).extend(range(each["first"], each["last"] + 1))
        listed = [number for found in ranges.values() for number in found]
        self.assertEqual(len(listed), len(set(listed)))
        if account["inherited"] + account["spooled"] == 0:
            self.assertEqual(account["records"] + len(listed) + numbers["unlisted"], numbers["next"])
        if numbers["unlisted"] == 0:
            self.assertLessEqual(set(range(numbers["next"])) - present, set(listed))
        for cause, found in ranges.items():
            self.assertLessEqual(len(found), account["lost_by_cause"][cause])
            if cause != "unconfirmed":
                self.assertEqual(present & set(found), set(), cause)


class Whole(KafkaExport):
    """Nothing breaks: the topic has what the ledger says, and no number is missing."""

    def check_whole(self, ledger, topic):
        self.assertEqual(self.totals(topic), [ledger["flows"]["exported"], ledger["packets"]["exported"],
                                              ledger["octets"]["exported"]])
        self.assertEqual(ledger["flows"]["lost"], 0)
        self.check_order(topic)
        records = [record for found in topic.values() for record in found]
        self.assertEqual(sorted(record["tributary:sequenceNumber"] for record in records), list(range(len(records))))
        numbers = ledger["collectors"][0]["numbers"]
        self.assertEqual((numbers["next"], numbers["lost"], numbers["unlisted"]), (len(records), [], 0))
        self.assertEqual({record["iana:exporterIPv4Address"] for record in records}, {"192.0.2.7"})
        self.assertEqual({record["tributary:probeName"] for record in records}, {"probe-1"})
        self.assertEqual(len({record["tributary:streamId"] for record in records}), 1)

    def test_json(self):
        capture = self.path("flows.pcap", struct.pack("<IHHIIII", 0xA1B2C3D4, 2, 4, 0, 0, 262144, 1) + packets(0, FLOWS))
        with Broker() as broker:
            for direction in ("biflow", "uniflow"):
                broker.create_topic(direction, partitions=PARTITIONS)
                ledger, _ = self.run_probe(self.config(broker, flows="direction: " + direction, topic=direction), capture)
                topic = self.topic(broker, direction)
                self.assertEqual(len(topic), PARTITIONS)
                self.check_whole(ledger, topic)


    @unittest.skipUnless(shutil.which("protoc"), "no protoc")
    def test_flow_messages(self):
        """Each is one message without a length before it, as goflow2 reads them from a topic."""
        with Broker() as broker:
            broker.create_topic("flows", partitions=PARTITIONS)
            config = self.config(broker, flows="direction: biflow")
            with open(config) as text:
                self.path("probe.yaml", text.read().replace("format: json", "format: flowmessage"))
            ledger, _ = self.run_probe(config)
            values = [value for found in broker.messages("flows").values() for _, _, value in found]
        decoded = subprocess.run(["protoc", "--decode_raw"], input=b"".join(values), capture_output=True, check=True).stdout
        sums = {number: [int(value) for value in re.findall(rb"^%d: (\d+)$" % number, decoded, re.MULTILINE)]
                for number in (9, 10)}  # bytes, packets
        self.assertEqual([sum(sums[10]), sum(sums[9])], [ledger["packets"]["exported"], ledger["octets"]["exported"]])
        self.assertEqual(len(sums[10]), len(values))
        self.assertGreater(len(values), ledger["flows"]["exported"])  # a biflow is two


class Ipfix(KafkaExport):
    """Each message of the topic is an IPFIX message that can be read alone; rawflow has a frame around it."""

    @staticmethod
    def payload_of(frame):
        """What an Akvorado outlet finds in a RawFlow message."""
        fields, at = {}, 0
        def varint():
            nonlocal at
            value, shift = 0, 0
            while True:
                value, at, shift = value | (frame[at] & 0x7F) << shift, at + 1, shift + 7
                if frame[at - 1] < 0x80:
                    return value
        while at < len(frame):
            tag = varint()
            value = varint()
            if tag & 7 == 2:
                value, at = frame[at:at + value], at + value
            fields[tag >> 3] = value
        return fields

    @staticmethod
    def records_of(message):
        """(sequence number, [element -> octets]) of a message that has all of its templates in front of its records."""
        version, length, _, sequence, _ = struct.unpack_from(">HHIII", message)
        assert (version, length) == (10, len(message))
        templates, records, at = {}, [], 16
        while at < length:
            kind, octets = struct.unpack_from(">HH", message, at)
            here, end = at + 4, at + octets
            at = end
            while kind == 2 and here < end:
                number, count = struct.unpack_from(">HH", message, here)
                here, fields = here + 4, []
                for _ in range(count):
                    element, size = struct.unpack_from(">HH", message, here)
                    assert size != 65535
                    here += 8 if element & 0x8000 else 4
                    fields.append((element if element < 0x8000 else (element, struct.unpack_from(">I", message, here - 4)[0]), size))
                templates[number] = fields
            while kind >= 256 and here < end:
                record = {}
                for element, size in templates[kind]:
                    record[element], here = message[here:here + size], here + size
                records.append(record)
        return sequence, records

    def check_topic(self, ledger, messages):
        """@param messages  partition -> [(key, IPFIX message)]"""
        sums, numbers, places = [0, 0, 0], {}, {}
        for partition, found in messages.items():
            for key, message in found:
                sequence, records = self.records_of(message)
                self.assertEqual(sequence, numbers.get(key, 0))  # nothing is missing
                numbers[key] = sequence + len(records)
                for record in records:
                    sums[0] += 1
                    sums[1] += int.from_bytes(record[2], "big")
                    sums[2] += int.from_bytes(record[1], "big")
                    ends = sorted((record.get(address) or record[longer], record.get(port))
                                  for address, longer, port in ((8, 27, 7), (12, 28, 11)))
                    self.assertEqual(places.setdefault((*ends[0], *ends[1], record[4]), partition), partition)
        self.assertEqual(sums, [ledger["flows"]["exported"], ledger["packets"]["exported"], ledger["octets"]["exported"]])
        self.assertEqual(ledger["flows"]["lost"], 0)
        self.assertEqual(len(messages), PARTITIONS)
        # A lane is a stream of its own, as those of an SCTP association are.
        listed = 0
        for key in sorted(numbers)[:5]:
            stream = self.path("lane.ipfix", b"".join(message for found in messages.values() for other, message in found
                                                      if other == key))
            listed += len(self.flows(stream))
        self.assertEqual(listed, sum(numbers[key] for key in sorted(numbers)[:5]))
        whole = self.path("topic.ipfix", b"".join(message for found in messages.values() for _, message in found))
        result = subprocess.run([harness.TRIBUTARY, "flows", "--json", whole], capture_output=True, text=True, timeout=60)
        flows = [json.loads(line) for line in result.stdout.splitlines()]
        self.assertEqual([len(flows), *(sum(flow[name] for flow in flows) for name in ("packetDeltaCount", "octetDeltaCount"))], sums)

    def test_both(self):
        capture = self.path("flows.pcap", struct.pack("<IHHIIII", 0xA1B2C3D4, 2, 4, 0, 0, 262144, 1) + packets(0, FLOWS))
        with Broker() as broker:
            for name in ("ipfix", "rawflow"):
                broker.create_topic(name, partitions=PARTITIONS)
                config = self.config(broker, topic=name)
                with open(config) as text:
                    self.path("probe.yaml", text.read().replace("format: json", "format: " + name))
                ledger, _ = self.run_probe(config, capture)
                messages = {partition: [(key, value) for _, key, value in found]
                            for partition, found in broker.messages(name).items()}
                if name == "rawflow":
                    frames = [self.payload_of(frame) for found in messages.values() for _, frame in found]
                    self.assertEqual({frame[3] for frame in frames}, {bytes(10) + b"\xff\xff" + socket.inet_aton("192.0.2.7")})
                    self.assertEqual({frame[5] for frame in frames}, {1})
                    self.assertTrue(all(1_700_000_000 <= frame[1] < 1_700_001_000 for frame in frames))
                    messages = {partition: [(key, self.payload_of(frame)[2]) for key, frame in found]
                                for partition, found in messages.items()}
                self.check_topic(ledger, messages)

    def test_refused_configurations(self):
        """What no topic has is refused at the start."""
        for keys, words in (("format: rawflow}", "export.probe.address"),
                            ("format: ipfix, sampling: none}", "no options records go to topics"),
                            ("format: ipfix, profile: nfdump}", "profiles are those of IPFIX collectors")):
            config = self.path("probe.yaml", "export: {collectors: [{transport: kafka, brokers: 'a:1', topic: t, %s]}\n" % keys)
            result = self.tributaryd("--check-config", "--config", config, expect=harness.EX_CONFIG)
            self.assertIn(words, result.stderr)


class Broken(KafkaExport):
    def setUp(self):
        super().setUp()
        self.broker = self.enterContext(Broker())
        self.broker.create_topic("flows", partitions=PARTITIONS)
        self.held = 0

    def holds_more(self):
        try:
            return sum(self.broker.end_offsets("flows", PARTITIONS).values()) > self.held
        except AssertionError as error:  # it has just been started again
            self.assertIn("Not leader", str(error))
            return False

    def run_turns(self, breaks, collector="", **keys):
        """@return  the ledger and the output of each turn, whose records are judged"""
        for _ in range(TURNS):
            ledger, text = self.run_broken(self.config(self.broker, collector, **keys), breaks, self.holds_more)
            self.settle(ledger)
            yield ledger, text

    def test_killed_and_restarted(self):
        def kill_and_restart():
            self.broker.kill()
            self.broker.start()
        for ledger, text in self.run_turns(kill_and_restart):
            self.assertEqual(ledger["flows"]["exported"] + ledger["flows"]["lost_by_cause"]["unconfirmed"], FLOWS, text)

    def test_stopped_for_a_while(self):
        def stop():
            self.broker.pause()
            time.sleep(30 if harness.LONG else 5)
            self.broker.resume()
        for ledger, text in self.run_turns(stop):
            self.assertEqual(ledger["flows"]["exported"], FLOWS, text)

    def test_killed_for_good(self):
        """What was under way is unconfirmed, the rest is lost as that of a collector that is away."""
        for ledger, text in self.run_turns_with_restart():
            lost = ledger["flows"]["lost_by_cause"]
            self.assertEqual(lost["unconfirmed"] + lost["collector_away"] + ledger["flows"]["exported"], FLOWS, text)
            self.assertGreater(lost["collector_away"], 0)

    def run_turns_with_restart(self):
        for _ in range(TURNS):
            ledger, text = self.run_broken(self.config(self.broker, drain=1), self.broker.kill, self.holds_more)
            self.broker.start()
            self.settle(ledger)
            yield ledger, text

    def settle(self, ledger):
        """Judges the run's records, which are those of the last stream."""
        topic = self.topic(self.broker)
        streams = [record["tributary:streamId"] for records in topic.values() for record in records]
        last = ledger["collectors"][0]["numbers"]["stream"]
        self.check_account(ledger, {partition: [record for record in records if record["tributary:streamId"] == last]
                                    for partition, records in topic.items()})
        self.held = len(streams)


class Several(KafkaExport):
    """Two topics as two collectors."""

    def run_with(self, mode, brokers, topics):
        collectors = ", ".join(
            "{transport: kafka, format: json, brokers: \"%s\", topic: %s, buffer: 67108864}" % (address, topic) for topic, address in zip(topics, brokers))
        config = self.path("probe.yaml", "export: {mode: %s, drain-timeout: 20, collectors: [%s]}"
                           % (mode, collectors))
        capture = self.path("flows.pcap", struct.pack("<IHHIIII", 0xA1B2C3D4, 2, 4, 0, 0, 262144, 1) + packets(0, FLOWS))
        return self.run_probe(config, capture)[0]

    def test_copy_balance_and_failover(self):
        with Broker() as broker:
            nowhere = "127.0.0.1:%d" % harness.free_port(socket.SOCK_STREAM)
            for mode, brokers, expected in (("copy", (broker.address, broker.address), (FLOWS, FLOWS)),
                                            ("balance", (broker.address, broker.address), None),
                                            ("failover", (nowhere, broker.address), (0, FLOWS))):
                names = [mode + "-one", mode + "-two"]
                for topic in names:
                    broker.create_topic(topic, partitions=PARTITIONS)
                ledger = self.run_with(mode, brokers, names)
                self.assertEqual(ledger["flows"]["exported"], FLOWS, mode)
                topics = [self.topic(broker, topic) for topic in names]
                for topic in topics:
                    self.check_order(topic)
                counts = tuple(self.totals(topic)[0] for topic in topics)
                if expected is None:
                    self.assertEqual(sum(counts), FLOWS)
                    self.assertGreater(min(counts), FLOWS // 3)
                    flows = [{self.flow_of(record) for found in topic.values() for record in found} for topic in topics]
                    self.assertEqual(flows[0] & flows[1], set())
                else:
                    self.assertEqual(counts, expected, mode)


class Spooled(KafkaExport):
    """A spool takes the records while brokers are away, and the next process sends them."""

    def run_and_leave(self, config):
        """A run whose broker is away. @return  its ledger"""
        stats = self.path("stats.json")
        self.tributaryd("--config", config, "--read", self.capture, "--export", "--stats", stats)
        return self.ledger()

    def test_over_a_restart(self):
        self.capture = self.path("flows.pcap", struct.pack("<IHHIIII", 0xA1B2C3D4, 2, 4, 0, 0, 262144, 1) + packets(0, FLOWS))
        spool = self.path("spool")
        with Broker() as broker:
            for turn in range(TURNS):
                topic = "flows%d" % turn
                broker.create_topic(topic, partitions=PARTITIONS)
                keys = {"collector": "buffer: 1048576, spool: {directory: %s}" % spool, "topic": topic}
                broker.kill()
                ledger = self.run_and_leave(self.config(broker, drain=1, **keys))
                self.assertEqual(ledger["flows"]["spooled"] + ledger["flows"]["lost_by_cause"]["unconfirmed"], FLOWS)
                spooled = ledger["flows"]["spooled"]
                broker.start()
                ledger = self.run_and_leave(self.config(broker, **keys))
                self.assertEqual(ledger["flows"]["exported"], FLOWS)
                topic = self.topic(broker, topic)
                self.assertEqual(self.totals(topic)[0], spooled + FLOWS)
                self.check_order_of_streams(topic)

    def check_order_of_streams(self, topic):
        for records in topic.values():
            streams = [record["tributary:streamId"] for record in records]
            self.assertEqual(streams, sorted(streams, key=streams.index))  # that of the former process comes first
            for stream in set(streams):
                numbers = [record["tributary:sequenceNumber"] for record in records if record["tributary:streamId"] == stream]
                self.assertEqual(numbers, sorted(set(numbers)))


class Refused(KafkaExport):
    """Brokers that take nothing, or not everything."""

    def setUp(self):
        super().setUp()
        self.capture = self.path("flows.pcap", struct.pack("<IHHIIII", 0xA1B2C3D4, 2, 4, 0, 0, 262144, 1) + packets(0, 2000))

    def check_all_lost(self, ledger, cause, count=2000):
        self.assertEqual(ledger["flows"]["created"], count)
        self.assertEqual(ledger["flows"]["lost_by_cause"][cause], count)

    def test_narrow_topics(self):
        with Broker() as broker:
            for turn in range(TURNS):
                broker.create_topic("narrow%d" % turn, partitions=PARTITIONS, max_message_bytes=3000)
                ledger, text = self.run_probe(self.config(broker, topic="narrow%d" % turn, collector="compression: none"),
                                              self.capture)
                topic = self.topic(broker, "narrow%d" % turn)
                self.check_account(ledger, topic)
                self.assertEqual(self.totals(topic)[0], 2000, text)
                broker.create_topic("none%d" % turn, partitions=PARTITIONS, max_message_bytes=200)
                ledger, text = self.run_probe(self.config(broker, topic="none%d" % turn, collector="compression: none"),
                                              self.capture, expect=EX_IOERR)
                self.check_all_lost(ledger, "send_failed")
                self.assertIn("message too large", text)
                self.assertEqual(broker.messages("none%d" % turn), {})

    def test_no_topic(self):
        with Broker() as broker:
            for _ in range(TURNS):
                ledger, text = self.run_probe(self.config(broker, drain=5), self.capture, expect=EX_IOERR)
                self.assertIn("Unknown topic", text)
                self.check_all_lost(ledger, "collector_away")

    def test_no_admittance(self):
        """A wrong password, a certificate of another name: the log says why, and nothing says the password."""
        login = ("secrets: {sasl.password: %s}, properties: {security.protocol: SASL_SSL, sasl.mechanism: PLAIN, "
                 "sasl.username: probe, ssl.ca.location: %%s%%s}" % self.path("password", PASSWORD + "\n"))
        any_name = ", ssl.endpoint.identification.algorithm: none"
        with Broker(users={"probe": PASSWORD}, certificate="DNS:another.example") as broker:
            broker.create_topic("flows", partitions=PARTITIONS)
            config = self.config(broker, login % (broker.ca, any_name))
            ledger, text = self.run_probe(config, self.capture)
            self.assertEqual(ledger["flows"]["exported"], 2000, text)
            self.assertNotIn(PASSWORD, text + json.dumps(ledger))
            dumped = self.tributaryd("--config", config, "--read", self.capture, "--export", "--dump-config")
            self.assertNotIn(PASSWORD, dumped.stdout)
            for _ in range(TURNS):
                config = self.config(broker, login % (broker.ca, ""), drain=2)
                ledger, text = self.run_probe(config, self.capture, expect=EX_IOERR)
                self.check_all_lost(ledger, "collector_away")
                self.assertIn("certificate", text)
                self.path("password", "not-" + PASSWORD)
                ledger, text = self.run_probe(self.config(broker, login % (broker.ca, any_name), drain=2), self.capture,
                                              expect=EX_IOERR)
                self.check_all_lost(ledger, "collector_away")
                self.assertIn("uthentication", text)
                self.assertNotIn(PASSWORD, text + json.dumps(ledger))


if __name__ == "__main__":
    harness.main()
