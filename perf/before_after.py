# SPDX-License-Identifier: Apache-2.0
"""Runs the cache_pipeline of several commits in turn, and makes a table of how their packets' costs compare.

    before_after.py DIRECTORY TURNS "FLOWS ..." COMMIT=PROGRAM...     the last one is the present code

Reads machine.txt and instructions.txt (lines of a commit, a tab and a number) in the directory, writes before_after.json
and before-after.md beside it. Each program checks its own records before it measures. In each turn every program runs once, in a
process of its own; a ratio is of two runs of one turn.
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
a fresh copy of every commit's program ran once, in a process of its own, begun by another one each time. A run's figure is
the least of its %d rounds, because other users of the machine only add time; the table has the medians of the turns. A ratio
is that of the packet rates of two runs of one turn, with the least and the greatest. Above 1 the present code is faster.

"""
INSTRUCTIONS = """
Two runs of one program differ too, by where its pages lie. Exact is the number of instructions per packet (callgrind;
16,384 flows, uniflows, with the making of the packets): %s.
"""
ROUNDS = 5


def measure(program, flows):
    """The pipeline's nanoseconds per packet by (flows, share of new flows per second, direction)."""
    # A fresh copy: where the kernel has put the pages of a program's file changes its time by up to 4 %.
    copy = shutil.copy(program, program + ".copy")
    command = [copy, "--short", "--rounds", str(ROUNDS), "--packets", "8000000", "--flows", *flows]
    cells = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout)
    os.remove(copy)
    return {"%d/%g/%s" % (cell["flows"], cell["new_per_second"], cell["direction"]): cell["ns_least"] for cell in cells}


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


def main(directory, count, flows, *programs):
    commits = [program.split("=", 1)[0] for program in programs]
    paths = [program.split("=", 1)[1] for program in programs]
    turns = []
    for turn in range(int(count)):
        order = [(turn + place) % len(commits) for place in range(len(commits))]
        figures = {commits[index]: measure(paths[index], flows.split()) for index in order}
        turns.append(figures)
        print(json.dumps(figures), file=sys.stderr)  # to follow the progress
    with open(os.path.join(directory, "before_after.json"), "w") as out:
        json.dump(turns, out, indent=1)
    with open(os.path.join(directory, "instructions.txt")) as lines:
        counts = [line.split() for line in lines][::-1]
    header = ["flows", "new per second", "direction"] + ["%s: ns" % commit for commit in commits]
    header += ["%s / %s" % (commits[-1], commit) for commit in commits[:-1]]
    with open(os.path.join(directory, "machine.txt")) as machine, open(os.path.join(directory, "before-after.md"), "w") as page:
        page.write(HEAD % (machine.read().strip(), len(turns), ROUNDS))
        page.write(table(header, list(rows_of(turns, commits))))
        page.write(INSTRUCTIONS % ", ".join("%s of %s" % (count, commit) for commit, count in counts))


main(*sys.argv[1:])
