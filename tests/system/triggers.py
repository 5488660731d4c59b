#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Triggers: what is written when a flow meets a condition, beside the frames that were sent, live and from captures; their
accounts, the mark in records, and what goes wrong."""
import glob
import json
import os
import re
import socket
import stat
import struct
import subprocess
import urllib.request

import harness
import packet_reference

CONFIG = """
    inputs: [{name: up, device: "net_pcap0,%(streams)s", queues: %(queues)d}]
    flows: {max-flows: 65536, idle-timeout: %(idle)s, active-timeout: 300, direction: %(direction)s, tcp-analysis: %(tcp)s}
    telemetry: {listen: "%(listen)s"}
    recorder: {memory: 16MiB, socket: %(socket)s}
    tables: %(tables)s
    triggers: [%(triggers)s]
    export: {fields: [extremes], collectors: [{transport: file, path: %(records)s, tables: %(taken)s}]}
    """
HOSTS = "[{name: hosts, key: [sourceAddress], values: [distinct(destinationAddress)], spread: key}]"
TTL = "name: ttl, when: \"maximumTTL - minimumTTL > 3\""


def checksum(octets):
    total = sum(struct.unpack(">%dH" % (len(octets) // 2), octets))
    total = (total & 0xFFFF) + (total >> 16)
    return 0xFFFF ^ (total + (total >> 16))


def ipv4(source, destination, protocol, transport, ttl=64, number=0):
    header = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 20 + len(transport), number, 0, ttl, protocol, 0,
                         socket.inet_aton(source), socket.inet_aton(destination))
    header = header[:10] + struct.pack(">H", checksum(header)) + header[12:]
    return b"\x02\0\0\0\0\x02\x02\0\0\0\0\x01\x08\0" + header + transport


def udp(source, destination, source_port, destination_port, payload=b"", **ip):
    return ipv4(source, destination, 17, struct.pack(">HHHH", source_port, destination_port, 8 + len(payload), 0) + payload,
                **ip)


def tcp(source, destination, source_port, destination_port, sequence, payload=b"", flags=0x10, **ip):
    header = struct.pack(">HHIIBBHHH", source_port, destination_port, sequence, 1, 0x50, flags, 1000, 0, 0)
    return ipv4(source, destination, 6, header + payload, **ip)


def capture_of(frames):
    """pcap with a millisecond between two frames, or with the times that are given: (seconds, frame)."""
    content = struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 65535, 1)
    for number, frame in enumerate(frames):
        seconds, octets = frame if isinstance(frame, tuple) else (number / 1000, frame)
        time = 1_700_000_000_000_000_000 + round(seconds * 1e9)
        content += struct.pack("<IIII", *divmod(time, 10**9), len(octets), len(octets)) + octets
    return content


def conversation(port, count, ttl_of=lambda number: 64):
    """UDP packets of one flow, each other than the others."""
    return [udp("192.0.2.1", "198.51.100.%d" % (port % 200 + 1), port, 53, b"%d of %d" % (number, port), ttl=ttl_of(number),
                number=number) for number in range(count)]


def interleaved(*flows):
    return [frame for frames in zip(*flows) for frame in frames]


class Triggers(harness.TestCase):
    def setUp(self):
        super().setUp()
        harness.need("tcpdump", "capinfos")
        self.files = self.path("files")
        self.socket = self.path("recorder.sock")
        self.values = {"streams": "rx_pcap=" + harness.DEMO, "queues": 1, "idle": 30, "direction": "uniflow", "tcp": "false",
                       "listen": "", "socket": self.socket, "tables": "[]", "taken": "[main]", "triggers": "",
                       "records": self.path("out.ipfix")}

    def trigger(self, options, **more):
        values = {"directory": self.files, "after": 0.3, **more}
        return "{%s, %s}" % (options, ", ".join("%s: %s" % item for item in values.items()))

    def probe(self, frames, **values):
        """@param frames  that it gets; or how many of the demo"""
        self.enterContext(harness.huge_pages())
        if not isinstance(frames, int):
            self.values["streams"] = "rx_pcap=" + self.path("sent.pcap", capture_of(frames))
            frames = len(frames)
        self.values.update(values)
        daemon = self.enterContext(harness.Process(
            harness.TRIBUTARYD, "--config", self.path("probe.yaml", CONFIG % self.values), "--stats", self.path("stats.json"),
            "--stats-interval", "0"))
        daemon.wait_for_log("ready: ")
        daemon.wait_for(lambda: daemon.stats()["packets"]["received"] >= frames, 60, "packets")
        return daemon

    def account(self, daemon, name):
        return next(each for each in daemon.stats()["recorder"]["triggers"] if each["name"] == name)

    def await_files(self, daemon, name, count):
        daemon.wait_for(lambda: self.account(daemon, name)["files"] >= count, 30, "files of " + name)

    def ended(self, daemon):
        self.assertEqual(daemon.end(), harness.EX_OK, daemon.text())
        ledger = harness.read_json(self.path("stats.json"))
        self.check_ledger(ledger)
        return self.checked(ledger)

    def checked(self, ledger):
        for each in ledger["recorder"]["triggers"]:
            self.assertEqual(each["suppressed"], sum(each["suppressed_by_cause"].values()), each)
            self.assertEqual(each["fired"], each["suppressed"] + each["files"] + each["waiting"], each)
            self.assertEqual(each["waiting"], 0)
        self.assertEqual(glob.glob(self.files + "/*.part"), [])
        return {each["name"]: each for each in ledger["recorder"]["triggers"]}

    def read(self, path):
        """Octets of the frames, by tcpdump, of a file that capinfos takes for whole."""
        subprocess.run(["capinfos", "-M", path], capture_output=True, timeout=60, check=True)
        out = self.path("read.pcap")
        subprocess.run(["tcpdump", "--nano", "-r", path, "-w", out], check=True, capture_output=True, timeout=120)
        return [frame.octets for frame in packet_reference.frames_of(out)]

    def comment(self, path):
        with open(path, "rb") as file:
            head = file.read(4096)
        return json.loads(re.search(rb"\{[^}]*\}", head).group())

    def path_of(self, name, number):
        return "%s/%s-%06d.pcapng" % (self.files, name, number)

    def marks(self, field="dumpFileNumber"):
        """The records of the main table with a file, by their source ports."""
        return {flow["sourceTransportPort"]: flow[field] for flow in self.flows(self.values["records"]) if flow[field] != 0}

    def test_a_ttl_that_changes(self):
        strange = conversation(1001, 40, lambda number: 64 if number < 25 else 58)
        sent = interleaved(strange, conversation(1002, 40), conversation(1003, 40, lambda number: 64 - number % 4))
        daemon = self.probe(sent, triggers=self.trigger(TTL))
        self.await_files(daemon, "ttl", 1)
        account = self.ended(daemon)["ttl"]
        self.assertEqual((account["fired"], account["files"], account["packets"], account["overwritten"]), (1, 1, 40, 0))
        self.assertEqual(account["octets"], sum(map(len, strange)))
        path = self.path_of("ttl", 1)
        self.assertEqual(os.listdir(self.files), [os.path.basename(path)])
        self.assertEqual(self.read(path), strange)
        self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o600)
        self.assertEqual(stat.S_IMODE(os.stat(self.files).st_mode), 0o700)
        self.assertEqual(self.marks(), {1001: 1})
        comment = self.comment(path)
        self.assertEqual((comment["trigger"], comment["file"], comment["cause"]), ("ttl", "1", "a packet"))
        self.assertEqual(comment["flow"], "192.0.2.1 port 1001 > 198.51.100.2 port 53, UDP")

    def test_a_retransmission_storm_in_both_directions(self):
        def segments(port, count, sequence_of):
            there = [tcp("192.0.2.1", "198.51.100.9", port, 80, sequence_of(number), b"x" * 100, number=number)
                     for number in range(count)]
            back = [tcp("198.51.100.9", "192.0.2.1", 80, port, 1, number=number) for number in range(count)]
            return interleaved(there, back)
        storm = segments(2001, 60, lambda number: 1000 + 100 * (number if number < 30 else number % 5))
        sent = interleaved(storm, segments(2002, 60, lambda number: 1000 + 100 * number))
        daemon = self.probe(sent, triggers=self.trigger('name: storm, when: "retransmissions > 20"'), tcp="true",
                            direction="biflow")
        self.await_files(daemon, "storm", 1)
        self.assertEqual(self.ended(daemon)["storm"]["fired"], 1)
        self.assertEqual(self.read(self.path_of("storm", 1)), storm)
        self.assertEqual(self.marks(), {2001: 1})

    def scan(self):
        scan = [tcp("203.0.113.7", "198.51.%d.%d" % (number // 200, number % 200 + 1), 4000 + number, 22, 1, flags=2,
                    number=number) for number in range(300)]
        return scan, interleaved(scan, conversation(3001, 300))

    def test_a_scan_that_a_table_sees_over_four_queues(self):
        scan, sent = self.scan()
        for name, queue in (("a", 0), ("b", 1), ("c", 2), ("d", 3)):
            self.path(name + ".pcap", capture_of(sent[queue::4]))
        streams = ",".join("rx_pcap=" + self.path(name + ".pcap") for name in "abcd")
        daemon = self.probe(len(sent), streams=streams, queues=4, tables=HOSTS, taken="[main, hosts]", triggers=self.trigger(
            'name: scan, when: "distinct(destinationAddress) > 100", table: hosts'))
        self.await_files(daemon, "scan", 1)
        account = self.ended(daemon)["scan"]
        self.assertEqual((account["fired"], account["packets"]), (1, len(scan)))
        self.assertEqual(sorted(self.read(self.path_of("scan", 1))), sorted(scan))
        marks = [flow["dumpFileNumber"] for flow in self.flows(self.values["records"], "--table", "hosts")
                 if flow["sourceIPv4Address"] == "203.0.113.7"]
        self.assertEqual(marks, [1])

    def test_hosts_and_all(self):
        strange = conversation(1001, 20, lambda number: 64 if number < 9 else 30)
        same_host = [udp("198.51.100.2", "203.0.113.9", 9, 9, b"%d" % number) for number in range(20)]
        others = [udp("203.0.113.1", "203.0.113.2", 7, 7, b"%d" % number) for number in range(20)]
        sent = interleaved(strange, same_host, others)
        daemon = self.probe(sent, triggers=", ".join([
            self.trigger(TTL.replace("ttl,", "of-hosts,"), packets="hosts"),
            self.trigger(TTL, packets="all", directory=self.files + "/")]))  # the same directory
        self.await_files(daemon, "of-hosts", 1)
        self.await_files(daemon, "ttl", 1)
        self.ended(daemon)
        self.assertEqual(self.read(glob.glob(self.files + "/of-hosts-*")[0]), interleaved(strange, same_host))
        self.assertEqual(self.read(glob.glob(self.files + "/ttl-*")[0]), sent)

    def test_a_record_that_matches_at_its_end_is_marked(self):
        sent = conversation(1001, 5) + conversation(1002, 7)
        daemon = self.probe(sent, triggers=self.trigger('name: done, when: "reason forced and packets = 7"'))
        account = self.ended(daemon)["done"]  # the end of the probe ends the records
        self.assertEqual((account["fired"], account["files"], account["packets"]), (1, 1, 7))
        self.assertEqual(self.marks(), {1002: 1})
        self.assertEqual(self.comment(self.path_of("done", 1))["cause"], "the end of a record")

    def test_how_often_it_may_fire(self):
        sent = interleaved(*[conversation(port, 10, lambda number: 64 - number) for port in range(1001, 1006)])
        daemon = self.probe(sent, triggers=self.trigger(TTL, rate="2/h"))
        self.await_files(daemon, "ttl", 2)
        account = self.ended(daemon)["ttl"]
        self.assertEqual((account["fired"], account["suppressed_by_cause"]["rate"], account["files"]), (5, 3, 2))
        self.assertEqual(len(self.marks()), 2)

    def fire(self, *words, expect=harness.EX_OK):
        result = subprocess.run([harness.TRIBUTARY, "trigger", "--socket", self.socket, *words], capture_output=True, text=True,
                                timeout=60)
        self.assertEqual(result.returncode, expect, result.stderr)
        return result.stdout.strip() if expect == harness.EX_OK else result.stderr

    def test_by_hand(self):
        daemon = self.probe(harness.DEMO_FRAMES, triggers=self.trigger(TTL.replace("> 3", "> 300")))
        path = self.fire("ttl", "--filter", "udp port 53", "--last", "1h")
        self.assertEqual(path, self.path_of("ttl", 1))
        self.await_files(daemon, "ttl", 1)
        self.assertEqual(len(self.read(path)), harness.tcpdump_count(harness.DEMO, "udp port 53"))
        self.assertIn("there is no trigger none", self.fire("none", expect=69))
        self.assertIn("syntax error", self.fire("ttl", "--filter", "host and host", expect=69))
        self.ended(daemon)
        self.assertIn("trigger ttl: file 1 for user %d, filter udp port 53" % os.getuid(), daemon.text())

    def test_files_are_bounded_and_numbers_go_on_after_a_restart(self):
        os.mkdir(self.files, 0o700)
        for name, content in (("ttl-000006.pcapng", b"x" * 600_000), ("ttl-000007.pcapng.part", b""), ("other", b"")):
            with open(os.path.join(self.files, name), "wb") as file:
                file.write(content)
        options = {"triggers": self.trigger(TTL.replace("> 3", "> 300"), **{"max-size": "1MiB"})}
        daemon = self.probe(harness.DEMO_FRAMES, **options)
        for number in (7, 8, 9):
            path = self.fire("ttl", "--last", "1h")
            self.assertEqual(path, self.path_of("ttl", number))
            self.await_files(daemon, "ttl", number - 6)
            self.assertLessEqual(sum(os.path.getsize(each) for each in glob.glob(self.files + "/*")), 2**20)
        self.assertEqual(sorted(os.listdir(self.files)), ["other", "ttl-000009.pcapng"])
        account = self.ended(daemon)["ttl"]
        self.assertEqual((account["files"], account["removed"], account["ended_early"]), (3, 3, 0))

    def test_a_directory_that_is_gone_and_a_disk_that_is_full(self):
        daemon = self.probe(harness.DEMO_FRAMES, triggers=self.trigger(TTL.replace("> 3", "> 300")))
        os.rmdir(self.files)
        self.fire("ttl", "--last", "1h")
        daemon.wait_for(lambda: self.account(daemon, "ttl")["suppressed_by_cause"]["directory"] == 1, 30, "the failure")
        with harness.small_disk(self.files, 65536):
            self.fire("ttl", "--last", "1h")
            daemon.wait_for(lambda: self.account(daemon, "ttl")["suppressed_by_cause"]["disk_full"] == 1, 30, "the failure")
            self.assertEqual(os.listdir(self.files), [])
        self.fire("ttl", "--last", "1h")
        self.await_files(daemon, "ttl", 1)
        self.assertEqual(len(self.read(self.path_of("ttl", 3))), harness.DEMO_FRAMES)
        self.assertEqual(self.ended(daemon)["ttl"]["fired"], 3)

    def test_a_probe_that_is_killed_leaves_no_file_under_its_name(self):
        daemon = self.probe(harness.DEMO_FRAMES, triggers=self.trigger(TTL.replace("> 3", "> 300"), after=600))
        self.fire("ttl", "--last", "1h")
        harness.wait_until(lambda: os.listdir(self.files) == ["ttl-000001.pcapng.part"], 20, "the file")
        daemon.popen.kill()
        daemon.popen.wait()
        self.assertEqual(os.listdir(self.files), ["ttl-000001.pcapng.part"])
        daemon = self.probe(harness.DEMO_FRAMES)
        self.assertEqual(os.listdir(self.files), [])
        self.fire("ttl", "--last", "1h")
        harness.wait_until(lambda: os.listdir(self.files) == ["ttl-000001.pcapng.part"], 20, "the file")
        self.assertEqual(self.ended(daemon)["ttl"]["files"], 1)  # the end of the probe ends it as a whole file
        self.assertEqual(len(self.read(self.path_of("ttl", 1))), harness.DEMO_FRAMES)

    def test_two_processes_do_not_share_a_directory(self):
        daemon = self.probe(harness.DEMO_FRAMES, triggers=self.trigger(TTL.replace("> 3", "> 300"), after=600))
        self.fire("ttl", "--last", "1h")
        harness.wait_until(lambda: os.listdir(self.files) == ["ttl-000001.pcapng.part"], 20, "the file")
        refused = self.tributaryd("--read", harness.DEMO, "--config", self.path("probe.yaml"), "--write", self.path("x.ipfix"),
                                  expect=73)
        self.assertIn("another process writes files of triggers there", refused.stderr)
        self.assertEqual(os.listdir(self.files), ["ttl-000001.pcapng.part"])
        self.assertEqual(self.ended(daemon)["ttl"]["files"], 1)

    def test_metrics(self):
        port = harness.free_port(socket.SOCK_STREAM)
        daemon = self.probe(conversation(1001, 20, lambda number: 64 - number), triggers=self.trigger(TTL),
                            listen="127.0.0.1:%d" % port)
        self.await_files(daemon, "ttl", 1)
        text = urllib.request.urlopen("http://127.0.0.1:%d/metrics" % port, timeout=20).read().decode()
        for line in ('tributary_trigger_fired_total{trigger="ttl"} 1', 'tributary_trigger_files_total{trigger="ttl"} 1',
                     'tributary_trigger_packets_total{trigger="ttl"} 20',
                     'tributary_trigger_suppressed_total{trigger="ttl",cause="rate"} 0'):
            self.assertIn(line, text.splitlines())
        self.ended(daemon)

    # Captures

    def offline(self, capture, *words, **values):
        self.values.update(values)
        config = self.path("offline.yaml", CONFIG % self.values)
        for path in glob.glob(self.files + "/*"):
            os.unlink(path)
        self.values["records"] = self.path("read.ipfix")
        stats = self.path("read.json")
        self.tributaryd("--read", capture, "--config", config, "--write", self.values["records"], "--stats", stats, *words)
        ledger = harness.read_json(stats)
        self.check_ledger(ledger)
        self.assertEqual(list(ledger["recorder"]), ["triggers"])
        return self.checked(ledger)

    def test_the_past_is_read_from_captures(self):
        strange = conversation(1001, 40, lambda number: 64 if number < 25 else 58)
        sent = interleaved(strange, conversation(1002, 40), conversation(1003, 40, lambda number: 64 - number % 4))
        capture = self.path("sent.pcap", capture_of([(number, frame) for number, frame in enumerate(sent)]))
        # The 26th packet of the flow, at 75 s, is the first with another TTL.
        for queues in (1, 3):
            for before, after, expected in ((1000, 1000, strange), (30, 12, strange[15:30]), (0, 0, strange[25:26])):
                with self.subTest(queues=queues, before=before, after=after):
                    account = self.offline(capture, "--set", "read.queues=%d" % queues, idle=86400, triggers=self.trigger(
                        TTL, before=before, after=after))["ttl"]
                    self.assertEqual((account["fired"], account["files"], account["packets"]), (1, 1, len(expected)))
                    self.assertEqual(self.read(glob.glob(self.files + "/*")[0]), expected)
                    self.assertEqual(list(self.marks()), [1001])

    def test_flows_that_begin_and_end_within_a_burst(self):
        # Each flow is idle for longer than the timeout before the next packet comes, so that a burst has many of them.
        sent = [(100 * number, frame) for number, frame in enumerate(
            frame for port in range(1001, 1031) for frame in conversation(port, 1))]
        capture = self.path("sent.pcap", capture_of(sent))
        account = self.offline(capture, triggers=self.trigger('name: lonely, when: "reason idle"', rate="1000/s", before=1))
        self.assertEqual(account["lonely"]["fired"], 29)  # the last one ends with the capture
        self.assertEqual(account["lonely"]["files"], 29)
        self.assertEqual(account["lonely"]["packets"], 29)

    def test_conditions_are_those_of_tributary_flows(self):
        # Once they hold, they hold until the end of a record.
        conditions = ["tcp", "udp and port 53", "packets > 5", "octets >= 1000 and udp", "flags S", "net 192.168.0.0/16",
                      "duration > 1s", "icmp or icmp6", "reason idle", "maximumTTL > 64", "ip6 and packets >= 2",
                      "maximumIpTotalLength - minimumIpTotalLength > 100", "sourceTransportPort > 1023", "reason forced",
                      "packets + octets > 5k", "maximumTTL - minimumTTL > 0 or dst port 443"]
        triggers = ", ".join(self.trigger('name: t%d, when: "%s", rate: 1000/s, packets: all, before: 0, after: 0' % each)
                             for each in enumerate(conditions)).replace("after: 0.3", "max-size: 100MiB")
        account = self.offline(harness.DEMO, triggers=triggers)
        met = 0
        for number, condition in enumerate(conditions):
            matching = self.flows(self.values["records"], "--filter", condition)
            self.assertEqual(account["t%d" % number]["fired"], len(matching), condition)
            met += bool(matching)
        self.assertGreater(met, 10)
        files = sorted(int(re.search(r"-(\d+)\.", path).group(1)) for path in glob.glob(self.files + "/*"))
        self.assertEqual(files, list(range(1, len(files) + 1)))
        self.assertEqual(len(files), sum(each["files"] for each in account.values()))

    def test_conditions_on_what_answers_bring(self):
        there = [udp("192.0.2.1", "198.51.100.9", 5000, 53, b"%d" % number, number=number) for number in range(3)]
        back = [udp("198.51.100.9", "192.0.2.1", 53, 5000, b"%d" % number, number=number) for number in range(3)]
        sent = interleaved(there, back) + conversation(1001, 5)
        account = self.offline(self.path("sent.pcap", capture_of(sent)), direction="biflow", triggers=self.trigger(
            'name: answered, when: "reverseTcpControlBits = 0"'))["answered"]
        self.assertEqual((account["fired"], account["packets"]), (1, 6))
        self.assertEqual(list(self.marks()), [5000])

    def test_files_of_captures_are_bounded(self):
        trigger = self.trigger('name: big, when: "packets > 5", packets: all, rate: 1000/s', before=3600, after=3600)
        account = self.offline(harness.DEMO, triggers=trigger.replace("}", ", max-size: 1MiB}"))["big"]
        self.assertGreater(account["fired"], 5)
        left = glob.glob(self.files + "/*")
        self.assertLessEqual(sum(os.path.getsize(path) for path in left), 2**20)
        # Each file is whole, although two of them have no room at a time; the latest one is left.
        self.assertEqual((account["suppressed"], account["ended_early"]), (0, 0))
        self.assertEqual(account["files"], account["fired"])
        self.assertEqual(account["packets"], account["files"] * harness.DEMO_FRAMES)
        self.assertEqual(account["removed"], account["files"] - len(left))
        self.assertIn(self.path_of("big", account["files"]), left)
        for path in left:
            self.assertEqual(len(self.read(path)), harness.DEMO_FRAMES)

    def test_files_of_captures_that_have_room_together_only_as_they_are(self):
        # Each file has about 300 KiB, of 1 MiB: the first ones make room for the last ones.
        frames = [(number, udp("192.0.2.1", "198.51.100.%d" % (number // 300 + 1), 1000 + number // 300, 53, bytes(900)))
                  for number in range(9 * 300)]
        trigger = self.trigger('name: some, when: "packets > 5"', before=3600, after=3600)
        account = self.offline(self.path("sent.pcap", capture_of(frames)), idle=86400, triggers=trigger.replace(
            "}", ", rate: 1000/s, max-size: 1MiB}"))["some"]
        self.assertEqual((account["fired"], account["files"], account["packets"]), (9, 9, 9 * 300))
        self.assertEqual((account["suppressed"], account["ended_early"]), (0, 0))
        left = sorted(glob.glob(self.files + "/*"))
        self.assertEqual(left, [self.path_of("some", number) for number in range(10 - len(left), 10)])
        self.assertGreaterEqual(len(left), 2)
        for path in left:
            self.assertEqual(len(self.read(path)), 300)

    def test_a_scan_in_a_capture(self):
        scan, sent = self.scan()
        capture = self.path("sent.pcap", capture_of(sent))
        for queues in (1, 2):
            account = self.offline(capture, "--set", "read.queues=%d" % queues, tables=HOSTS, triggers=self.trigger(
                'name: scan, when: "distinct(destinationAddress) > 100", table: hosts', after=10))["scan"]
            self.assertEqual((account["fired"], account["packets"]), (1, len(scan)))
            self.assertEqual(self.read(glob.glob(self.files + "/*")[0]), scan)

    def test_a_capture_that_can_be_read_once_only(self):
        config = self.path("offline.yaml", CONFIG % {**self.values, "triggers": self.trigger(TTL)})
        with subprocess.Popen(["cat", harness.DEMO], stdout=subprocess.PIPE) as cat:
            result = subprocess.run([harness.TRIBUTARYD, "--read", "-", "--config", config, "--write", self.path("x")],
                                    stdin=cat.stdout, capture_output=True, text=True, timeout=60)
            cat.stdout.close()
        self.assertEqual(result.returncode, harness.EX_USAGE, result.stderr)
        self.assertIn("triggers read captures twice", result.stderr)

    def test_configurations_that_are_refused(self):
        for trigger, words in (
                ('{name: a, when: "packts > 3"}', "no element that the table's records have"),
                ('{name: a, when: "retransmissions > 3 and"}', "expected a condition"),
                ('{name: a, when: "maximumTTL - minimumTTL"}', "'+', '-' or a comparison"),
                ('{name: a, when: "maximumTTL - duration > 3"}', "a sum of a time and of what is no time"),
                ('{name: a, when: "maximumTTL = now"}', "is a number, expected one"),
                ('{name: a, when: "sourceIPv4Address + packets > 3"}', "is no whole number"),
                ('{name: a, when: "packets > 3", table: none}', "there is no such table"),
                ('{name: a, when: "distinct(destinationAddress) > 3"}', "expected"),
                ('{name: a}', "when is missing"),
                ('{name: A, when: "packets > 3"}', "a small letter"),
                ('{name: a, when: "packets > 3"}, {name: a, when: "packets > 4"}', "as that of another trigger"),
                ('{name: a, when: "packets > 3", rate: 5}', "must be a whole number from 1 to 1000 and /s, /min or /h"),
                ('{name: a, when: "packets > 3", packets: some}', "must be flow, hosts or all"),
                ('{name: a, when: "packets > 3", table: protocols, packets: hosts}', "has no address"),
                ('{name: a, when: "packets > 3", max-size: 1000}', "max-size")):
            with self.subTest(trigger):
                path = self.path("wrong.yaml", CONFIG % {**self.values, "triggers": trigger,
                                                         "tables": "[{name: protocols, key: [protocolIdentifier]}]"})
                result = subprocess.run([harness.TRIBUTARYD, "--check-config", "--config", path], capture_output=True,
                                        text=True, timeout=60)
                self.assertEqual(result.returncode, harness.EX_CONFIG, result.stderr)
                self.assertIn(words, result.stderr)
        path = self.path("wrong.yaml", (CONFIG % {**self.values, "triggers": self.trigger(TTL)}).replace("16MiB", "0"))
        result = subprocess.run([harness.TRIBUTARYD, "--check-config", "--config", path], capture_output=True, text=True,
                                timeout=60)
        self.assertEqual(result.returncode, harness.EX_CONFIG, result.stderr)
        self.assertIn("recorder.memory is 0", result.stderr)


if __name__ == "__main__":
    harness.main()
