# SPDX-License-Identifier: Apache-2.0
"""Makes a page from the results of `export_turns.py`.

    export_report.py DIRECTORY     reads machine.txt, versions.txt, instructions.json and export.json, writes
                                   export.md beside them
"""
import os
import statistics
import sys

from report import read, table

HEAD = """# The export thread

{machine}
{versions}

Made by `perf/export`. CPU time of the one export thread per record, in the kernel and out of it: IPv4 flow records with
the default fields, out of memory. All benchmarks ran in turn, {turns} times, after each had checked its own results.
Figures are medians, with the least and the greatest; a ratio is of two runs, one right after the other.

| demanded | measured | kept |
|---|---|---|
{demands}
## IPFIX

Two million records a round. libfixbuf alone encodes the same record again and again, field by field. The encoder chooses a
record's template, and writes the record into the message; before it, the record was laid out in memory, and libfixbuf took
it as one field, and framed it. Both make the same messages, which is checked.

The file is in memory. A UDP collector that never reads costs too little: its receive buffer is full, and the kernel drops
each datagram early. The one that reads has a CPU of its own, and a receive buffer that never overflows, because the
export thread waits in between, which is not counted; it checks each message and its number. The TCP collector reads there
too, and forgets. "Encoding" is how much of a CPU-second goes into it; the rest is taking records out of the queue, keeping
account of them, and the kernel. Above a ratio of 1, {present} is faster than {before}. For a record by all ways, its
export worker executes {instructions:.3f} times as many instructions outside the kernel (callgrind).

"""
FLOW_MESSAGES = """
## FlowMessages beside protobuf's own code

The same records as goflow2's FlowMessage, with the extension fields of `docs/tributary_flow.proto`, by the encoder and by
the code that protobuf's compiler makes of both schemas, whose objects are used again for each record. It is checked that
both write the same fields with the same values, in as many octets.

"""
MOCK = """
## Into topics of a mock

Encoding, handing to librdkafka, and its delivery reports. The library's own threads, which compress and send, are not
counted, nor are the brokers, which are the library's mock, in the same process. Records are all different in addresses,
ports, TCP flags, counters and times: what repeats is what the format repeats. It is checked that the topic has every
record, with its packets and octets.

"""
BROKER = """
## Into topics of a real broker

{broker}, one process with a data folder on the disk, begun anew in each turn, and each topic with four partitions of one
copy. Probe and broker share the CPUs of this machine. The producer is idempotent, and its properties are the defaults.
A million records a round, the same as above, from the first one until the broker has acknowledged the last one. It is
checked that the topic has the first 5000 records with their packets and octets, and at the end of a turn as many records
as were acknowledged.

"""
BUDGETS = {"flowmessage": 800, "json": 1200}  # ns of the export thread
RATE = 400_000  # acknowledged records per second
NO_SLOWER = 0.98
# Ways of export_rate that are judged. A UDP collector that never reads is not: the kernel drops its datagrams early.
JUDGED = ("to a file", "by UDP, the collector reads", "by TCP")


def spread(values, form="%.0f"):
    return ("%s (%s - %s)" % (form, form, form)) % (statistics.median(values), min(values), max(values))


def yes(kept):
    return "yes" if kept else "no"


class Results:
    def __init__(self, directory):
        found = read(directory, "export.json")
        self.turns, self.no_broker, self.broker = found["turns"], found["no_broker"], found["broker"]
        self.before, self.present = found["commits"][0], found["commits"][-1]

    def ways(self):
        """The names of export_rate's ways, in order."""
        return [figure["name"] for figure in self.turns[0]["export_rate"][0][self.present]]

    def of_way(self, commit, name):
        return [figure["ns"] for turn in self.turns for run in turn["export_rate"] for figure in run[commit]
                if figure["name"] == name]

    def ratios(self, name):
        return [before / present for before, present in zip(self.of_way(self.before, name), self.of_way(self.present, name))]

    def topics(self, brokers):
        """Topic -> its figures in each turn."""
        found = {}
        for turn in self.turns:
            for figure in turn.get(brokers, []):
                found.setdefault(figure["topic"], []).append(figure)
        return found

    def flow_messages(self):
        """Name -> nanoseconds in each turn."""
        found = {}
        for turn in self.turns:
            for figure in turn.get("flow_message_rate", []):
                found.setdefault(figure["name"], []).append(figure["ns"])
        return found


def values(figures, name, scale=1.0):
    return [figure[name] * scale for figure in figures]


def title(figures):
    return "%s, compression %s" % (figures[0]["format"], figures[0]["compression"])


def demands(results):
    """Rows of what is demanded."""
    for brokers, place in (("mock", "a mock"), ("broker", "a real broker")):
        for figures in results.topics(brokers).values():
            budget, found = BUDGETS[figures[0]["format"]], values(figures, "ns")
            yield ["at most %d ns per record into %s, %s" % (budget, place, title(figures)), spread(found) + " ns",
                   yes(statistics.median(found) <= budget)]
    for figures in results.topics("broker").values():
        if figures[0]["format"] == "flowmessage":
            found = values(figures, "acknowledged_per_second", 1e-6)
            yield ["at least %.1f M records/s into a real broker, %s" % (RATE / 1e6, title(figures)),
                   spread(found, "%.2f") + " M records/s", yes(statistics.median(found) >= RATE / 1e6)]
    for name in JUDGED:
        found = results.ratios(name)
        yield ["IPFIX %s: at least %.2f of %s" % (name, NO_SLOWER, results.before), spread(found, "%.3f"),
               yes(statistics.median(found) >= NO_SLOWER)]


def export_rates(results):
    alone, _, encoder = (statistics.median(results.of_way(results.present, name)) for name in results.ways()[:3])
    rows = []
    for index, name in enumerate(results.ways()):
        found = results.of_way(results.present, name)
        middle = statistics.median(found)
        copies = 3 if name.startswith("copies") else 1
        encoding = middle if index < 3 else copies * encoder  # the first three only encode
        rows.append([name, spread(results.of_way(results.before, name)), spread(found), spread(results.ratios(name), "%.3f"),
                     "%.2f" % (1000 / middle), "%.2f" % (alone / middle), "%.0f %%" % (100 * encoding / middle)])
    return table(["way", results.before + ": ns per record", results.present + ": ns per record",
                  "%s / %s" % (results.present, results.before), "M records/s", "of libfixbuf's rate", "encoding"], rows)


def flow_messages(results):
    ours, generated = results.flow_messages().items()
    ratio = spread([theirs / mine for mine, theirs in zip(ours[1], generated[1])], "%.2f")
    return table(["", "ns per record", "of the generated code's rate"],
                 [[ours[0], spread(ours[1]), ratio], [generated[0], spread(generated[1]), "1.00"]])


def mock_topics(results):
    return table(["format", "export thread: ns per record"],
                 [[title(figures), spread(values(figures, "ns"))] for figures in results.topics("mock").values()])


def broker_topics(results):
    rows = [[title(figures), spread(values(figures, "ns")), spread(values(figures, "ns_of_all_threads")),
             spread(values(figures, "acknowledged_per_second", 1e-6), "%.2f"),
             "%.0f" % statistics.median(values(figures, "octets_in_log"))] for figures in results.topics("broker").values()]
    return table(["format", "export thread: ns per record", "all threads of the probe: ns per record",
                  "M records/s acknowledged", "octets per record in the broker's log"], rows)


def page_of(directory):
    results = Results(directory)
    rows = "".join("| %s |\n" % " | ".join(row) for row in demands(results))
    instructions = read(directory, "instructions.json")
    yield HEAD.format(machine=read(directory, "machine.txt").strip(), versions=read(directory, "versions.txt").strip(),
                      turns=len(results.turns), demands=rows, present=results.present, before=results.before,
                      instructions=instructions[results.present] / instructions[results.before])
    yield export_rates(results)
    if results.flow_messages():
        yield FLOW_MESSAGES + flow_messages(results)
    yield MOCK + mock_topics(results)
    if results.no_broker:
        yield "\n## Into topics of a real broker\n\nNot measured: %s.\n" % results.no_broker
    else:
        yield BROKER.format(broker=results.broker.capitalize().replace("-", " ")) + broker_topics(results)


def main(directory):
    with open(os.path.join(directory, "export.md"), "w") as page:
        page.writelines(page_of(directory))


main(sys.argv[1])
