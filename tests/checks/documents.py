# SPDX-License-Identifier: Apache-2.0
"""The documents: links and anchors lead somewhere, paths in code quotes exist, the README is short, no row stands in two
documents, docs/developing.md has the rooms of include_table.py, docs/ledger.md each name of the ledger and each exit code,
docs/meson.build installs each document, each page of figures
and what they link to."""
import glob
import os
import re

import include_table
import tree

README_OCTETS = 8192
LONGEST_LINE = 120
LONG_ROW = 60    # octets of a table's row, from which on it tells something that must not stand twice
FOLDERS = tree.MODULES + ("tests", "perf", "docs", "tools", "systemd", "packaging")
PATH = re.compile(r"(?:%s)/[\w./*-]*" % "|".join(FOLDERS))
FENCED = re.compile(r"(?ms)^```.*?^```\n?")
# Words in the sources of the ledger that are no names in it.
NO_NAMES = {"none", "unknown", "ok"}


def markdown_files():
    """All documents, reports and notes of the tree."""
    found = []
    for top in ("docs", "perf", "tests"):
        for folder, _, names in os.walk(os.path.join(tree.ROOT, top)):
            found += [os.path.relpath(os.path.join(folder, name), tree.ROOT) for name in names if name.endswith(".md")]
    return ["README.md"] + sorted(found)


def prose_of(text):
    """A document without its blocks of code."""
    return re.sub(r"(?m)^    .*$", "", FENCED.sub("", text))


def anchors_of(text):
    """The anchors of a document's headings, as renderers of Markdown make them."""
    lines = re.findall(r"(?m)^#+ (.*)$", FENCED.sub("", text))
    return {re.sub(r"[^\w -]", "", line.lower()).replace(" ", "-") for line in lines}


def link_faults(path, text):
    for link in re.findall(r"\]\(([^)\s]+)\)", prose_of(text)):
        if re.match(r"[a-z]+:", link):
            continue
        file, _, anchor = link.partition("#")
        target = os.path.normpath(os.path.join(os.path.dirname(path), file)) if file else path
        if target.startswith("..") or not os.path.isfile(os.path.join(tree.ROOT, target)):
            yield "%s: the link %s leads to no file" % (path, link)
        elif anchor and anchor not in anchors_of(tree.read(target)):
            yield "%s: the link %s leads to no heading" % (path, link)


def path_faults(path, text):
    for code in re.findall(r"`([^`\n]+)`", prose_of(text)):
        found = PATH.match(code)
        if found and "*" not in found.group() and not os.path.exists(os.path.join(tree.ROOT, found.group().rstrip("."))):
            yield "%s: there is no %s" % (path, found.group())


def line_faults(path, text):
    """Rows of tables, blocks of code and lines of one long word may be longer."""
    for line in prose_of(text).splitlines():
        if len(line) > LONGEST_LINE and not line.startswith(("|", "<!--")) and " " in line.strip("* "):
            yield "%s: a line of %d columns, %d allowed: %s..." % (path, len(line), LONGEST_LINE, line[:40])


def row_faults(texts):
    first = {}
    for path, text in texts.items():
        for row in re.findall(r"(?m)^\|.*\|$", prose_of(text)):
            if len(row) >= LONG_ROW and first.setdefault(row, path) != path:
                yield "%s: this row stands in %s, too: %s" % (path, first[row], row[:60])


def room_faults():
    """The table of rooms has the rows of include_table.py, in their order, with the rooms that each may include."""
    text = tree.read("docs/developing.md")
    begin = text.find("\n## The rooms\n")
    section = text[begin:text.find("\n## ", begin + 1)]
    rows = re.findall(r"(?m)^\| `([\w/]+)/` \|[^|]*\| (.*) \|$", section)
    told = [(room, re.findall(r"`([\w/]+)/`", others)) for room, others in rows]
    true = [(room, list(others)) for room, (others, _) in include_table.TABLE.items()]
    for room, others in true:
        if (room, others) not in told:
            yield "docs/developing.md: the table of rooms needs the row %s: %s" % (room, ", ".join(others) or "-")
    for room, others in told:
        if (room, others) not in true:
            yield "docs/developing.md: include_table.py has no row %s: %s" % (room, ", ".join(others) or "-")
    if not true or [room for room, _ in told] != [room for room, _ in true]:
        yield "docs/developing.md: the rooms do not stand in the order of include_table.py"


def names_in(pattern, *file_names):
    paths = [path for path in tree.sources(".hpp", ".cpp", under=tree.MODULES) if path.endswith(file_names)]
    if not paths:
        yield "(no file %s)" % " ".join(file_names)
    for path in paths:
        yield from re.findall(pattern, tree.read(path))


def ledger_faults():
    """Every name of the JSON and every code of the tables must be in docs/ledger.md, in code quotes or a row's first cell."""
    text = tree.read("docs/ledger.md")
    quoted = {word for code in re.findall(r"`([^`]+)`", text) for word in re.findall(r"\w+", code)}
    word = r'"([a-z]+(?:_[a-z0-9]+)*)"'
    names = set(names_in(word, "/ledger.cpp", "/preparse_ledger.cpp"))
    names |= set(names_in(r"return " + word, "/parse_status.cpp", "/packet_fields.cpp", "/preparse_stream.cpp"))
    names |= set(names_in(r"(?:key = |>\(\s*|CollectorRow\{)%s" % word, "/ledger_rows.hpp"))
    names |= set(names_in(word, "/export_counters.hpp"))
    if len(names) < 100:
        yield "hardly any name of the ledger found: %s" % sorted(names)
    for name in sorted(names - quoted - NO_NAMES):
        yield "docs/ledger.md does not name %s" % name
    codes = set(names_in(r'\{"([0-9N +]+)", "', "/exit_codes.cpp"))
    if len(codes) < 10:
        yield "hardly any exit code found: %s" % sorted(codes)
    for code in sorted(codes):
        if "\n| %s | " % code not in text:
            yield "docs/ledger.md has no row for the exit code %s" % code


def is_installed(path, build):
    return path == "README.md" or path.startswith(("conf/examples/", "docs/fleet/", "docs/monitoring/", "perf/results/")) or \
        os.path.dirname(path) == "docs" and "'%s'" % os.path.basename(path) in build


def installed_faults(texts):
    """What the documents link to is installed with them."""
    build = tree.read("docs/meson.build")
    for path, text in texts.items():
        for link in re.findall(r"\]\(([^)\s#]+)", text) if is_installed(path, build) else ():
            target = os.path.normpath(os.path.join(os.path.dirname(path), link))
            if not re.match(r"[a-z]+:", link) and not is_installed(target, build):
                yield "%s: the link %s leads to a file that is not installed" % (path, link)
    for path in glob.glob(os.path.join(tree.ROOT, "docs", "*.md")):
        if "'%s'" % os.path.basename(path) not in build:
            yield "docs/meson.build does not install docs/%s" % os.path.basename(path)
    for folder in glob.glob(os.path.join(tree.ROOT, "perf", "results", "*")):
        report = os.path.basename(folder)
        row = re.search(r"'%s': \[([^\]]*)\]" % re.escape(report), build)
        installed = set(re.findall(r"'([^']+)'", row.group(1))) if row else set()
        for name in sorted(name for name in os.listdir(folder) if name.endswith((".md", ".svg"))):
            if name not in installed:
                yield "docs/meson.build does not install perf/results/%s/%s" % (report, name)


def main():
    texts = {path: tree.read(path) for path in markdown_files()}
    documents = {path: texts[path] for path in tree.documents()}
    faults = []
    for path, text in texts.items():
        faults += [*link_faults(path, text), *path_faults(path, text)]
    for path, text in documents.items():
        faults += line_faults(path, text)
    octets = len(texts["README.md"].encode())
    if octets > README_OCTETS:
        faults.append("README.md: %d octets, %d allowed" % (octets, README_OCTETS))
    faults += [*row_faults(documents), *room_faults(), *ledger_faults(), *installed_faults(texts)]
    tree.report(list(dict.fromkeys(faults)), documents)


main()
