#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes tables and plots of the results of `parse_cost` and `input_paths`.

    report.py DIRECTORY     reads parse_cost.json, instructions.json, input_paths.json and machine.txt there,
                            writes input-paths.md and figure-3.svg to figure-6.svg beside them
"""
import json
import os
import sys

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plot  # noqa: E402

PATHS = ("full", "trimmed", "unified header")
COLOURS = {"full": "#4c78a8", "trimmed": "#f58518", "unified header": "#54a24b", "line": "#bab0ac",
           "input thread": "#4c78a8", "export thread": "#e45756", "source": "#bab0ac"}
PAPER_FLOWS = 16384  # of the paper's figures 5 and 6


class Matrix:
    """The cells of input_paths.json by packet length, flows and path."""

    def __init__(self, cells):
        self.cells = {(cell["packet_bytes"], cell["flows"], cell["path"]): cell for cell in cells}
        self.lengths = sorted({cell["packet_bytes"] for cell in cells})
        self.flows = sorted({cell["flows"] for cell in cells})

    def rate(self, length, flows, path):
        return self.cells[length, flows, path]["packets_per_second"] / 1e6

    def line_rate(self, length):
        return self.cells[length, self.flows[0], "full"]["line_rate_10g"] / 1e6

    def input_ns(self, length, flows, path):
        """The input thread's time per packet, without the source's."""
        cell = self.cells[length, flows, path]
        return max(0.0, cell["input_ns"] - cell["source_ns"])

    def loads(self, length, flows, path):
        """Percent of a core for the input and the export thread, for 10 Gbit/s of such packets."""
        per_second = self.line_rate(length) * 1e6 / 1e9 * 100
        return self.input_ns(length, flows, path) * per_second, \
            self.cells[length, flows, path]["export_ns"] * per_second


def table(header, rows):
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows]) + "\n"


def parse_table(figures, instructions):
    base = next(figure["ns_median"] for figure in figures if figure["name"] == "full: IPv4/UDP")
    rows = [[figure["name"], "%.1f" % figure["ns_median"], "%.1f - %.1f" % (figure["ns_least"], figure["ns_most"]),
             "%.2f" % (figure["ns_median"] / base), "%.0f" % instructions[figure["name"]]] for figure in figures]
    return table(["packet", "ns", "least - most", "to full IPv4/UDP", "instructions"], rows)


def rate_table(matrix):
    rows = []
    for length in matrix.lengths:
        for flows in matrix.flows:
            rates = ["%.1f" % matrix.rate(length, flows, path) for path in PATHS]
            rows.append([str(length), str(flows)] + rates + ["%.2f" % matrix.line_rate(length)])
    return table(["octets", "flows"] + ["%s, Mpps" % path for path in PATHS] + ["10 Gbit/s, Mpps"], rows)


def cost_table(matrix):
    rows = []
    for length in matrix.lengths:
        for flows in matrix.flows:
            cells = [matrix.cells[length, flows, path] for path in PATHS]
            rows.append([str(length), str(flows)]
                        + ["%.1f (%.1f)" % (matrix.input_ns(length, flows, path), cell["source_ns"])
                           for path, cell in zip(PATHS, cells)]
                        + ["%.2f" % cell["export_ns"] for cell in cells])
    return table(["octets", "flows"] + ["input, %s" % path for path in PATHS] + ["export, %s" % path for path in PATHS],
                 rows)


def bars(axes, groups, series):
    """Grouped bars; `series` is [(name, colour, hatch, values per group)]."""
    width = 0.8 / len(series)
    for number, (name, colour, hatch, values) in enumerate(series):
        places = [group + (number - (len(series) - 1) / 2) * width for group in range(len(groups))]
        axes.bar(places, values, width, label=name, color=colour, hatch=hatch, edgecolor="white", linewidth=0.4)
    axes.set_xticks(range(len(groups)), [str(group) for group in groups])
    axes.set_xlabel("packet length, octets")
    axes.grid(axis="y", alpha=0.3)
    axes.legend(fontsize=8, loc="upper left", bbox_to_anchor=(1, 1), frameon=False)


def figure(directory, name, title, label, groups, series, limit=None):
    drawing, axes = plot.subplots(figsize=(9, 4))
    bars(axes, groups, series)
    axes.set_title(title, fontsize=10)
    axes.set_ylabel(label)
    if limit is not None:
        axes.axhline(limit, color="black", linewidth=0.8)
    drawing.tight_layout()
    drawing.savefig(os.path.join(directory, name), metadata={"Date": None})
    plot.close(drawing)


def figures(directory, matrix):
    shades = ("#9ecae9", "#4c78a8", "#1f3d5c")
    line = ("10 Gbit/s Ethernet", COLOURS["line"], None, [matrix.line_rate(length) for length in matrix.lengths])
    figure(directory, "figure-3.svg", "Full packets: rate of one queue, by number of flows", "Mpps", matrix.lengths,
           [("%d flows" % flows, shade, None, [matrix.rate(length, flows, "full") for length in matrix.lengths])
            for flows, shade in zip(matrix.flows, shades)] + [line])
    loads = []
    for flows, shade in zip(matrix.flows, shades):
        both = [matrix.loads(length, flows, "full") for length in matrix.lengths]
        loads.append(("input thread, %d flows" % flows, shade, None, [load[0] for load in both]))
        loads.append(("export thread, %d flows" % flows, shade, "////", [load[1] for load in both]))
    figure(directory, "figure-4.svg", "Full packets: load of each thread at 10 Gbit/s", "percent of a core",
           matrix.lengths, loads, 100)
    figure(directory, "figure-5.svg", "The three input paths, %d flows" % PAPER_FLOWS, "Mpps", matrix.lengths,
           [(path, COLOURS[path], None, [matrix.rate(length, PAPER_FLOWS, path) for length in matrix.lengths])
            for path in PATHS] + [line])
    loads = []
    for path in PATHS:
        both = [matrix.loads(length, PAPER_FLOWS, path) for length in matrix.lengths]
        loads.append(("input thread, " + path, COLOURS[path], None, [load[0] for load in both]))
        loads.append(("export thread, " + path, COLOURS[path], "////", [load[1] for load in both]))
    figure(directory, "figure-6.svg", "The three input paths: load of each thread at 10 Gbit/s, %d flows" % PAPER_FLOWS,
           "percent of a core", matrix.lengths, loads, 100)


def read(directory, name):
    with open(os.path.join(directory, name)) as file:
        return json.load(file) if name.endswith(".json") else file.read()


PAGE = """# The three input paths

{machine}

Made by `perf/input-paths`. Each figure is the median of rounds that ran in turn in one process, after its results were
checked; the machine is shared, so compare within this page, not across pages.

## What finding a packet's fields costs

Frames in the first-level cache, one core. Instructions are callgrind's count.

{parse}
## Rates of one queue

The whole pipeline: source, input path, flow cache, expiry, ring, encoding, one input and one export thread. Packets come
as fast as they are taken, and every flow is exported once per second of their time, which is that of 10 Gbit/s. The
source writes each packet into a ring of buffers first, as a NIC would; that is part of these rates.

{rates}
![rates of full packets](figure-3.svg)
![rates of the three paths](figure-5.svg)

## What each thread spends

Nanoseconds of CPU time per packet; for the input thread without the source, whose own cost stands in brackets.

{costs}
The same as load of each thread at 10 Gbit/s: above 100 percent, one queue does not suffice.

![load with full packets](figure-4.svg)
![load of the three paths](figure-6.svg)
"""


def main():
    directory = sys.argv[1]
    matrix = Matrix(read(directory, "input_paths.json"))
    figures(directory, matrix)
    page = PAGE.format(machine=read(directory, "machine.txt").strip(),
                       parse=parse_table(read(directory, "parse_cost.json"), read(directory, "instructions.json")),
                       rates=rate_table(matrix), costs=cost_table(matrix))
    with open(os.path.join(directory, "input-paths.md"), "w") as file:
        file.write(page)


if __name__ == "__main__":
    main()
