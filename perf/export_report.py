# SPDX-License-Identifier: Apache-2.0
"""Makes a table from the results of `export_rate`.

    export_report.py DIRECTORY     reads machine.txt, export_rate.json and topic_rate.json, writes export.md beside them
"""
import os
import sys

from report import read, table

HEAD = """# The export thread

%s

Made by `perf/export`. CPU time of the one export thread per record, in the kernel and out of it: IPv4 flow records with
the default fields, out of memory, two million a round. All ways ran in turn in one process, after each was checked to
deliver every record. libfixbuf alone encodes the same record again and again, field by field. The encoder chooses a
record's template, and writes the record into the message; before, it laid the record out in memory, and libfixbuf took it
as one field, and framed it. Both make the same messages, which is checked.

The file is in memory. A UDP collector that never reads costs too little: its receive buffer is full, and the kernel drops
each datagram early. The one that reads has a CPU of its own, and a receive buffer that never overflows, because the
export thread waits in between, which is not counted; it checks each message and its number. The TCP collector reads there
too, and forgets. The last column says how much of a CPU-second goes into encoding; the rest is taking records out of the
queue, keeping account of them, and the kernel.

"""
TOPICS = """
Into a topic of Kafka, by the same thread: encoding, handing to librdkafka, and its delivery reports, in another process of
this run. The library's own threads, which compress and send, are not counted, nor are the brokers, which are the library's
mock. Records are all different. It was checked before that the topic has every record, with its packets and octets.

"""
BUDGETS = {"flowmessage": 800, "json": 1200}  # ns


def topics(figures):
    rows = []
    for figure in figures:
        budget = BUDGETS[figure["name"].split(",")[0]]
        rows.append([figure["name"], "%.0f (%.0f - %.0f)" % (figure["ns"], figure["ns_least"], figure["ns_most"]),
                     str(budget), "yes" if figure["ns"] <= budget else "no"])
    return table(["format", "ns per record: median (least - most)", "budget", "kept"], rows)


def main(directory):
    figures = read(directory, "export_rate.json")
    alone, _, encoder = (figure["ns"] for figure in figures[:3])  # these only encode
    rows = []
    for index, figure in enumerate(figures):
        copies = 3 if figure["name"].startswith("copies") else 1
        encoding = figure["ns"] if index < 3 else copies * encoder
        rows.append([figure["name"], "%.0f (%.0f - %.0f)" % (figure["ns"], figure["ns_least"], figure["ns_most"]),
                     "%.2f" % (1000 / figure["ns"]), "%.2f" % (alone / figure["ns"]),
                     "%.0f %%" % (100 * encoding / figure["ns"])])
    with open(os.path.join(directory, "machine.txt")) as machine, open(os.path.join(directory, "export.md"), "w") as page:
        page.write(HEAD % machine.read().strip())
        page.write(table(["way", "ns per record: median (least - most)", "M records/s", "of libfixbuf's rate", "encoding"],
                         rows))
        page.write(TOPICS)
        page.write(topics(read(directory, "topic_rate.json")))


main(sys.argv[1])
