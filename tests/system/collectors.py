#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Several collectors at once; one goes away and comes back: judged by nfdump, ipfixDump and their own counts."""
import itertools
import os
import re
import shutil
import socket
import subprocess
import sys
import time

import harness
import live_veth

UDP_PORT, TCP_PORT, SPARE_PORT = live_veth.PORT, 4740, 4741
FIRST_OPTIONS_TEMPLATE = 0xFF00


class TcpCollector(harness.Process):
    """A process that takes TCP connections in a namespace, and keeps each one's octets in a file of its own."""

    def __init__(self, namespace, port, directory):
        os.mkdir(directory)
        self.directory = directory
        super().__init__(sys.executable, __file__, "collect", str(port), directory, namespace=namespace)
        self.wait_for_log("listening")

    def files(self):
        return [os.path.join(self.directory, name) for name in sorted(os.listdir(self.directory))]

    def wait_until_quiet(self):
        """Waits until records have come, and then none for a while."""
        def sizes():
            return [os.path.getsize(path) for path in self.files()]
        last, since = [], time.monotonic()
        def quiet():
            nonlocal last, since
            if sizes() != last:
                last, since = sizes(), time.monotonic()
            return sum(last) > 1000 and time.monotonic() > since + 2
        self.wait_for(quiet, 30, "records by TCP")


def collect(port, directory):
    """The program of TcpCollector."""
    listener = socket.create_server(("127.0.0.1", port))
    print("listening", flush=True)
    for number in itertools.count():
        connection, _ = listener.accept()
        with open(os.path.join(directory, "%d.ipfix" % number), "wb", buffering=0) as file:
            while octets := connection.recv(1 << 16):
                file.write(octets)


def records_in(path):
    """ipfixDump's count of flow records in whole messages."""
    text = subprocess.run(["ipfixDump", "--in", path, "--stats"], capture_output=True, text=True, timeout=60).stdout
    by_template = re.findall(r"^ *(\d+) \(0x[0-9a-f]+\)\| *(\d+)", text, re.MULTILINE)
    return sum(int(count) for template, count in by_template if int(template) < FIRST_OPTIONS_TEMPLATE)


class Collectors(live_veth.LiveCase):
    def setUp(self):
        super().setUp()
        harness.need("ipfixDump")

    def tcp_collector(self, port, name):
        return self.enter(TcpCollector(self.probe, port, self.path(name)))

    def probe_with(self, mode, *collectors):
        config = self.path("probe.yaml", """
            flows: {max-flows: 65536, idle-timeout: 1}
            inputs:
              - {name: uplink, device: "af_packet:trib0", interface-index: 7, queues: 2}
            export:
              mode: %s
              flush-interval: 0.1
              collectors: [%s]
            """ % (mode, ", ".join("{%s}" % each for each in collectors)))
        daemon = self.enter(harness.Process(harness.TRIBUTARYD, "--config", config, "--stats", self.path("stats.json"),
                                            namespace=self.probe))
        daemon.wait_for_log("polled")
        return daemon

    def replay_before_and_after_the_end_of(self, collector, daemon, noticed):
        """One whole replay to the collector, its end, and one more replay once `noticed` is in the daemon's log."""
        sent = live_veth.replay(self.sender)
        daemon.wait_for_received(sent)
        collector.wait_until_quiet()
        collector.end()
        daemon.wait_for_log(noticed)
        daemon.wait_for_received(sent + live_veth.replay(self.sender))

    def check_last_options(self, path, ledger, records):
        """A collector with `records` has the ledger's numbers in its last options records."""
        last = {}
        for record in self.options(path):
            last.update(record)
        self.assertEqual({name: last[name] for name in (
            "exportedFlowRecordTotalCount", "notSentFlowTotalCount", "ignoredPacketTotalCount",
            "ignoredOctetTotalCount", "droppedPacketTotalCount", "interfaceName", "interfaceDescription")}, {
                "exportedFlowRecordTotalCount": records,
                "notSentFlowTotalCount": ledger["flows"]["created"] - records,
                "ignoredPacketTotalCount": ledger["packets"]["ignored"],
                "ignoredOctetTotalCount": ledger["octets"]["ignored"],
                "droppedPacketTotalCount": ledger["packets"]["nic_missed"] + ledger["packets"]["nic_no_buffer"],
                "interfaceName": "trib0", "interfaceDescription": "uplink"})

    def ledger_of(self, daemon):
        self.assertEqual(daemon.end(), harness.EX_OK, daemon.text())
        ledger = harness.read_json(self.path("stats.json"))
        self.check_ledger(ledger)
        return ledger

    def test_copies_reach_udp_tcp_and_file_and_one_that_comes_back_has_what_waited(self):
        nfcapd = self.start_collector()
        first = self.tcp_collector(TCP_PORT, "first")
        daemon = self.probe_with("copy", "host: 127.0.0.1, port: %d" % UDP_PORT,
                                 "host: 127.0.0.1, port: %d, transport: tcp" % TCP_PORT,
                                 "path: %s, transport: file, timestamps: nanoseconds" % self.path("flows.ipfix"))
        self.replay_before_and_after_the_end_of(first, daemon, "tcp 127.0.0.1:%d: connection lost" % TCP_PORT)
        second = self.tcp_collector(TCP_PORT, "second")
        daemon.wait_for_log("(?s)connection lost.*tcp 127.0.0.1:%d: ready" % TCP_PORT)
        ledger = self.ledger_of(daemon)
        harness.wait_until(lambda: nfcapd.udp_backlog(UDP_PORT) == 0, 10, "nfcapd")
        nfcapd.end()
        second.end()

        created = ledger["flows"]["created"]
        self.assertEqual((ledger["flows"]["exported"], ledger["flows"]["lost"]), (created, 0))
        for account in ledger["collectors"]:
            self.assertEqual((account["records"], account["lost"]), (created, 0), account)
        self.assertEqual(live_veth.nfdump_totals(self.path("flows"))["Flows"], created)
        self.assertEqual(sum(records_in(path) for path in first.files() + second.files()), created)
        self.assertEqual(records_in(self.path("flows.ipfix")), created)
        self.assertEqual(ledger["collectors"][1]["reconnects"], 1)
        for path in (self.path("flows.ipfix"), *second.files()):
            self.check_last_options(path, ledger, created)

    def test_failover_goes_to_the_second_collector_and_loses_nothing(self):
        first, second = self.tcp_collector(TCP_PORT, "first"), self.tcp_collector(SPARE_PORT, "second")
        daemon = self.probe_with("failover", "host: 127.0.0.1, port: %d, transport: tcp" % TCP_PORT,
                                 "host: 127.0.0.1, port: %d, transport: tcp" % SPARE_PORT)
        self.replay_before_and_after_the_end_of(first, daemon, "tcp 127.0.0.1:%d: has the records from now on" % SPARE_PORT)
        ledger = self.ledger_of(daemon)
        second.end()
        created = ledger["flows"]["created"]
        self.assertEqual((ledger["flows"]["exported"], ledger["flows"]["lost"]), (created, 0))
        self.assertEqual(sum(account["records"] for account in ledger["collectors"]), created)
        self.assertGreater(ledger["collectors"][1]["records"], 0)
        self.assertEqual(sum(records_in(path) for path in first.files() + second.files()), created)

    def test_a_name_that_does_not_resolve_yet_costs_nothing(self):
        directory = os.path.join("/etc/netns", self.probe)    # `ip netns exec` lays its files over those in /etc
        os.makedirs(directory)
        self.addCleanup(shutil.rmtree, directory)
        hosts = os.path.join(directory, "hosts")
        with open(hosts, "w") as out:
            out.write("127.0.0.1 localhost\n")
        collector = self.tcp_collector(TCP_PORT, "collector")
        daemon = self.probe_with("copy", "host: flows.test, port: %d, transport: tcp" % TCP_PORT)
        daemon.wait_for_log("tcp flows.test:%d: name not resolved" % TCP_PORT)
        daemon.wait_for_received(live_veth.replay(self.sender))
        with open(hosts, "a") as out:
            out.write("127.0.0.1 flows.test\n")
        daemon.wait_for_log("tcp flows.test:%d: ready" % TCP_PORT)
        ledger = self.ledger_of(daemon)
        collector.end()
        created = ledger["flows"]["created"]
        self.assertEqual((ledger["flows"]["exported"], ledger["flows"]["lost"]), (created, 0))
        self.assertEqual([records_in(path) for path in collector.files()], [created])

    def test_collectors_that_never_come_and_a_full_disk_cost_the_others_nothing(self):
        nfcapd = self.start_collector()
        daemon = self.probe_with("copy", "host: 127.0.0.1, port: %d, transport: tcp, buffer: 65536" % TCP_PORT,
                                 "host: collector.invalid, port: 9, transport: tcp, buffer: 65536",
                                 "path: /dev/full, transport: file",
                                 "host: 127.0.0.1, port: %d" % UDP_PORT)
        sent = live_veth.replay(self.sender)
        daemon.wait_for_received(sent)
        ledger = self.ledger_of(daemon)
        harness.wait_until(lambda: nfcapd.udp_backlog(UDP_PORT) == 0, 10, "nfcapd")
        nfcapd.end()
        created = ledger["flows"]["created"]
        self.assertEqual((ledger["flows"]["exported"], ledger["flows"]["lost"]), (created, 0))
        self.assertEqual([account["lost"] for account in ledger["collectors"]], [created, created, created, 0])
        self.assertEqual(live_veth.nfdump_totals(self.path("flows"))["Flows"], created)


if __name__ == "__main__":
    if sys.argv[1:2] == ["collect"]:
        collect(int(sys.argv[2]), sys.argv[3])
    else:
        harness.main()
