#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Offline metering of the bundled capture: exact totals, the same records for any number of queues."""
import json
import os
import struct
import subprocess
import sys

import harness

sys.path.insert(0, os.path.join(harness.ROOT, "tests", "golden"))
import frames  # noqa: E402

KEY = ("ipVersion", "sourceIPv4Address", "destinationIPv4Address", "sourceIPv6Address", "destinationIPv6Address",
       "protocolIdentifier", "sourceTransportPort", "destinationTransportPort", "vlanId", "ingressInterface")


def as_set(records):
    """Records in an order independent of their export."""
    return sorted(json.dumps({name: value for name, value in record.items() if not name.startswith("@")}, sort_keys=True)
                  for record in records)


def rewritten(capture, change):
    """A capture with `change(index, seconds)` as the seconds of its frames; little-endian microseconds."""
    out, at, index = bytearray(capture), 24, 0
    while at < len(capture):
        seconds, _, captured, _ = struct.unpack_from("<IIII", capture, at)
        struct.pack_into("<I", out, at, change(index, seconds))
        at, index = at + 16 + captured, index + 1
    return bytes(out)


def first_second(capture):
    """The time of the first frame of a little-endian pcap."""
    with open(capture, "rb") as source:
        return int.from_bytes(source.read(28)[24:], "little")


class Offline(harness.TestCase):
    def check_demo(self, ledger, times=1):
        packets, flows = ledger["packets"], ledger["flows"]
        self.assertEqual(packets["received"], times * harness.DEMO_FRAMES)
        self.assertEqual(packets["metered"], times * harness.DEMO_PACKETS)
        self.assertEqual(packets["ignored"], times * harness.DEMO_ARP)
        self.assertEqual(ledger["octets"]["metered"], times * harness.DEMO_OCTETS)
        self.assertEqual(ledger["octets"]["ignored"], times * harness.DEMO_ARP_OCTETS)
        self.assertEqual((flows["exported"], flows["lost"], flows["active"]), (flows["created"], 0, 0))

    def test_the_totals_are_the_captures(self):
        out, ledger, _ = self.meter("--read", harness.DEMO)
        self.check_demo(ledger)
        records = self.flows(out)
        self.assertEqual(len(records), harness.DEMO_FLOWS)
        self.assertEqual(ledger["flows"]["created"], harness.DEMO_FLOWS)
        self.assertEqual(sum(record["packetDeltaCount"] for record in records), harness.DEMO_PACKETS)
        self.assertEqual(sum(record["octetDeltaCount"] for record in records), harness.DEMO_OCTETS)
        self.assertEqual({record["ingressInterface"] for record in records}, {1})
        self.assertEqual({record.get("vlanId", 0) for record in records}, {0, 100})
        self.assertEqual({record["protocolIdentifier"] for record in records}, {1, 6, 17, 58})

    def test_one_and_four_queues_give_the_same_records(self):
        runs = {}
        for queues in (1, 4):
            out, ledger, _ = self.meter("--read", harness.DEMO, "--set", "read.queues=%d" % queues,
                                        "--set", "flows.idle-timeout=2", "--set", "flows.active-timeout=3")
            self.check_demo(ledger)
            self.assertEqual(len(ledger["queues"]), queues)
            runs[queues] = as_set(self.flows(out))
        self.assertGreater(len(runs[1]), harness.DEMO_FLOWS)  # the timeouts cut flows
        self.assertEqual(runs[1], runs[4])

    def test_four_queues_all_get_packets(self):
        _, ledger, _ = self.meter("--read", harness.DEMO, "--set", "read.queues=4")
        for queue in ledger["queues"]:
            self.assertGreater(queue["packets"]["received"], 0)

    def test_room_for_flows_takes_memory_only_as_it_is_used(self):
        # In a table of some 700 GB each flow takes a page of the index and little more.
        count, stats = 10_000, self.path("stats.json")
        sent = [(frames.at(0, number), frames.ether(frames.ipv4(frames.udp(number, 53)))) for number in range(1, count + 1)]
        child = subprocess.Popen([harness.TRIBUTARYD, "--read", self.path("flows.pcap", frames.pcap(sent)), "--write",
                                  self.path("out.ipfix"), "--stats", stats, "--set", "flows.max-flows=1073741824",
                                  "--set", "flows.direction=biflow", "--set", "flows.tcp-analysis=true"],
                                 stderr=subprocess.PIPE)
        complaint = child.stderr.read().decode()
        child.stderr.close()
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        self.assertEqual(child.returncode, 0, complaint)
        self.assertEqual(harness.read_json(stats)["flows"]["exported"], count)
        self.assertLess(used.ru_maxrss, 1 << 20)  # KiB

    def test_more_fragments_than_a_live_table_holds_give_the_same_records(self):
        # 30000 first fragments, then the later ones.
        count = 30_000

        def packet(number, **fragment):
            inside = frames.payload(bytes(8), 17) if "offset" in fragment else frames.udp(1000 + number % 7, 53)
            return frames.ether(frames.ipv4(inside, source="10.0.0.%d" % (number % 50), number=number, **fragment))
        sent = [packet(number, flags=1) for number in range(count)] + [packet(number, offset=2) for number in range(count)]
        capture = self.path("fragments.pcap", frames.pcap([(frames.at(0, number), frame)
                                                           for number, frame in enumerate(sent)]))
        runs = []
        for queues in (1, 3):
            out, ledger, _ = self.meter("--read", capture, "--set", "flows.fragments=track", "--set",
                                        "read.queues=%d" % queues)
            self.assertEqual(ledger["packets"]["fragments"],
                             {"first": count, "later": count, "without_first": 0, "forgotten": 0})
            records = self.flows(out)
            self.assertEqual((len(records), sum(record["packetDeltaCount"] for record in records)), (350, 2 * count))
            runs.append(as_set(records))
        self.assertEqual(runs[0], runs[1])

    def test_several_captures_are_one_stream(self):
        with open(harness.DEMO, "rb") as source:
            capture = source.read()
        later = self.path("later.pcap", rewritten(capture, lambda _, seconds: seconds + 25))
        out, ledger, _ = self.meter("--read", harness.DEMO, later)
        self.check_demo(ledger, times=2)
        # A gap below the idle timeout: flows of one key go on, so there are as many keys as records.
        records = self.flows(out)
        keys = {tuple(record.get(name) for name in KEY) for record in records}
        self.assertEqual((len(records), len(keys)), (harness.DEMO_FLOWS, harness.DEMO_FLOWS))
        self.assertEqual(sum(record["packetDeltaCount"] for record in records), 2 * harness.DEMO_PACKETS)

    def test_a_capture_that_begins_before_those_in_front_of_it_end_is_a_warning(self):
        def capture(name, *times):
            frame = frames.ether(frames.ipv4(frames.udp(1000, 53)))
            return self.path(name, frames.pcap([(time, frame) for time in times]))

        first, second = capture("first.pcap", frames.at(0), frames.at(10)), capture("second.pcap", frames.at(20))
        between = capture("between.pcap", frames.at(9, 500_000), frames.at(12))  # as from several queues
        self.assertNotIn("begins", self.meter("--read", first, between, second)[2].stderr)
        for queues in (1, 3):
            _, ledger, result = self.meter("--read", second, first, "--set", "read.queues=%d" % queues)
            self.assertEqual(ledger["packets"]["metered"], 3)
            warnings = [line for line in result.stderr.splitlines() if "begins" in line]
            self.assertEqual(len(warnings), 1, result.stderr)
            self.assertRegex(warnings[0], r"warn.*first\.pcap: begins 20\.000 s before")

    def test_ipfixdump_and_tshark_read_the_output(self):
        harness.need("ipfixDump", "tshark")
        out, ledger, _ = self.meter("--read", harness.DEMO, "--set", "export.fields=[extremes, layer2]")
        exported = ledger["flows"]["exported"]
        dump = subprocess.run(["ipfixDump", "--in", out, "--data"], capture_output=True, text=True, timeout=60)
        self.assertEqual(dump.returncode, 0, dump.stderr)
        self.assertNotIn("out of sequence", dump.stderr)
        self.assertEqual(dump.stdout.count("--- data record "), exported + len(self.options(out)), dump.stdout[:2000])
        messages = harness.tshark_records(out)
        self.assertEqual(sum(records for records, _ in messages), exported)
        self.assertFalse(any(fault for _, fault in messages))

    def test_a_dash_is_standard_input_and_output(self):
        out, _, _ = self.meter("--read", harness.DEMO)
        meter = '"$1" --read - --write - --set read.parse=%s | "$2" flows --json - >"$3"'
        for parse, command in (("full", '<"$4" ' + meter), ("unified-header", '"$2" preparse --read - --write - <"$4" | ' + meter)):
            with self.subTest(parse):
                subprocess.run(["sh", "-c", command % parse, "sh", harness.TRIBUTARYD, harness.TRIBUTARY,
                                self.path("flows.json"), harness.DEMO], cwd=self.directory, check=True, timeout=60)
                with open(self.path("flows.json")) as flows:
                    records = [record for record in map(json.loads, flows) if record["@type"] == "data"]
                self.assertEqual(len(records), harness.DEMO_FLOWS)
                if parse == "full":
                    self.assertCountEqual(records, self.flows(out))
        self.assertFalse(os.path.exists(self.path("-")))

    def test_standard_output_keeps_what_is_there(self):
        run = '"$1" --read "$3" --write -'
        for name, command in (("appended", f'{run} >"$0"; {run} >>"$0"'), ("in turn", f'({run}; {run}) >"$0"')):
            with self.subTest(name):
                out = self.path("twice.ipfix")
                subprocess.run(["sh", "-c", command, out, harness.TRIBUTARYD, "", harness.DEMO], check=True, timeout=60)
                flows = subprocess.run([harness.TRIBUTARY, "flows", "--json", out], capture_output=True, check=True).stdout
                self.assertEqual(flows.count(b'"@type":"data"'), 2 * harness.DEMO_FLOWS)
        out = self.path("capture.pcap", b"before")
        subprocess.run(["sh", "-c", '"$1" preparse --read "$2" --write - >>"$0"', out, harness.TRIBUTARY, harness.DEMO],
                       check=True, timeout=60)
        with open(out, "rb") as source:
            self.assertEqual(source.read(10), b"before\x4d\x3c\xb2\xa1")

    def test_a_fifo_as_standard_input_is_read_to_its_end(self):
        os.mkfifo(self.path("pipe"))
        command = 'cat "$2" >"$1" & "$0" --read - --write "$3" <"$1"'
        subprocess.run(["sh", "-c", command, harness.TRIBUTARYD, self.path("pipe"), harness.DEMO, self.path("out.ipfix")],
                       check=True, timeout=20)
        self.assertEqual(len(self.flows(self.path("out.ipfix"))), harness.DEMO_FLOWS)

    def test_no_message_is_dated_before_the_capture(self):
        for _ in range(20):  # the export thread starts first: the order of the two must not matter
            out, _, _ = self.meter("--read", harness.DEMO)
            with open(out, "rb") as source:
                export_time = int.from_bytes(source.read(8)[4:], "big")
            self.assertGreaterEqual(export_time, first_second(harness.DEMO))

    def test_an_empty_capture_still_gives_templates(self):
        harness.need("ipfixDump")
        empty = self.path("empty.pcap", struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1))
        out, ledger, _ = self.meter("--read", empty)
        self.assertEqual((ledger["packets"]["received"], ledger["flows"]["created"]), (0, 0))
        self.assertEqual(self.flows(out), [])
        dump = subprocess.run(["ipfixDump", "--in", out, "--templates"], capture_output=True, text=True, timeout=60)
        self.assertIn("octetDeltaCount", dump.stdout)

    def test_bytes_after_a_cut_do_not_change_what_came_before(self):
        with open(harness.DEMO, "rb") as source:
            capture = source.read()
        out, ledger, result = self.meter("--read", self.path("cut.pcap", capture[:-10]))
        self.assertEqual(ledger["packets"]["received"], harness.DEMO_FRAMES - 1)
        self.assertIn("cut.pcap", result.stderr)

    def test_the_dumped_configuration_is_read_back_as_the_same(self):
        first = self.tributaryd("--dump-config", "--set", "flows.idle-timeout=7", "--set", "export.fields=[layer2]",
                                "-i", "af_packet:eth0", "-n", "192.0.2.1:2055").stdout
        self.assertIn("idle-timeout: 7", first)
        again = self.tributaryd("--dump-config", "--config", self.path("dumped.yaml", first)).stdout
        self.assertEqual(first, again)


if __name__ == "__main__":
    harness.main()
