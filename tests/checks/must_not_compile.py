# SPDX-License-Identifier: Apache-2.0
"""Forbidden uses are refused by the compiler: must_not_compile.py COMPILER...

Every file in tests/must_not_compile must fail, and only in the line that it marks with "// forbidden"; without
that line it must compile, so that nothing else in it is what the compiler refuses.
"""
import re
import sys

import tree

MARK = "// forbidden"


def faults_of(path):
    lines = tree.read(path).splitlines(keepends=True)
    marked = [number for number, line in enumerate(lines, 1) if MARK in line]
    if len(marked) != 1:
        return ["%s: one line must be marked %r" % (path, MARK)]
    refused = tree.compile_only(sys.argv[1:], "".join(lines), "-Werror=unused-result")
    where = {int(number) for number in re.findall(r"^<stdin>:(\d+):\d+: error", refused.stderr, re.MULTILINE)}
    faults = []
    if refused.returncode == 0:
        faults.append("%s:%d compiles" % (path, marked[0]))
    elif where != set(marked):
        faults.append("%s: is refused elsewhere too:\n%s" % (path, refused.stderr[:2000]))
    allowed = tree.compile_only(sys.argv[1:], "".join(line for line in lines if MARK not in line))
    if allowed.returncode != 0:
        faults.append("%s: does not compile without its forbidden line:\n%s" % (path, allowed.stderr[:2000]))
    return faults


files = tree.sources(".cpp", under=("tests/must_not_compile",))
tree.report([fault for path in files for fault in faults_of(path)], files)
