# SPDX-License-Identifier: Apache-2.0
"""Makes a page from the results of `tcp_analysis`.

    tcp_analysis_report.py DIRECTORY     reads machine.txt and tcp_analysis.json; writes tcp-analysis.md beside them
"""
import os
import sys

from report import read, table

LARGE = 1_000_000  # flows, from which a flow's memory can be distinguished from the rest


def count(number):
    return "{:,}".format(number)


def costs_table(cells):
    rows = []
    for cell in cells:
        for kind in cell["kinds"]:
            rows.append([count(cell["flows"]), kind["name"], "%.1f" % kind["mpps"],
                         "%.1f (%.1f - %.1f)" % (kind["ns"], kind["ns_least"], kind["ns_most"]),
                         "%.2f (%.2f - %.2f)" % (kind["ratio"], kind["ratio_least"], kind["ratio_most"]),
                         "%.1f" % kind["rewriting_ns"], "%.2f" % kind["export_ns"],
                         "%.0f" % kind["bytes_per_flow"] if cell["flows"] >= LARGE else "",
                         "%d (%d)" % (kind["allocations"], kind["export_allocations"])])
    return table(["flows", "what", "Mpps", "ns: median (least - most)", "ratio: median (least - most)", "rewriting, ns",
                  "export, ns", "bytes per flow", "allocations (export)"], rows)


def told_table(cells):
    """The sent faults, and the records' counts of them."""
    names = ("retransmissions", "duplicates", "out_of_order")
    rows = []
    for cell in cells:
        for kind in cell["kinds"]:
            if any(kind["sent"][name] for name in names):
                rows.append([count(cell["flows"]), kind["name"], count(kind["sent"]["segments"])]
                            + ["%s / %s" % (count(kind["told"][name]), count(kind["sent"][name])) for name in names]
                            + [count(kind["told"]["unjudged"])])
    return table(["flows", "what", "segments", "retransmissions: told / sent", "duplicates", "out of order", "not judged"],
                 rows)


PAGE = """# The analysis of TCP

{machine}

Made by `perf/tcp-analysis`. All kinds of one number of flows were there at once and ran in turn, after their records were
checked; figures are medians of the rounds. The machine is shared: compare within this page, not across pages.

One queue in one thread, as in `perf/flow-cache`: receive buffers whose headers are rewritten, full parser, cache, expiry,
record ring, and every 128 bursts the IPFIX encoder. IPv4, {payload} octets of data in each segment, flows at random, each as
often, none of them new; the sequence numbers of each go on. Mpps is without rewriting and export, whose costs are measured
in the same rounds. The ratio is to the plain pipeline's nanoseconds of the same round. Bytes are resident memory, without
the source's, over the cache's entries.

Of the segments that go wrong, half are retransmitted, a quarter are exact copies, and a quarter come after the one behind
them. A cache looks into so many flows as it has room for, one in eight; where all flows have faults that is not enough, and
the other flows' are counted as not judged.

{costs}
## What the records told

{told}"""


def main():
    directory = sys.argv[1]
    cells = read(directory, "tcp_analysis.json")
    with open(os.path.join(directory, "tcp-analysis.md"), "w") as file:
        file.write(PAGE.format(machine=read(directory, "machine.txt").strip(), payload=100, costs=costs_table(cells),
                               told=told_table(cells)))


if __name__ == "__main__":
    main()
