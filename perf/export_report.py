# SPDX-License-Identifier: Apache-2.0
"""Makes a table from the results of `export_rate`.

    export_report.py DIRECTORY     reads machine.txt and export_rate.json, writes export.md beside them
"""
import os
import sys

from report import read, table

HEAD = """# The export thread

%s

Made by `perf/export`. CPU time of the one export thread per record, in the kernel and out of it: IPv4 flow records with
the default fields, out of memory, two million a round. All ways ran in turn in one process, after each was checked to
deliver every record. libfixbuf alone encodes the same record again and again, field by field; the encoder chooses a
record's template, lays the record out, and has libfixbuf put it into a message whole. The file is in memory, the UDP
collector on this host never reads, the TCP collector reads and forgets. The last column says how much of a CPU-second goes
into encoding; the rest is taking records out of the queue, keeping account of them, and the kernel.

"""


def main(directory):
    figures = read(directory, "export_rate.json")
    alone, encoder = figures[0]["ns"], figures[1]["ns"]  # both only encode
    rows = []
    for figure in figures:
        copies = 3 if figure["name"].startswith("copies") else 1
        encoding = min(figure["ns"], alone if figure is figures[0] else copies * encoder)
        rows.append([figure["name"], "%.0f (%.0f - %.0f)" % (figure["ns"], figure["ns_least"], figure["ns_most"]),
                     "%.2f" % (1000 / figure["ns"]), "%.2f" % (alone / figure["ns"]),
                     "%.0f %%" % (100 * encoding / figure["ns"])])
    with open(os.path.join(directory, "machine.txt")) as machine, open(os.path.join(directory, "export.md"), "w") as page:
        page.write(HEAD % machine.read().strip())
        page.write(table(["way", "ns per record: median (least - most)", "M records/s", "of libfixbuf's rate", "encoding"],
                         rows))


main(sys.argv[1])
