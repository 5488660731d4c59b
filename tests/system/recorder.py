#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The packet recorder of a running probe: dumps beside tcpdump, their accounts, who may have them, and what goes wrong."""
import json
import os
import signal
import socket
import stat
import struct
import subprocess
import time

import harness
import packet_reference

CONFIG = """
    inputs: [{name: up, device: "net_pcap0,%(streams)s", queues: %(queues)d, mtu: %(mtu)d}]
    flows: {max-flows: 65536, idle-timeout: %(idle)d, active-timeout: 300}
    telemetry: {listen: "%(listen)s"}
    recorder: {memory: %(memory)s, socket: %(socket)s, %(more)s}
    export: {collectors: [{transport: file, path: %(records)s}]}
    """

# What people look for; each is run on each capture. Not all match something there.
FILTERS = ["", "ip", "ip6", "arp", "tcp", "udp", "icmp or icmp6", "port 53", "port 443", "tcp port 80", "udp and not port 53",
           "net 10.0.0.0/8", "not net 192.168.0.0/16", "src net 192.168.0.0/16", "tcp[tcpflags] & tcp-syn != 0",
           "tcp[tcpflags] & (tcp-rst|tcp-fin) != 0", "greater 1000", "less 100", "ip[8] < 64", "vlan", "vlan and ip",
           "ip proto 47 or ip proto 41", "portrange 1024-2048", "ip[6:2] & 0x1fff != 0", "broadcast or multicast"]


def packets_of(path):
    """Times and octets of the frames of a pcap file of tcpdump's."""
    return [(frame.time, frame.octets) for frame in packet_reference.frames_of(path)]


class Recorder(harness.TestCase):
    def setUp(self):
        super().setUp()
        harness.need("tcpdump", "tshark", "capinfos")
        self.enterContext(harness.huge_pages())
        self.socket = self.path("recorder.sock")
        self.values = {"streams": "rx_pcap=" + harness.DEMO, "queues": 1, "memory": "16MiB", "more": "snap: full",
                       "socket": self.socket, "listen": "", "idle": 30, "records": self.path("out.ipfix"), "mtu": 1500}

    def probe(self, frames=harness.DEMO_FRAMES, **values):
        self.values.update(values)
        daemon = self.enterContext(harness.Process(
            harness.TRIBUTARYD, "--config", self.path("probe.yaml", CONFIG % self.values), "--stats", self.path("stats.json"),
            "--stats-interval", "0"))
        daemon.wait_for_log("recorder: ")
        daemon.wait_for_log("ready: ")
        daemon.wait_for(lambda: daemon.stats()["packets"]["received"] >= frames, 60, "packets")
        return daemon

    def dump(self, *words, expect=harness.EX_OK, name="dump.pcapng"):
        path = self.path(name)
        if os.path.exists(path):
            os.unlink(path)
        result = subprocess.run([harness.TRIBUTARY, "dump", "--socket", self.socket, "--write", path, *words],
                                capture_output=True, text=True, timeout=120)
        self.assertEqual(result.returncode, expect, result.stderr)
        self.assertFalse(os.path.exists(path + ".part"))
        self.assertEqual(os.path.exists(path), expect == harness.EX_OK)
        return path if expect == harness.EX_OK else result.stderr

    def read(self, path, expression=""):
        """By tcpdump, also of pcapng."""
        out = self.path("read.pcap")
        subprocess.run(["tcpdump", "--nano", "-r", path, "-w", out] + ([expression] if expression else []), check=True,
                       capture_output=True, timeout=120)
        return packets_of(out)

    def end(self, daemon):
        self.assertEqual(daemon.end(), harness.EX_OK, daemon.text())
        ledger = harness.read_json(self.path("stats.json"))
        self.check_ledger(ledger)
        recorder = ledger["recorder"]
        for queue in [recorder, *recorder["queues"]]:
            self.assertEqual(queue["seen"], queue["kept_whole"] + queue["kept_cut"] + queue["left_out"], queue)
            self.assertEqual(queue["left_out"], sum(queue["left_out_by_cause"].values()))
            self.assertEqual(queue["kept_whole"] + queue["kept_cut"], queue["overwritten"] + queue["held"], queue)
        self.assertEqual(recorder["dumps"]["begun"], recorder["dumps"]["whole"] + recorder["dumps"]["cut_off"])
        return ledger

    @staticmethod
    def account_of(path):
        """The comments of the interfaces' statistics, in a file that capinfos takes for whole."""
        lines = subprocess.run(["capinfos", "-M", path], capture_output=True, text=True, timeout=60, check=True).stdout
        assert lines
        with open(path, "rb") as file:
            data = file.read()
        accounts, at = [], 0
        while at < len(data):
            kind, length = struct.unpack_from("<II", data, at)
            if kind == 5:
                code, size = struct.unpack_from("<HH", data, at + 20)
                assert code == 1
                accounts += json.loads(data[at + 24:at + 24 + size])["queues"]
            at += length
        return accounts

    def test_a_dump_is_what_tcpdump_finds_in_the_capture(self):
        daemon = self.probe()
        self.assertEqual(stat.S_IMODE(os.stat(self.dump("--last", "1h")).st_mode), 0o600)
        for expression in FILTERS:
            found = self.read(self.dump("--last", "1h", "--filter", expression))
            self.assertEqual(found, self.read(harness.DEMO, expression), expression)
        ledger = self.end(daemon)
        self.assertEqual(ledger["recorder"]["seen"], harness.DEMO_FRAMES)
        self.assertEqual(ledger["recorder"]["kept_whole"], harness.DEMO_FRAMES)
        self.assertEqual(ledger["recorder"]["dumps"]["whole"], len(FILTERS) + 1)
        self.assertIn("dump for user %d: packets of the last 3600 s, filter \"tcp port 80\"" % os.getuid(), daemon.text())

    def shared_capture(self, name):
        path = os.path.join(harness.SHARED, "pcaps", name + ".pcap")
        if not os.path.exists(path):
            self.skipTest("no captures in ../shared/pcaps")
        return path

    def flows_in(self, capture):
        """Filters for some flows, which are answered by the rings' knowledge of their flows."""
        out = self.path("flows.ipfix")
        self.tributaryd("--read", capture, "--write", out)
        flows = [flow for flow in self.flows(out) if flow.get("protocolIdentifier") in (6, 17)]
        ends = [(flow.get("sourceIPv4Address") or flow["sourceIPv6Address"],
                 flow.get("destinationIPv4Address") or flow["destinationIPv6Address"], flow["sourceTransportPort"],
                 flow["destinationTransportPort"]) for flow in flows[::max(1, len(flows) // 15)]]
        return ["host %s and host %s and port %d and port %d" % end for end in ends]

    def test_dumps_of_real_captures(self):
        for name in ("large-apps-A", "large-web-A", "pcapplusplus--many-protocols", "snort3_demo--http_noblock"):
            capture = self.shared_capture(name)
            daemon = self.probe(frames=len(self.read(capture)), streams="rx_pcap=" + capture, memory="64MiB")
            for expression in FILTERS + self.flows_in(capture):
                with self.subTest(name + ": " + expression):
                    found = self.read(self.dump("--last", "10000d", "--filter", expression))
                    self.assertEqual([octets for _, octets in found], [octets for _, octets in self.read(capture, expression)])
            self.end(daemon)

    def test_the_cut_off_over_real_connections(self):
        capture = self.shared_capture("large-apps-A")
        daemon = self.probe(frames=len(self.read(capture)), streams="rx_pcap=" + capture, memory="64MiB", more="cutoff: 1000",
                            idle=86400)  # after a silence a flow is another one
        path = self.dump("--last", "10000d")
        self.check_cut_off(path, 1000)
        self.same_records(path, capture)
        self.end(daemon)

    def test_packets_of_several_queues_in_the_order_of_their_times(self):
        streams = ",".join(["rx_pcap=" + harness.DEMO] * 4)
        daemon = self.probe(frames=4 * harness.DEMO_FRAMES, streams=streams, queues=4)
        path = self.dump("--last", "1h")
        found = self.read(path)
        self.assertEqual(found, sorted(found, key=lambda packet: packet[0]))
        self.assertEqual(sorted(found), sorted(4 * self.read(harness.DEMO)))
        fields = subprocess.run(["tshark", "-r", path, "-T", "fields", "-e", "frame.interface_queue", "-e",
                                 "frame.interface_name"], capture_output=True, text=True, timeout=120, check=True).stdout
        lines = [line.split("\t") for line in fields.splitlines()]
        self.assertEqual([sum(queue == str(number) for queue, _ in lines) for number in range(4)], 4 * [harness.DEMO_FRAMES])
        self.assertEqual(len({name for _, name in lines}), 1)
        accounts = self.account_of(path)
        self.assertEqual([(each["queue"], each["read"], each["matched"], each["overwritten"]) for each in accounts],
                         [("up/%d" % number, harness.DEMO_FRAMES, harness.DEMO_FRAMES, 0) for number in range(4)])
        self.assertEqual(len(self.end(daemon)["recorder"]["queues"]), 4)

    def test_a_ring_that_is_too_small_says_how_much_it_has_lost(self):
        daemon = self.probe(streams="rx_pcap=%s,infinite_rx=0" % self.many_demos(6), frames=6 * harness.DEMO_FRAMES,
                            memory="1MiB")
        held = len(self.read(self.dump("--last", "100d")))
        recorder = self.end(daemon)["recorder"]
        self.assertEqual(recorder["seen"], 6 * harness.DEMO_FRAMES)
        self.assertEqual(recorder["held"], held)
        self.assertGreater(recorder["overwritten"], 0)

    def many_demos(self, count):
        """The demo's frames again and again."""
        with open(harness.DEMO, "rb") as file:
            data = file.read()
        path = self.path("many.pcap")
        with open(path, "wb") as file:
            file.write(data[:24] + count * data[24:])
        return path

    def test_the_cut_off_keeps_headers_and_lengths(self):
        daemon = self.probe(more="cutoff: 100")
        path = self.dump("--last", "1h")
        whole, found = self.read(harness.DEMO), self.read(path)
        self.assertEqual([time for time, _ in found], [time for time, _ in whole])
        self.assertTrue(all(frame.startswith(cut) for (_, cut), (_, frame) in zip(found, whole)))
        self.assertLess(sum(len(cut) for _, cut in found), sum(len(frame) for _, frame in whole) / 3)
        self.check_cut_off(path, 100)
        self.same_records(path, harness.DEMO)
        recorder = self.end(daemon)["recorder"]
        self.assertGreater(recorder["kept_cut"], 100)

    def check_cut_off(self, path, cutoff):
        """tshark finds exactly the first octets of payload of each direction of a TCP or UDP flow."""
        out = subprocess.run(["tshark", "-r", path, "-o", "tcp.desegment_tcp_streams:FALSE", "-o", "ip.defragment:FALSE", "-Y",
                              "not icmp and not icmpv6", "-T", "fields", "-E", "occurrence=f", "-e", "vlan.id", "-e", "ip.src", "-e", "ipv6.src", "-e", "ip.dst", "-e", "ipv6.dst",
                              "-e", "ip.proto", "-e", "tcp.srcport", "-e", "tcp.dstport", "-e", "udp.srcport", "-e",
                              "udp.dstport", "-e", "tcp.len", "-e", "udp.length", "-e", "frame.len", "-e", "frame.cap_len"],
                             capture_output=True, text=True, timeout=300, check=True).stdout
        came, kept = {}, {}
        for line in out.splitlines():
            *key, tcp, udp, on_wire, captured = line.split("\t")
            if not tcp and not udp:
                continue
            key, octets = tuple(key), int(tcp) if tcp else int(udp) - 8
            cut = min(int(on_wire) - int(captured), octets)
            came[key] = came.get(key, 0) + octets
            kept[key] = kept.get(key, 0) + octets - cut
        self.assertGreater(len(kept), 20)
        for key, octets in kept.items():
            self.assertEqual(octets, min(came[key], cutoff), key)

    def same_records(self, dump, capture):
        def records(path):
            out = self.path("again.ipfix")
            result = subprocess.run([harness.TRIBUTARYD, "--read", path, "--write", out], capture_output=True, text=True,
                                    timeout=120)
            self.assertEqual(result.returncode, harness.EX_OK, result.stderr)
            return sorted(json.dumps(flow, sort_keys=True) for flow in self.flows(out))
        self.assertEqual(records(dump), records(capture))

    def test_it_follows_the_rings_until_it_is_told_to_end(self):
        daemon = self.probe()
        path = self.path("follow.pcapng")
        with subprocess.Popen([harness.TRIBUTARY, "dump", "--socket", self.socket, "--write", path, "--for", "1h", "--last",
                               "1h"]) as client:
            harness.wait_until(lambda: daemon.stats()["recorder"]["dumps"]["begun"] == 1 and os.path.exists(path + ".part"), 20,
                               "the dump")
            harness.wait_until(lambda: os.path.getsize(path + ".part") > 100_000, 20, "its packets")
            self.assertFalse(os.path.exists(path))
            client.send_signal(signal.SIGINT)
            self.assertEqual(client.wait(20), harness.EX_OK)
        self.assertFalse(os.path.exists(path + ".part"))
        self.assertEqual(len(self.read(path)), harness.DEMO_FRAMES)
        with subprocess.Popen([harness.TRIBUTARY, "dump", "--socket", self.socket, "--write", path, "--for", "1h"]) as client:
            harness.wait_until(lambda: daemon.stats()["recorder"]["dumps"]["begun"] == 2, 20, "the second dump")
            self.end(daemon)  # ends it, with a whole file
            self.assertEqual(client.wait(20), harness.EX_OK)
        self.read(path)

    def test_a_pipe_gets_packets_when_they_come(self):
        """Those of a narrow filter, which fill no buffer in an hour."""
        daemon = self.probe()
        with subprocess.Popen([harness.TRIBUTARY, "dump", "--socket", self.socket, "--write", "-", "--for", "1h", "--last", "1h",
                               "--filter", "icmp"], stdout=subprocess.PIPE) as client:
            self.addCleanup(client.kill)
            wanted = self.read(harness.DEMO, "icmp")
            self.assertGreater(len(wanted), 0)
            os.set_blocking(client.stdout.fileno(), False)
            octets = b""

            def count():  # of whole packets so far
                nonlocal octets
                octets += client.stdout.read() or b""
                return harness.tcpdump_count(self.path("so-far.pcapng", octets), "") if octets else None
            harness.wait_until(lambda: count() == len(wanted), 20, "its packets")
            self.assertEqual(self.read(self.path("so-far.pcapng")), wanted)
            client.send_signal(signal.SIGINT)
            self.assertEqual(client.wait(20), harness.EX_OK)
        self.end(daemon)

    def test_links_and_descriptors(self):
        daemon = self.probe()
        far = self.path("far.pcapng", b"former content")
        os.symlink("far.pcapng", self.path("link.pcapng"))
        arguments = [harness.TRIBUTARY, "dump", "--socket", self.socket, "--last", "1h", "--write"]
        subprocess.run([*arguments, self.path("link.pcapng")], check=True, timeout=60)
        self.assertEqual(os.readlink(self.path("link.pcapng")), "far.pcapng")
        self.assertEqual(len(self.read(far)), harness.DEMO_FRAMES)
        for name in ("-", "/dev/fd/1", "/proc/self/fd/1"):
            with self.subTest(name), open(self.path("out.pcapng"), "wb") as out:
                subprocess.run([*arguments, name], stdout=out, check=True, timeout=60)
                self.assertEqual(len(self.read(self.path("out.pcapng"))), harness.DEMO_FRAMES)
        former = b"another program's octets"
        with open(self.path("out.pcapng"), "wb") as out:
            out.write(former)
            out.flush()
            subprocess.run([*arguments, "-"], stdout=out, check=True, timeout=60)
        with open(self.path("out.pcapng"), "rb") as out:
            self.assertEqual(out.read(len(former)), former)
        self.end(daemon)

    def test_two_dumps_to_one_file(self):
        daemon = self.probe()
        path = self.path("two.pcapng")
        arguments = [harness.TRIBUTARY, "dump", "--socket", self.socket, "--write", path]
        with subprocess.Popen([*arguments, "--for", "1h", "--last", "1h"]) as first:
            harness.wait_until(lambda: os.path.exists(path + ".part"), 20, "the first dump")
            second = subprocess.run(arguments, capture_output=True, text=True, timeout=60)
            self.assertEqual(second.returncode, 74)
            self.assertIn("tributary dump: another dump writes %s.part (PID %d)" % (path, first.pid), second.stderr)
            harness.wait_until(lambda: os.path.getsize(path + ".part") > 100_000, 20, "its packets")
            first.send_signal(signal.SIGINT)
            self.assertEqual(first.wait(20), harness.EX_OK)
        self.assertEqual(len(self.read(path)), harness.DEMO_FRAMES)
        daemon.wait_for(lambda: daemon.stats()["recorder"]["dumps"]["begun"] == 2, 20, "both dumps")
        self.end(daemon)

    def test_clients_that_are_gone_take_no_place(self):
        daemon = self.probe()
        for number in range(6):  # more than there are places
            with socket.socket(socket.AF_UNIX) as client:
                client.connect(self.socket)
                client.sendall(b'dump {"last": 1, "for": 3600}\n')
                daemon.wait_for(lambda number=number: daemon.stats()["recorder"]["dumps"]["begun"] == number + 1, 20, "a dump")
                client.sendall(b"x")  # which nobody reads
        daemon.wait_for(lambda: sum(daemon.stats()["recorder"]["dumps"][end] for end in ("whole", "cut_off")) == 6, 20,
                        "the ends of all dumps")
        self.end(daemon)

    def test_filters_that_are_long(self):
        daemon = self.probe()
        long = " or ".join("host 192.0.2.%d" % (number % 250) for number in range(200))
        self.assertEqual(self.read(self.dump("--filter", long, "--last", "1h")), self.read(harness.DEMO, long))
        self.assertIn("the command is longer than 4095 octets", self.dump("--filter", long + " or " + long, expect=69))
        self.end(daemon)

    def test_snap_filter_and_inputs(self):
        daemon = self.probe(more='snap: 60, filter: "tcp"')
        found, expected = self.read(self.dump("--last", "1h")), self.read(harness.DEMO, "tcp")
        self.assertEqual(found, [(time, frame[:60]) for time, frame in expected])
        recorder = self.end(daemon)["recorder"]
        self.assertEqual(recorder["left_out_by_cause"]["filtered"], harness.DEMO_FRAMES - len(expected))

    def test_a_client_or_a_probe_that_is_killed_leaves_no_file(self):
        daemon = self.probe()
        path = self.path("killed.pcapng")
        with subprocess.Popen([harness.TRIBUTARY, "dump", "--socket", self.socket, "--write", path, "--for", "1h"]) as client:
            harness.wait_until(lambda: os.path.exists(path + ".part"), 20, "the dump")
            client.kill()
            client.wait()
        self.assertFalse(os.path.exists(path))
        harness.wait_until(lambda: daemon.stats()["recorder"]["dumps"]["cut_off"] + daemon.stats()["recorder"]["dumps"]["whole"]
                           == 1, 20, "the end of its dump")
        with subprocess.Popen([harness.TRIBUTARY, "dump", "--socket", self.socket, "--write", path, "--for", "1h"],
                              stderr=subprocess.PIPE) as client:
            harness.wait_until(lambda: daemon.stats()["recorder"]["dumps"]["begun"] == 2, 20, "the dump")
            time.sleep(0.2)
            daemon.popen.kill()
            _, said = client.communicate(timeout=20)
            self.assertEqual(client.returncode, 69, said)
        self.assertEqual([name for name in os.listdir(os.path.dirname(path)) if name == "killed.pcapng"], [])

    def test_it_records_on_while_tables_come_and_go(self):
        daemon = self.probe(streams="rx_pcap=%s,infinite_rx=1" % harness.DEMO, memory="2MiB", more="cutoff: 500")
        for tables in ("tables: [{name: ttl, key: [ipTTL]}]", ""):
            with open(self.path("probe.yaml"), "w") as config:
                config.write("%s\n    %s\n" % ((CONFIG % self.values).rstrip(), tables))
            answer = subprocess.run([harness.TRIBUTARY, "reload", "--socket", daemon.control_socket], capture_output=True,
                                    text=True, timeout=60)
            self.assertEqual(answer.returncode, harness.EX_OK, answer.stderr)
            seen = daemon.stats()["recorder"]["seen"]
            daemon.wait_for(lambda seen=seen: daemon.stats()["recorder"]["seen"] > seen + 10_000, 30, "more packets")
            self.assertGreater(len(self.read(self.dump("--last", "10000d"))), 100)
        ledger = self.end(daemon)
        self.assertEqual(ledger["recorder"]["seen"], ledger["packets"]["received"])

    def test_a_disk_that_is_full(self):
        daemon = self.probe()
        with harness.small_disk(self.path("disk"), 65536) as disk:
            path = os.path.join(disk, "dump.pcapng")
            result = subprocess.run([harness.TRIBUTARY, "dump", "--socket", self.socket, "--last", "1h", "--write", path],
                                    capture_output=True, text=True, timeout=60)
            self.assertEqual(result.returncode, 74, result.stderr)
            self.assertIn("No space left", result.stderr)
            self.assertEqual(os.listdir(disk), [])
        harness.wait_until(lambda: daemon.stats()["recorder"]["dumps"]["begun"] == 1, 20, "the dump")
        self.end(daemon)

    def test_short_and_long_frames(self):
        frames = [b"\x02" * 12 + b"\x88\xb5" + bytes(number % 251 for number in range(length - 14))
                  for length in (60, 64, 1514, 2048, 2049, 9014, 16000, 60)]
        content = struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 65535, 1)
        for number, frame in enumerate(frames):
            content += struct.pack("<IIII", 1_700_000_000, number, len(frame), len(frame)) + frame
        for mtu in (1500, 16000):  # the longer ones have several segments, or one
            daemon = self.probe(frames=len(frames), streams="rx_pcap=" + self.path("long.pcap", content), mtu=mtu)
            self.assertEqual([octets for _, octets in self.read(self.dump("--last", "10000d"))], frames)
            self.assertEqual(self.end(daemon)["recorder"]["kept_whole"], len(frames))

    def test_one_flow_of_a_million_from_four_queues(self):
        flows = 1_000_000 if harness.LONG else 100_000
        head = b"\x02\0\0\0\0\x02\x02\0\0\0\0\x01\x08\0" + struct.pack(">BBHHHBBH", 0x45, 0, 46, 0, 0, 64, 17, 0)
        wanted, streams = [], []
        for queue in range(4):
            parts = [struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 65535, 1)]
            for flow in range(queue, flows, 4):
                frame = head + struct.pack(">IIHHHH", 0x0A000000 + flow, 0xC6336401, 1024 + flow % 60000, 53, 26, 0) + \
                    struct.pack(">QQH", flow, queue, 0)
                if flow % 997 == queue:  # the flow that is asked for comes over all queues
                    frame = head + struct.pack(">IIHHHH", 0xCB007101, 0xC6336402, 4242, 4343, 26, 0) + \
                        struct.pack(">QQH", flow, queue, 1)
                    wanted.append(frame)
                parts.append(struct.pack("<IIII", 1_700_000_000, flow, len(frame), len(frame)) + frame)
            streams.append("rx_pcap=" + self.path("queue-%d.pcap" % queue, b"".join(parts)))
        daemon = self.probe(frames=flows, streams=",".join(streams), queues=4, memory="160MiB" if harness.LONG else "32MiB")
        path = self.dump("--last", "1h", "--filter", "host 203.0.113.1 and host 198.51.100.2 and port 4242 and port 4343")
        found = self.read(path)
        self.assertGreater(len(wanted), 50)
        self.assertEqual(len(found), len(wanted))
        self.assertEqual(sorted(octets for _, octets in found), sorted(wanted))
        self.assertEqual([time for time, _ in found], sorted(time for time, _ in found))
        for queue in range(4):  # those of one queue stay in their order
            of_queue = [octets for _, octets in found if octets[50:58] == struct.pack(">Q", queue)]
            self.assertEqual(of_queue, [octets for octets in wanted if octets[50:58] == struct.pack(">Q", queue)])
        self.assertEqual(sum(each["overwritten"] for each in self.account_of(path)), 0)
        self.assertEqual(self.end(daemon)["recorder"]["kept_whole"], flows)

    def test_a_reader_that_stops_reading(self):
        if not harness.LONG:
            self.skipTest("takes more than a minute: tools/test --long")
        daemon = self.probe(streams="rx_pcap=%s,infinite_rx=1" % harness.DEMO)
        with socket.socket(socket.AF_UNIX) as reader:
            reader.connect(self.socket)
            reader.sendall(b'dump {"last": 3600, "for": 3600}\n')
            daemon.wait_for(lambda: daemon.stats()["recorder"]["dumps"]["cut_off"] == 1, 100, "the end of its dump")
        before = daemon.stats()["recorder"]["seen"]
        daemon.wait_for(lambda: daemon.stats()["recorder"]["seen"] > before, 30, "more packets")
        self.end(daemon)

    def test_who_may_ask_and_for_what(self):
        daemon = self.probe()
        self.assertEqual(stat.S_IMODE(os.stat(self.socket).st_mode), 0o600)
        self.assertIn("must be a time", subprocess.run([harness.TRIBUTARY, "dump", "--last", "soon", "--write", "x"],
                                                       capture_output=True, text=True, timeout=60).stderr)
        self.assertIn("syntax error", self.dump("--filter", "host and host", expect=69))
        no_socket = subprocess.run([harness.TRIBUTARY, "dump", "--socket", self.path("none"), "--write", self.path("x")],
                                   capture_output=True, text=True, timeout=60)
        self.assertEqual(no_socket.returncode, 69)
        self.assertFalse(os.path.exists(self.path("x")))
        clients = [subprocess.Popen([harness.TRIBUTARY, "dump", "--socket", self.socket, "--write", self.path("d%d" % number),
                                     "--for", "1h"]) for number in range(4)]
        try:
            harness.wait_until(lambda: daemon.stats()["recorder"]["dumps"]["begun"] >= 4, 20, "four dumps")
            self.assertIn("4 dumps run already", self.dump(expect=69))
        finally:
            for client in clients:
                client.send_signal(signal.SIGTERM)
            self.assertEqual([client.wait(20) for client in clients], 4 * [harness.EX_OK])
        daemon.wait_for(lambda: daemon.stats()["recorder"]["dumps"]["whole"] >= 4, 20, "their ends")
        self.end(daemon)

    def test_configurations_that_are_refused(self):
        for values, words in (
                ({"memory": "1000"}, "must be 0 or a whole number from 1048576"),
                ({"more": "snap: some"}, "must be full, headers or a whole number from 1 to 65536"),
                ({"more": "inputs: [down]"}, "there is no such input"),
                ({"more": 'filter: "host and"'}, "must be a filter expression in pcap syntax"),
                ({"more": "group: nobody-has-this-group"}, "there is no such group")):
            with self.subTest(words):
                path = self.path("wrong.yaml", CONFIG % {**self.values, **values})
                result = subprocess.run([harness.TRIBUTARYD, "--config", path], capture_output=True, text=True, timeout=60)
                self.assertEqual(result.returncode, harness.EX_CONFIG, result.stderr)
                self.assertIn(words, result.stderr)


if __name__ == "__main__":
    harness.main()
