#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A TCP collector that is away: the times and causes of new attempts, and the log."""
import subprocess
import time
import urllib.request

import harness
from stream_collector import Collector, whole_messages


class Reconnect(harness.TestCase):
    def probe(self, port, *settings):
        return harness.Process(
            harness.TRIBUTARYD, "-i", "net_pcap0,rx_pcap=" + harness.DEMO, "-n", "127.0.0.1:%d" % port, "--stats",
            self.path("stats.json"), *(part for setting in (
                "export.collectors.0.transport=tcp", "flows.max-flows=4096", "flows.idle-timeout=1", *settings)
                for part in ("--set", setting)))

    def next_try(self, daemon):
        return daemon.stats()["collectors"][0].get("next_try_in")

    def wait_for_long_pause(self, daemon):
        """Pauses grow: 0.25, 0.5, 1, 2 and 4 s, and up to a half more."""
        daemon.wait_for_log("ready")
        daemon.wait_for(lambda: (self.next_try(daemon) or 0) >= 4, 60, "a pause of seconds")
        self.assertLessEqual(self.next_try(daemon), 10)

    def check_records(self, ledger, streams):
        self.check_ledger(ledger)
        self.assertEqual(ledger["flows"]["exported"], ledger["flows"]["created"])
        flows = [flow for index, stream in enumerate(streams) if stream
                 for flow in self.flows(self.path("%d.ipfix" % index, whole_messages(stream)))]
        self.assertEqual(len(flows), ledger["flows"]["created"])
        self.assertEqual(sum(flow["packetDeltaCount"] for flow in flows), harness.DEMO_PACKETS)

    def test_a_reload_tries_at_once(self):
        port, listen = harness.free_port(), harness.free_port()
        with harness.huge_pages(), self.probe(port, 'telemetry.listen="127.0.0.1:%d"' % listen) as daemon:
            self.wait_for_long_pause(daemon)
            metrics = urllib.request.urlopen("http://127.0.0.1:%d/metrics" % listen, timeout=10).read().decode()
            self.assertRegex(metrics, r"\ntributary_collector_next_try_seconds\{[^}]*\} (\d|10)\n")
            with Collector(port=port) as collector:
                began = time.monotonic()
                left = self.next_try(daemon)
                result = subprocess.run([harness.TRIBUTARY, "reload", "--socket", daemon.control_socket],
                                        capture_output=True, text=True, timeout=30)
                self.assertEqual(result.returncode, 0, result.stderr)
                daemon.wait_for_log("tcp 127.0.0.1:%d: ready" % port, 10)
                print("ready after %.2f s, with %s s left" % (time.monotonic() - began, left))
                self.assertIsNone(self.next_try(daemon))
                self.assertEqual(daemon.end(), harness.EX_OK, daemon.text())
            self.assertNotIn("not reloaded", daemon.text())
        self.check_records(harness.read_json(self.path("stats.json")), collector.streams)

    def test_a_collector_that_ends_each_connection_after_its_first_message_is_warned_of(self):
        """Like a collector that closes the connection at an unknown options record."""
        ended = []
        def end_at_options_template(connection, stream):
            while octets := connection.recv(65536):
                stream += octets
                if len(ended) < 4 and len(stream) > 16:
                    ended.append(len(stream))
                    return
        with Collector(None, end_at_options_template) as collector, harness.huge_pages(), \
                self.probe(collector.port) as daemon:
            line = "tcp 127.0.0.1:%d: each connection ends right after the first messages" % collector.port
            daemon.wait_for_log(line, 30)
            self.assertGreaterEqual(len(ended), 3)
            self.assertEqual(daemon.end(), harness.EX_OK, daemon.text())
            said = [text for text in daemon.text().splitlines() if line in text]
        self.assertIn(len(said), (1, 2), said)    # once a minute, and at the end how often
        self.assertTrue(all(text.endswith((" more", "in a row)")) for text in said[:2]), said)
        self.assertIn("warning", said[0])
        self.assertIn("export.collectors[].profile", said[0])

    def test_the_end_tries_until_its_time_is_over(self):
        port = harness.free_port()
        with harness.huge_pages(), self.probe(port, "export.drain-timeout=5") as daemon:
            self.wait_for_long_pause(daemon)
            daemon.send(15)
            time.sleep(3.5)
            with Collector(port=port) as collector:
                self.assertEqual(daemon.popen.wait(30), harness.EX_OK, daemon.text())
        self.check_records(harness.read_json(self.path("stats.json")), collector.streams)

    def test_a_second_signal_ends_the_wait(self):
        port = harness.free_port()
        with harness.huge_pages(), self.probe(port, "export.drain-timeout=300") as daemon:
            daemon.wait_for_log("ready")
            daemon.wait_for_received(harness.DEMO_FRAMES)
            daemon.send(15)
            daemon.wait_for_log(r"the end waits: \d+ flow records are to leave for tcp 127.0.0.1:%d \(not connected\);.*"
                                r"after 300 s .*; SIGINT or SIGTERM once more" % port, 10)
            self.assertEqual(daemon.end(2), harness.EX_OK, daemon.text())
            self.assertIn("SIGINT again: no collector is waited for any more", daemon.text())
            self.assertRegex(daemon.text(), r"error.* no flow record has left: \d+ are lost")
        ledger = harness.read_json(self.path("stats.json"))
        self.check_ledger(ledger)
        self.assertGreater(ledger["flows"]["created"], 0)
        self.assertEqual((ledger["flows"]["exported"], ledger["flows"]["lost_by_cause"]["collector_away"]),
                         (0, ledger["flows"]["created"]))


if __name__ == "__main__":
    harness.main()
