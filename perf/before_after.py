# SPDX-License-Identifier: Apache-2.0
"""Runs the cache_pipeline of several commits in turn, and makes a table of how their packets' costs compare.

    before_after.py DIRECTORY TURNS "FLOWS ..." COMMIT=PROGRAM...     the last one is the present code

Reads machine.txt and instructions.txt (lines of a commit, a tab and a number) in the directory, writes
before_after.json and before-after.md beside it. Each program checks its own records before it measures. In each turn
every program runs once, one after another, in a process of its own; every second turn has the other order.
"""
import json
import os
import shutil
import statistics
import subprocess
import sys

from report import table

HEAD = """# The plain pipeline, before and after

%s

Made by `perf/before-after`. One core, IPv4, packets of 64 octets, parser to cache with expiry. %d turns; in each,
every commit's program ran once, one after another, and every second turn had the other order. Each run was a process of
its own of a fresh copy of the program. A run's figure is the least of its %d rounds of %d million packets (more where
there are more flows), because other users of the machine only add time. The table has the median of the turns, with the
quartiles; a ratio is that of the packet rates of two medians. Above 1 the present code is faster.

"""
MEANS = """
The means (geometric) of these ratios over all cells, in which what differs from run to run is smaller:

"""
INSTRUCTIONS = """
Two runs of one program differ too, by where its pages lie. Exact is the number of instructions per packet (callgrind;
16,384 flows, uniflows, with the making of the packets): %s.
"""
# A program is up to 4 % faster or slower for as long as it runs, and the whole machine by a sixth for moments: many
# short runs instead of a few long ones.
ROUNDS = 5
ROUND_MILLIONS = 3


def measure(program, flows):
    """The pipeline's nanoseconds per packet by "flows/share of new flows per second/direction"."""
    # A fresh copy: where the kernel has put the pages of a program's file changes its time by up to 4 %.
    copy = shutil.copy(program, program + ".copy")
    command = [copy, "--short", "--rounds", str(ROUNDS), "--packets", str(ROUND_MILLIONS * 1000000), "--flows", *flows]
    try:
        run = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    finally:
        os.remove(copy)
    if run.returncode != 0:
        sys.exit("%s failed (%d): %s" % (program, run.returncode, run.stderr))
    cells = [json.loads(line) for line in run.stderr.splitlines()]
    return {"%d/%g/%s" % (cell["flows"], cell["new_per_second"], cell["direction"]): cell["ns_least"] for cell in cells}


class Figures:
    """Nanoseconds per packet by commit and cell, of each turn."""

    def __init__(self, turns):
        self.turns = turns
        self.cells = list(next(iter(turns[0].values())))

    def of(self, commit, cell):
        return [turn[commit][cell] for turn in self.turns]

    def median(self, commit, cell):
        return statistics.median(self.of(commit, cell))

    def spread(self, commit, cell):
        figures = self.of(commit, cell)
        low, median, high = statistics.quantiles(figures, method="inclusive") if len(figures) > 1 else figures * 3
        return "%.1f (%.1f - %.1f)" % (median, low, high)

    def ratio(self, commit, present, cell):
        return self.median(commit, cell) / self.median(present, cell)


def rows_of(figures, commits):
    for cell in figures.cells:
        flows, new, direction = cell.split("/")
        row = ["{:,}".format(int(flows)), "%g %%" % (100 * float(new)), direction]
        row += [figures.spread(commit, cell) for commit in commits]
        yield row + ["%.3f" % figures.ratio(commit, commits[-1], cell) for commit in commits[:-1]]


def means_of(figures, commits):
    """A line for each earlier commit and direction: the geometric mean of the cells' ratios."""
    present = commits[-1]
    for commit in commits[:-1]:
        for direction in ("uniflow", "biflow"):
            cells = [cell for cell in figures.cells if cell.endswith("/" + direction)]
            mean = statistics.geometric_mean(figures.ratio(commit, present, cell) for cell in cells)
            yield [direction + "s", "%s / %s" % (present, commit), "%.3f" % mean]


def write_page(directory, figures, commits):
    with open(os.path.join(directory, "instructions.txt")) as lines:
        counts = [line.split() for line in lines][::-1]
    with open(os.path.join(directory, "machine.txt")) as file:
        machine = file.read().strip()
    header = ["flows", "new per second", "direction"] + ["%s: ns" % commit for commit in commits]
    header += ["%s / %s" % (commits[-1], commit) for commit in commits[:-1]]
    with open(os.path.join(directory, "before-after.md"), "w") as page:
        page.write(HEAD % (machine, len(figures.turns), ROUNDS, ROUND_MILLIONS))
        page.write(table(header, list(rows_of(figures, commits))))
        page.write(MEANS)
        page.write(table(["direction", "packet rates", "all cells"], list(means_of(figures, commits))))
        page.write(INSTRUCTIONS % ", ".join("%s of %s" % (count, commit) for commit, count in counts))


def main(directory, count, flows, *programs):
    commits = [program.split("=", 1)[0] for program in programs]
    paths = dict(program.split("=", 1) for program in programs)
    turns = []
    for turn in range(int(count)):
        order = commits if turn % 2 == 0 else commits[::-1]
        measured = {commit: measure(paths[commit], flows.split()) for commit in order}
        turns.append(measured)
        print(json.dumps(measured), file=sys.stderr)  # to follow the progress
    with open(os.path.join(directory, "before_after.json"), "w") as out:
        json.dump(turns, out, indent=1)
    write_page(directory, Figures(turns), commits)


if __name__ == "__main__":
    main(*sys.argv[1:])
