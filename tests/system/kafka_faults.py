#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Records into a real Kafka broker while something breaks. After each run: exported <= stored <= exported + unconfirmed, the
account adds up, nothing is lost before a spool is full, and no secret is in any output. Every probe here logs in with a password,
by TLS.

Each fault has so many runs, of which no two are alike: what differs is drawn from a seed, which is printed, and which
TRIBUTARY_SEED gives again. A fault may have variants, of which the seed chooses the first one: where there are fewer runs than
variants, the others come with other seeds."""
import contextlib
import json
import os
import random
import subprocess
import time
import unittest

import harness
from kafka_broker import Broker, why_there_is_no_broker
from kafka_case import FLOWS, PARTITIONS, PCAP_HEADER, KafkaCase, Traffic, packets

PASSWORD = "a-secret-that-nobody-may-see"
RUNS = 20 if harness.LONG else 2
FEWER_RUNS = 20 if harness.LONG else 1  # of a broker that stays away, and of each way in which a spool is used
STOP_SECONDS = (30, 31) if harness.LONG else (2, 3)
REFUSED_SECONDS = (2, 3) if harness.LONG else (2,)  # librdkafka tells the cause after one
# Looks at OpenSSL as threads find it that outlive main(): its own handler, which is called last, is the first one.
AT_EXIT = r"""
#include <openssl/crypto.h>
#include <stdio.h>
#include <stdlib.h>
static void look(void) { fputs(OPENSSL_init_crypto(0, 0) ? "OpenSSL is there\n" : "OpenSSL is gone\n", stderr); }
__attribute__((constructor)) static void begin(void) { atexit(look); }
"""
FEW = 1000 if harness.LONG else 400
FIRST = FLOWS // 2  # of the traffic: they come at once


def setUpModule():
    """One broker for all tests, with topics of their own."""
    if why_there_is_no_broker() is None:
        KafkaCase.broker = unittest.enterModuleContext(Broker(users={"probe": PASSWORD}, certificate="IP:127.0.0.1"))
        print("TRIBUTARY_SEED=%d" % harness.SEED, flush=True)


class Run:
    """One of the runs of a fault: its number, its chance, its topic, and what is printed of it."""

    def __init__(self, fault, number):
        self.fault, self.number, self.topic = fault, number, "%s%d" % (fault, number)
        self.chance = random.Random("%d %s" % (harness.SEED, self.topic))
        self.began, self.notes = time.monotonic(), []

    def variant(self, count):
        """Which of so many variants of the fault this run is: each comes in its turn, and the first one is chance."""
        return (random.Random("%d %s" % (harness.SEED, self.fault)).randrange(count) + self.number) % count

    def note(self, text, *values):
        self.notes.append(text % values)

    def seconds(self):
        return time.monotonic() - self.began

    def print(self, verdict):
        print("%s: %s; %.1f s; %s" % (self.topic, verdict, self.seconds(), ", ".join(self.notes)), flush=True)


class FaultCase(KafkaCase):
    ENDS = (harness.EX_OK, harness.EX_IOERR)

    def setUp(self):
        super().setUp()
        self.have_broker()

    def each(self, fault, run_one, runs=RUNS):
        """Calls run_one(Run) for each run of a fault. One that fails does not keep the next ones from being made."""
        for number in range(runs):
            run = Run(fault, number)
            with self.subTest(fault=fault, number=number, TRIBUTARY_SEED=harness.SEED):
                verdict = "failed"
                try:
                    self.have_broker()
                    run_one(run)
                    verdict = "passed"
                finally:
                    run.print(verdict)

    def have_broker(self):
        """As a run that failed may have left it."""
        if self.broker.stopped:
            self.broker.resume()
        if self.broker.process.poll() is not None:
            self.broker.start()

    def login(self, password=PASSWORD, more=""):
        """Keys of a collector that logs in.

        @param more  properties"""
        return ("secrets: {sasl.password: %s}, properties: {security.protocol: SASL_SSL, sasl.mechanism: PLAIN, "
                "sasl.username: probe, ssl.ca.location: %s%s}" % (self.path("password", password + "\n"), self.broker.ca, more))

    def config_of(self, run, collector="", brokers=None, password=PASSWORD, more="", **keys):
        keys.setdefault("topic", run.topic)
        return self.config(brokers or self.broker.address, self.login(password, more) + (collector and ", " + collector), **keys)

    def judge_end(self, status, text):
        ledger, text = super().judge_end(status, text)
        self.assertNotIn(PASSWORD, text + json.dumps(ledger))
        return ledger, text

    def run_with_traffic(self, run, config, breaks):
        """Meters FLOWS flows; something breaks in their midst.

        @param breaks  called with the traffic and the probe when the topic has the first records
        @return        the ledger, and all that the probe has printed"""
        path, stats = self.path("capture%d" % run.number), self.path("stats.json")
        with Traffic(path, packets(0, FIRST), packets(FIRST, FLOWS - FIRST)) as traffic, harness.Process(
                harness.TRIBUTARYD, "--config", config, "--read", path, "--export", "--stats", stats) as probe:
            breaks(traffic, probe)
            traffic.may_go_on.set()
            return self.judge_end(probe.popen.wait(timeout=240), probe.text())

    def wait_for_moment(self, run, traffic, probe):
        """Until the topic has records, and then until a part of the traffic has come that is chance."""
        probe.wait_for(lambda: sum(self.broker.end_offsets(run.topic, PARTITIONS).values()) > 0, 60, "records in the topic")
        traffic.may_go_on.set()
        moment = run.chance.randrange(FIRST, FLOWS - FEW)
        probe.wait_for(lambda: traffic.written >= moment, 60, "traffic")
        run.note("at flow %d", moment)

    def settle(self, run, ledger):
        """Judges the records of a run. @return  how many the topic has"""
        topic = self.topic(self.broker, run.topic)
        self.note_account(run, ledger, topic)
        self.check_account(ledger, topic)
        return self.totals(topic)[0]

    def note_account(self, run, ledger, topic):
        flows = ledger["flows"]
        run.note("exported %d, stored %d, unconfirmed %d", flows["exported"], self.totals(topic)[0],
                 flows["lost_by_cause"]["unconfirmed"])
        for cause, count in flows["lost_by_cause"].items():
            if count and cause != "unconfirmed":
                run.note("%s %d", cause, count)


class Broken(FaultCase):
    """The broker has records under way when it breaks."""

    def check_all_arrive(self, run, breaks):
        self.broker.create_topic(run.topic, partitions=PARTITIONS)
        ledger, text = self.run_with_traffic(run, self.config_of(run), breaks)
        self.settle(run, ledger)
        self.assertEqual(ledger["flows"]["exported"] + ledger["flows"]["lost_by_cause"]["unconfirmed"], FLOWS, text)
        return ledger, text

    def test_killed_and_restarted(self):
        def run_one(run):
            def kill_and_restart(traffic, probe):
                self.wait_for_moment(run, traffic, probe)
                self.broker.kill()
                self.broker.start()
            self.check_all_arrive(run, kill_and_restart)
        self.each("killed", run_one)

    def test_stopped_for_a_while(self):
        def run_one(run):
            def stop(traffic, probe):
                self.wait_for_moment(run, traffic, probe)
                self.broker.pause()
                time.sleep(run.chance.uniform(*STOP_SECONDS))
                self.broker.resume()
            ledger, text = self.check_all_arrive(run, stop)
            self.assertEqual(ledger["flows"]["exported"], FLOWS, text)
        self.each("stopped", run_one)

    def test_killed_for_good(self):
        """What was under way is unconfirmed, the rest is lost as that of a collector that is away. A capture is not read on when
        no collector has been reached for drain-timeout."""
        def run_one(run):
            def kill(traffic, probe):
                self.wait_for_moment(run, traffic, probe)
                self.broker.kill()
            self.broker.create_topic(run.topic, partitions=PARTITIONS)
            ledger, text = self.run_with_traffic(run, self.config_of(run, drain=3), kill)
            run.note("the probe ended after %.1f s", run.seconds())
            self.broker.start()
            self.settle(run, ledger)
            lost = ledger["flows"]["lost_by_cause"]
            self.assertEqual(ledger["flows"]["created"],
                             ledger["flows"]["exported"] + lost["unconfirmed"] + lost["collector_away"], text)
            self.assertGreater(lost["collector_away"] + lost["unconfirmed"], 0)
        self.each("gone", run_one, FEWER_RUNS)


class Spooled(FaultCase):
    """A spool takes the records while brokers are away."""

    @contextlib.contextmanager
    def broker_away(self, run):
        """Stopped, so that it takes connections and is silent, or killed, in turn."""
        if run.variant(2) == 0:
            self.broker.pause()
        else:
            self.broker.kill()
        try:
            yield
        finally:
            self.have_broker()

    def check_streams(self, topic):
        """Those of the former process come first, and all numbers are in order."""
        for records in topic.values():
            streams = [record["tributary:streamId"] for record in records]
            self.assertEqual(streams, sorted(streams, key=streams.index))
            for stream in set(streams):
                numbers = [record["tributary:sequenceNumber"] for record in records if record["tributary:streamId"] == stream]
                self.assertEqual(numbers, sorted(set(numbers)))

    def check_next_process(self, run, former, config):
        """The process after a former one sends what that one has left, and its own records, as far as a disk has room for those
        behind it.

        @return  numbers of the former one's records that the topic has, and what its ledger says of them"""
        capture = self.path("few.pcap", PCAP_HEADER + packets(0, FEW))
        left = former["flows"]["spooled"]
        ledger, _ = self.run_probe(config, capture)
        account, = ledger["collectors"]
        lost = account["lost_by_cause"]["write_failed"]
        self.assertEqual((account["inherited"], account["records"], account["lost"]), (left, left + FEW - lost, lost))
        topic = self.topic(self.broker, run.topic)
        self.note_account(run, former, topic)
        self.check_streams(topic)
        stored = {}
        for records in topic.values():
            for record in records:
                stored.setdefault(record["tributary:streamId"], set()).add(record["tributary:sequenceNumber"])
        numbers = former["collectors"][0]["numbers"]
        self.assertEqual(stored.pop(account["numbers"]["stream"]), set(range(FEW)) - self.lost_numbers(account["numbers"]))
        own = stored.pop(numbers["stream"], set())
        self.assertEqual((len(own), stored), (left, {}))
        return own, numbers

    @staticmethod
    def lost_numbers(numbers):
        return {number for _, number in harness.numbers_in(numbers["lost"])}

    def test_over_a_restart(self):
        """The next process sends what the former one could not, and no number is missing."""
        def run_one(run):
            self.broker.create_topic(run.topic, partitions=PARTITIONS)
            flows = run.chance.randrange(FLOWS // 4, FLOWS)
            run.note("%d flows", flows)
            capture = self.path("flows.pcap", PCAP_HEADER + packets(0, flows))
            keys = {"collector": "buffer: 1048576, spool: {directory: %s}" % self.path("spool")}
            with self.broker_away(run):
                former, _ = self.run_probe(self.config_of(run, drain=1, **keys), capture)
            self.assertEqual(former["flows"]["spooled"], flows)
            own, numbers = self.check_next_process(run, former, self.config_of(run, **keys))
            self.assertEqual((own, numbers["lost"]), (set(range(flows)), []))
        self.each("spooled", run_one, FEWER_RUNS)

    def small_disk(self, run):
        octets = run.chance.randrange(2 << 20, 4 << 20)
        run.note("a disk of %d octets", octets)
        return harness.small_disk(self.path("disk%d" % run.number), octets)

    FULL = r"the spool failed .No space left on device"

    def check_full(self, ledger, numbers, stored):
        """What has no room is lost by name, and each record that came before it is kept.

        @param stored  numbers of the records that the topic has"""
        lost = ledger["flows"]["lost_by_cause"]
        self.assertEqual(ledger["flows"]["lost"], lost["write_failed"])
        self.assertGreater(lost["write_failed"], 0)
        listed = self.lost_numbers(numbers)
        self.assertEqual((stored & listed, len(stored) + lost["write_failed"]), (set(), FLOWS))
        self.assertEqual(len(listed) + numbers["unlisted"], lost["write_failed"])
        if numbers["unlisted"] == 0:
            self.assertEqual(stored | listed, set(range(FLOWS)))
        first = min(listed)
        self.assertLessEqual(set(range(first)), stored)
        self.assertGreater(first, 0)

    def test_a_full_disk_until_the_broker_is_back(self):
        def run_one(run):
            self.broker.create_topic(run.topic, partitions=PARTITIONS)

            def come_back(traffic, probe):
                traffic.may_go_on.set()
                probe.wait_for_log(self.FULL)
                self.assertNotIn("lost:", probe.text())
                self.broker.start()
                probe.wait_for_log("the spool is empty again")
            with self.small_disk(run) as disk:
                self.broker.kill()
                config = self.config_of(run, "buffer: 1048576, spool: {directory: %s}" % disk)
                ledger, text = self.run_with_traffic(run, config, come_back)
                self.settle(run, ledger)
                self.assertEqual((ledger["flows"]["created"], ledger["flows"]["lost_by_cause"]["unconfirmed"]), (FLOWS, 0), text)
                topic = self.topic(self.broker, run.topic)
                self.check_full(ledger, ledger["collectors"][0]["numbers"],
                                {record["tributary:sequenceNumber"] for records in topic.values() for record in records})
        self.each("full", run_one, FEWER_RUNS)

    def test_a_full_disk_until_the_end(self):
        """The next process sends what had room."""
        def run_one(run):
            self.broker.create_topic(run.topic, partitions=PARTITIONS)
            capture = self.path("flows.pcap", PCAP_HEADER + packets(0, FLOWS))
            with self.small_disk(run) as disk:
                keys = {"collector": "buffer: 1048576, spool: {directory: %s}" % disk}
                with self.broker_away(run):
                    former, _ = self.run_probe(self.config_of(run, drain=1, **keys), capture)
                own, numbers = self.check_next_process(run, former, self.config_of(run, **keys))
                self.check_full(former, numbers, own)
        self.each("left", run_one, FEWER_RUNS)


class Refused(FaultCase):
    """Brokers that take nothing, or not everything."""

    def setUp(self):
        super().setUp()
        self.capture = self.path("flows.pcap", PCAP_HEADER + packets(0, FEW))

    def check_none_leaves(self, run, words, **keys):
        """A run in which the collector is away until the end, and the log says why."""
        ledger, text = self.run_probe(self.config_of(run, **keys), self.capture)
        self.note_account(run, ledger, {})
        self.check_account(ledger, {})
        self.assertEqual((ledger["flows"]["created"], ledger["flows"]["lost_by_cause"]["collector_away"]), (FEW, FEW))
        self.assertIn(words, text)

    # Of a batch with one record that has a key of 8 octets: 61 for the batch, 17 for the record.
    OVERHEAD = 78

    def test_messages_too_large(self):
        """For a batch of several records; for any record; for the longer ones of them, in turn."""
        def deliver(run, **settings):
            self.broker.create_topic(run.topic, partitions=PARTITIONS, **settings)
            config = self.config_of(run, "compression: none", more=", batch.size: 16000")
            ledger, text = self.run_probe(config, self.capture)
            lengths = {len(value) for found in self.broker.messages(run.topic).values() for _, _, value in found}
            return ledger, text, lengths

        *_, all_lengths = deliver(Run("wide", 0))

        def limit_of(run):
            if run.variant(3) == 2:
                return run.chance.choice(sorted(all_lengths)[:-1]) + self.OVERHEAD
            return run.chance.randrange(*((1500, 4000), (200, 500))[run.variant(3)])

        def run_one(run):
            limit = limit_of(run)
            run.note("max.message.bytes %d", limit)
            ledger, text, lengths = deliver(run, max_message_bytes=limit)
            stored, lost = self.settle(run, ledger), ledger["flows"]["lost_by_cause"]["send_failed"]
            self.assertEqual((stored, ledger["flows"]["exported"]), (FEW - lost, FEW - lost), text)
            self.assertIn(lost, ({0}, {FEW}, range(1, FEW))[run.variant(3)])
            self.assertEqual("message too large" in text, lost > 0)
            self.assertLessEqual(lengths, {length for length in all_lengths if length + self.OVERHEAD <= limit})
        self.each("narrow", run_one)

    def test_no_topic(self):
        """None at all; one that comes; one that is deleted and made anew, in turn."""
        def never(run):
            self.check_none_leaves(run, "Unknown topic", drain=2)

        def late(run):
            def make(traffic, probe):
                traffic.may_go_on.set()
                probe.wait_for_log("Unknown topic")
                self.broker.create_topic(run.topic, partitions=PARTITIONS)
            ledger, text = self.run_with_traffic(run, self.config_of(run), make)
            self.settle(run, ledger)
            self.assertEqual(ledger["flows"]["exported"], FLOWS, text)

        def anew(run):
            def delete(traffic, probe):
                self.wait_for_moment(run, traffic, probe)
                self.broker.delete_topic(run.topic)
                probe.wait_for_log("Unknown topic|unknown topic")
                self.broker.create_topic(run.topic, partitions=PARTITIONS)
            self.broker.create_topic(run.topic, partitions=PARTITIONS)
            ledger, text = self.run_with_traffic(run, self.config_of(run), delete)
            topic = self.topic(self.broker, run.topic)
            self.note_account(run, ledger, topic)
            flows = ledger["flows"]
            self.assertEqual(flows["exported"] + flows["lost_by_cause"]["unconfirmed"], FLOWS, text)
            self.assertLess(0, self.totals(topic)[0])
            self.assertLessEqual(self.totals(topic)[0], FLOWS)
            self.check_order(topic)
        self.each("missing", lambda run: (never, late, anew)[run.variant(3)](run))

    def test_wrong_password(self):
        """Until the end, or until its file has the right one, in turn. A producer that was refused is made anew after 30 s, and at
        the end of the capture."""
        def until_the_end(run, wrong):
            self.check_none_leaves(run, "uthentication", password=wrong, drain=run.chance.choice(REFUSED_SECONDS))
            self.assertEqual(self.broker.messages(run.topic), {})

        def for_a_while(run, wrong):
            def correct(traffic, probe):
                if harness.LONG and run.chance.randrange(2) == 0:
                    traffic.may_go_on.set()  # its end comes before
                probe.wait_for_log("uthentication")
                self.login()
            ledger, text = self.run_with_traffic(run, self.config_of(run, password=wrong), correct)
            self.settle(run, ledger)
            self.assertEqual(ledger["flows"]["exported"], FLOWS, text)

        def run_one(run):
            self.broker.create_topic(run.topic, partitions=PARTITIONS)
            wrong = run.chance.choice(("not-" + PASSWORD, PASSWORD + "x", PASSWORD * 9, PASSWORD + " "))
            (until_the_end, for_a_while)[run.variant(2)](run, wrong)
        self.each("password", run_one)

    def test_certificate_of_another_name(self):
        """The broker's has its address, and no name."""
        def run_one(run):
            self.broker.create_topic(run.topic, partitions=PARTITIONS)
            self.check_none_leaves(run, "certificate", brokers="localhost:%d" % self.broker.port,
                                   drain=run.chance.choice(REFUSED_SECONDS))
            self.assertEqual(self.broker.messages(run.topic), {})
        self.each("name", run_one)

    def test_no_output_has_a_secret(self):
        """Not the configuration either, nor the log where it says most."""
        run = Run("admitted", 0)
        self.broker.create_topic(run.topic, partitions=PARTITIONS)
        config = self.config_of(run)
        for options in (["--stats", self.path("stats.json"), "--log-level", "trace"], ["--dump-config"], ["--check-config"]):
            done = self.tributaryd("--config", config, "--read", self.capture, "--export", *options)
            self.assertNotIn(PASSWORD, done.stdout + done.stderr)
        self.assertEqual(self.settle(run, self.ledger()), FEW)

    def test_tokens_that_crash_the_library_are_refused(self):
        keys = ("secrets: {sasl.oauthbearer.config: %s}, properties: {security.protocol: SASL_SSL, sasl.mechanism: OAUTHBEARER, "
                "enable.sasl.oauthbearer.unsecure.jwt: 'true', ssl.ca.location: %s}")
        config = self.config(self.broker.address, keys % (self.path("token", PASSWORD), self.broker.ca), drain=1)
        for code, options in ((harness.EX_IOERR, ["--read", self.capture, "--export"]),
                              (harness.EX_CONFIG, ["--check-config"])):
            done = self.tributaryd("--config", config, *options, expect=code)
            self.assertIn("enable.sasl.oauthbearer.unsecure.jwt cannot be used", done.stderr)
            self.assertNotIn(PASSWORD, done.stdout + done.stderr)

    def test_threads_of_a_producer_may_outlive_the_end(self):
        harness.need("cc")
        if harness.SANITIZED:
            self.skipTest("a sanitizer's library wants to be the first")
        subprocess.run(["cc", "-shared", "-fPIC", "-o", self.path("look.so"), self.path("look.c", AT_EXIT), "-lcrypto"],
                       check=True)
        run = Run("outlived", 0)
        self.broker.create_topic(run.topic, partitions=PARTITIONS)
        done = subprocess.run([harness.TRIBUTARYD, "--config", self.config_of(run), "--read", self.capture, "--export"],
                              capture_output=True, text=True, timeout=60, env={**os.environ, "LD_PRELOAD": self.path("look.so")})
        self.assertEqual((done.returncode, done.stderr.splitlines()[-1]), (harness.EX_OK, "OpenSSL is there"), done.stderr)


if __name__ == "__main__":
    harness.main()
