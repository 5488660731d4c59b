# SPDX-License-Identifier: Apache-2.0
"""Every C++ file is as clang-format-16 would write it."""
import shutil
import subprocess
import sys

import tree

if shutil.which("clang-format-16") is None:
    print("SKIP: clang-format-16 is not installed")
    sys.exit(77)
files = tree.sources(".hpp", ".cpp")
result = subprocess.run(["clang-format-16", "--dry-run", "-Werror", *files], cwd=tree.ROOT)
tree.report([] if result.returncode == 0 else ["run: clang-format-16 -i on these files"], files)
