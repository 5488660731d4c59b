# SPDX-License-Identifier: Apache-2.0
"""Shared by the tests that meter into a Kafka broker: the capture, the probe's configuration, and how what the topic has is
judged against the ledger."""
import contextlib
import json
import os
import socket
import struct
import subprocess
import threading
import time

import harness
from kafka_broker import need_broker

PARTITIONS = 4
PACKETS, OCTETS = "iana:packetDeltaCount", "iana:octetDeltaCount"
PCAP_HEADER = struct.pack("<IHHIIII", 0xA1B2C3D4, 2, 4, 0, 0, 262144, 1)
FLOWS = 20_000


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


class Traffic(threading.Thread):
    """Makes a pipe, and writes a capture into it: the first packets at once, the others when they are let go. A thread of its
    own: who opens a pipe waits for its reader, which may have ended before. A context, after which nothing holds it back."""

    PACKET_OCTETS, PAUSE = len(packets(0, 1)), 0.01

    def __init__(self, path, first, later=b"", at_once=100):
        """@param first    octets of packets, as packets() makes them
        @param later    likewise
        @param at_once  so many of the later ones come each 10 ms"""
        super().__init__(daemon=True)
        self.path, self.first, self.later, self.step = path, first, later, at_once * self.PACKET_OCTETS
        self.written, self.may_go_on = 0, threading.Event()
        os.mkfifo(path)

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.may_go_on.set()

    def run(self):
        with contextlib.suppress(BrokenPipeError), open(self.path, "wb", buffering=0) as pipe:
            pipe.write(PCAP_HEADER)
            self.write(pipe, self.first)
            self.may_go_on.wait()
            for at in range(0, len(self.later), self.step):
                self.write(pipe, self.later[at:at + self.step])
                time.sleep(self.PAUSE)

    def write(self, pipe, octets):
        pipe.write(octets)
        self.written += len(octets) // self.PACKET_OCTETS


class KafkaCase(harness.TestCase):
    ENDS = (harness.EX_OK,)  # exit codes that a probe may have

    def setUp(self):
        super().setUp()
        need_broker()

    def config(self, brokers, collector="", flows="direction: uniflow, idle-timeout: 1", topic="flows", drain=60, form="json"):
        """A configuration whose collector is a topic of these brokers.

        @param collector  more of its keys"""
        return self.path("probe.yaml", """
            flows: {%s}
            export:
              probe: {name: probe-1, address: 192.0.2.7}
              flush-interval: 0.1
              drain-timeout: %d
              collectors:
              - {transport: kafka, format: %s, brokers: "%s", topic: %s%s}
            """ % (flows, drain, form, brokers, topic, collector and ", " + collector))

    def run_probe(self, config, capture=harness.DEMO):
        """Meters a capture into the topic. @return  its ledger, and all that it has printed"""
        done = subprocess.run([harness.TRIBUTARYD, "--config", config, "--read", capture, "--export", "--stats",
                               self.path("stats.json")], capture_output=True, text=True, timeout=240)
        return self.judge_end(done.returncode, done.stdout + done.stderr)

    def judge_end(self, status, text):
        """The exit code tells whether records are lost. @return  the ledger, and the text"""
        self.assertIn(status, self.ENDS, text)
        ledger = self.ledger()
        self.assertEqual(status, harness.EX_IOERR if ledger["flows"]["lost"] else harness.EX_OK, text)
        return ledger, text

    def ledger(self):
        ledger = harness.read_json(self.path("stats.json"))
        self.check_ledger(ledger)
        return ledger

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
        flows, (account,) = ledger["flows"], ledger["collectors"]
        stored, unconfirmed = self.totals(topic)[0], flows["lost_by_cause"]["unconfirmed"]
        self.assertLessEqual(flows["exported"], stored)
        self.assertLessEqual(stored, flows["exported"] + unconfirmed)
        self.assertEqual(flows["created"], flows["exported"] + flows["lost"] + flows["spooled"])
        self.assertEqual(account["lost"], sum(account["lost_by_cause"].values()))
        self.assertEqual(flows["created"] + account["inherited"],
                         account["records"] + account["lost"] + account["spooled"], account)
        self.assertEqual(account["waiting_octets"], 0)
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
            ranges.setdefault(each["cause"], []).extend(number for _, number in harness.numbers_in([each]))
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
