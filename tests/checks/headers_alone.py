# SPDX-License-Identifier: Apache-2.0
"""Every header compiles by itself: headers_alone.py COMPILER..."""
import concurrent.futures
import os
import sys

import tree


def compiles(header):
    result = tree.compile_only(sys.argv[1:], '#include "%s"\n' % header, "-Wall", "-Wextra", "-Wpedantic", "-Werror")
    return None if result.returncode == 0 else "%s does not compile alone:\n%s" % (header, result.stderr[:2000])


headers = tree.sources(".hpp")
with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
    tree.report([fault for fault in pool.map(compiles, headers) if fault], headers)
