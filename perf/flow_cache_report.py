# SPDX-License-Identifier: Apache-2.0
"""Makes tables and plots from the results of `cache_operations` and `cache_pipeline`.

    flow_cache_report.py DIRECTORY     reads machine.txt, cache_operations.json, cache_pipeline.json,
                                       cache_pipeline_again.json, cache_scaling.json, cache_flood.json and, where it is
                                       there, instructions.json; writes flow-cache.md,
                                       pipeline-ipv4.svg, pipeline-ipv6.svg and ratio.svg beside them
"""
import os
import statistics
import sys

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plot  # noqa: E402

from report import read, table  # noqa: E402

MARKS = {(0, "uniform", "uniflow"): ("#4c78a8", "-", "no new flows, uniform"),
         (0.1, "uniform", "uniflow"): ("#e45756", "-", "10 % new/s, uniform"),
         (0, "zipf", "uniflow"): ("#4c78a8", "--", "no new flows, Zipf"),
         (0.1, "zipf", "uniflow"): ("#e45756", "--", "10 % new/s, Zipf"),
         (0, "uniform", "biflow"): ("#54a24b", "-", "biflows, no new, uniform"),
         (0.1, "uniform", "biflow"): ("#54a24b", "--", "biflows, 10 % new/s, uniform")}


def count(number):
    return "{:,}".format(number)


def operations_table(operations):
    """A row for each operation, a column for each number of flows."""
    operations = [figure for figure in operations if not is_behind(figure)]
    flows = sorted({figure["flows"] for figure in operations})
    names = list(dict.fromkeys(figure["name"] for figure in operations))
    cells = {(figure["name"], figure["flows"]): figure for figure in operations}

    def cell(name, number):
        figure = cells.get((name, number))
        return "" if figure is None else "%.1f (%.1f - %.1f)" % (figure["ns"], figure["ns_least"], figure["ns_most"])
    return table(["ns per operation: median (least - most)"] + ["%s flows" % count(number) for number in flows],
                 [[name] + [cell(name, number) for number in flows] for name in names])


def pages_text(explicit):
    """The memory of the caches, by number of flows."""
    names = {True: "explicit huge pages", False: "transparent huge pages at best"}
    if len(set(explicit.values())) == 1:
        return names[next(iter(explicit.values()))]
    return ", ".join("%s with %s flows" % (names[is_explicit], count(int(flows))) for flows, is_explicit in explicit.items())


def after_the_cache(operations):
    """The ring and the encoder, independent of the number of flows."""
    return table(["behind the cache", "ns: median (least - most)", "M records/s"],
                 [[figure["name"], "%.1f (%.1f - %.1f)" % (figure["ns"], figure["ns_least"], figure["ns_most"]),
                   "%.1f" % (1e3 / figure["ns"])] for figure in operations if is_behind(figure)])


def is_behind(figure):
    return figure["name"].startswith(("ring", "encoder"))


def beside_rte_hash(operations):
    """The cache's hit relative to rte_hash's, in the same run."""
    ns = {(figure["name"], figure["flows"]): figure["ns"] for figure in operations}
    rows = []
    for flows in sorted({number for name, number in ns if name.startswith("rte_hash")}):
        hit = ns["cache: hit, hash and update included", flows]
        rows.append([count(flows), "%.1f" % (1e3 / hit),
                     "%.2f" % (ns["rte_hash: hit, and a line of 64 bytes updated", flows] / hit),
                     "%.2f" % (ns["rte_hash: hit, look-up only", flows] / hit),
                     "%.2f" % (ns["rte_hash: insert, one at a time", flows] / ns["cache: miss and insert", flows]),
                     "%.2f" % (ns["yardstick: one line", flows] / hit)])
    return table(["flows", "cache hits, M/s", "faster than rte_hash with update", "than rte_hash look-up only",
                  "inserts: faster than rte_hash", "of the yardstick"], rows)


def begun_per_second(cell):
    """Flows begun in a second of packet time, relative to the active ones."""
    return cell["records_per_packet"] * cell["mpps"] * 1e6 / cell["flows"]


def bytes_per_entry(cell, idle):
    """Empty where it means little: for few flows, and if many have left since the cache was filled."""
    meant = cell["flows"] * (1 + cell["new_per_second"] * idle)
    return "%.0f" % cell["bytes_per_flow"] if cell["flows"] >= 1_000_000 and cell["entries"] > 0.9 * meant else ""


def pipeline_table(cells, idle):
    rows = []
    for cell in cells:
        rows.append([count(cell["flows"]), "%.0f %%" % (100 * cell["new_per_second"]),
                     "%.1f %%" % (100 * begun_per_second(cell)), "IPv%d" % cell["ip_version"],
                     cell["direction"], cell["spread"], "%.1f" % cell["mpps"],
                     "%.1f (%.1f - %.1f)" % (cell["ns"], cell["ns_least"], cell["ns_most"]),
                     "%.1f" % cell["yardstick_mlines"], "%.0f %%" % (100 * cell["ratio"]), "%.1f" % cell["rewriting_ns"],
                     "%.2f" % cell["export_ns"], "%.4f" % cell["records_per_packet"], count(cell["entries"]),
                     bytes_per_entry(cell, idle),
                     "%d (%d)" % (cell["allocations"], cell["export_allocations"])])
    return table(["flows", "new/s", "begun/s", "IP", "records", "spread", "Mpps", "ns: median (least - most)",
                  "yardstick, M lines/s", "ratio", "rewriting, ns", "export, ns", "records per packet", "entries",
                  "bytes per entry", "allocations (export)"], rows)


def again_table(processes):
    """The results of each process, side by side."""
    def spread(values, form):
        return "%s (%s - %s)" % tuple(form % value for value in (statistics.median(values), min(values), max(values)))

    rows = []
    for same in zip(*processes):
        rows.append([count(same[0]["flows"]), "%.0f %%" % (100 * same[0]["new_per_second"]), same[0]["direction"], str(len(same)),
                     spread([cell["mpps"] for cell in same], "%.1f"),
                     spread([cell["yardstick_mlines"] for cell in same], "%.1f"),
                     spread([100 * cell["ratio"] for cell in same], "%.0f %%")])
    return table(["flows", "new/s", "records", "processes", "Mpps", "yardstick, M lines/s", "ratio"], rows)


def lines(cells, ip_version, value, label, title, path):
    drawing, axes = plot.subplots(figsize=(8, 4))
    for kind, (colour, style, name) in MARKS.items():
        chosen = sorted((cell["flows"], value(cell)) for cell in cells if cell["ip_version"] == ip_version
                        and (cell["new_per_second"], cell["spread"], cell["direction"]) == kind)
        if chosen:
            axes.plot(*zip(*chosen), color=colour, linestyle=style, marker="o", markersize=4, label=name)
    yardstick = sorted({cell["flows"]: cell["yardstick_mlines"] for cell in cells}.items())
    if label == "Mpps":
        axes.plot(*zip(*yardstick), color="#bab0ac", marker="o", markersize=4, label="yardstick: M lines/s")
        axes.set_yscale("log")  # the yardstick is far above the rest while all lines are in the first-level cache
    else:
        axes.set_ylim(bottom=0)
    axes.set_xscale("log")
    axes.set_xlabel("flows")
    axes.set_ylabel(label)
    axes.set_title(title, fontsize=10)
    axes.grid(alpha=0.3)
    axes.legend(fontsize=8)
    drawing.tight_layout()
    drawing.savefig(path, metadata={"Date": None})
    plot.close(drawing)


def scaling_table(figures):
    one = {figure["flows_per_queue"]: figure["mpps"] for figure in figures if figure["queues"] == 1}
    return table(["flows per queue", "queues", "Mpps: median (least - most)", "of as many times one queue"],
                 [[count(figure["flows_per_queue"]), str(figure["queues"]),
                   "%.1f (%.1f - %.1f)" % (figure["mpps"], figure["mpps_least"], figure["mpps_most"]),
                   "%.0f %%" % (100 * figure["mpps"] / figure["queues"] / one[figure["flows_per_queue"]])]
                  for figure in figures])


def instructions_text(directory):
    if not os.path.exists(os.path.join(directory, "instructions.json")):
        return ""
    rows = [[name, "%d" % number] for name, number in read(directory, "instructions.json").items()]
    return "\n## Instructions\n\nPer packet, counted by callgrind, 16 384 IPv4 flows.\n\n" + table(["what", "instructions"], rows)


def flood_text(flood):
    full, tenths = flood["resident_bytes_when_full"], flood["mpps_by_tenth"]
    return FLOOD.format(seconds=round(flood["seconds"]), flows=count(flood["flows"]), most=count(flood["max_flows"]),
                        evicted=count(flood["evicted"]), mpps="%.1f" % flood["mpps"],
                        long_lived=count(flood["long_lived_flows"]), records=count(flood["long_lived_records"]),
                        active=flood["active_timeout"], given_up=count(flood["long_lived_evicted"]),
                        tenths=", ".join("%.1f" % mpps for mpps in tenths),
                        full="" if full is None else "%s bytes when the cache had filled, " % count(full),
                        end=count(flood["resident_bytes_at_the_end"]))


FLOOD = """
## A flood

For {seconds} s nearly every packet is a new flow, as fast as one core takes them: {flows} flows in a cache for {most},
{evicted} of them evicted, {mpps} Mpps; in the tenths of that time
{tenths}.
{long_lived} flows that were there before send every two seconds. The active timeout, {active} s, cuts them into
{records} records; given up for lack of room: {given_up}. Resident: {full}{end}
bytes at the end. Records, packets and the cache's counters were compared.
"""

PAGE = """# The flow cache

{machine}

Made by `perf/flow-cache`. Whatever is compared ran in turn in one process, after its results were checked; figures are
medians of the rounds. The machine is shared: compare within this page, and of other pages at most the ratios.

## Operations

One core, bursts of 64 packets that are parsed already, {key} octets of key, {record} of record. Making the packets is
taken off where it was part of the time. Pages of the cache: {cache_pages}; of rte_hash: {rte_pages}.

{operations}
{beside}
{behind}
## The pipeline

One queue in one thread: {ring} receive buffers whose headers are rewritten, full parser, cache, expiry, record ring; every
128 bursts the ring is drained into the IPFIX encoder. Mpps is without rewriting and export, whose costs are measured in
the same rounds. The ratio is packets to the yardstick's lines: lines of 64 bytes, as many as flows, one of them read,
changed and written at random, with prefetch. Flows are those that send; beside them the cache holds those that new ones
have replaced, for {idle} s until they are idle. A biflow's packets come from either end, by chance. Packet time passes as
the Mpps of a row say. In that time each flow has a successor as often as "new/s" says, but one begins only when it sends:
"begun/s" is how many did. Where packets are few for so many flows, fewer begin, and some are silent for {idle} s, end as
idle and begin anew, so that entries are fewer too. Bytes are resident memory (VmRSS) over the cache's entries, where most of
those that filled it are still there; they lie in transparent huge pages, as the yardstick's lines do.

{pipeline}
![IPv4](pipeline-ipv4.svg)
![IPv6](pipeline-ipv6.svg)
![ratio](ratio.svg)

### In other processes

Rows of IPv4 uniflows, uniform, again, each time in a process of its own: median (least - most) of what the processes
found. So much hangs on which memory a process gets, on what lies in the last-level cache by then, and on neighbours.

{again}
## Queues

The same pipeline in 1 to N threads, each on a CPU of its own with its own flows (IPv4, uniform, none of them new), source
and export included. The last column is the slope: 100 % is as many times the packets as there are queues.

{scaling}
{flood}{instructions}"""


def main():
    directory = sys.argv[1]
    operations = read(directory, "cache_operations.json")
    cells = read(directory, "cache_pipeline.json")
    for version in (4, 6):
        if any(cell["ip_version"] == version for cell in cells):
            lines(cells, version, lambda cell: cell["mpps"], "Mpps", "The pipeline on one core, IPv%d" % version,
                  os.path.join(directory, "pipeline-ipv%d.svg" % version))
    lines(cells, 4, lambda cell: 100 * cell["ratio"], "percent of the yardstick's lines",
          "The pipeline beside the memory itself, IPv4", os.path.join(directory, "ratio.svg"))
    idle = 10  # kIdleTimeout, in seconds
    page = PAGE.format(machine=read(directory, "machine.txt").strip(), key=operations["key_octets"],
                       record=operations["record_octets"], cache_pages=pages_text(operations["cache_explicit_huge_pages"]),
                       rte_pages="explicit huge pages" if operations["rte_hash_explicit_huge_pages"] else "4 KiB",
                       operations=operations_table(operations["operations"]),
                       beside=beside_rte_hash(operations["operations"]), behind=after_the_cache(operations["operations"]),
                       ring=4096, idle=idle, pipeline=pipeline_table(cells, idle),
                       again=again_table(read(directory, "cache_pipeline_again.json")),
                       scaling=scaling_table(read(directory, "cache_scaling.json")),
                       flood=flood_text(read(directory, "cache_flood.json")), instructions=instructions_text(directory))
    if not any(cell["ip_version"] == 6 for cell in cells):
        page = page.replace("![IPv6](pipeline-ipv6.svg)\n", "")
    with open(os.path.join(directory, "flow-cache.md"), "w") as file:
        file.write(page)


if __name__ == "__main__":
    main()
