# SPDX-License-Identifier: Apache-2.0
"""Makes a table and a plot from the results of peers.py.

    peers_report.py DIRECTORY     reads peers.json and machine.txt there, writes peers.md and peers.svg beside them
"""
import os
import sys

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plot  # noqa: E402

from report import bars, read, table  # noqa: E402

COLOURS = ("#4c78a8", "#e45756", "#54a24b", "#f58518", "#72b7b2", "#b279a2", "#bab0ac")


def results_table(results):
    rows = []
    for line in results:
        faster = line["tributaryd_is_faster"]
        rows.append([line["program"], "{:,}".format(line["distinct"]), "%.2f" % line["mpps_per_cpu_second"],
                     "%.2f - %.2f" % (line["least"], line["most"]), "" if faster is None else "%.1f" % faster,
                     "%.2f" % line["cpu_seconds"], "%.2f" % line["wall_seconds"],
                     "%.0f" % (line["resident_bytes"] / 1e6), "{:,}".format(line["records"]),
                     "{:,}".format(line["accounted"]), "{:,}".format(line["lost"])])
    return table(["program", "flows", "Mpps per CPU-second", "least - most", "tributaryd --read is faster by", "CPU, s", "wall, s",
                  "resident, MB", "records", "packets in them", "lost packets"], rows) + remark(results)


def remark(results):
    """The remark on programs that lost packets; empty if none did."""
    lossy = ["%s (%s flows)" % (line["program"], "{:,}".format(line["distinct"])) for line in results if line["lost"] > 0]
    return LOSS.format(programs=", ".join(lossy)) if lossy else ""


def figure(results, path):
    offline = [line for line in results if line["tributaryd_is_faster"] is not None]
    flows = sorted({line["flows"] for line in offline})
    series = []
    for program, colour in zip(dict.fromkeys(line["program"] for line in offline), COLOURS):
        rates = {line["flows"]: line["mpps_per_cpu_second"] for line in offline if line["program"] == program}
        series.append((program, colour, None, [rates[number] for number in flows]))
    drawing, axes = plot.subplots(figsize=(8, 4))
    bars(axes, ["{:,}".format(number) for number in flows], series)
    axes.set_xlabel("flows in the capture")
    axes.set_ylabel("Mpps per CPU-second")
    axes.set_title("Flow records from a capture of 60-octet UDP frames", fontsize=10)
    drawing.tight_layout()
    drawing.savefig(path, metadata={"Date": None})
    plot.close(drawing)


LOSS = """
Not comparable: {programs}. Lost packets were given to the program and are in no record that came from it, in the round
in which they are most. Part of the work for them was not done; the rate counts them as if it had been.
"""

PAGE = """# tributaryd and other exporters

{machine}
{versions}

Made by `perf/peers`. All programs read the same captures of {packets:,} packets (60-octet IPv4/UDP frames, each of a flow
chosen at random, over ten seconds), in turn (rounds: {rounds}); figures are medians. CPU time is that of all processes of a program,
start-up and export included. tributaryd and yaf write IPFIX files, nfpcapd files of its own, the others send IPFIX over
UDP to 127.0.0.1. tributaryd's records are compared with the capture's own count of flows and packets; those of the others
are as they come. Rates are of the packets that a program was given, in its records or not. On net_pcap, tributaryd runs
as it does on a NIC, through EAL, with packets out of {live:,} buffers that DPDK's pcap driver copies and repeats; export is
by file, and start-up is not counted. Resident memory is that of the largest process, and never less than what the Python
that started it had.

{results}
![Mpps per CPU-second](peers.svg)
"""


def main():
    directory = sys.argv[1]
    results = read(directory, "peers.json")
    figure(results["lines"], os.path.join(directory, "peers.svg"))
    with open(os.path.join(directory, "peers.md"), "w") as file:
        file.write(PAGE.format(machine=read(directory, "machine.txt").strip(), versions=read(directory, "versions.txt").strip(),
                               packets=results["packets"], rounds=results["rounds"], live=results["live_packets"],
                               results=results_table(results["lines"])))


if __name__ == "__main__":
    main()
