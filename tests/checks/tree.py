# SPDX-License-Identifier: Apache-2.0
"""What the checks share: the source files of the tree, and how a check reports."""
import functools
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
MODULES = ("parsers", "flowcache", "export", "conf", "daemon")


def sources(*suffixes, under=MODULES + ("tests", "perf")):
    """Paths relative to the root, sorted."""
    found = []
    for top in under:
        for folder, _, names in os.walk(os.path.join(ROOT, top)):
            found += [os.path.relpath(os.path.join(folder, name), ROOT) for name in names if name.endswith(suffixes)]
    return sorted(found)


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as source:
        return source.read()


def documents():
    """Paths of the documents that are written to be read, relative to the root: README.md and docs."""
    found = ["README.md"] + ["docs/" + name for name in os.listdir(os.path.join(ROOT, "docs")) if name.endswith(".md")]
    return sorted(found)


def report(faults, checked):
    """Ends the check: one line per fault. A check that looked at nothing fails too."""
    for fault in faults:
        print(fault)
    if not checked:
        print("nothing was checked")
    sys.exit(1 if faults or not checked else 0)


@functools.cache
def dependency_flags():
    """Include flags of all libraries, as system headers; DPDK's own -march is left out, as in meson.build."""
    packages = ["libdpdk", "libfixbuf", "yaml-cpp", "spdlog", "fmt", "CLI11", "nlohmann_json", "libxxhash", "catch2"]
    flags = subprocess.run(["pkg-config", "--cflags", *packages], check=True, capture_output=True, text=True).stdout
    return [flag.replace("-I", "-isystem", 1) if flag.startswith("-I") else flag
            for flag in flags.split() if not flag.startswith("-march")]


def compile_only(compiler, text, *warnings):
    """Compiles a text for its diagnostics, which call it <stdin>; the result of the compiler's run."""
    command = [*compiler, "-std=c++20", "-march=x86-64-v3", "-fsyntax-only", *warnings, "-DRTE_USE_C11_MEM_MODEL",
               "-I", ROOT, *dependency_flags(), "-x", "c++", "-"]
    return subprocess.run(command, input=text, capture_output=True, text=True, cwd=ROOT)
