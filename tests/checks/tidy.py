# SPDX-License-Identifier: Apache-2.0
"""clang-tidy-16 over the sources of a build with clang: tidy.py BUILD-DIRECTORY [--short] [PATH...]

PATH is a folder or a file below the root; without one every source is judged. --short leaves out the
analyzer and misc-const-correctness, which take a third of the time and more.
"""
import concurrent.futures
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

import tree

if shutil.which("clang-tidy-16") is None:
    print("SKIP: clang-tidy-16 is not installed")
    sys.exit(77)
build, paths = sys.argv[1], sys.argv[2:]
options = []
if "--short" in paths:
    paths.remove("--short")
    options.append("--checks=-clang-analyzer-*,-misc-const-correctness")


def each_source(entry):
    """A command that compiles several sources as one (meson's unity): a command for each of them."""
    file = os.path.join(entry["directory"], entry["file"])
    if "-unity" not in os.path.basename(file):
        return [entry]
    with open(file) as unity:
        sources = re.findall('^#include<(.*)>$', unity.read(), re.MULTILINE)
    assert sources, file
    return [{**entry, "file": source, "command": entry["command"].replace(entry["file"], source)} for source in sources]


# A source that several targets compile is in the database once for each, and clang-tidy would judge it as often.
with open(os.path.join(build, "compile_commands.json")) as database:
    commands = {}
    for compiled in json.load(database):
        for each in each_source(compiled):
            commands.setdefault(os.path.realpath(os.path.join(each["directory"], each["file"])), each)
wanted = [os.path.join(tree.ROOT, path) for path in paths or [""]]
files = sorted(file for file in commands if any(file == path or file.startswith(os.path.join(path, "")) for path in wanted))
faults = ["there is no " + path for path in wanted if not os.path.exists(path)]


def tidy(database, file):
    result = subprocess.run(["clang-tidy-16", "--quiet", "-p", database, *options, file], capture_output=True, text=True)
    return None if result.returncode == 0 else result.stdout + result.stderr


with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
    with open(os.path.join(folder, "compile_commands.json"), "w") as once:
        json.dump([commands[file] for file in files], once)
    faults += pool.map(lambda file: tidy(folder, file), files)
tree.report([fault for fault in faults if fault], files)
