#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`tributary preparse`: refusals, counts, ends; and live, through memif, to a probe."""
import os
import resource
import signal
import struct
import subprocess

import harness
from unified_header import check_sent, flows_of, in_order, meter, sets

EX_UNAVAILABLE = 69


class Sender(harness.TestCase):
    def preparse(self, *arguments, expect=harness.EX_OK):
        result = subprocess.run([harness.TRIBUTARY, "preparse", *arguments], capture_output=True, text=True, timeout=60)
        self.assertEqual(result.returncode, expect, "%s\n%s" % (" ".join(arguments), result.stderr))
        return result

    def launch(self, *arguments):
        return self.enter(harness.Process(harness.TRIBUTARY, "preparse", *arguments, "--stats", self.path("sent.json")))

    def start(self, *arguments):
        process = self.launch(*arguments)
        process.wait_for_log("ready")
        return process

    def enter(self, context):
        self.addCleanup(context.__exit__, None, None, None)
        return context.__enter__()

    def ledger(self):
        ledger = harness.read_json(self.path("sent.json"))
        check_sent(ledger)
        return ledger["packets"]

    def memif(self, number, role):
        return "net_memif%d,role=%s,socket=%s,socket-abstract=no" % (number, role, self.path("memif.sock"))


class Command(Sender):
    """Without a receiver."""

    def test_usage(self):
        out = self.path("out.pcap")
        for arguments in ([], ["--read", harness.DEMO], ["--write", out], ["--read", harness.DEMO, "--from", "net_null0",
                          "--write", out], ["--read", harness.DEMO, "--write", out, "--to", "net_null0"],
                          ["--read", harness.DEMO, "--write", out, "--mtu", "97"],
                          ["--read", harness.DEMO, "--write", out, "--to-mac", "02:00:00:00:00"],
                          ["--from", "", "--write", out], ["--from=", "--write", out],
                          ["--read", "", "--write", out], ["--read", harness.DEMO, "", "--write", out],
                          ["--write", out, "--read", harness.DEMO, ""],
                          ["--read", harness.DEMO, "--write", ""], ["--read", harness.DEMO, "--to", ""],
                          ["--read", harness.DEMO, "--write", out, "--config", ""],
                          ["--read", harness.DEMO, "--write", out, "--stats", ""],
                          ["--read", harness.DEMO, "--write", out, "--stream", "4294966273"]):
            with self.subTest(arguments):
                self.assertNotEqual(self.preparse(*arguments, expect=harness.EX_USAGE).stderr, "")
        self.assertFalse(os.path.exists(out))

    def test_where_packets_come_from_is_what_the_command_line_says(self):
        for arguments, message in (
                (["--read", harness.DEMO, *sets("read.parse=unified-header", "inputs.0.device=net_null0")],
                 "inputs is given, but packets come from captures"),
                (["--from", "net_null0", *sets("inputs=[]")], "inputs is empty"),
                (["--from", "net_null0", *sets("inputs.0.device=")], "inputs.0.device"),
                (["--read", harness.DEMO, *sets("flows.tunnel=inner", "flows.tunnel-in-key=true")],
                 "flows.tunnel-in-key is true")):
            with self.subTest(arguments):
                result = self.preparse(*arguments, "--write", self.path("out.pcap"), expect=harness.EX_CONFIG)
                self.assertIn(message, result.stderr)

    def test_the_highest_first_stream(self):
        self.preparse("--read", harness.DEMO, "--write", self.path("out.pcap"), "--stream", "4294966272")
        with open(self.path("out.pcap"), "rb") as source:
            self.assertEqual(struct.unpack_from("<I", source.read(), 24 + 16 + 20), (4294966272,))

    def test_times_that_an_export_cannot_say_are_counted_and_told_as_they_are(self):
        capture = os.path.join(harness.ROOT, "tests", "golden", "bad_timestamp", "input.pcap")
        self.preparse("--read", capture, "--write", self.path("out.pcap"), "--stats", self.path("sent.json"))
        sent = self.ledger()
        _, direct = meter(self.directory, capture)
        _, received = meter(self.directory, self.path("out.pcap"), *sets("read.parse=unified-header"))
        self.assertEqual((sent["sent"], sent["bad_timestamp"]), (6, 3))
        self.assertEqual((direct["bad_timestamp"], received["bad_timestamp"]), (3, 3))

    def test_it_parses_packets_and_nothing_else(self):
        result = self.preparse("--read", harness.DEMO, "--write", self.path("out.pcap"), "--set",
                               "read.parse=unified-header", expect=harness.EX_CONFIG)
        self.assertIn("must be full or trimmed", result.stderr)
        result = self.preparse("--read", harness.DEMO, "--write", self.path("out.pcap"), "--set", "read.filter=porte 5",
                               expect=harness.EX_CONFIG)
        self.assertIn("read.filter", result.stderr)

    def test_what_is_read_is_not_overwritten(self):
        with open(harness.DEMO, "rb") as source:
            capture = source.read()
        path = self.path("only.pcap", capture)
        for arguments in (["--read", path, "--write", path], ["--read", path, "--to", "net_pcap0,tx_pcap=" + path],
                          ["--from", "net_pcap0,rx_pcap=" + path, "--write", path],
                          ["--read", path, "--write", self.path("out.pcap"), "--stats", path]):
            with self.subTest(arguments):
                self.preparse(*arguments, expect=harness.EX_USAGE)
                with open(path, "rb") as source:
                    self.assertEqual(source.read(), capture)

    def test_what_came_before_a_missing_capture_is_sent(self):
        result = self.preparse("--read", harness.DEMO, self.path("absent.pcap"), "--write", self.path("out.pcap"),
                               "--stats", self.path("sent.json"), expect=harness.EX_NOINPUT)
        self.assertIn("absent.pcap", result.stderr)
        self.assertEqual(self.ledger()["sent"], harness.DEMO_FRAMES)

    def test_an_output_that_cannot_be_written_exits_74_with_the_loss_by_name(self):
        self.preparse("--read", harness.DEMO, "--write", "/dev/full", expect=harness.EX_IOERR)
        self.preparse("--read", harness.DEMO, "--write", self.path("no/folder"), expect=harness.EX_IOERR)
        limit = 20_000
        command = [harness.TRIBUTARY, "preparse", "--read", harness.DEMO, "--write", self.path("out.pcap"), "--stats",
                   self.path("sent.json")]
        result = subprocess.run(command, capture_output=True, text=True, timeout=60,
                                preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))
        self.assertEqual(result.returncode, harness.EX_IOERR, result.stderr)
        packets = self.ledger()
        # It stops reading after the failure, which comes after one frame at least.
        self.assertLessEqual(packets["received"], harness.DEMO_FRAMES)
        self.assertGreaterEqual(packets["received"], packets["sent"] + 23)
        self.assertEqual(packets["lost_by_cause"]["write_failed"], packets["received"] - packets["sent"])
        # The capture ends after its last whole frame, and has the sent packets.
        frames = (limit - 24) // (16 + 32 + 23 * 64)
        self.assertEqual(packets["sent"], 23 * frames)
        self.assertEqual(os.path.getsize(self.path("out.pcap")), 24 + frames * (16 + 32 + 23 * 64))

    def test_frames_are_as_long_as_the_mtu_allows(self):
        for mtu, records in ((98, 1), (145, 1), (146, 2), (1500, 23), (9000, 140), (16000, 249)):
            with self.subTest(mtu=mtu):
                self.preparse("--read", harness.DEMO, "--write", self.path("out.pcap"), "--mtu", str(mtu), "--stream",
                              "9")
                with open(self.path("out.pcap"), "rb") as source:
                    capture = source.read()
                self.assertEqual(struct.unpack_from("<BBHHIQ", capture, 24 + 16 + 14), (1, 64, records, 0, 9, 0))
                frames = -(-harness.DEMO_FRAMES // records)
                self.assertEqual(len(capture), 24 + frames * (16 + 32) + harness.DEMO_FRAMES * 64)

    def test_filters_and_sampling_are_the_senders(self):
        chosen = sets("read.filter=tcp or (vlan and ip)", "read.sampling=10")
        self.preparse("--read", harness.DEMO, "--write", self.path("out.pcap"), "--stats", self.path("sent.json"),
                      *chosen)
        sent = self.ledger()
        records, packets = meter(self.directory, self.path("out.pcap"), *sets("read.parse=unified-header"))
        direct, ledger = meter(self.directory, harness.DEMO, *chosen)
        self.assertGreater(ledger["filtered"], 0)
        self.assertEqual((sent["filtered"], sent["sent"]), (ledger["filtered"], ledger["received"] - ledger["filtered"]))
        self.assertEqual(packets["received"], sent["sent"])
        self.assertGreater(packets["ignored_by_reason"]["not_sampled"], packets["metered"])
        self.assertEqual(packets["ignored_by_reason"], ledger["ignored_by_reason"])
        self.assertEqual(in_order(records), in_order(direct))

    def test_a_signal_ends_the_wait_for_a_pipe(self):
        os.mkfifo(self.path("pipe"))
        sender = self.start("--read", harness.DEMO, self.path("pipe"), "--write", self.path("out.pcap"))
        sender.wait_for_received(harness.DEMO_FRAMES)
        self.assertEqual(sender.end(signal.SIGINT), 128 + signal.SIGINT, sender.text())
        self.assertEqual(self.ledger()["sent"], harness.DEMO_FRAMES)

    def test_what_a_pipe_brought_before_a_signal_is_sent(self):
        os.mkfifo(self.path("pipe"))
        sender = self.launch("--read", self.path("pipe"), "--write", self.path("out.pcap"))
        with harness.filled_pipe(self.path("pipe"), harness.DEMO):
            sender.wait_for_log("ready")
            self.assertEqual(sender.end(signal.SIGINT), 128 + signal.SIGINT, sender.text())
        self.assertEqual(self.ledger()["sent"], harness.DEMO_FRAMES)

    def test_packets_of_a_port_into_a_capture(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            sender = self.start("--from", "net_pcap0,rx_pcap=%s,rx_pcap=%s" % (harness.DEMO, harness.DEMO), "--write",
                                self.path("out.pcap"), *sets("inputs.0.queues=2", "inputs.0.interface-index=1"))
            sender.wait_for_received(2 * harness.DEMO_FRAMES)
            self.assertEqual(sender.end(number), harness.EX_OK, sender.text())
            self.assertEqual(self.ledger()["sent"], 2 * harness.DEMO_FRAMES)
            _, ledger, _ = self.meter("--read", self.path("out.pcap"), "--set", "read.parse=unified-header")
            self.assertEqual(ledger["packets"]["metered"], 2 * harness.DEMO_PACKETS)
            self.assertEqual(ledger["packets"]["unified_headers_missing"], 0)

    def test_a_capture_to_a_port(self):
        out = self.path("out.pcap")
        self.preparse("--read", harness.DEMO, "--to", "net_pcap0,tx_pcap=" + out, "--to-mac", "02:00:5e:10:00:0A")
        with open(out, "rb") as source:
            self.assertEqual(source.read()[40:46].hex(), "02005e10000a")
        records, _ = meter(self.directory, out, *sets("read.parse=unified-header"))
        direct, _ = meter(self.directory, harness.DEMO)
        self.assertEqual(in_order(records), in_order(direct))

    def test_a_receiver_that_is_not_there_is_a_loss_by_name(self):
        result = self.preparse("--read", harness.DEMO, "--to", self.memif(0, "client"), expect=EX_UNAVAILABLE)
        self.assertIn("start the receiver first", result.stderr)
        sender = self.start("--from", "net_pcap0,rx_pcap=" + harness.DEMO, "--to", self.memif(0, "server"),
                            "--link-wait", "0")
        sender.wait_for_received(harness.DEMO_FRAMES)
        self.assertEqual(sender.end(), harness.EX_OK, sender.text())
        packets = self.ledger()
        self.assertEqual((packets["sent"], packets["lost_by_cause"]["tx_full"]), (0, harness.DEMO_FRAMES))

    def test_input_and_output_are_two_devices(self):
        self.preparse("--from", "net_null0", "--to", "net_null0", expect=harness.EX_CONFIG)


class Live(Sender):
    """From a port through memif to a probe, on one machine, without root or huge pages."""

    def start_probe(self, queues):
        config = self.path("probe.yaml", """
            flows: {max-flows: 4096, idle-timeout: 3600, active-timeout: 3600}
            inputs:
              - {name: uh, device: "%s", parse: unified-header, queues: %d}
            export:
              timestamps: nanoseconds
              collectors: [{transport: file, path: %s}]
            """ % (self.memif(0, "server"), queues, self.path("live.ipfix")))
        probe = self.enter(harness.Process(harness.TRIBUTARYD, "--config", config, "--stats", self.path("live.json")))
        probe.wait_for_log("ready")
        return probe

    def end_probe(self, probe):
        self.assertEqual(probe.end(), harness.EX_OK, probe.text())
        ledger = harness.read_json(self.path("live.json"))
        self.check_ledger(ledger)
        return flows_of(self.path("live.ipfix")), ledger["packets"]

    def test_a_port_a_memif_and_a_probe_are_one_probe(self):
        probe = self.start_probe(queues=2)
        sender = self.start("--from", "net_pcap1,rx_pcap=%s,rx_pcap=%s" % (harness.DEMO, harness.DEMO), "--to",
                            self.memif(1, "client"), *sets("inputs.0.queues=2", "inputs.0.interface-index=1"))
        sender.wait_for_received(2 * harness.DEMO_FRAMES)
        probe.wait_for_received(2 * harness.DEMO_FRAMES)
        self.assertEqual(sender.end(), harness.EX_OK, sender.text())
        records, packets = self.end_probe(probe)
        sent = self.ledger()
        self.assertEqual((sent["sent"], sent["lost"]), (2 * harness.DEMO_FRAMES, 0))
        self.assertEqual(packets["ignored_by_reason"]["arp"], 2 * harness.DEMO_ARP)
        self.assertEqual(packets["unified_headers_missing"], 0)
        direct, _ = meter(self.directory, harness.DEMO, *sets("flows.idle-timeout=3600", "flows.active-timeout=3600"))
        self.assertEqual(in_order(records), in_order(direct + direct))

    def test_a_capture_waits_for_its_receiver(self):
        probe = self.start_probe(queues=1)
        self.preparse("--read", *[harness.DEMO] * 20, "--to", self.memif(1, "client") + ",rsize=3", "--stats",
                      self.path("sent.json"))
        probe.wait_for_received(20 * harness.DEMO_FRAMES)
        _, packets = self.end_probe(probe)
        self.assertEqual(self.ledger()["sent"], 20 * harness.DEMO_FRAMES)
        self.assertEqual(packets["metered"], 20 * harness.DEMO_PACKETS)
        self.assertEqual(packets["unified_headers_missing"], 0)

    def test_a_probe_outlives_a_sender_that_is_killed(self):
        probe = self.start_probe(queues=1)
        probe.wait_for_log("control:")
        for _ in range(2):
            before = probe.stats()["packets"]["received"]
            with harness.Process(harness.TRIBUTARY, "preparse", "--from", "net_pcap1,rx_pcap=%s,infinite_rx=1" % harness.DEMO,
                                 "--to", self.memif(1, "client")):
                probe.wait_for(lambda: probe.stats()["packets"]["received"] > before, 30, "packets of a new sender")
        self.end_probe(probe)

    def test_drivers_unmap_nothing_during_a_burst(self):
        harness.need("nm")
        for program in (harness.TRIBUTARYD, harness.TRIBUTARY):
            symbols = subprocess.run(["nm", "--dynamic", "--defined-only", program], capture_output=True, text=True, check=True)
            self.assertRegex(symbols.stdout, r"(?m) T munmap$", "DPDK's drivers would find libc's munmap, not MemifUnmapGuard's")


if __name__ == "__main__":
    harness.main()
