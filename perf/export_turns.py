# SPDX-License-Identifier: Apache-2.0
"""Runs the benchmarks of the export thread in turn, and keeps what each printed.

    export_turns.py RESULTS WORK TURNS SHARE COMMIT=EXPORT_RATE...     the last one is the present code

Writes export.json below RESULTS. WORK is a folder in memory. Each turn runs, with 1/SHARE of the records: twice the
export_rate of each commit, in the reverse order the second time; flow_message_rate, where it is built; topic_rate with a
mock of brokers, and with a broker of its own where one can be had. Each program checks its results before it measures;
what a broker acknowledged is compared with what its topics have.
"""
import glob
import json
import os
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.append(os.path.join(ROOT, "tests", "system"))
import harness  # noqa: E402
import kafka_broker  # noqa: E402

PARTITIONS = 4
COMPRESSIONS = ["none", "lz4", "zstd", "snappy"]
SESSIONS = {"broker.session.timeout.ms": 9000, "broker.heartbeat.interval.ms": 2000}  # Kafka's defaults: tests have shorter ones
LAST_CPU = ["taskset", "-c", str((os.cpu_count() or 1) - 1)]  # which the kernel uses least for its own work
# Per round.
RECORDS_TO_FILES = 2_000_000
RECORDS_TO_MEMORY = 5_000_000
RECORDS_TO_MOCK = 500_000
RECORDS_TO_BROKER = 1_000_000


def program(name):
    return os.path.join(harness.BUILD, "perf", name)


def figures_of(*command):
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)


class Turns:
    def __init__(self, work, share, export_rates):
        self.work, self.share, self.export_rates = work, share, export_rates
        self.no_broker = kafka_broker.why_there_is_no_broker()
        self.has_generated_code = os.path.exists(program("flow_message_rate"))
        if self.no_broker:
            print(self.no_broker, file=sys.stderr)

    def round_of(self, records):
        return ["--rounds", "1", "--records", str(records // self.share)]

    def export_rate(self, path):
        with tempfile.TemporaryDirectory(dir=self.work) as folder:  # what it exports goes with the folder
            # A fresh copy: where the kernel has put the pages of a program's file changes its time by some percent.
            copy = shutil.copy(path, folder)
            return figures_of(*LAST_CPU, copy, *self.round_of(RECORDS_TO_FILES), "--directory", folder)

    def to_broker(self):
        """Each way of topic_rate, with the octets that a record takes in the broker's log."""
        command = [program("topic_rate"), "--compressions", *COMPRESSIONS]
        with kafka_broker.Broker(settings=SESSIONS) as broker:
            for topic in subprocess.check_output([*command, "--topics"], text=True).split():
                broker.create_topic(topic, PARTITIONS)
            ways = figures_of(*command, "--brokers", broker.plain_address, *self.round_of(RECORDS_TO_BROKER))
            for way in ways:
                found = sum(broker.end_offsets(way["topic"], PARTITIONS).values())
                if found != way["acknowledged"]:
                    raise AssertionError("%s: %d records acknowledged, %d there" % (way["topic"], way["acknowledged"], found))
                logs = glob.glob(broker.path("data", glob.escape(way["topic"]) + "-*", "*.log"))
                way["octets_in_log"] = sum(map(os.path.getsize, logs)) / found
        return ways

    def turn(self):
        names = list(self.export_rates)
        found = {"export_rate": [{name: self.export_rate(self.export_rates[name]) for name in order}
                                 for order in (names, names[::-1])],
                 "mock": figures_of(program("topic_rate"), *self.round_of(RECORDS_TO_MOCK))}
        if self.has_generated_code:
            found["flow_message_rate"] = figures_of(*LAST_CPU, program("flow_message_rate"), *self.round_of(RECORDS_TO_MEMORY))
        if not self.no_broker:
            found["broker"] = self.to_broker()
        return found


def main(results, work, count, share, *programs):
    export_rates = dict(commit.split("=", 1) for commit in programs)
    turns = Turns(work, int(share), export_rates)
    found = {"commits": list(export_rates), "broker": os.path.basename(kafka_broker.JARS.folder), "no_broker": turns.no_broker,
             "turns": []}
    for number in range(int(count)):
        found["turns"].append(turns.turn())
        print("turn %d of %s" % (number + 1, count), file=sys.stderr)
    with open(os.path.join(results, "export.json"), "w") as out:
        json.dump(found, out, indent=1)


main(*sys.argv[1:])
