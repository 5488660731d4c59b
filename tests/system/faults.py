#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Stream collectors that fail, by TCP and by TLS: every record arrives once and in order, or is accounted for by name."""
import contextlib
import glob
import os
import random
import re
import select
import signal
import struct
import time

import harness
from stream_collector import Authority, Collector, read_to_end, server_context, whole_messages

FLOWS = 60_000


def many_flows(path, flows=FLOWS):
    """A capture of UDP packets, each of a flow of its own, with the flow's number in its source address."""
    with open(path, "wb") as out:
        out.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1))
        for number in range(flows):
            frame = bytes(12) + b"\x08\x00" + struct.pack(
                ">BBHHHBBH4s4sHHHH", 0x45, 0, 46, 0, 0, 64, 17, 0, struct.pack(">I", 0x0A000000 + number),
                b"\xc0\x00\x02\x01", 1024, 53, 26, 0) + bytes(18)
            out.write(struct.pack("<IIII", 1_600_000_000, number, len(frame), len(frame)) + frame)
    return path


class FaultCase(harness.TestCase):
    def setUp(self):
        super().setUp()
        harness.need("openssl")
        self.authority = Authority(self.path("authority"))
        self.contexts = {"tcp": None, "tls": server_context(*self.authority.issue("collector"))}
        self.capture = many_flows(self.path("many.pcap"))

    @contextlib.contextmanager
    def probe(self, transport, port, *settings, capture=None):
        tls = ["tls.ca=" + self.authority.certificate] if transport == "tls" else []
        own = ["export.collectors.0." + setting for setting in ("transport=" + transport, *tls)]
        with harness.Process(
            harness.TRIBUTARYD, "-i", "net_pcap0,rx_pcap=" + (capture or self.capture), "-n", "127.0.0.1:%d" % port,
            "--stats", self.path("stats.json"), *(part for setting in (
                *own, "flows.max-flows=131072", "flows.idle-timeout=1", "export.flush-interval=0.1",
                "export.collectors.0.buffer=65536", "export.drain-timeout=3", *settings)
                for part in ("--set", setting))) as daemon:
            daemon.wait_for_log("ready: ")
            yield daemon

    def spool(self, name, octets=1 << 30):
        return ("export.collectors.0.spool.directory=" + self.path(name), "export.collectors.0.spool.max-size=%d" % octets)

    def end(self, daemon):
        self.assertEqual(daemon.end(timeout=120), harness.EX_OK, daemon.text())
        ledger = harness.read_json(self.path("stats.json"))
        self.check_ledger(ledger)
        return ledger

    def numbers_in(self, streams):
        """The flows' numbers in the order of arrival, and the last options record of each kind, all elements in one."""
        numbers, last = [], {}
        for index, stream in enumerate(streams):
            path = self.path("session-%d.ipfix" % index, whole_messages(stream))
            for record in self.all_records(path) if os.path.getsize(path) else []:
                if record["@type"] == "options":
                    last.update(record)
                else:
                    parts = record["sourceIPv4Address"].split(".")
                    numbers.append(int(parts[1]) << 16 | int(parts[2]) << 8 | int(parts[3]))
        return numbers, last

    def wait_until_spooled(self, name):
        """Waits until the spool has grown, and grows no more."""
        def octets():
            with os.scandir(self.path(name)) as files, contextlib.suppress(FileNotFoundError):    # old ones are removed
                return sum(file.stat().st_size for file in files)
            return last
        last, since = -1, time.monotonic()

        def quiet():
            nonlocal last, since
            if octets() != last:
                last, since = octets(), time.monotonic()
            return last > 1_000_000 and time.monotonic() > since + 1
        harness.wait_until(quiet, 60, "the spool")


class Faults(FaultCase):
    def check_agreement(self, ledger, streams):
        """All records are there, once; ledger, options records and the collector's count agree."""
        numbers, last = self.numbers_in(streams)
        created = ledger["flows"]["created"]
        self.assertEqual(sorted(numbers), list(range(created)))
        self.assertEqual((ledger["flows"]["exported"], ledger["flows"]["lost"]), (created, 0))
        self.assertEqual(ledger["collectors"][0]["records"], created)
        self.assertEqual((last["exportedFlowRecordTotalCount"], last["notSentFlowTotalCount"]), (created, 0))

    def for_each_transport(self):
        for transport, context in self.contexts.items():
            with self.subTest(transport), harness.huge_pages():
                yield transport, context

    def test_a_collector_that_is_absent_at_first_misses_nothing(self):
        for transport, context in self.for_each_transport():
            port = harness.free_port()
            with self.probe(transport, port, *self.spool(transport)) as daemon:
                daemon.wait_for_received(FLOWS)
                daemon.wait_for_log("records go to the spool")
                with Collector(context, port=port) as collector:
                    daemon.wait_for_log("the spool is empty again")
                    ledger = self.end(daemon)
            self.check_agreement(ledger, collector.streams)

    def test_a_collector_that_does_not_read_for_half_a_minute_misses_nothing(self):
        def sleep_and_read(connection, stream):
            time.sleep(30)
            read_to_end(connection, stream)
        for transport, context in self.for_each_transport():
            with Collector(context, sleep_and_read, receive_buffer=65536) as collector, \
                    self.probe(transport, collector.port, *self.spool(transport)) as daemon:
                daemon.wait_for_received(FLOWS)
                daemon.wait_for_log("records go to the spool")
                daemon.wait_for_log("the spool is empty again")
                ledger = self.end(daemon)
            self.check_agreement(ledger, collector.streams)
            self.assertEqual(len(collector.streams), 1)

    def test_what_a_kernel_had_and_the_collector_never_read_is_the_difference(self):
        """Connections cut at random with octets unread: no record comes twice, and only those are missing
        that the collector's kernel had acknowledged."""
        for transport, context in self.for_each_transport():
            dice, unread = random.Random(7), []

            def read_some(connection, stream):
                amount = dice.randrange(20_000, 400_000) if len(unread) < 6 else 1 << 40
                while len(stream) < amount and (octets := connection.recv(min(65536, amount - len(stream)))):
                    stream += octets
                if transport == "tcp" and len(stream) == amount:
                    time.sleep(0.5)    # until the window is full and acknowledged
                    held = connection.recv(1 << 22, 2)    # MSG_PEEK
                    unread.append(bytearray(stream) + held)
                else:
                    unread.append(stream)

            with Collector(context, read_some, receive_buffer=65536) as collector, \
                    self.probe(transport, collector.port, *self.spool(transport)) as daemon:
                daemon.wait_for_received(FLOWS)
                daemon.wait_for_log("(?s)(connection lost.*){6}ready", 90)
                daemon.wait_for_log("the spool is empty again")
                ledger = self.end(daemon)
            read, _ = self.numbers_in(collector.streams)
            created = ledger["flows"]["created"]
            self.assertEqual((ledger["flows"]["exported"], ledger["flows"]["lost"]), (created, 0))
            self.assertEqual(len(read), len(set(read)))
            missing = created - len(read)
            print("%s: %d of %d records were acknowledged and never read" % (transport, missing, created))
            self.assertGreater(missing, 0)
            self.assertEqual(ledger["collectors"][0]["reconnects"], len(collector.streams) - 1)
            if transport == "tcp":
                held, _ = self.numbers_in(unread)
                self.assertEqual(sorted(held), list(range(created)))

    def test_what_is_left_at_the_end_is_sent_by_the_next_process(self):
        for transport, context in self.for_each_transport():
            port = harness.free_port()
            with self.probe(transport, port, *self.spool(transport)) as daemon:
                daemon.wait_for_received(FLOWS)
                first = self.end(daemon)
            self.assertEqual(first["flows"]["spooled"], FLOWS)
            self.assertEqual((first["flows"]["exported"], first["flows"]["lost"]), (0, 0))
            with Collector(context, port=port) as collector, \
                    self.probe(transport, port, *self.spool(transport), capture=harness.DEMO) as daemon:
                daemon.wait_for_received(harness.DEMO_FRAMES)
                daemon.wait_for_log(r"info: .*the spool holds records of a former run \(%d; directory /" % FLOWS)
                daemon.wait_for_log("info: .*the spool is empty again")
                second = self.end(daemon)
            stream = self.path("second.ipfix", bytes(collector.streams[0]))
            self.assertEqual(len(self.flows(stream)), FLOWS + second["flows"]["created"])
            account = second["collectors"][0]
            self.assertEqual((account["inherited"], account["records"], account["spooled"]),
                             (FLOWS, FLOWS + second["flows"]["created"], 0))

    def test_a_daemon_that_is_killed_leaves_its_spool_whole(self):
        for transport, context in self.for_each_transport():
            port, spool = harness.free_port(), self.spool(transport)
            with self.probe(transport, port, *spool) as daemon:
                daemon.wait_for_received(FLOWS)
                self.wait_until_spooled(transport)
                daemon.popen.kill()
                daemon.popen.wait()
            with Collector(context, port=port) as collector, \
                    self.probe(transport, port, *spool, capture=harness.DEMO) as daemon:
                daemon.wait_for_log("the spool is empty again")
                ledger = self.end(daemon)
            stream = self.path("after.ipfix", bytes(collector.streams[0]))
            arrived = [record["sourceIPv4Address"] for record in self.flows(stream)
                       if record.get("destinationIPv4Address") == "192.0.2.1"]
            inherited = ledger["collectors"][0]["inherited"]
            self.assertGreater(inherited, FLOWS - 300)    # except for the open message
            self.assertEqual((len(arrived), len(set(arrived))), (inherited, inherited))

    def test_a_fifo_whose_reader_does_not_read_costs_nobody_else_anything(self):
        fifo, _ = self.fifo_with_reader()
        with harness.huge_pages(), Collector() as collector, self.probe(
                "tcp", collector.port, "export.collectors.1={transport: file, path: %s, buffer: 65536}" % fifo) as daemon:
            daemon.wait_for_received(FLOWS)
            ledger = self.end(daemon)
        numbers, _ = self.numbers_in(collector.streams)
        self.assertEqual(sorted(numbers), list(range(FLOWS)))
        self.assertEqual((ledger["flows"]["exported"], ledger["flows"]["lost"]), (FLOWS, 0))
        account = ledger["collectors"][1]
        self.assertEqual(account["records"] + account["lost"], FLOWS)
        self.assertGreater(account["lost_by_cause"]["buffer_full"], 0)
        self.assertGreater(account["lost_by_cause"]["collector_away"], 0)

    def fifo_with_reader(self, name="fifo"):
        """A FIFO and its non-blocking reading end."""
        fifo = self.path(name)
        os.mkfifo(fifo)
        reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
        self.addCleanup(os.close, reader)
        return fifo, reader

    @staticmethod
    def read_until_it_ends(run, reader, most, pause=0.0):
        """Reads all that a process writes into a FIFO, at most so many octets at a time."""
        got = bytearray()
        while run.popen.poll() is None or select.select([reader], [], [], 0)[0]:
            if select.select([reader], [], [], 0.1)[0]:
                octets = os.read(reader, most)
                got += octets
                time.sleep(pause)
                if not octets and run.popen.poll() is not None:
                    break
        return got

    def test_a_fifo_that_is_read_slowly_gets_everything_whole(self):
        fifo, reader = self.fifo_with_reader()
        with harness.Process(harness.TRIBUTARYD, "--read", self.capture, "--write", fifo) as run:
            got = self.read_until_it_ends(run, reader, 3001, pause=0.0005)
            self.assertEqual(run.popen.returncode, harness.EX_OK, run.text())
        numbers, _ = self.numbers_in([got])
        self.assertEqual(sorted(numbers), list(range(FLOWS)))

    @staticmethod
    def wait_until_it_writes_its_last_records(run):
        def threads():
            names = set()
            for path in glob.glob("/proc/%d/task/*/comm" % run.popen.pid):
                with contextlib.suppress(OSError), open(path) as file:  # threads end meanwhile
                    names.add(file.read().strip())
            return names
        run.wait_for(lambda: "export" in threads(), 60, "its threads")  # before that SIGUSR1 may end it
        run.wait_for_received(FLOWS)
        run.wait_for(lambda: "input-0" not in threads(), 60, "the end of its inputs")

    def test_a_run_whose_fifo_nobody_reads_answers_and_can_be_ended(self):
        for start in [], ["sh", "-c", "trap '' INT; exec \"$@\"", "sh"]:  # like a script's jobs
            with self.subTest(start=start):
                fifo, _ = self.fifo_with_reader("out%d" % len(start))
                with harness.Process(*start, harness.TRIBUTARYD, "--read", self.capture, "--write", fifo) as run:
                    self.wait_until_it_writes_its_last_records(run)
                    run.send(signal.SIGINT)
                    run.wait_for_log("SIGINT: stopping")
                    self.assertIsNone(run.popen.poll())
                    self.assertEqual(run.end(signal.SIGINT), -signal.SIGINT)

    def test_a_run_that_is_interrupted_when_all_was_read_tells_of_the_captures(self):
        fifo, reader = self.fifo_with_reader()
        with harness.Process(harness.TRIBUTARYD, "--read", self.capture, self.path("missing.pcap"),
                             "--write", fifo) as run:
            self.wait_until_it_writes_its_last_records(run)
            run.send(signal.SIGTERM)
            run.wait_for_log("SIGTERM: stopping")
            self.read_until_it_ends(run, reader, 65536)
            self.assertEqual(run.popen.returncode, 128 + signal.SIGTERM, run.text())
            self.assertIn("missing.pcap: No such file or directory", run.text())
            self.assertIn("holds all that was metered", run.text())

    def test_a_run_that_is_interrupted_while_it_writes_its_last_records_writes_them_all(self):
        fifo, reader = self.fifo_with_reader()
        with harness.Process(harness.TRIBUTARYD, "--read", self.capture, "--write", fifo) as run:
            self.wait_until_it_writes_its_last_records(run)
            run.send(signal.SIGTERM)
            run.wait_for_log("SIGTERM: stopping")
            got = self.read_until_it_ends(run, reader, 65536)
            self.assertEqual(run.popen.returncode, 128 + signal.SIGTERM, run.text())
        numbers, _ = self.numbers_in([got])
        self.assertEqual(sorted(numbers), list(range(FLOWS)))

    def test_a_pipe_that_was_interrupted_still_answers_while_it_is_metered(self):
        fifo, _ = self.fifo_with_reader()
        os.mkfifo(self.path("pipe"))
        with harness.Process(harness.TRIBUTARYD, "--read", self.path("pipe"), "--write", fifo) as run, \
                harness.filled_pipe(self.path("pipe"), self.capture):
            run.send(signal.SIGINT)
            def answers():
                run.send(signal.SIGUSR1)
                return re.search("statistics: packets: [1-9]", run.text())
            run.wait_for(answers, 60, "what the pipe has brought")
            self.assertIsNone(run.popen.poll())  # it waits for the output's reader
            self.assertEqual(run.end(signal.SIGINT), -signal.SIGINT)

    def test_a_pipe_that_has_ended_is_metered_whole_whatever_signal_comes(self):
        fifo, reader = self.fifo_with_reader()
        os.mkfifo(self.path("pipe"))
        with harness.Process(harness.TRIBUTARYD, "--read", self.path("pipe"), "--write", fifo) as run:
            with harness.filled_pipe(self.path("pipe"), self.capture):
                pass
            run.wait_for(lambda: select.select([reader], [], [], 0)[0], 60, "a record")
            run.send(signal.SIGINT)
            got = self.read_until_it_ends(run, reader, 65536)
            self.assertEqual(run.popen.returncode, 128 + signal.SIGINT, run.text())
        numbers, _ = self.numbers_in([got])
        self.assertEqual(sorted(numbers), list(range(FLOWS)))

    def test_a_preparse_whose_fifo_nobody_reads_can_be_ended(self):
        fifo, reader = self.fifo_with_reader()
        with harness.Process(harness.TRIBUTARY, "preparse", "--read", self.capture, "--write", fifo) as run:
            run.wait_for(lambda: select.select([reader], [], [], 0)[0], 60, "a record")
            run.send(signal.SIGINT)
            run.wait_for_log("SIGINT: stopping")
            time.sleep(0.5)
            self.assertEqual(run.end(signal.SIGINT), -signal.SIGINT, run.text())

    def lose_some(self, transport, context, spool, flows, trouble, cause, capture=None):
        """A collector that comes after the spool's failure has each of the flows except those lost by `cause`. Returns
        the number of lost ones, which is also in its options records."""
        port = harness.free_port()
        with self.probe(transport, port, *spool, capture=capture) as daemon:
            daemon.wait_for_received(flows)
            daemon.wait_for_log(trouble)
            with Collector(context, port=port) as collector:
                daemon.wait_for_log("the spool is empty again")
                ledger = self.end(daemon)
        numbers, last = self.numbers_in(collector.streams)
        lost = ledger["flows"]["lost_by_cause"][cause]
        self.assertEqual((ledger["flows"]["lost"], ledger["flows"]["exported"]), (lost, flows - lost))
        self.assertEqual((len(numbers), len(set(numbers))), (flows - lost, flows - lost))
        self.assertEqual((last["exportedFlowRecordTotalCount"], last["notSentFlowTotalCount"]), (flows - lost, lost))
        return lost

    def test_a_full_spool_loses_the_oldest_by_name(self):
        flows = 100_000
        capture = many_flows(self.path("more.pcap"), flows)
        for transport, context in self.for_each_transport():
            lost = self.lose_some(transport, context, self.spool(transport, 1 << 23), flows, capture=capture,
                                  trouble=r"the spool is full, its oldest records are lost \(\d+ records; its spool\.max-size "
                                          r"is 8388608 octets; directory /\S*\)", cause="spool_full")
            self.assertGreater(lost, 0)

    def test_a_spool_on_a_full_disk_is_a_loss_with_a_name(self):
        self.enterContext(harness.small_disk(self.path("small"), 2 << 20))
        for transport, context in self.for_each_transport():
            lost = self.lose_some(transport, context, self.spool("small/" + transport), FLOWS,
                                  trouble="the spool failed .No space left on device.", cause="write_failed")
            # Records wait in ring and cache; messages that would have overtaken those in the spool are lost.
            self.assertTrue(0 < lost < 3000, lost)


if __name__ == "__main__":
    harness.main()
