# SPDX-License-Identifier: Apache-2.0
"""include_table.py refuses what it must: in each room an include of a room above it and one of a library that other rooms own, in
the text of a source; and the libraries that a few rooms own are theirs alone, whatever the table's rows say."""
import os

import include_table
import tree

# header: the rooms that may include it. This list and the table are written apart, so that a mistake shows.
OWNERS = {
    "rte_ethdev.h": {"daemon/port"},
    "rte_mbuf.h": {"daemon/port"},
    "rte_mempool.h": {"daemon/port"},
    "rte_mbuf_core.h": {"daemon/port", "daemon/program"},
    "rte_bpf.h": {"daemon/port", "daemon/program"},
    "rte_ring.h": {"daemon/pipeline", "daemon/port"},
    "fixbuf/public.h": {"export/ipfix", "export/listing"},
    "openssl/ssl.h": {"export/transport"},
    "librdkafka/rdkafka.h": {"export/kafka"},
    "yaml-cpp/parser.h": {"conf"},
    "pcap/pcap.h": {"daemon/filter"},
    "pcap/bpf.h": {"daemon/program"},
    "spdlog/spdlog.h": {"daemon/base"},
    "spdlog/sinks/sink.h": {"daemon/log", "daemon/telemetry"},
    "microhttpd.h": {"daemon/telemetry"},
    "CLI/CLI.hpp": {"daemon/cli", "daemon/manual", "daemon"},
}
# room: a room that it must never include, written apart too
ABOVE = {
    "parsers": "flowcache/record", "flowcache/fields": "flowcache/record", "flowcache/record": "flowcache", "flowcache/tcp": "flowcache", "flowcache/table": "flowcache", "flowcache": "flowcache/input",
    "flowcache/input": "export", "export": "export/transport", "export/threads": "export/transport", "export/transport": "export/ipfix", "export/ipfix": "export/spool",
    "export/spool": "export/collector", "export/messages": "export/collector", "export/kafka": "export/collector", "export/collector": "export/listing", "export/listing": "export/collector",
    "daemon/base": "daemon/port", "conf": "daemon/pipeline", "daemon/log": "daemon/pipeline", "daemon/machine": "daemon/port",
    "daemon/program": "daemon/filter", "daemon/filter": "daemon/pipeline", "daemon/capture": "daemon/port", "daemon/port": "daemon/pipeline",
    "daemon/pipeline": "daemon/telemetry", "daemon/table": "daemon/telemetry", "daemon/telemetry": "daemon/control", "daemon/control": "daemon/cli", "daemon/recorder": "daemon/cli", "daemon/trigger": "daemon/cli",
    "daemon/plan": "daemon/cli", "daemon/preparse": "daemon/cli", "daemon/cli": "daemon", "daemon/manual": "daemon",
    "daemon": "daemon/manual",
}


def main():
    headers = tree.sources(".hpp", under=tree.MODULES)
    faults = ["%s/ is not in the list of this check" % room for room in include_table.TABLE if room not in ABOVE]
    for room, above in ABOVE.items():
        ours = next((path for path in headers if os.path.dirname(path) == above), above + "/any.hpp")
        foreign = next(header for header, owners in OWNERS.items() if room not in owners)
        text = '#pragma once\n#include "%s"\n  #  include <%s>\n#include <vector>\n' % (ours, foreign)
        found = list(include_table.faults_in(room + "/source.cpp", text))
        if [fault.split(":")[1] for fault in found] != ["2", "3"]:
            faults.append("%s/: of %s and <%s> the table refuses %s" % (room, ours, foreign, found or "nothing"))
    for header, owners in OWNERS.items():
        allowed = {room for room in include_table.TABLE if include_table.fault_of(room, "<", header) is None}
        if allowed != owners:
            faults.append("<%s> may be included by %s" % (header, ", ".join(sorted(allowed))))
    tree.report(faults, len(ABOVE))


main()
