# SPDX-License-Identifier: Apache-2.0
"""The part of tools/fleet-demo that starts the servers and the probe, and compares: its folders are in $TMPDIR, its programs in
$TRIBUTARY_BUILD."""
import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tests", "system"))
import harness  # noqa: E402
from fleet_servers import PARTITIONS, PROBE, SUMS, FleetServers, probe  # noqa: E402
from kafka_broker import JARS  # noqa: E402

EX_UNAVAILABLE = 69
SECONDS_TO_ARRIVE = 60
LISTING = ("--top", "20", "--by", "src-host,dst-host")
# Of both directions, from all shards, each record once.
TALKERS = ("SELECT source_address, destination_address, count(), sum(octets + reverse_octets) AS octets, "
           "sum(packets + reverse_packets) FROM tributary.flows FINAL "
           "GROUP BY source_address, destination_address ORDER BY octets DESC, source_address, destination_address LIMIT 20")
COUNTED_HERE = "SELECT count() FROM tributary.flows_local FINAL"


def say(text):
    print("\n== " + text, flush=True)


def run(*command):
    """What a program prints."""
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise AssertionError("%s ended with %d: %s" % (os.path.basename(command[0]), done.returncode, done.stderr.strip()))
    return done.stdout


def export(fleet, work):
    """Sends the capture's flows into the topic. @return  what the probe's ledger has exported"""
    stats = os.path.join(work, "ledger.json")
    run(*probe(fleet.broker, harness.DEMO, "--stats", stats))
    ledger = harness.read_json(stats)
    return tuple(ledger[unit]["exported"] for unit in ("flows", "octets", "packets"))


def stored(fleet, expected):
    """The sums of the distributed table, as soon as they are as expected, or those of a minute later."""
    found = []

    def come():
        time.sleep(0.2)
        found[:] = map(int, fleet.query(SUMS)[0])
        return tuple(found) == expected
    with contextlib.suppress(AssertionError):
        harness.wait_until(come, SECONDS_TO_ARRIVE, "the records")
    return tuple(found)


def both(flow, name):
    return flow[name + "DeltaCount"] + flow.get("reverse%sDeltaCount" % name.capitalize(), 0)


def sums_of(flow):
    return flow.get("deltaFlowCount", 1), both(flow, "octet"), both(flow, "packet")


def listed(work):
    """What `tributary flows` says of the same capture: (the sums, (source, destination) -> sums)."""
    path = os.path.join(work, "flows.ipfix")
    run(harness.TRIBUTARYD, "--config", PROBE, "--read", harness.DEMO, "--write", path)

    def lines(kind, *options):
        records = map(json.loads, run(harness.TRIBUTARY, "flows", "--json", *options, path).splitlines())
        return [record for record in records if record["@type"] == kind]
    totals = tuple(map(sum, zip(*map(sums_of, lines("data")))))
    return totals, {(group["src-host"], group["dst-host"]): sums_of(group) for group in lines("group", *LISTING)}


def show_talkers(of_table, of_listing):
    say("top talkers: of ClickHouse's distributed table, and of tributary flows " + " ".join(LISTING))
    row = "%-17s %-17s" + " |%7s %9s %9s" * 2
    print(row % ("source", "destination", *("flows", "octets", "packets") * 2))
    largest = {pair: max(sums.get(pair, (0, 0, 0))[1] for sums in (of_table, of_listing)) for pair in of_table | of_listing}
    for pair in sorted(largest, key=lambda pair: (-largest[pair], pair)):
        print(row % (*pair, *of_table.get(pair, "---"), *of_listing.get(pair, "---")))


def show(work):
    """@return  the exit code"""
    if not os.path.isdir(JARS.folder):
        say("fetching Kafka's jars")
    servers = FleetServers()
    say("starting a Kafka broker, and two ClickHouse servers that are one consumer group")
    with servers as fleet:
        name = os.path.basename(harness.DEMO)
        say("a probe sends the flows of %s into the topic, which has %d partitions" % (name, PARTITIONS))
        exported = export(fleet, work)
        in_table = stored(fleet, exported)
        talkers = {tuple(row[:2]): tuple(map(int, row[2:])) for row in fleet.query(TALKERS)}
        shares = [fleet.query(COUNTED_HERE, server)[0][0] for server in (0, 1)]
    in_listing, groups = listed(work)
    show_talkers(talkers, groups)
    say("the sums")
    for name, sums in (("the probe's ledger", exported), ("ClickHouse", in_table), ("tributary flows", in_listing)):
        print("  %-18s %d flows, %d octets, %d packets" % (name, *sums))
    if exported == in_table == in_listing and talkers == groups:
        say("The sums agree. One server has %s of the records, the other one %s." % tuple(shares))
        return 0
    say("THE SUMS DO NOT AGREE.")
    return 1


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # every `with` block cleans up
    try:
        with tempfile.TemporaryDirectory() as work:
            return show(work)
    except unittest.SkipTest as reason:
        print("fleet-demo: %s" % reason, file=sys.stderr)
        return EX_UNAVAILABLE
    except AssertionError as fault:
        print("fleet-demo: %s" % fault, file=sys.stderr)
        return 1


sys.exit(main())
