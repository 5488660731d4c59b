#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Commands and reloads of a running probe: judged by its ledger and its collectors."""
import contextlib
import itertools
import json
import os
import signal
import socket
import stat
import subprocess
import time

import collectors
import harness
import service

EX_UNAVAILABLE = 69
NO_MORE = bytes(4)
DEMO_ENDS = 32  # flows with FIN or RST

CONFIG = """
    inputs: [{name: up, device: "net_pcap0,rx_pcap=%(capture)s%(more)s", filter: "%(filter)s"}]
    flows: {max-flows: 4096, idle-timeout: %(idle)s, active-timeout: %(active)s, tcp-analysis: %(analysis)s%(flows)s}
    telemetry: {listen: ""}
    log: {level: %(level)s}
    export: {fields: [%(fields)s], ntop-elements: %(ntop)s, flush-interval: 0.05, options-interval: %(options)s,
             drain-timeout: 5, collectors: [%(collectors)s]}
    """


class ControlCase(harness.TestCase):
    def setUp(self):
        super().setUp()
        self.enterContext(harness.huge_pages())
        self.values = {"capture": harness.DEMO, "more": "", "filter": "", "idle": 30, "active": 300, "level": "info",
                       "analysis": "false", "flows": "", "fields": "", "ntop": "false", "options": 0,
                       "collectors": "{transport: file, path: %s}" % self.path("out.ipfix")}

    def configure(self, **values):
        self.values.update(values)
        return self.path("probe.yaml", CONFIG % self.values)

    def probe(self, **values):
        daemon = self.enterContext(harness.Process(harness.TRIBUTARYD, "--config", self.configure(**values), "--stats",
                                                   self.path("stats.json"), "--stats-interval", "0"))
        daemon.wait_for_log("ready: ")
        daemon.wait_for_log("control: ")
        return daemon

    def ask(self, daemon, *words, expect=harness.EX_OK):
        result = subprocess.run([harness.TRIBUTARY, *words, "--socket", daemon.control_socket], capture_output=True,
                                text=True, timeout=60)
        self.assertEqual(result.returncode, expect, result.stderr + daemon.text())
        return result.stdout if expect == harness.EX_OK else result.stderr

    def wait_for_received(self, daemon, packets=harness.DEMO_FRAMES):
        daemon.wait_for(lambda: daemon.stats()["packets"]["received"] >= packets, 30, "packets")

    def end(self, daemon):
        self.assertEqual(daemon.end(), harness.EX_OK, daemon.text())
        ledger = harness.read_json(self.path("stats.json"))
        self.check_ledger(ledger)
        return ledger


class Commands(ControlCase):
    def test_the_ledger_is_that_of_the_end(self):
        daemon = self.probe()
        self.wait_for_received(daemon)
        ledger = daemon.stats()
        self.assertEqual(ledger["packets"]["metered"], harness.DEMO_PACKETS)
        self.assertEqual(ledger["flows"]["active"], harness.DEMO_FLOWS)
        lines = self.ask(daemon, "stats").splitlines()
        self.assertIn("packets.metered  %d" % harness.DEMO_PACKETS, lines)
        self.assertEqual([line for line in lines if line.endswith(("  0", "  0.0"))], [])
        every = self.ask(daemon, "stats", "--all").splitlines()
        self.assertIn("packets.nic_no_buffer  0", every)
        names = [line.split("  ")[0] for line in every]
        self.assertTrue(set(line.split("  ")[0] for line in lines) < set(names))
        at_end = self.end(daemon)
        self.assertEqual(at_end["packets"]["received"], ledger["packets"]["received"])

    def test_flows_that_run_are_shown_and_go_on(self):
        daemon = self.probe(fields="tcp-counts, layer2")
        self.wait_for_received(daemon)
        shown = [json.loads(line) for line in self.ask(daemon, "show", "flows", "--json").splitlines()]
        self.assertEqual(len(shown), harness.DEMO_FLOWS)
        self.assertEqual(sum(flow["packetDeltaCount"] for flow in shown), harness.DEMO_PACKETS)
        self.assertEqual({flow["flowEndReason"] for flow in shown}, {0})
        table = self.ask(daemon, "show", "flows", "--filter", "port 53", "--top", "3")
        self.assertIn("the first 3 shown", table)
        self.end(daemon)
        key = ("sourceIPv4Address", "destinationIPv4Address", "sourceIPv6Address", "destinationIPv6Address",
               "sourceTransportPort", "destinationTransportPort", "protocolIdentifier", "packetDeltaCount", "octetDeltaCount",
               "tcpSynTotalCount", "sourceMacAddress")
        def fields(flows):
            return sorted(json.dumps([flow.get(name) for name in key]) for flow in flows)
        self.assertEqual(fields(shown), fields(self.flows(self.path("out.ipfix"))))

    def test_flush_ends_what_runs(self):
        daemon = self.probe()
        self.wait_for_received(daemon)
        self.assertEqual(self.ask(daemon, "flush"), "%d flows ended\n" % harness.DEMO_FLOWS)
        self.assertEqual(self.ask(daemon, "flush"), "0 flows ended\n")
        daemon.wait_for(lambda: daemon.stats()["flows"]["exported"] == harness.DEMO_FLOWS, 30, "records")
        self.assertEqual(self.end(daemon)["flows"]["ended_by_reason"]["forced"], harness.DEMO_FLOWS)

    def test_top_shows_what_goes_on(self):
        daemon = self.probe(more=",infinite_rx=1")
        screens = self.ask(daemon, "top", "--interval", "1", "--count", "2", "--flows", "3")
        self.assertNotIn("\033", screens)  # not a terminal
        self.assertEqual(screens.count("QUEUE "), 2)
        self.assertRegex(screens, r"(?m)^up/0 +[1-9][\d.]* [kM] ")
        self.assertRegex(screens, r"(?m)^in-0|^export +[\d.]+ %")
        self.assertRegex(screens, r"LOST NOW  nothing")
        self.assertRegex(screens, r"(?m)^file \S+out.ipfix +up ")
        self.assertRegex(screens, r"(?m)^FLOWS  84 run; most bit/s over the last 1\.\d s\nPROTO .*\n(TCP .*\n){3}$")
        self.end(daemon)

    def test_a_configuration_is_checked_without_a_probe(self):
        good = subprocess.run([harness.TRIBUTARY, "check", self.configure()], capture_output=True, text=True)
        self.assertEqual(good.returncode, harness.EX_OK, good.stderr)
        bad = subprocess.run([harness.TRIBUTARY, "check", self.configure(idle="never")], capture_output=True, text=True)
        self.assertEqual(bad.returncode, harness.EX_CONFIG)
        self.assertRegex(bad.stderr, r"probe.yaml:3: flows.idle-timeout is never; must be ")


class Socket(ControlCase):
    def connect(self, daemon, line):
        client = self.enterContext(socket.socket(socket.AF_UNIX))
        client.settimeout(30)
        client.connect(daemon.control_socket)
        with contextlib.suppress(BrokenPipeError):    # a refused client that has sent nothing still reads the reason
            client.sendall(line)
        return client

    def answer(self, daemon, line):
        client, octets = self.connect(daemon, line), b""
        with contextlib.suppress(ConnectionResetError):    # a client refused at once cannot send its command
            while more := client.recv(1 << 16):
                octets += more
        client.close()
        return octets

    def test_only_owner_and_group_may_command(self):
        daemon = self.probe()
        self.assertEqual(stat.S_IMODE(os.stat(daemon.control_socket).st_mode), 0o660)
        self.end(daemon)
        self.assertFalse(os.path.exists(daemon.control_socket))
        self.assertIn("is tributaryd running", self.ask(daemon, "stats", expect=EX_UNAVAILABLE))

    def test_who_does_not_read_or_speaks_nonsense_holds_up_nobody(self):
        daemon = self.probe()
        self.wait_for_received(daemon)
        for line in (b"", b"flows\n", b"x" * 10_000, b"no such thing\n", b"\0\n"):
            self.connect(daemon, line)
        self.assertEqual(daemon.stats()["flows"]["active"], harness.DEMO_FLOWS)
        self.assertEqual(self.answer(daemon, b"nonsense\n"), NO_MORE + b"no such command")
        self.end(daemon)

    def test_too_many_commands_are_turned_away_and_the_next_is_served(self):
        daemon = self.probe()
        with service.halted(daemon.popen, "in-0"):    # 16 flushes at a time wait 2 s for it
            for _ in range(64):
                self.connect(daemon, b"flush\n")
            self.assertIn("too many commands run", self.ask(daemon, "stats", expect=EX_UNAVAILABLE))
        daemon.wait_for(lambda: self.answer(daemon, b"stats\n").endswith(NO_MORE + b"ok"), 60, "a free thread")
        self.end(daemon)

    def test_what_cannot_be_written_is_told(self):
        daemon = self.probe()
        for words in (["stats"], ["show", "flows"], ["top", "--interval", "1", "--count", "1"]):
            with open("/dev/full", "w") as full:
                result = subprocess.run([harness.TRIBUTARY, *words, "--socket", daemon.control_socket], stdout=full,
                                        stderr=subprocess.PIPE, text=True, timeout=60)
            self.assertEqual(result.returncode, harness.EX_IOERR, words)
            self.assertIn("No space left", result.stderr)
        self.end(daemon)

    def test_the_socket_of_another_probe_stays(self):
        daemon = self.probe()
        os.unlink(daemon.control_socket)
        other = self.enterContext(harness.Process(
            harness.TRIBUTARYD, "--config", self.configure(), "--set", "control.socket=" + daemon.control_socket, "--set",
            "export.collectors.0.path=" + self.path("second.ipfix")))
        other.wait_for_log("control: ")
        self.end(daemon)
        self.assertTrue(os.path.exists(daemon.control_socket))
        self.assertEqual(other.end(), harness.EX_OK)

    def test_a_folder_that_cannot_be_made_is_said_with_what_to_do(self):
        daemon = self.enterContext(harness.Process(harness.TRIBUTARYD, "--config", self.configure(), "--set",
                                                   "control.socket=/proc/tributary/control.sock"))
        daemon.wait_for_log("no control socket: .*tory; user 0 needs .* `install -d -o 0 /proc/tributary`, .* RUNTIME_DIRECTORY")
        self.assertEqual(daemon.end(), harness.EX_OK, daemon.text())

    def test_a_socket_that_a_killed_probe_left_is_replaced(self):
        daemon = self.probe()
        left = os.path.join(self.directory, "left.sock")
        self.end(daemon)
        stale = socket.socket(socket.AF_UNIX)
        stale.bind(left)
        stale.close()
        again = self.enterContext(harness.Process(harness.TRIBUTARYD, "--config", self.configure(), "--set",
                                                  "control.socket=" + left))
        again.wait_for_log("control: ")
        second = self.enterContext(harness.Process(
            harness.TRIBUTARYD, "--config", self.configure(), "--set", "control.socket=" + left, "--set",
            "export.collectors.0.path=" + self.path("second.ipfix")))
        second.wait_for_log("error: no control socket: .*another process listens there")
        second.wait_for_log("ready: ")
        self.assertEqual(second.end(), harness.EX_OK)
        self.assertTrue(os.path.exists(left))
        self.assertEqual(again.end(), harness.EX_OK)


class Hanging(ControlCase):
    def test_a_thread_that_hangs_is_named_and_the_next_order_is_done(self):
        daemon = self.probe()
        self.wait_for_received(daemon)
        with service.halted(daemon.popen, "in-0"):
            for words in (["flush"], ["show", "flows"]):
                self.assertIn("thread in-0 does not answer", self.ask(daemon, *words, expect=EX_UNAVAILABLE))
            self.configure(idle=7)
            self.assertIn("thread in-0 does not answer", self.ask(daemon, "reload", expect=EX_UNAVAILABLE))
        daemon.wait_for(lambda: subprocess.run([harness.TRIBUTARY, "flush", "--socket", daemon.control_socket],
                                               capture_output=True, timeout=60).returncode == 0, 30, "a flush")
        self.assertEqual(self.ask(daemon, "reload"), "reloaded: flows.idle-timeout\n")
        self.assertEqual(self.end(daemon)["flows"]["ended_by_reason"]["forced"], harness.DEMO_FLOWS)


class Reload(ControlCase):
    def test_a_filter_holds_for_the_packets_to_come(self):
        daemon = self.probe(more=",infinite_rx=1")
        self.wait_for_received(daemon)
        self.assertEqual(daemon.stats()["packets"]["filtered"], 0)
        self.configure(filter="arp")
        self.assertEqual(self.ask(daemon, "reload"), "reloaded: inputs.0.filter\n")
        metered = daemon.stats()["packets"]["metered"]
        daemon.wait_for(lambda: daemon.stats()["packets"]["filtered"] > 1000, 30, "filtered packets")
        self.assertLess(daemon.stats()["packets"]["metered"], metered + 1000)
        self.end(daemon)

    def test_timeouts_hold_for_flows_that_run(self):
        daemon = self.probe()
        self.wait_for_received(daemon)
        self.configure(idle=1)
        daemon.send(signal.SIGHUP)
        daemon.wait_for_log("reloaded: flows.idle-timeout")
        daemon.wait_for(lambda: daemon.stats()["flows"]["exported"] == harness.DEMO_FLOWS, 30, "idle timeouts")
        self.assertEqual(self.end(daemon)["flows"]["ended_by_reason"]["idle"], harness.DEMO_FLOWS)

    def test_the_timeout_behind_a_connections_end_holds_for_flows_that_run(self):
        daemon = self.probe(flows=", tcp-end: true, tcp-end-timeout: 30")
        self.wait_for_received(daemon)
        self.configure(flows=", tcp-end: true, tcp-end-timeout: 1")
        self.assertEqual(self.ask(daemon, "reload"), "reloaded: flows.tcp-end-timeout\n")
        daemon.wait_for(lambda: daemon.stats()["flows"]["exported"] == DEMO_ENDS, 20, "ends of connections")
        self.assertEqual(self.end(daemon)["flows"]["ended_by_reason"]["end"], DEMO_ENDS)

    def test_what_needs_a_restart_is_named_and_nothing_changes(self):
        daemon = self.probe()
        self.configure(idle=1)
        with open(self.path("probe.yaml")) as source:
            text = source.read().replace("max-flows: 4096", "max-flows: 8192").replace("name: up", "name: down")
        self.path("probe.yaml", text)
        error = self.ask(daemon, "reload", expect=EX_UNAVAILABLE)
        self.assertIn("flows.max-flows and inputs.0.name would change; that needs a restart", error)
        self.configure(idle=30)
        self.assertEqual(self.ask(daemon, "reload"), "reloaded: nothing has changed\n")
        self.wait_for_received(daemon)
        time.sleep(2)    # an idle timeout of a second would have ended them
        self.assertEqual(daemon.stats()["flows"]["active"], harness.DEMO_FLOWS)
        self.configure(idle=4000)
        self.assertEqual(self.ask(daemon, "reload"), "reloaded: flows.idle-timeout\nwarning: flows.idle-timeout is longer "
                                                     "than flows.active-timeout: no record ends by it\n")
        self.end(daemon)

    def test_a_bad_configuration_leaves_the_old_one(self):
        daemon = self.probe()
        self.configure(idle="soon", level="loud")
        self.assertRegex(self.ask(daemon, "reload", expect=EX_UNAVAILABLE), r"\A.*idle-timeout is soon;.*; .*log.level is loud;.*\n\Z")
        self.configure(level="info")
        for values, said in (({"idle": "soon"}, "flows.idle-timeout is soon"), ({"idle": 30, "filter": "no filter"},
                             "inputs.0.filter is no filter")):
            self.configure(**values)
            self.assertIn(said, self.ask(daemon, "reload", expect=EX_UNAVAILABLE))
        os.unlink(self.path("probe.yaml"))
        daemon.send(signal.SIGHUP)
        daemon.wait_for_log("error: not reloaded: .*probe.yaml")
        self.wait_for_received(daemon)
        self.assertEqual(self.end(daemon)["packets"]["filtered"], 0)

    def test_less_of_what_is_stored_can_be_exported(self):
        port = harness.free_port(socket.SOCK_STREAM)
        collector = self.enterContext(collectors.TcpCollector(None, port, self.path("tcp")))
        daemon = self.probe(fields="layer2, tcp-counts", collectors="{transport: tcp, host: 127.0.0.1, port: %d}" % port)
        self.wait_for_received(daemon)
        self.configure(fields="tcpSynTotalCount")
        self.assertEqual(self.ask(daemon, "reload"), "reloaded: export.fields\n")
        self.ask(daemon, "flush")
        collector.wait_until_quiet()
        self.configure(fields="extremes")
        self.assertIn("not stored since the start", self.ask(daemon, "reload", expect=EX_UNAVAILABLE))
        self.end(daemon)
        exported = self.flows(*collector.files())
        self.assertEqual(len(exported), harness.DEMO_FLOWS)
        self.assertTrue(any("tcpSynTotalCount" in flow for flow in exported))
        self.assertFalse(any("sourceMacAddress" in flow or "tcpFinTotalCount" in flow for flow in exported))

    def test_of_analysed_tcp_as_much_is_exported_as_is_wanted(self):
        port = harness.free_port(socket.SOCK_STREAM)
        collector = self.enterContext(collectors.TcpCollector(None, port, self.path("tcp")))
        wanted = [({"fields": "", "ntop": "false"}, {"outOfOrder", "keepAlives"}),
                  ({"fields": "", "ntop": "true"}, {"outOfOrder", "keepAlives", "OOORDER_IN_PKTS"}),
                  ({"fields": "outOfOrder", "ntop": "true"}, {"outOfOrder", "OOORDER_IN_PKTS"}),
                  ({"fields": "segments", "ntop": "false"}, set()),
                  ({"fields": "tcp-analysis", "ntop": "false"}, {"outOfOrder", "keepAlives"})]
        daemon = self.probe(analysis="true", more=",infinite_rx=1", **wanted[0][0],
                            collectors="{transport: tcp, host: 127.0.0.1, port: %d}" % port)
        self.wait_for_received(daemon)
        for values, _ in wanted[1:]:
            enough = daemon.stats()["flows"]["exported"] + harness.DEMO_FLOWS
            self.ask(daemon, "flush")
            daemon.wait_for(lambda: daemon.stats()["flows"]["exported"] >= enough, 30, "records")
            self.configure(**values)
            self.assertIn("reloaded: export.", self.ask(daemon, "reload"))
        self.configure(analysis="false")
        self.assertIn("flows.tcp-analysis would change; that needs a restart",
                      self.ask(daemon, "reload", expect=EX_UNAVAILABLE))
        self.assertEqual(self.end(daemon)["flows"]["lost"], 0)
        elements = set.union(*(names for _, names in wanted))
        of_tcp = [elements.intersection(flow) for flow in self.flows(*collector.files())
                  if flow["protocolIdentifier"] == 6]
        self.assertEqual([names for names, _ in itertools.groupby(of_tcp)], [names for _, names in wanted])

    def test_the_log_says_less(self):
        daemon = self.probe()
        self.configure(level="error")
        self.ask(daemon, "reload")
        before = daemon.text()
        self.ask(daemon, "reload")
        self.assertEqual(daemon.text(), before)
        self.end(daemon)


class Away(ControlCase):
    def test_records_for_a_collector_that_is_away_outlive_a_reload(self):
        port = harness.free_port(socket.SOCK_STREAM)
        daemon = self.probe(collectors="{transport: tcp, host: 127.0.0.1, port: %d}" % port)
        self.wait_for_received(daemon)
        self.ask(daemon, "flush")
        for interval in (7, 8, 0):
            self.configure(options=interval)
            self.assertEqual(self.ask(daemon, "reload"), "reloaded: export.options-interval\n")
        collector = self.enterContext(collectors.TcpCollector(None, port, self.path("tcp")))
        daemon.wait_for(lambda: daemon.stats()["flows"]["exported"] == harness.DEMO_FLOWS, 60, "records")
        ledger = self.end(daemon)
        self.assertEqual(ledger["flows"]["lost"], 0)
        self.assertEqual(len(self.flows(*collector.files())), harness.DEMO_FLOWS)


class ManyReloads(ControlCase):
    RELOADS = 100 if harness.SANITIZED else 1000 if harness.LONG else 200

    def memory(self, daemon):
        with open("/proc/%d/status" % daemon.popen.pid) as source:
            return next(int(line.split()[1]) for line in source if line.startswith("VmRSS"))

    def test_reloads_under_traffic_lose_nothing(self):
        ports = [harness.free_port(socket.SOCK_STREAM) for _ in range(2)]
        first, second = (self.enterContext(collectors.TcpCollector(None, port, self.path("tcp%d" % port)))
                         for port in ports)
        one, other = ("{transport: tcp, host: 127.0.0.1, port: %d}" % port for port in ports)
        settings = [{"idle": 1, "active": 1, "filter": "", "collectors": one, "level": "info"},
                    {"idle": 2, "active": 2, "filter": "not arp", "collectors": one + ", " + other, "level": "warn"}]
        daemon = self.probe(more=",infinite_rx=1", **settings[0])
        self.wait_for_received(daemon)
        memory = []
        for number in range(self.RELOADS):
            self.configure(**settings[(number + 1) % 2])
            self.assertIn("reloaded: ", self.ask(daemon, "reload"))
            memory.append(self.memory(daemon))
        if not harness.SANITIZED:    # a sanitizer keeps freed memory, and reports leaks at the end
            self.assertLess(memory[-1], max(memory[:self.RELOADS // 5]) + 2048, "KiB")
        ledger = self.end(daemon)
        self.assertEqual((ledger["flows"]["lost"], ledger["packets"]["nic_missed"]), (0, 0))
        self.assertGreater(ledger["flows"]["exported"], harness.DEMO_FLOWS)
        self.assertGreater(ledger["packets"]["filtered"], 0)
        for collector, account in zip((first, second), ledger["collectors"]):
            self.assertEqual(account["lost"], 0, account)
            self.assertEqual(len(self.flows(*collector.files())), account["records"])
        self.assertEqual(ledger["collectors"][0]["records"], ledger["flows"]["exported"])
        self.assertEqual(ledger["collectors"][0]["reconnects"], 0)
        self.assertTrue(ledger["collectors"][1]["removed"])


if __name__ == "__main__":
    harness.main()
