# SPDX-License-Identifier: Apache-2.0
"""The table of rooms refuses, in each room, a header of a room above it and one of a library that is not its own."""
import os

import include_table
import tree

LIBRARY_HEADERS = ("rte_ethdev.h", "rte_mbuf.h", "rte_mempool.h", "fixbuf/public.h", "yaml-cpp/yaml.h", "pcap/pcap.h",
                   "CLI/CLI.hpp", "microhttpd.h")
PORTS = ("rte_ethdev.h", "rte_mbuf.h", "rte_mempool.h")


def header_in(room, paths):
    return next(path for path in paths if os.path.dirname(path) == room)


def main():
    paths = tree.sources(".hpp", under=tree.MODULES)
    with_headers = [room for room in include_table.TABLE if any(os.path.dirname(path) == room for path in paths)]
    faults, tried = [], 0
    for room, (lower, _) in include_table.TABLE.items():
        ours = [header_in(other, paths) for other in with_headers if other not in (room, *lower)]
        refused = [header for header in ours if include_table.fault_of(room, '"', header)]
        foreign = [header for header in LIBRARY_HEADERS if include_table.fault_of(room, "<", header)]
        tried += len(ours) + len(LIBRARY_HEADERS)
        faults += ["%s/ may include %s" % (room, header) for header in sorted(set(ours) - set(refused))]
        if not ours and room != "daemon":
            faults.append("%s/: there is no room that it may not include" % room)
        if not foreign:
            faults.append("%s/ may include each library" % room)
        faults += ["%s/ may include <%s>, which is daemon/port/'s" % (room, header) for header in PORTS
                   if room != "daemon/port" and header not in foreign]
    tree.report(faults, tried)


main()
