# SPDX-License-Identifier: Apache-2.0
"""Runs the cache_pipeline of several commits in turn, and makes a table of how their packets' costs compare.

    before_after.py DIRECTORY TURNS "FLOWS ..." COMMIT=PROGRAM...     the last one is the present code

Reads machine.txt and instructions.txt (lines of a commit, a tab and a number) in the directory, writes before_after.json
and before-after.md beside it. Each program checks its own records before it measures. In each turn every program runs once, in a
process of its own, all of them by turns of a third of a second; a ratio is of two runs of one turn.
"""
import json
import os
import select
import shutil
import signal
import statistics
import subprocess
import sys

from report import table

HEAD = """# The plain pipeline, before and after

%s

Made by `perf/before-after`. One core, IPv4, packets of 64 octets, parser to cache with expiry. %d turns; in each,
a fresh copy of every commit's program ran once, in a process of its own. The processes of a turn had 0.3 s each, again and
again, so that all of them lose what other users of the machine take. A run's figure is the least of its %d rounds, because
these users only add time; the table has the medians of the turns. A ratio is that of the packet rates of two runs
of one turn, with the least and the greatest. Above 1 the present code is faster.

"""
MEANS = """
The means (geometric) of these ratios over all cells, in which what differs from run to run is smaller:

"""
INSTRUCTIONS = """
Two runs of one program differ too, by where its pages lie. Exact is the number of instructions per packet (callgrind;
16,384 flows, uniflows, with the making of the packets): %s.
"""
# On machines with other users a program is faster by a sixth for moments: many short rounds, so that each has some of them.
ROUNDS = 18
ROUND_PACKETS = 4000000
SLICE_SECONDS = 0.3  # one or two rounds


class Run:
    """A program that is stopped unless resume_for() lets it run; it writes a line of JSON after each cell."""

    def __init__(self, program, flows):
        # A fresh copy: where the kernel has put the pages of a program's file changes its time by up to 4 %.
        self.copy = shutil.copy(program, program + ".copy")
        command = [self.copy, "--short", "--rounds", str(ROUNDS), "--packets", str(ROUND_PACKETS), "--flows", *flows]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        self.process.send_signal(signal.SIGSTOP)
        self.cells, self.has_ended, self.rest = {}, False, b""

    def resume_for(self, seconds):
        """Also ends when a cell is through."""
        self.process.send_signal(signal.SIGCONT)
        readable, _, _ = select.select([self.process.stderr], [], [], seconds)
        self.process.send_signal(signal.SIGSTOP)
        if readable:
            self.read_cells()

    def read_cells(self):
        data = os.read(self.process.stderr.fileno(), 65536)
        *lines, self.rest = (self.rest + data).split(b"\n")
        for line in lines:
            if not line.startswith(b"{"):
                sys.exit("%s: %s" % (self.copy, line.decode(errors="replace")))
            cell = json.loads(line)
            name = "%d/%g/%s" % (cell["flows"], cell["new_per_second"], cell["direction"])
            self.cells[name] = cell["ns_least"]
        self.has_ended = not data

    def finish(self):
        self.process.send_signal(signal.SIGCONT)
        if self.process.wait() != 0:
            sys.exit("%s failed" % self.copy)

    def clean_up(self):
        self.process.kill()  # does nothing if it has ended
        self.process.wait()
        os.remove(self.copy)


def measure(programs, flows):
    """The pipeline's nanoseconds per packet by (flows, share of new flows per second, direction), of each program.

    Each in turn runs for a short while, and none begins a cell before all have done the one before: so the time that
    other users of the machine take away, for seconds or minutes, is taken from all of them.
    """
    runs = [Run(program, flows) for program in programs]
    try:
        while running := [run for run in runs if not run.has_ended]:
            done = min(len(run.cells) for run in running)
            for run in running:
                if len(run.cells) == done:
                    run.resume_for(SLICE_SECONDS)
        for run in runs:
            run.finish()
    finally:
        for run in runs:
            run.clean_up()
    return [run.cells for run in runs]


def spread(values, form):
    return ("%s (%s - %s)" % (form, form, form)) % (statistics.median(values), min(values), max(values))


def rows_of(turns, commits):
    present = commits[-1]
    for cell in turns[0][present]:
        flows, new, direction = cell.split("/")
        row = ["{:,}".format(int(flows)), "%g %%" % (100 * float(new)), direction]
        row += [spread([turn[commit][cell] for turn in turns], "%.1f") for commit in commits]
        row += [spread([turn[commit][cell] / turn[present][cell] for turn in turns], "%.3f") for commit in commits[:-1]]
        yield row


def means_of(turns, commits):
    """A line for each earlier commit and direction: the geometric mean of the cells' ratios, each the median of the turns."""
    present = commits[-1]
    for commit in commits[:-1]:
        for direction in ("uniflow", "biflow"):
            cells = [cell for cell in turns[0][present] if cell.endswith("/" + direction)]
            ratios = [statistics.median(turn[commit][cell] / turn[present][cell] for turn in turns) for cell in cells]
            yield [direction + "s", "%s / %s" % (present, commit), "%.3f" % statistics.geometric_mean(ratios)]


def write_page(directory, turns, commits):
    """@param turns  nanoseconds by commit and cell, of each"""
    with open(os.path.join(directory, "instructions.txt")) as lines:
        counts = [line.split() for line in lines][::-1]
    with open(os.path.join(directory, "machine.txt")) as file:
        machine = file.read().strip()
    header = ["flows", "new per second", "direction"] + ["%s: ns" % commit for commit in commits]
    header += ["%s / %s" % (commits[-1], commit) for commit in commits[:-1]]
    with open(os.path.join(directory, "before-after.md"), "w") as page:
        page.write(HEAD % (machine, len(turns), ROUNDS))
        page.write(table(header, list(rows_of(turns, commits))))
        page.write(MEANS)
        page.write(table(["direction", "packet rates", "all cells"], list(means_of(turns, commits))))
        page.write(INSTRUCTIONS % ", ".join("%s of %s" % (count, commit) for commit, count in counts))


def main(directory, count, flows, *programs):
    commits = [program.split("=", 1)[0] for program in programs]
    paths = [program.split("=", 1)[1] for program in programs]
    turns = []
    for turn in range(int(count)):
        order = [(turn + place) % len(commits) for place in range(len(commits))]
        measured = measure([paths[index] for index in order], flows.split())
        figures = {commits[index]: cells for index, cells in zip(order, measured)}
        turns.append(figures)
        print(json.dumps(figures), file=sys.stderr)  # to follow the progress
    with open(os.path.join(directory, "before_after.json"), "w") as out:
        json.dump(turns, out, indent=1)
    write_page(directory, turns, commits)


if __name__ == "__main__":
    main(*sys.argv[1:])
