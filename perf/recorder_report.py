# SPDX-License-Identifier: Apache-2.0
"""Makes a page from the results of `recorder_cost`.

    recorder_report.py DIRECTORY     reads machine.txt, recorder_cost.json and dump_time.json; writes recorder.md beside them
"""
import os
import sys

from report import read, table

DEMANDED = {60: ("mpps", 30, "at least 30 million frames of 64 octets a second", "%.1f million"),
            1500: ("gbits", 40, "at least 40 Gbit/s of frames of 1500 octets", "%.1f Gbit/s")}


def spread(of, key):
    return "%.2f (%.2f - %.2f)" % (of[key], of[key + "_least"], of[key + "_most"])


def missed_none(dumps):
    if not dumps["missed"]:
        return "yes"
    return "no, nor without a dump" if dumps["missed_without_a_dump"] else "no"


def demands(cell, dumps):
    rows = []
    for stage in cell["stage"]:
        key, least, words, form = DEMANDED[stage["octets"]]
        rows.append([words + ", by the stage alone", form % stage[key], "yes" if stage[key] >= least else "no"])
    whole = cell["kinds"][1]
    rows.append(["at least 0.4 of the plain pipeline's rate, a million flows, frames of 64 octets", spread(whole, "rate"),
                 "yes" if whole["rate"] >= 0.4 else "no"])
    rows.append(["a flow of a million out of %g GiB in less than 1 s" % dumps["gibibytes"],
                 "%.2f s (most %.2f)" % (dumps["seconds"], dumps["seconds_most"]),
                 "yes" if dumps["seconds_most"] < 1 else "no"])
    rows.append(["no packet is missed meanwhile, at half the rate that two threads can write",
                 "%s of %s; without a dump %s of %s" % tuple("{:,}".format(number) for number in (
                     dumps["missed"], dumps["written"] + dumps["missed"], dumps["missed_without_a_dump"],
                     dumps["written_without_a_dump"] + dumps["missed_without_a_dump"])), missed_none(dumps)])
    return table(["demanded", "measured", "kept"], rows)


def costs(cell):
    rows = [["the stage alone, frames of %d octets" % (stage["octets"] + (4 if stage["octets"] < 64 else 0)),
             spread(stage, "ns"), "", ""] for stage in cell["stage"]]
    rows += [[kind["name"], spread(kind, "ns"), spread(kind, "rate"), str(kind["allocations"])] for kind in cell["kinds"]]
    return table(["what", "ns a packet: median (least - most)", "of the plain pipeline's rate", "allocations"], rows)


def of_dumps(dumps):
    return table(["flow", "seconds", "packets in the dump", "packets overwritten before it came", "missed meanwhile",
                  "missed in as long without a dump"],
                 [["{:,}".format(each["flow"]), "%.3f" % each["seconds"], str(each["packets"])]
                  + ["{:,}".format(each[key]) for key in ("overwritten", "missed", "missed_without_a_dump")]
                  for each in dumps["dumps"]])


PAGE = """# The packet recorder

{machine}

Made by `perf/recorder`. All kinds were there at once and ran in turn, after what is in the rings was checked; figures are
medians of the rounds. The machine is shared: compare within this page, not across pages.

{demands}

One queue in one thread, as in `perf/flow-cache`: receive buffers whose headers are rewritten, full parser, cache, expiry,
record ring, and every 128 bursts the IPFIX encoder; IPv4 and UDP, 60 octets without the frame check sequence, {flows:,} flows
at random. Nanoseconds are without rewriting and export, whose costs are measured in the same rounds. The stage alone gets
frames that lie 2176 octets apart, 4096 of them, again and again, and writes into a ring of 512 MiB.

{costs}

## Dumps

`dump_time`: two rings of {gibibytes:g} GiB together, full of frames of 60 octets of half a million flows each. Two threads,
one on each CPU, write {rate:.1f} million frames a second each, half of what they can, while a third one dumps flows,
one after the other, from the filter's text to the last octet of the file. A packet counts as missed if 4096 wait before it,
which come in {stall:.0f} microseconds. After each dump, packets are counted for as long again without one: no dump causes what is
missed then. It is checked that all packets of the flow are in the file, and no others.

{dumped}"""


def main():
    directory = sys.argv[1]
    cell = read(directory, "recorder_cost.json")[0]
    dumps = read(directory, "dump_time.json")
    with open(os.path.join(directory, "recorder.md"), "w") as file:
        file.write(PAGE.format(machine=read(directory, "machine.txt").strip(), flows=cell["flows"],
                               demands=demands(cell, dumps), costs=costs(cell), gibibytes=dumps["gibibytes"],
                               rate=dumps["rate_of_each"] / 1e6,
                               stall=4096 / dumps["rate_of_each"] * 1e6, dumped=of_dumps(dumps)))


if __name__ == "__main__":
    main()
