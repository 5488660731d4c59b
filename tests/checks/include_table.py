# SPDX-License-Identifier: Apache-2.0
"""Which room may include which: every #include of the product against one table.

A room is a folder of sources. Its row names the rooms and the libraries that it may include, beside the standard library;
a room that no row names, or a row without a room, is a fault.
"""
import os
import re

import tree

SYSTEM = (r"(arpa|linux|net|netinet|sys)/[a-z_0-9]+\.h|(fcntl|grp|netdb|poll|pthread|sched|spawn|sysexits|syslog|termios|unistd)\.h"
          r"|tl/expected\.hpp")
FMT, LOG = r"fmt/(format|ranges)\.h", r"spdlog/(sinks/.*|pattern_formatter)\.h"
JSON = r"nlohmann/json\.hpp"
RECORDS = ("flowcache/record", "parsers")
INPUT = ("flowcache/input", *RECORDS)

# room: (rooms it may include, libraries it may include). From the lowest to the highest: no arrow points down this table.
TABLE = {
    "parsers": ((), (r"immintrin\.h",)),  # the compiler's own, and no library
    "flowcache/fields": (("parsers",), ()),
    "flowcache/record": (("flowcache/fields", "parsers"), (r"xxhash\.h",)),
    "flowcache/tcp": (RECORDS, ()),
    "flowcache/table": (("flowcache/fields", *RECORDS), (r"xxhash\.h",)),
    "flowcache": (("flowcache/fields", "flowcache/tcp", *RECORDS), (r"immintrin\.h",)),
    "flowcache/input": (("flowcache", *RECORDS), ()),
    "export": (RECORDS, (SYSTEM,)),
    "export/threads": ((), (SYSTEM,)),
    "export/transport": (("export", "export/threads"), (SYSTEM, r"openssl/.*\.h")),
    "export/ipfix": (("export", "flowcache/fields", *RECORDS), (r"fixbuf/public\.h", r"xxhash\.h")),
    "export/spool": (("export", "export/transport", "flowcache/record"), (SYSTEM, r"xxhash\.h")),
    "export/messages": (("export", "export/ipfix", "flowcache/fields", *RECORDS), (SYSTEM,)),
    "export/kafka": (("export", "export/ipfix", "export/messages", "export/threads", "export/transport", "flowcache/record",
                      "parsers"),
                     (r"librdkafka/rdkafka\.h",)),
    "export/collector": (("export", "export/ipfix", "export/kafka", "export/messages", "export/spool", "export/transport", "flowcache/record"), ()),
    "export/listing": (("export", "export/ipfix", "export/messages", "flowcache/fields", *RECORDS), (SYSTEM, JSON, r"archive\.h", r"fixbuf/public\.h")),
    # the only room that may include spdlog/spdlog.h: its own header of that name spares the others to compile fmt again
    "daemon/base": (("export", *RECORDS), (SYSTEM, FMT, r"spdlog/spdlog\.h")),
    "conf": (("daemon/base", "export", "export/ipfix", "flowcache/record", "flowcache/table"), (r"arpa/inet\.h", r"yaml-cpp/.*\.h")),
    "daemon/log": (("conf", "daemon/base", "export", "export/transport"), (SYSTEM, FMT, LOG)),
    "daemon/machine": (("daemon/base", "export/threads", *RECORDS), (SYSTEM, FMT, r"numa(if)?\.h", r"rte_(errno|lcore)\.h")),
    # the only room that may include rte_bpf: programs take an rte_mbuf, whose layout rte_mbuf_core.h has
    "daemon/program": (("daemon/machine",), (SYSTEM, r"pcap/bpf\.h", r"rte_(bpf|log|mbuf_core)\.h")),
    "daemon/filter": (("conf", "daemon/base", "daemon/program", "export/threads", "flowcache/input", "parsers"), (SYSTEM, FMT, r"pcap/pcap\.h")),
    "daemon/capture": (("daemon/base", "export", "export/threads", "export/transport", *INPUT),
                       (SYSTEM, r"zlib\.h", r"lzma\.h", r"zstd(_errors)?\.h")),
    # the only room that may include rte_ethdev, rte_mbuf and rte_mempool
    "daemon/port": (("daemon/base", "daemon/machine", "export", *INPUT), (SYSTEM, FMT, r"rte_\w+\.h")),
    "daemon/pipeline": (("daemon/base", "daemon/machine", "daemon/port", "export", "export/collector",
                         "export/threads", "flowcache", *INPUT),
                        (FMT, JSON, r"sysexits\.h", r"rte_(cycles|pause|ring|ring_peek_zc)\.h")),
    "daemon/table": (("daemon/machine", "daemon/pipeline", "export", "flowcache", "flowcache/fields", "flowcache/table", *INPUT), ()),
    "daemon/telemetry": (("daemon/base", "daemon/machine", "daemon/pipeline", "daemon/port", "export",
                          "export/threads", "export/transport"),
                         (SYSTEM, FMT, LOG, JSON, r"microhttpd\.h", r"prometheus/.*\.h", r"systemd/sd-daemon\.h",
                          r"rte_(eal|telemetry)\.h")),
    "daemon/control": (("daemon/base", "daemon/pipeline", "daemon/telemetry", "export", "export/listing",
                        "export/messages", "export/threads"),
                       (SYSTEM, FMT, JSON)),
    "daemon/recorder": (("daemon/base", "daemon/capture", "daemon/control", "daemon/filter", "daemon/machine", "daemon/pipeline",
                         "export", "export/transport", "flowcache", *INPUT),
                        (SYSTEM, FMT, JSON)),
    "daemon/trigger": (("conf", "daemon/base", "daemon/capture", "daemon/control", "daemon/filter", "daemon/machine", "daemon/pipeline",
                        "daemon/recorder", "export", "export/listing", "export/messages", "export/threads", "flowcache",
                        "flowcache/fields", "flowcache/table", *INPUT),
                       (SYSTEM, FMT, JSON)),
    "daemon/plan": (("conf", "daemon/base", "daemon/machine", "daemon/pipeline", "daemon/port", "daemon/recorder", "daemon/table",
                     "daemon/trigger", "export", "flowcache", "flowcache/table"), (SYSTEM, FMT)),
    "daemon/preparse": (("conf", "daemon/base", "daemon/capture", "daemon/filter", "daemon/machine",
                         "daemon/pipeline", "daemon/port", "daemon/telemetry", "export", *INPUT),
                        (SYSTEM, FMT, JSON, r"rte_ether\.h")),
    "daemon/cli": (("conf", "daemon/base", "daemon/control", "daemon/filter", "daemon/log", "daemon/machine", "daemon/plan",
                    "daemon/preparse", "daemon/recorder", "daemon/trigger", "export", "export/kafka", "export/listing", "export/messages", "export/spool", "export/transport"),
                   (SYSTEM, FMT, JSON, r"CLI/CLI\.hpp")),
    "daemon/manual": (("conf", "daemon/base", "daemon/cli"), (r"CLI/CLI\.hpp",)),
    "daemon": (("conf", "daemon/base", "daemon/capture", "daemon/cli", "daemon/control", "daemon/filter", "daemon/log",
                "daemon/machine", "daemon/pipeline", "daemon/plan", "daemon/port", "daemon/recorder", "daemon/table", "daemon/telemetry",
                "daemon/trigger", "export", "export/listing", "export/threads", "export/transport", "flowcache", "flowcache/input",
                "flowcache/record", "flowcache/table"),
               (SYSTEM, r"CLI/CLI\.hpp")),
}
STANDARD = re.compile(r"[a-z_0-9]+")  # <vector>, <cstdint>: no suffix, no folder
FIXBUF_FILES = 2                      # fixbuf_session.cpp and the reader's .cpp


def fault_of(room, quote, header):
    """What is wrong with an include in this room; None: nothing. `quote` is the character before the header."""
    rooms, libraries = TABLE[room]
    ours = header.split("/")[0] in (*tree.MODULES, "tests", "perf", "tools")
    if ours != (quote == '"'):
        return "our headers in quotes, all others in brackets: %s" % header
    if ours:
        return None if os.path.dirname(header) in (room, *rooms) else "%s/ may not include %s" % (room, header)
    if STANDARD.fullmatch(header) or any(re.fullmatch(library, header) for library in libraries):
        return None
    return "%s/ may not include <%s>" % (room, header)


def faults_in(path, text):
    for number, line in enumerate(text.splitlines(), 1):
        found = re.match(r'\s*#\s*include\s*([<"])([^>"]+)[>"]', line)
        fault = fault_of(os.path.dirname(path), *found.groups()) if found else None
        if fault:
            yield "%s:%d: %s" % (path, number, fault)


def table_faults(rooms):
    """The table names each room, and a room only in rows that stand below its own."""
    for room in sorted(rooms - set(TABLE)):
        yield "%s/ has no row in the table" % room
    for room in sorted(set(TABLE) - rooms):
        yield "the table has a row for %s/, where no source is" % room
    order = list(TABLE)
    for room, (lower, _) in TABLE.items():
        for other in lower:
            if other not in TABLE or order.index(other) >= order.index(room):
                yield "the row of %s/ names %s/, which does not stand above it" % (room, other)


def unused_arrows(paths):
    """An arrow that no include needs would let one in unseen."""
    for room, (lower, _) in TABLE.items():
        used = {os.path.dirname(header) for path in paths if os.path.dirname(path) == room
                for header in re.findall(r'#\s*include\s*"([^"]+)"', tree.read(path))}
        for other in lower:
            if other not in used:
                yield "%s/ includes nothing of %s/: the table need not allow it" % (room, other)


def dpdk_faults():
    """Tests and benchmarks too see DPDK only where it is the thing under test."""
    allowed = ("tests/unit/daemon/", "perf/support/rte_table.cpp")
    for path in tree.sources(".hpp", ".cpp", under=("tests", "perf")):
        if not path.startswith(allowed) and re.search(r"#\s*include\s*<rte_", tree.read(path)):
            yield path + ": DPDK belongs in daemon/, its tests and perf/support/rte_table.cpp"


def thread_faults():
    """Threads are started by HelperThread and PinnedThread alone, which place and register them."""
    allowed = ("export/threads/helper_thread.", "daemon/machine/pinned_thread.")
    for path in tree.sources(".hpp", ".cpp", under=tree.MODULES):
        if not path.startswith(allowed) and re.search(r"std::j?thread\b(?!::)|std::async\b|pthread_create", tree.read(path)):
            yield path + ": a thread of its own; HelperThread is for all but input and export threads"


def main():
    paths = tree.sources(".hpp", ".cpp", under=tree.MODULES)
    faults = list(table_faults({os.path.dirname(path) for path in paths}))
    faults += [fault for path in paths if os.path.dirname(path) in TABLE
               for fault in faults_in(path, tree.read(path))]
    faults += unused_arrows(paths)
    faults += dpdk_faults()
    faults += thread_faults()
    fixbuf = [path for path in paths if re.search(r"#\s*include\s*<fixbuf/", tree.read(path))]
    if len(fixbuf) != FIXBUF_FILES or not all(path.endswith(".cpp") for path in fixbuf):
        faults.append("libfixbuf belongs in %d .cpp files: %s" % (FIXBUF_FILES, ", ".join(fixbuf)))
    tree.report(faults, paths)


if __name__ == "__main__":
    main()
