#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes a page from the results of `filter_rate`.

    filter_report.py DIRECTORY     reads machine.txt and filter_rate.json; writes packet-filters.md beside them
"""
import os
import sys

from report import read, table


def page(machine, results):
    rows = [["`%s`" % each["filter"].replace("|", "\\|"), "%d" % each["passed"], "%.1f" % each["libpcap_ns"],
             "%.1f" % each["compiled_ns"], "%.2f" % each["ratio"],
             "" if each["execution"] == "compiled to machine code" else each["execution"]] for each in results["filters"]]
    return "\n".join([
        "# Packet filters as machine code", "", machine, "",
        "%d frames of captures; libpcap's interpreter and machine code in turn, in one run; medians of the rounds, "
        "nanoseconds of CPU time per packet. Both have the same verdict for each frame: otherwise there is no result."
        % results["frames"], "",
        "Machine code is %.2f times as fast in the median of %d filters, and %.2f times for the one that gains least."
        % (results["median_ratio"], len(rows), results["least_ratio"]), "",
        table(["filter", "frames that pass", "libpcap, ns", "machine code, ns", "ratio", "interpreted"], rows)])


def main():
    directory = sys.argv[1]
    with open(os.path.join(directory, "packet-filters.md"), "w") as file:
        file.write(page(read(directory, "machine.txt").strip(), read(directory, "filter_rate.json")))


if __name__ == "__main__":
    main()
