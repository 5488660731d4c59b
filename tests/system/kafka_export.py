#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Records into a real Kafka broker, read back by kcat: packets and octets equal the ledger, each flow is in one partition, no
number is missing. What happens while something breaks is in kafka_faults.py."""
import json
import re
import shutil
import socket
import struct
import subprocess
import unittest

import harness
from kafka_broker import Broker, why_there_is_no_broker
from kafka_case import FLOWS, PARTITIONS, PCAP_HEADER, KafkaCase, packets


def setUpModule():
    """One broker for all tests, with topics of their own."""
    if why_there_is_no_broker() is None:
        KafkaCase.broker = unittest.enterModuleContext(Broker())


def murmur2(key):
    """The hash of a key as Java's producers use it: of 31 bits."""
    factor, mask = 0x5BD1E995, 0xFFFFFFFF
    value, whole = 0x9747B28C ^ len(key), len(key) & ~3
    for at in range(0, whole, 4):
        word = int.from_bytes(key[at:at + 4], "little") * factor & mask
        value = (value * factor & mask) ^ ((word ^ word >> 24) * factor & mask)
    if key[whole:]:
        value = (value ^ int.from_bytes(key[whole:], "little")) * factor & mask
    value = (value ^ value >> 13) * factor & mask
    return (value ^ value >> 15) & 0x7FFFFFFF


class Whole(KafkaCase):
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
        capture = self.path("flows.pcap", PCAP_HEADER + packets(0, FLOWS))
        for direction in ("biflow", "uniflow"):
            self.broker.create_topic(direction, partitions=PARTITIONS)
            config = self.config(self.broker.address, flows="direction: " + direction, topic=direction)
            ledger, _ = self.run_probe(config, capture)
            topic = self.topic(self.broker, direction)
            self.assertEqual(len(topic), PARTITIONS)
            self.check_whole(ledger, topic)

    def test_key_of_an_element(self):
        """Each key is the element as the record has it, and its partition the one that other producers choose for the key."""
        for name in ("sources", "sources-of-kcat"):
            self.broker.create_topic(name, partitions=PARTITIONS)
        ledger, _ = self.run_probe(self.config(self.broker.address, "key: sourceIPAddress", topic="sources"),
                                   self.path("flows.pcap", PCAP_HEADER + packets(0, FLOWS)))
        found = [(partition, key, json.loads(value)) for partition, messages in self.broker.messages("sources").items()
                 for _, key, value in messages]
        keys = {key for _, key, _ in found}
        self.broker.kcat("-P", "-t", "sources-of-kcat", "-K", "=", "-X", "topic.partitioner=murmur2",
                         stdin=b"".join(key + b"=x\n" for key in sorted(keys)))
        others = {key: partition for partition, messages in self.broker.messages("sources-of-kcat").items()
                  for _, key, _ in messages}
        self.assertEqual(len(found), ledger["flows"]["exported"])
        self.assertGreater(len(keys), FLOWS // 3)
        self.assertEqual({partition for partition, _, _ in found}, set(range(PARTITIONS)))
        for partition, key, record in found:
            self.assertEqual(key.decode(), record["iana:sourceIPv4Address"])
            self.assertEqual((partition, partition), (murmur2(key) % PARTITIONS, others[key]))

    @unittest.skipUnless(shutil.which("protoc"), "no protoc")
    def test_flow_messages(self):
        """Bare ones. Those with lengths are read in clickhouse_reader.py."""
        self.broker.create_topic("messages", partitions=PARTITIONS)
        config = self.config(self.broker.address, "delimited: false", flows="direction: biflow", topic="messages",
                             form="flowmessage")
        ledger, _ = self.run_probe(config)
        values = [value for found in self.broker.messages("messages").values() for _, _, value in found]
        decoded = subprocess.run(["protoc", "--decode_raw"], input=b"".join(values), capture_output=True, check=True).stdout
        sums = {number: [int(value) for value in re.findall(rb"^%d: (\d+)$" % number, decoded, re.MULTILINE)]
                for number in (9, 10)}  # bytes, packets
        self.assertEqual([sum(sums[10]), sum(sums[9])], [ledger["packets"]["exported"], ledger["octets"]["exported"]])
        self.assertEqual(len(sums[10]), len(values))
        self.assertGreater(len(values), ledger["flows"]["exported"])  # a biflow is two


class Ipfix(KafkaCase):
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
        capture = self.path("flows.pcap", PCAP_HEADER + packets(0, FLOWS))
        for name in ("ipfix", "rawflow"):
            self.broker.create_topic(name, partitions=PARTITIONS)
            ledger, _ = self.run_probe(self.config(self.broker.address, topic=name, form=name), capture)
            messages = {partition: [(key, value) for _, key, value in found]
                        for partition, found in self.broker.messages(name).items()}
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


class Several(KafkaCase):
    """Two topics as two collectors."""

    def run_with(self, mode, addresses, topics):
        collectors = ", ".join("{transport: kafka, format: json, brokers: \"%s\", topic: %s, buffer: 67108864}" % (address, topic)
                               for topic, address in zip(topics, addresses))
        config = self.path("probe.yaml", "export: {mode: %s, drain-timeout: 20, collectors: [%s]}" % (mode, collectors))
        capture = self.path("flows.pcap", PCAP_HEADER + packets(0, FLOWS))
        return self.run_probe(config, capture)[0]

    def test_copy_balance_and_failover(self):
        address, nowhere = self.broker.address, "127.0.0.1:%d" % harness.free_port(socket.SOCK_STREAM)
        for mode, addresses, expected in (("copy", (address, address), (FLOWS, FLOWS)),
                                          ("balance", (address, address), None),
                                          ("failover", (nowhere, address), (0, FLOWS))):
            names = [mode + "-one", mode + "-two"]
            for name in names:
                self.broker.create_topic(name, partitions=PARTITIONS)
            ledger = self.run_with(mode, addresses, names)
            self.assertEqual(ledger["flows"]["exported"], FLOWS, mode)
            topics = [self.topic(self.broker, name) for name in names]
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


class Creating(KafkaCase):
    """A broker that creates a topic when a client asks for it, as brokers do by default."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        if why_there_is_no_broker() is None:
            cls.broker = cls.enterClassContext(Broker({"auto.create.topics.enable": "true"}))

    ENDS = (harness.EX_OK, harness.EX_IOERR)

    def topics(self):
        found = json.loads(self.broker.kcat("-L", "-J"))["topics"]
        return {topic["topic"] for topic in found}

    def test_the_probe_creates_no_topic(self):
        ledger, text = self.run_probe(self.config(self.broker.address, topic="absent", drain=3))
        self.assertEqual(ledger["flows"]["exported"], 0)
        self.assertIn("Unknown topic", text)
        self.assertNotIn("absent", self.topics())

    def test_a_property_allows_it(self):
        allowed = "properties: {allow.auto.create.topics: 'true'}"
        ledger, _ = self.run_probe(self.config(self.broker.address, allowed, topic="allowed"))
        self.assertIn("allowed", self.topics())
        self.assertEqual(ledger["flows"]["exported"], self.totals(self.topic(self.broker, "allowed"))[0])
        self.assertEqual(ledger["flows"]["lost"], 0)


if __name__ == "__main__":
    harness.main()
