# SPDX-License-Identifier: Apache-2.0
"""What every file must have: licence line, no unfinished work, no prefetch that g++ may drop; the README's
directory table."""
import os
import re

import tree

LICENCE = "SPDX-License-Identifier: Apache-2.0"
NOT_IN_THE_TABLE = {"build", "subprojects"}
UNFINISHED = re.compile(r"\b(TO" r"DO|FIX" r"ME|XX" r"X)\b")
PREFETCH_CALL = "__builtin_" "prefetch("
PREFETCH_HEADER = "flowcache/record/prefetch.hpp"


def file_faults(path):
    text = tree.read(path)
    lines = text.splitlines()
    first = lines[1] if lines and lines[0].startswith("#!") and len(lines) > 1 else (lines or [""])[0]
    if LICENCE not in first:
        yield "%s: the first line is not %r" % (path, LICENCE)
    for number, line in enumerate(lines, 1):
        if UNFINISHED.search(line):
            yield "%s:%d: unfinished work belongs in an issue" % (path, number)
        if PREFETCH_CALL in line and path != PREFETCH_HEADER:
            yield "%s:%d: g++ may drop this prefetch; those of %s stay" % (path, number, PREFETCH_HEADER)
    if text and not text.endswith("\n"):
        yield "%s: no newline at the end" % path


def table_faults():
    """Rows such as "| `parsers/` | ..." must name exactly the directories that there are."""
    if not os.path.exists(os.path.join(tree.ROOT, "README.md")):
        yield "there is no README.md"
        return
    readme = tree.read("README.md")
    named = set(re.findall(r"^\| `([^`/]+)/` ", readme, re.MULTILINE))
    there = {name for name in os.listdir(tree.ROOT)
             if os.path.isdir(os.path.join(tree.ROOT, name)) and not name.startswith((".", "build"))} - NOT_IN_THE_TABLE
    for name in sorted(named - there):
        yield "README.md: the directory table names %s/, which does not exist" % name
    for name in sorted(there - named):
        yield "README.md: the directory table lacks %s/" % name
    for command in ("tools/demo", "tools/test", "tools/fleet-demo"):
        if command not in readme:
            yield "README.md does not name " + command


def unlisted_tests():
    """A test that no meson.build lists would never run."""
    listed = tree.read("tests/unit/meson.build")
    for path in tree.sources("_test.cpp", under=("tests",)):
        name = os.path.basename(path)
        if not re.search(r"['/]%s(_test\.cpp)?'" % re.escape(name.removesuffix("_test.cpp")), listed):
            yield "%s: tests/unit/meson.build does not list it" % path


paths = tree.sources(".hpp", ".cpp", ".py", "meson.build") + tree.sources("", under=("tools", ".ci"))
paths = [path for path in paths if not path.endswith((".txt", ".pyc"))]
tree.report([fault for path in paths for fault in file_faults(path)] + list(table_faults()) + list(unlisted_tests()), paths)
