# SPDX-License-Identifier: Apache-2.0
"""Makes a page from the results of `table_cost`.

    tables_report.py DIRECTORY     reads machine.txt and table_cost.json; writes tables.md beside them
"""
import os
import sys

from report import read, table


def costs_table(cells):
    rows = []
    for cell in cells:
        rows.append(["{:,}".format(cell["flows"]), "parsing alone", "%.1f" % cell["parsing_ns"], "", ""])
        for kind in cell["kinds"]:
            share = "of_main_table" in kind
            rows.append(["{:,}".format(cell["flows"]), kind["name"],
                         "%.1f (%.1f - %.1f)" % (kind["ns"], kind["ns_least"], kind["ns_most"]),
                         "%.2f (%.2f - %.2f)" % (kind["of_main_table"], kind["of_main_table_least"],
                                                 kind["of_main_table_most"]) if share else "",
                         str(kind["allocations"])])
    return table(["flows", "what", "ns a packet: median (least - most)",
                  "what the table adds, in costs of the main table: median (least - most)", "allocations"], rows)


PAGE = """# Declared tables

{machine}

Made by `perf/tables`. All kinds of one number of flows were there at once and ran in turn, after the records of the tables
were checked; figures are medians of the rounds. The machine is shared: compare within this page, not across pages.

One queue in one thread, as in `perf/flow-cache`: receive buffers whose headers are rewritten, full parser, caches, expiry,
record rings, and every 128 bursts the IPFIX encoder. IPv4 and UDP, 60 octets, flows at random, each as often, none of them
new. Nanoseconds are without rewriting and export, whose costs are measured in the same rounds. The main table's own cost is
that of the plain pipeline without parsing, of the same round; what a table adds is the difference to the plain pipeline.
Parsing alone is the pipeline's parser without a cache.

{costs}"""


def main():
    directory = sys.argv[1]
    with open(os.path.join(directory, "tables.md"), "w") as file:
        file.write(PAGE.format(machine=read(directory, "machine.txt").strip(),
                               costs=costs_table(read(directory, "table_cost.json"))))


if __name__ == "__main__":
    main()
