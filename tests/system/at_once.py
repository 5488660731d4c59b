#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""All commands and pages of a running probe, at once and under traffic: for ThreadSanitizer."""
import itertools
import signal
import socket
import threading
import time
import urllib.request

import collectors
import control
import harness

SECONDS = 25 if harness.SANITIZED else 5


class AtOnce(control.ControlCase):
    def setUp(self):
        super().setUp()
        self.stop = threading.Event()
        self.threads, self.done, self.faults = [], {}, []

    def configure(self, **values):
        path = super().configure(**values)
        with open(path) as source:
            text = source.read()
        return self.path("probe.yaml", text.replace('listen: ""', "listen: 127.0.0.1:%d" % self.port))

    def repeat(self, name, work):
        def run():
            try:
                while not self.stop.is_set():
                    work()
                    self.done[name] = self.done.get(name, 0) + 1
            except Exception as error:  # reported by the main thread
                self.faults.append((name, error))
                self.stop.set()
        self.threads.append(threading.Thread(target=run))
        self.threads[-1].start()
        self.addCleanup(self.end_all)

    def end_all(self):
        self.stop.set()
        for thread in self.threads:
            thread.join()

    def scrape(self, page):
        with urllib.request.urlopen("http://127.0.0.1:%d%s" % (self.port, page), timeout=60) as answer:
            return answer.read()

    def test_reloads_scrapes_and_commands_under_traffic(self):
        self.port = harness.free_port(socket.SOCK_STREAM)
        ports = [harness.free_port(socket.SOCK_STREAM) for _ in range(2)]
        one, other = ("{transport: tcp, host: localhost, port: %d}" % port for port in ports)
        for port in ports:
            self.enterContext(collectors.TcpCollector(None, port, self.path("tcp%d" % port)))
        settings = itertools.cycle([
            {"idle": 2, "active": 2, "filter": "not arp", "collectors": one + ", " + other, "level": "warn"},
            {"idle": 1, "active": 1, "filter": "", "collectors": one, "level": "info"}])
        daemon = self.probe(more=",infinite_rx=1", idle=1, active=1, collectors=one)
        self.wait_for_received(daemon)

        def reload():
            self.configure(**next(settings))
            self.ask(daemon, "reload")
            daemon.send(signal.SIGHUP)
            daemon.send(signal.SIGUSR1)

        self.repeat("reload", reload)
        self.repeat("metrics", lambda: self.assertIn(b"tributary_", self.scrape("/metrics")))
        self.repeat("health", lambda: self.scrape("/healthz"))
        self.repeat("stats", daemon.stats)
        self.repeat("flows", lambda: self.ask(daemon, "show", "flows"))
        self.repeat("top", lambda: self.ask(daemon, "top", "--interval", "1", "--count", "1", "--flows", "3"))
        self.repeat("flush", lambda: (self.ask(daemon, "flush"), time.sleep(0.5)))
        self.stop.wait(SECONDS)
        self.end_all()
        self.assertEqual(self.faults, [], daemon.text())
        self.assertEqual(set(self.done), {"reload", "metrics", "health", "stats", "flows", "top", "flush"})
        ledger = self.end(daemon)
        self.assertGreater(ledger["flows"]["exported"], 0)
        self.assertEqual(ledger["flows"]["lost"], 0)


if __name__ == "__main__":
    harness.main()
