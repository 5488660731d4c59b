#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Declared tables come, change and go by a reload, while packets come: none is lost, and nothing else notices."""
import collections
import contextlib
import json
import os
import random
import signal
import socket
import subprocess

import collectors
import harness
import service

CONFIG = """
    inputs: [{name: up, device: "net_pcap0,%(streams)s", queues: %(queues)d}]
    flows: {max-flows: 4096, idle-timeout: %(idle)d, active-timeout: 2}
    telemetry: {listen: ""}
    fields: [{name: word, from: payload, offset: 0, octets: 2, as: unsigned16, when: "udp"}]
    tables:
      - {name: ports, key: [destinationTransportPort], values: [max(ipTTL)], max-flows: 4096}
    %(tables)s
    export:
      flush-interval: 0.05
      drain-timeout: 10
      collectors:
        - {transport: file, path: %(file)s, tables: [main, ports]}
        - {transport: tcp, host: 127.0.0.1, port: %(port)d, tables: [%(taken)s]}
    """

# Tables that come and go beside `ports`, which stays.
OTHERS = {
    "nets": ["{name: nets, key: [sourceAddress/24/56, destinationAddress/24/56], max-flows: 1024}",
             "{name: nets, key: [sourceAddress/16/48], filter: udp, max-flows: 1024}"],
    "words": ["{name: words, key: [word], values: [distinct(sourceAddress)], max-flows: 1024}",
              "{name: words, key: [destinationAddress], values: [first(word), or(word)], max-flows: 1024}"],
    "classes": ["{name: classes, key: [ipDiffServCodePoint, protocolIdentifier], spread: key, max-flows: 256}",
                "{name: classes, key: [ipTTL], values: [sum(ipTotalLength)], spread: key, max-flows: 256}"],
    "talks": ["{name: talks, key: [sourceAddress, destinationAddress], direction: biflow, max-flows: 4096}"],
}
# Tables with timeouts of their own.
QUICK, SLOW = "idle-timeout: 1, active-timeout: 2", "idle-timeout: 100, active-timeout: 100"
TIMED = {
    "first": ["{name: first, key: [protocolIdentifier], max-flows: 256, %s}" % QUICK],
    "kept": ["{name: kept, key: [ipTTL], max-flows: 256, %s}" % times for times in (SLOW, QUICK)],
    "pairs": ["{name: pairs, key: [sourceAddress, destinationAddress%s], spread: key, max-flows: 4096}" % more
              for more in ("", ", sourceTransportPort")],
    "last": ["{name: last, key: [protocolIdentifier, ipTTL], max-flows: 256, %s}" % SLOW],
}


def threads(daemon):
    """The names of its threads."""
    names, tasks = set(), "/proc/%d/task" % daemon.popen.pid
    for task in os.listdir(tasks):
        with contextlib.suppress(OSError), open(os.path.join(tasks, task, "comm")) as comm:    # one may end meanwhile
            names.add(comm.read().strip())
    return names


class ReloadTables(harness.TestCase):
    RELOADS = 40 if harness.SANITIZED else 1000 if harness.LONG else 60

    def setUp(self):
        super().setUp()
        self.enterContext(harness.huge_pages())
        self.values = {"streams": "rx_pcap=" + harness.DEMO, "queues": 1, "idle": 1, "tables": "", "taken": "ports",
                       "file": self.path("file.ipfix"), "port": harness.free_port(socket.SOCK_STREAM)}

    def configure(self, others=(), **values):
        """others: name and form of each table beside `ports`; the second collector takes all of them."""
        self.values.update(values, taken=", ".join(["ports", *(name for name, _ in others)]),
                           tables="\n    ".join("  - " + {**OTHERS, **TIMED}[name][form] for name, form in others))
        return self.path("probe.yaml", CONFIG % self.values)

    def probe(self, more="", others=(), **values):
        daemon = self.enterContext(harness.Process(
            harness.TRIBUTARYD, "--config", self.configure(others, streams=",".join(
                ["rx_pcap=" + harness.DEMO] * values.get("queues", 1)) + more, **values),
            "--stats", self.path("stats.json"), "--stats-interval", "0"))
        daemon.wait_for_log("ready: ")
        daemon.wait_for_log("control: ")
        daemon.wait_for(lambda: daemon.stats()["packets"]["received"] >= harness.DEMO_FRAMES, 30, "packets")
        return daemon

    def ask(self, daemon, *words, expect=harness.EX_OK):
        result = subprocess.run([harness.TRIBUTARY, *words, "--socket", daemon.control_socket], capture_output=True,
                                text=True, timeout=60)
        self.assertEqual(result.returncode, expect, result.stderr + daemon.text())
        return result.stdout if expect == harness.EX_OK else result.stderr

    def reload(self, daemon):
        """What has changed; warnings follow in lines of their own."""
        return self.ask(daemon, "reload").splitlines()[0].removeprefix("reloaded: ")

    def end(self, daemon):
        daemon.send(signal.SIGTERM)
        return self.ended(daemon)

    def ended(self, daemon):
        self.assertEqual(daemon.popen.wait(60), harness.EX_OK, daemon.text())
        ledger = harness.read_json(self.path("stats.json"))
        self.check_ledger(ledger)
        for name, table in ledger["tables"].items():
            packets, flows = table["packets"], table["flows"]
            self.assertEqual(packets["metered"], packets["filtered"] + packets["filter_not_ready"] +
                             packets["without_field"] + packets["matched"], name)
            self.assertEqual(packets["matched"], packets["in_records"] + packets["refused"], name)
            self.assertEqual(flows["created"], flows["exported"] + flows["lost"], name)
            self.assertEqual(flows["active"], 0, name)
            self.assertEqual(packets["filter_not_ready"], 0, name)  # a new table's filter is compiled before it begins
        return ledger

    def listed(self, table, *paths):
        result = subprocess.run([harness.TRIBUTARY, "flows", "--json", "--table", table, *paths], capture_output=True,
                                text=True, timeout=120)
        self.assertEqual(result.returncode, 0, result.stderr)
        return [record for record in map(json.loads, result.stdout.splitlines()) if record["@type"] == "data"]

    @staticmethod
    def packets(records):
        return sum(record["packetDeltaCount"] + record.get("reversePacketDeltaCount", 0) for record in records)

    def memory(self, daemon):
        with open("/proc/%d/status" % daemon.popen.pid) as source:
            return next(int(line.split()[1]) for line in source if line.startswith("VmRSS"))

    def wait_until_gone(self, daemon, name):
        """Its last record has left."""
        def is_gone():
            flows = daemon.stats()["tables"][name]["flows"]
            return flows["active"] == 0
        daemon.wait_for(is_gone, 30, "the end of " + name)

    def test_a_table_comes_changes_and_goes(self):
        collector = self.enterContext(collectors.TcpCollector(None, self.values["port"], self.path("tcp")))
        daemon = self.probe()
        self.assertEqual(self.reload(daemon), "nothing has changed")
        self.configure([("nets", 0)])
        self.assertEqual(self.reload(daemon), "export.collectors and tables")
        self.assertIn("tables: nets begins", daemon.text())
        self.assertEqual(self.ask(daemon, "show", "flows", "--table", "nets"),
                         self.ask(daemon, "show", "flows", "--table", "nets"))
        self.configure([("nets", 1), ("words", 0)])
        self.reload(daemon)
        self.assertIn("tables: the flows of nets end", daemon.text())
        self.configure()
        self.reload(daemon)
        wrong = self.ask(daemon, "show", "flows", "--table", "nets", expect=69)
        self.assertIn("there is no table nets; the tables are main and ports", wrong)
        ledger = self.end(daemon)
        self.assertEqual(set(ledger["tables"]), {"ports", "nets", "words"})
        self.assertEqual(ledger["tables"]["nets"]["packets"]["metered"], 0)  # all packets came before it
        self.assertEqual(ledger["tables"]["ports"]["packets"]["in_records"], harness.DEMO_PACKETS)
        self.assertEqual(self.packets(self.listed("ports", *collector.files())), harness.DEMO_PACKETS)
        self.assertEqual(ledger["collectors"][1]["reconnects"], 0)

    def test_a_table_that_stays_at_another_place_has_its_timeouts(self):
        self.enterContext(collectors.TcpCollector(None, self.values["port"], self.path("tcp")))
        daemon = self.probe(others=[("first", 0), ("kept", 0)])
        before = daemon.stats()["tables"]["kept"]["flows"]
        self.assertGreater(before["active"], 0)
        # Place by place the timeouts are as before: those of `kept` are others.
        self.configure([("kept", 1), ("last", 0)])
        self.assertEqual(self.reload(daemon), "export.collectors and tables")
        daemon.wait_for(lambda: daemon.stats()["tables"]["kept"]["flows"]["active"] == 0, 30, "the idle timeout of kept")
        ledger = self.end(daemon)
        self.assertEqual(ledger["tables"]["kept"]["flows"]["created"], before["created"])

    def test_a_wrong_table_changes_nothing(self):
        self.enterContext(collectors.TcpCollector(None, self.values["port"], self.path("tcp")))
        daemon = self.probe(others=[("nets", 0)])
        OTHERS["bad"] = ["{name: bad, key: [nothing]}"]
        self.configure([("bad", 0)])
        self.assertIn("nothing", self.ask(daemon, "reload", expect=69))
        OTHERS["bad"] = ["{name: bad, key: [ipTTL], filter: \"host nowhere.invalid\"}"]
        self.configure([("bad", 0), ("words", 0)])
        self.assertIn("tables.1.filter", self.ask(daemon, "reload", expect=69))
        self.assertEqual(set(daemon.stats()["tables"]), {"ports", "nets"})
        self.assertGreater(len(self.ask(daemon, "show", "flows", "--table", "nets").splitlines()), 2)
        self.configure([("nets", 0)])
        self.assertEqual(self.reload(daemon), "nothing has changed")
        ledger = self.end(daemon)
        self.assertEqual(ledger["tables"]["nets"]["packets"]["metered"], harness.DEMO_PACKETS)

    def test_records_of_a_former_table_wait_for_their_collector(self):
        daemon = self.probe(others=[("nets", 0), ("talks", 0)])
        self.configure([("talks", 0)])
        self.reload(daemon)
        daemon.wait_for(lambda: daemon.stats()["tables"]["nets"]["flows"]["ended_by_reason"]["forced"] > 0, 30, "its end")
        self.configure([("nets", 1), ("talks", 0)])
        self.reload(daemon)
        collector = self.enterContext(collectors.TcpCollector(None, self.values["port"], self.path("tcp")))
        self.wait_until_gone(daemon, "nets")
        ledger = self.end(daemon)
        nets = ledger["tables"]["nets"]
        self.assertEqual(nets["flows"]["lost"], 0)
        self.assertEqual(nets["flows"]["exported"], len(self.listed("nets", *collector.files())))
        self.assertEqual(self.packets(self.listed("nets", *collector.files())), harness.DEMO_PACKETS)
        self.assertEqual(self.packets(self.listed("talks", *collector.files())), harness.DEMO_PACKETS)

    def cut_short(self, daemon, others, **values):
        """A reload while an input thread hangs, and what the answer says of it; the thread goes on then."""
        with service.halted(daemon.popen, "in-1"):
            self.configure(others, **values)
            answer = self.ask(daemon, "reload", expect=69)
            self.assertIn("thread in-1 does not answer; tables begin and end when it does; taken: ", answer)
        daemon.wait_for_log("tables: nets begins")
        return answer.strip().split("; taken: ")[1]

    def test_what_a_reload_took_before_a_thread_hung_can_be_taken_back(self):
        self.enterContext(collectors.TcpCollector(None, self.values["port"], self.path("tcp")))
        for idle, changed in ((1, "export.collectors and tables"), (2, "export.collectors, flows.idle-timeout and tables")):
            with self.subTest(changed):
                daemon = self.probe(queues=2, idle=1)
                self.assertEqual(self.cut_short(daemon, [("nets", 0)]), "export, tables and timeouts")
                self.configure(idle=idle)
                self.assertEqual(self.reload(daemon), changed)
                self.wait_until_gone(daemon, "nets")
                wrong = self.ask(daemon, "show", "flows", "--table", "nets", expect=69)
                self.assertIn("there is no table nets; the tables are main and ports", wrong)
                self.assertEqual(self.reload(daemon), "nothing has changed")
                self.end(daemon)

    def test_the_next_reload_does_what_was_left_when_a_thread_hung(self):
        self.enterContext(collectors.TcpCollector(None, self.values["port"], self.path("tcp")))
        daemon = self.probe(queues=2, others=[("kept", 0)])
        self.assertGreater(daemon.stats()["tables"]["kept"]["flows"]["active"], 0)
        self.assertEqual(self.cut_short(daemon, [("kept", 1), ("nets", 0)], idle=2),
                         "export and tables; not taken: timeouts, for the next reload")
        self.assertEqual(self.reload(daemon), "flows.idle-timeout and tables")
        daemon.wait_for(lambda: daemon.stats()["tables"]["kept"]["flows"]["active"] == 0, 30, "the idle timeout of kept")
        self.assertEqual(self.reload(daemon), "nothing has changed")
        self.end(daemon)

    @contextlib.contextmanager
    def stopping(self):
        """A probe that is asked to end when one of its input threads hangs in a reload, and goes on after this."""
        self.enterContext(collectors.TcpCollector(None, self.values["port"], self.path("tcp")))
        daemon = self.probe(more=",infinite_rx=1", queues=2, others=[("pairs", 0)])
        with service.halted(daemon.popen, "in-1"):
            self.configure([("pairs", 1)])
            self.assertIn("thread in-1 does not answer", self.ask(daemon, "reload", expect=69))
            daemon.send(signal.SIGTERM)
            daemon.wait_for_log("SIGTERM: stopping")
            yield daemon

    def test_the_end_finishes_what_a_hanging_thread_cut_short(self):
        with self.stopping() as daemon:
            pass
        pairs = self.ended(daemon)["tables"]["pairs"]
        self.assertIn("tables: pairs begins", daemon.text())
        self.assertEqual(pairs["packets"]["refused_by_cause"]["owner_ended"], 0)

    def test_packets_for_a_queue_that_did_not_wait_for_them_are_counted(self):
        with self.stopping() as daemon:
            daemon.wait_for_log("thread in-1 does not answer.* no queue waits for what others send it")
            daemon.wait_for(lambda: "in-0" not in threads(daemon), 30, "the end of in-0")
        pairs = self.ended(daemon)["tables"]["pairs"]
        self.assertGreater(pairs["packets"]["refused_by_cause"]["owner_ended"], 0)

    def test_reloads_under_traffic_lose_nothing(self):
        collector = self.enterContext(collectors.TcpCollector(None, self.values["port"], self.path("tcp")))
        chance = random.Random(harness.SEED)
        daemon = self.probe(more=",infinite_rx=1", queues=2)
        memory = []
        for _ in range(self.RELOADS):
            names = chance.sample(sorted(name for name in OTHERS if name != "bad"), chance.randrange(4))
            self.configure([(name, chance.randrange(len(OTHERS[name]))) for name in names])
            self.reload(daemon)
            memory.append(self.memory(daemon))
        if not harness.SANITIZED:    # a sanitizer keeps freed memory, and reports leaks at the end
            first = memory[:len(memory) // 5]
            self.assertLess(memory[-1], max(first) + 4096, "KiB")
        ledger = self.end(daemon)
        metered = ledger["packets"]["metered"]
        self.assertEqual(ledger["flows"]["lost"], 0)
        ports = ledger["tables"]["ports"]
        self.assertEqual(ports["packets"]["metered"], metered)
        self.assertEqual(ports["packets"]["in_records"], metered)
        for path in ([self.values["file"]], collector.files()):
            self.assertEqual(self.packets(self.listed("ports", *path)), metered)
        self.assertEqual(self.packets(self.listed("main", self.values["file"])), metered)
        taken = collections.Counter()
        for name, table in ledger["tables"].items():
            self.assertEqual(table["flows"]["lost"], 0, name)
            taken[name] = self.packets(self.listed(name, *collector.files()))
            self.assertEqual(taken[name], table["packets"]["in_records"], name)
        self.assertEqual([account["reconnects"] for account in ledger["collectors"]], [0, 0])


if __name__ == "__main__":
    harness.main()
