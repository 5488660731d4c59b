#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tables with `spread: key`: a flow has one record whatever its queues, live and of captures."""
import json
import random
import re
import struct
import subprocess

import harness

KEYS = 1000
QUEUES = 4

CONFIG = """
    inputs: [{name: up, device: "%(device)s", queues: %(queues)d}]
    flows: {max-flows: 8192, idle-timeout: 300, active-timeout: 300}
    telemetry: {listen: ""}
    tables:
      - {name: sources, key: [sourceAddress], values: [max(ipTTL)], spread: key, max-flows: 8192}
    export:
      flush-interval: 0.05
      drain-timeout: 5
      collectors:
        - {transport: file, path: %(out)s, tables: [sources]}
    """

CAPTURES = """
    tables:
      - name: talks
        key: [sourceAddress, destinationAddress]
        values: [first(ipTTL), last(ipTTL), min(ipTotalLength), or(tcpControlBits)]
        spread: %s
        idle-timeout: 1
        active-timeout: 3
      - {name: ports, key: [destinationTransportPort], values: [distinct(sourceAddress)], spread: %s}
    """


def udp_frame(host, ttl):
    """An Ethernet frame from 10.0.0.0/16 to 192.0.2.1, with no payload."""
    source = bytes((10, 0, host // 250, host % 250))
    ip = struct.pack(">BBHHHBBH", 0x45, 0, 28, 0, 0, ttl, 17, 0) + source + bytes((192, 0, 2, 1))
    return bytes(12) + b"\x08\x00" + ip + struct.pack(">HHHH", 1000, 53, 8, 0)


def pcap(frames):
    out = bytearray(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1))
    for number, frame in enumerate(frames):
        out += struct.pack("<IIII", 1700000000, number, len(frame), len(frame)) + frame
    return bytes(out)


class SpreadTables(harness.TestCase):
    def configure(self, **values):
        return self.path("probe.yaml", CONFIG % {"device": "net_pcap0,rx_pcap=" + harness.DEMO, "queues": 1,
                                                 "out": self.path("sources.ipfix"), **values})

    def listed(self, path, table):
        result = subprocess.run([harness.TRIBUTARY, "flows", "--json", "--table", table, path], capture_output=True,
                                text=True, timeout=60)
        self.assertEqual(result.returncode, 0, result.stderr)
        return [json.loads(line) for line in result.stdout.splitlines()]

    def test_a_key_over_four_queues_has_one_record(self):
        self.enterContext(harness.huge_pages())
        streams = []
        for queue in range(QUEUES):
            hosts = list(range(KEYS))
            random.Random(queue).shuffle(hosts)
            path = self.path("%d.pcap" % queue)
            with open(path, "wb") as out:
                out.write(pcap(udp_frame(host, 1 + host % 100 + queue) for host in hosts))
            streams.append("rx_pcap=" + path)
        daemon = self.enterContext(harness.Process(
            harness.TRIBUTARYD, "--config",
            self.configure(device="net_pcap0," + ",".join(streams), queues=QUEUES), "--stats",
            self.path("stats.json"), "--stats-interval", "0"))
        daemon.wait_for_log("ready: ")
        daemon.wait_for(lambda: daemon.stats()["packets"]["received"] >= QUEUES * KEYS, 30, "packets")
        self.assertNotIn("is split over queues", daemon.text())
        self.assertEqual(daemon.end(), harness.EX_OK, daemon.text())
        packets = harness.read_json(self.path("stats.json"))["tables"]["sources"]["packets"]
        self.assertEqual(packets["matched"], QUEUES * KEYS)
        self.assertEqual(packets["refused_by_cause"], {"owner_ended": 0, "ring_full": 0})
        self.assertEqual(packets["in_records"], QUEUES * KEYS)
        records = self.listed(self.path("sources.ipfix"), "sources")
        self.assertEqual(len(records), KEYS)
        for record in records:
            host = [int(octet) for octet in record["sourceIPv4Address"].split(".")]
            self.assertEqual(record["packetDeltaCount"], QUEUES)
            self.assertEqual(record["octetDeltaCount"], QUEUES * 28)
            self.assertEqual(record["maximumTTL"], (host[2] * 250 + host[3]) % 100 + QUEUES)

    def test_records_of_a_capture_are_those_of_one_queue(self):
        expected = None
        for queues in range(1, 9):
            config = self.path("read.yaml", CAPTURES % (("key", "queue") if queues % 2 else ("queue", "key")))
            out, ledger, _ = self.meter("--read", harness.DEMO, "--config", config, "--set", "read.queues=%d" % queues)
            records = {table: sorted(json.dumps({name: value for name, value in record.items() if name[0] != "@"}, sort_keys=True)
                                     for record in self.listed(out, table)) for table in ("talks", "ports")}
            expected = expected or records
            self.assertEqual(records, expected, queues)
            self.assertGreater(min(map(len, records.values())), 5)
            for table in ledger["tables"].values():
                self.assertEqual(table["packets"]["matched"], harness.DEMO_PACKETS)
                self.assertEqual(table["packets"]["in_records"], harness.DEMO_PACKETS)

    def test_the_plan_has_the_rings(self):
        plan = subprocess.run([harness.TRIBUTARY, "plan", "--config", self.configure(queues=QUEUES)], capture_output=True,
                              text=True)
        self.assertEqual(plan.returncode, 0, plan.stderr)
        parts = dict(re.findall(r"^(rings between queues) +([\d.]+) ", plan.stdout, re.M))
        self.assertGreater(float(parts["rings between queues"]), 0)

    def test_too_many_queues_are_refused(self):
        for command in ((harness.TRIBUTARYD, "--check-config", "--config"), (harness.TRIBUTARY, "plan", "--config")):
            result = subprocess.run([*command, self.configure(queues=33)], capture_output=True, text=True)
            self.assertEqual(result.returncode, 78, result.stdout + result.stderr)
            self.assertRegex(result.stderr, r"tables\.0\.spread is key, but there are 33 queues")


if __name__ == "__main__":
    harness.main()
