#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Frames longer than a receive buffer, or without a length of their own: through AF_PACKET, with a driver that
reports only the kept octets of a frame."""
import re
import struct
import subprocess
import sys

import harness
import live_veth
import unified_header

LARGE_MTU = 16000
KEPT = 2048 - 66  # octets of a frame in a buffer of the usual size, without the kernel's header

SERVER = """
import socket
server = socket.create_server(("192.0.2.1", 9000))
print("listening", flush=True)
connection = server.accept()[0]
while connection.recv(1 << 20):
    pass
"""
CLIENT = """
import socket
with socket.create_connection(("192.0.2.1", 9000)) as connection:
    connection.sendall(bytes(%d))
"""

# The requests of `ethtool -K INTERFACE gso off tso off`: ETHTOOL_SGSO and ETHTOOL_STSO.
OFFLOADS_OFF = """
import array, fcntl, socket, struct, sys
for command in (0x24, 0x1f):
    value = array.array("I", (command, 0))
    request = struct.pack("16sP16x", sys.argv[1].encode(), value.buffer_info()[0])
    fcntl.ioctl(socket.socket(), 0x8946, request)    # SIOCETHTOOL
"""


def capture(frames):
    parts = [struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1)]
    for number, frame in enumerate(frames):
        parts.append(struct.pack("<IIII", 1_700_000_000, number, len(frame), len(frame)) + frame)
    return b"".join(parts)


def ipv4(port, payload, total=None, vlan=None):
    """A frame with a UDP packet, with `total` as the total length in its header."""
    tag = b"" if vlan is None else struct.pack("!HH", 0x8100, vlan)
    length = 20 + 8 + payload
    header = struct.pack("!BBHHHBBH4s4s", 0x45, 0, length if total is None else total, 0, 0x4000, 64, 17, 0,
                         bytes((192, 0, 2, 2)), bytes((198, 51, 100, 1)))
    udp = struct.pack("!HHHH", port, 53, 8 + payload, 0)
    return b"\x02" * 12 + tag + b"\x08\x00" + header + udp + bytes(payload)


def ipv6(port, payload):
    """A frame with a TCP packet before segmentation offload: the payload length is 0."""
    header = struct.pack("!IHBB16s16s", 0x60000000, 0, 6, 64, b"\x20\x01\x0d\xb8" + bytes(11) + b"\x01",
                         b"\x20\x01\x0d\xb8" + bytes(11) + b"\x02")
    tcp = struct.pack("!HHIIBBHHH", port, 443, 1, 1, 0x50, 0x10, 1000, 0, 0)
    return b"\x02" * 12 + b"\x86\xdd" + header + tcp + bytes(payload)


class LongFrames(live_veth.LiveCase):
    FRAMES = [ipv4(1001, 4000), ipv4(1002, 3000, vlan=9), ipv4(1003, 8012, total=0), ipv6(1004, 5940),
              ipv4(1005, KEPT - 42)]

    def start_probe(self, *settings, interface="trib0"):
        daemon = self.enter(harness.Process(
            harness.TRIBUTARYD, "-i", "af_packet:" + interface, "-n", "127.0.0.1:4739", "--stats", self.path("stats.json"), *(
                part for setting in (
                    "flows.max-flows=4096", "inputs.0.name=up", "inputs.0.poll=adaptive", "export.fields=[layer2]",
                    "cores.numa=off", "telemetry.listen=\"\"",
                    "export.collectors=[{transport: file, path: %s}]" % self.path("flows.ipfix"), *settings)
                for part in ("--set", setting)), namespace=self.probe))
        daemon.wait_for_log("ready: ")
        return daemon

    def end(self, daemon):
        """@return the ledger's packets, and octets and link-layer octets of each flow by source port"""
        self.assertEqual(daemon.end(), harness.EX_OK, daemon.text())
        ledger = harness.read_json(self.path("stats.json"))
        self.check_ledger(ledger)
        return ledger["packets"], {record["sourceTransportPort"]: (record["octetDeltaCount"],
                                                                   record["layer2OctetDeltaCount"])
                                   for record in self.flows(self.path("flows.ipfix"))}

    def meter_frames(self, *settings):
        for namespace, interface in ((self.probe, "trib0"), (self.sender, "trib1")):
            subprocess.run(["ip", "-n", namespace, "link", "set", interface, "mtu", str(LARGE_MTU)], check=True)
        daemon = self.start_probe(*settings)
        subprocess.run(["ip", "netns", "exec", self.sender, "tcpreplay", "-q", "-i", "trib1",
                        self.path("frames.pcap", capture(self.FRAMES))], check=True, capture_output=True, timeout=60)
        daemon.wait_for_received(len(self.FRAMES))
        if settings:
            daemon.wait_for_log("input up: . frames were longer than their buffers", 10)
        packets, flows = self.end(daemon)
        return packets, flows, daemon.text()

    def test_buffers_follow_the_interface(self):
        packets, flows, log = self.meter_frames()
        self.assertEqual(flows, {1001: (4028, 4042), 1002: (3028, 3046), 1003: (8040, 8054), 1004: (6000, 6014),
                                 1005: (KEPT - 14, KEPT)})
        self.assertEqual((packets["frames_cut"], packets["length_unknown"]), (0, 0))
        self.assertNotIn("has an mtu of", log)
        self.assertNotIn("longer than their buffers", log)

    def test_a_cut_frame_has_the_length_that_it_announces(self):
        packets, flows, log = self.meter_frames("inputs.0.mtu=1500")
        self.assertEqual(flows, {1001: (4028, 4042), 1002: (3028, 3046), 1003: (KEPT - 14, KEPT),
                                 1004: (KEPT - 14, KEPT), 1005: (KEPT - 14, KEPT)})
        self.assertEqual((packets["frames_cut"], packets["length_unknown"]), (2, 2))
        self.assertIn("its buffers hold packets of 1500 octets (mtu), but trib0 has an mtu of 16000",
                      log)
        self.assertEqual(log.count("frames were longer than their buffers"), 1, log)

    def test_a_forged_length_makes_no_frame_longer(self):
        """For a frame that does not fill its buffer the driver's length holds, whatever its header announces."""
        self.FRAMES = [ipv4(1001, 18, total=1500), ipv4(1002, 14, total=9000, vlan=9), ipv4(1003, KEPT - 43, total=9000),
                       ipv4(1004, KEPT - 42, total=9000)]
        packets, flows, _ = self.meter_frames("inputs.0.mtu=1500")
        self.assertEqual({port: octets for port, (_, octets) in flows.items()},
                         {1001: 60, 1002: 60, 1003: KEPT - 1, 1004: 9014})
        self.assertEqual((packets["frames_cut"], packets["length_unknown"]), (1, 0))

    def test_preparse_writes_the_length_that_the_driver_knows(self):
        subprocess.run(["ip", "-n", self.probe, "link", "set", "trib0", "mtu", str(LARGE_MTU)], check=True)
        subprocess.run(["ip", "-n", self.sender, "link", "set", "trib1", "mtu", str(LARGE_MTU)], check=True)
        daemon = self.enter(harness.Process(
            harness.TRIBUTARY, "preparse", "--from", "af_packet:trib0", "--set", "inputs.0.mtu=1500", "--write",
            self.path("uh.pcap"), "--stats", self.path("stats.json"), namespace=self.probe))
        daemon.wait_for_log("ready: ")
        frames = [ipv4(1001, 18, total=1500), ipv4(1002, 4000, vlan=9)]
        subprocess.run(["ip", "netns", "exec", self.sender, "tcpreplay", "-q", "-i", "trib1",
                        self.path("frames.pcap", capture(frames))], check=True, capture_output=True, timeout=60)
        daemon.wait_for_received(len(frames))
        self.assertEqual(daemon.end(), harness.EX_OK, daemon.text())
        records, _ = unified_header.meter(self.directory, self.path("uh.pcap"), *unified_header.sets(
            "read.parse=unified-header", "export.fields=[layer2]"))
        self.assertEqual({record["sourceTransportPort"]: record["layer2OctetDeltaCount"] for record in records},
                         {1001: 60, 1002: 4046})

    def test_the_plan_has_the_memory_of_the_interface(self):
        def pages(mtu):
            subprocess.run(["ip", "-n", self.probe, "link", "set", "trib0", "mtu", mtu], check=True)
            text = subprocess.run(["ip", "netns", "exec", self.probe, harness.TRIBUTARY, "plan", "-i", "af_packet:trib0",
                                   "--set", "flows.max-flows=4096"], capture_output=True, text=True, check=True).stdout
            return int(re.search(r"\d+, \d+, (\d+)\n", text).group(1))
        self.assertGreater(pages("9000"), pages("1500") + 16)

    def test_joined_segments_are_counted_whole_and_warned_of(self):
        octets = 8_000_000
        for namespace, interface, address in ((self.probe, "trib0", "192.0.2.1"), (self.sender, "trib1", "192.0.2.2")):
            subprocess.run(["ip", "-n", namespace, "addr", "add", address + "/24", "dev", interface], check=True)
            subprocess.run(["ip", "netns", "exec", namespace, "ethtool", "-K", interface, "tso", "on", "gso", "on"],
                           capture_output=True, check=False)
        daemon = self.start_probe()
        self.assertRegex(daemon.text(), r"trib0 has offloads on .*; ethtool -K trib0 .*tso off")
        self.assertRegex(daemon.text(), r"warning.* trib0 is one end of a veth pair; where its other end, interface \d+ of "
                                        r"another network namespace, has tso or gso on, .* ethtool -K NAME tso off gso off")
        server = self.enter(harness.Process(sys.executable, "-c", SERVER, namespace=self.probe))
        server.wait_for_log("listening")
        subprocess.run(["ip", "netns", "exec", self.sender, sys.executable, "-c", CLIENT % octets], check=True, timeout=60)
        self.assertEqual(server.popen.wait(60), 0)
        daemon.wait_for(lambda: daemon.stats()["octets"]["metered"] > octets, 30, "all octets")
        self.assertEqual(daemon.end(), harness.EX_OK, daemon.text())
        ledger = harness.read_json(self.path("stats.json"))
        self.check_ledger(ledger)
        self.assertGreater(ledger["packets"]["frames_cut"], 0)
        self.assertEqual(ledger["packets"]["length_unknown"], 0)
        records = [record for record in self.flows(self.path("flows.ipfix")) if record["protocolIdentifier"] == 6]
        self.assertGreater(sum(record["octetDeltaCount"] for record in records), octets)
        for record in records:
            self.assertEqual(record["layer2OctetDeltaCount"], record["octetDeltaCount"] + 14 * record["packetDeltaCount"])

    def test_the_other_end_of_a_veth_here_is_named_until_its_offloads_are_off(self):
        subprocess.run(["ip", "-n", self.probe, "link", "add", "near", "type", "veth", "peer", "name", "far"], check=True)
        for name in ("near", "far"):
            subprocess.run(["ip", "-n", self.probe, "link", "set", name, "up"], check=True)
        daemon = self.start_probe(interface="near")
        said = re.search(r"its other end far sends packets joined \(.*; (ethtool -K far gso off tso off)\n", daemon.text())
        self.assertIsNotNone(said, daemon.text())
        self.end(daemon)
        subprocess.run(["ip", "netns", "exec", self.probe, sys.executable, "-c", OFFLOADS_OFF, "far"], check=True)
        daemon = self.start_probe(interface="near")
        self.assertNotIn("its other end", daemon.text())
        self.end(daemon)


if __name__ == "__main__":
    harness.main()
