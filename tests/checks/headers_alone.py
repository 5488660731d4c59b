# SPDX-License-Identifier: Apache-2.0
"""Every header compiles by itself: headers_alone.py COMPILER...

Where a source file has its header's name it includes that first, so the build has compiled the header alone already;
only the others are compiled here.
"""
import concurrent.futures
import os
import re
import sys

import tree


def compile_fault(header):
    result = tree.compile_only(sys.argv[1:], '#include "%s"\n' % header, "-Wall", "-Wextra", "-Wpedantic", "-Werror")
    return None if result.returncode == 0 else "%s does not compile alone:\n%s" % (header, result.stderr[:2000])


def source_of(header):
    return header.removesuffix(".hpp") + ".cpp"


def order_fault(header):
    first = re.search(r'^#include [<"](.+)[>"]', tree.read(source_of(header)), re.MULTILINE)
    return None if first and first.group(1) == header else "%s does not include %s first" % (source_of(header), header)


headers, sources = tree.sources(".hpp"), set(tree.sources(".cpp"))
alone = [header for header in headers if source_of(header) not in sources]
faults = [order_fault(header) for header in headers if header not in alone]
with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
    faults += pool.map(compile_fault, alone)
tree.report([fault for fault in faults if fault], headers)
