# SPDX-License-Identifier: Apache-2.0
"""clang-tidy-16 over every source of a build with clang: tidy.py BUILD-DIRECTORY [FOLDER...], or over those in some folders"""
import concurrent.futures
import json
import os
import shutil
import subprocess
import sys

import tree

if shutil.which("clang-tidy-16") is None:
    print("SKIP: clang-tidy-16 is not installed")
    sys.exit(77)
build = sys.argv[1]
with open(os.path.join(build, "compile_commands.json")) as database:
    files = sorted({os.path.realpath(os.path.join(entry["directory"], entry["file"])) for entry in json.load(database)})
folders = tuple(os.path.join(tree.ROOT, folder, "") for folder in sys.argv[2:] or [""])
files = [path for path in files if path.startswith(folders)]


def tidy(path):
    result = subprocess.run(["clang-tidy-16", "--quiet", "-p", build, path], capture_output=True, text=True)
    return None if result.returncode == 0 else result.stdout + result.stderr


with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
    tree.report([fault for fault in pool.map(tidy, files) if fault], files)
