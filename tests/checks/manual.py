# SPDX-License-Identifier: Apache-2.0
"""The manual pages: manual.py PAGE...; man and groff have nothing to say of them, and they know every option that the
README shows."""
import os
import re
import shutil
import subprocess
import sys

import tree

FORMATTERS = (["man", "--warnings", "-l"], ["groff", "-man", "-ww", "-Tutf8"])


def rendered(formatter, page):
    environment = {**os.environ, "LC_ALL": "C.UTF-8", "MANWIDTH": "80"}
    return subprocess.run([*formatter, page], capture_output=True, text=True, env=environment, timeout=60)


def page_faults(page):
    for formatter in FORMATTERS:
        result = rendered(formatter, page)
        if result.returncode != 0 or result.stderr or not result.stdout.strip():
            yield "%s: %s: exit code %d, %s" % (page, formatter[0], result.returncode, result.stderr.strip())


def option_faults(pages):
    """Options behind `tributaryd` and `tributary` in the README's commands must be in the manual page of that name."""
    texts = {os.path.basename(page).rsplit(".", 1)[0]: rendered(FORMATTERS[0], page).stdout for page in pages}
    commands = re.findall(r"(?<![\w/=])(tributaryd?) ([^`\n#]*)", tree.read("README.md"))
    shown = {(program, option) for program, words in commands for option in re.findall(r"(?<!\S)--?[a-z][\w-]*", words)}
    if len(shown) < 5:
        yield "README.md: hardly any option found: %s" % sorted(shown)
    for program, option in sorted(shown):
        if not re.search(r"(?<![\w-])%s(?![\w-])" % option, texts[program]):
            yield "README.md: %s has no option %s" % (program, option)


missing = [formatter[0] for formatter in FORMATTERS if shutil.which(formatter[0]) is None]
if missing:
    print("SKIP: not installed: " + " ".join(missing))
    sys.exit(77)
pages = sys.argv[1:]
tree.report([fault for page in pages for fault in page_faults(page)] + list(option_faults(pages)), pages)
