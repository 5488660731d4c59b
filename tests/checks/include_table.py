# SPDX-License-Identifier: Apache-2.0
"""Who may include whom: every #include of the modules against one table."""
import re

import tree

# module: (own headers it may include, third-party headers it may include), as regular expressions
TABLE = {
    # immintrin.h is the compiler's own, and no library
    "parsers": (r"parsers/", r"immintrin\.h"),
    "flowcache": (r"parsers/|flowcache/", r"xxhash\.h|xxh3\.h|immintrin\.h"),
    # of the cache the exporter knows records, their keys and how they are handed over, nothing else
    "export": (r"export/|parsers/units\.hpp|parsers/packet_fields\.hpp"
               r"|flowcache/(flow_record|flow_key|flow_direction|flow_hasher|counter|record_stream|options)\.hpp",
               r"fixbuf/|openssl/|xxhash\.h|linux/(tcp|errqueue)\.h|nlohmann/json\.hpp|glib\.h|tl/expected\.hpp|netdb\.h|archive\.h|netinet/|arpa/|sys/|unistd\.h|fcntl\.h|poll\.h|spawn\.h|net/"),
    "conf": (r"conf/|[a-z]+/options\.hpp|parsers/units\.hpp", r"yaml-cpp/|arpa/inet\.h"),
    "daemon": (r"(parsers|flowcache|export|conf|daemon)/", r"(?!fixbuf/|yaml-cpp/|xxh).*"),
}
STANDARD = re.compile(r"[a-z_0-9]+")  # <vector>, <cstdint>: no suffix, no folder
FIXBUF_FILES = 2                      # fixbuf_session.cpp and the reader's .cpp


def faults_of(path):
    module = path.split("/")[0]
    own, third_party = TABLE[module]
    for number, line in enumerate(tree.read(path).splitlines(), 1):
        found = re.match(r'\s*#\s*include\s*([<"])([^>"]+)[>"]', line)
        if not found:
            continue
        quote, header = found.groups()
        ours = header.split("/")[0] in (*tree.MODULES, "tests", "perf", "tools")
        if ours != (quote == '"'):
            yield "%s:%d: our headers in quotes, all others in brackets: %s" % (path, number, header)
        elif ours and not re.match(own, header):
            yield "%s:%d: %s/ may not include %s" % (path, number, module, header)
        elif not ours and not STANDARD.fullmatch(header) and not re.match(third_party, header):
            yield "%s:%d: %s/ may not include <%s>" % (path, number, module, header)


def dpdk_faults():
    """Tests and benchmarks too see DPDK only where it is the thing under test."""
    allowed = ("tests/unit/daemon/", "perf/support/rte_table.cpp")
    for path in tree.sources(".hpp", ".cpp", under=("tests", "perf")):
        if not path.startswith(allowed) and re.search(r"#\s*include\s*<rte_", tree.read(path)):
            yield path + ": DPDK belongs in daemon/, its tests and perf/support/rte_table.cpp"


def main():
    paths = tree.sources(".hpp", ".cpp", under=tree.MODULES)
    faults = [fault for path in paths for fault in faults_of(path)] + list(dpdk_faults())
    fixbuf = [path for path in paths if re.search(r"#\s*include\s*<fixbuf/", tree.read(path))]
    if len(fixbuf) != FIXBUF_FILES or not all(path.endswith(".cpp") for path in fixbuf):
        faults.append("libfixbuf belongs in %d .cpp files: %s" % (FIXBUF_FILES, ", ".join(fixbuf)))
    tree.report(faults, paths)


main()
