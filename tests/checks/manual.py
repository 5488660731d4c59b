# SPDX-License-Identifier: Apache-2.0
"""The manual pages: manual.py KEY-REFERENCE FIELD-REFERENCE PAGE...; man and groff have nothing to say of them, they know
every option that the documents show, and docs/configuration.md and docs/fields.md are what these programs write."""
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
    """Options behind `tributaryd` and `tributary` in the documents' commands must be in the manual page of that name."""
    texts = {os.path.basename(page).rsplit(".", 1)[0]: rendered(FORMATTERS[0], page).stdout for page in pages}
    shown = set()
    for path in tree.documents():
        # A command ends with its line, its code, a comment or a pipe; one may go on in the next line.
        commands = re.findall(r"(?<![\w/=.-])(?<!-u )(tributaryd?) ((?:\\\n|[^`\n#|])*)", tree.read(path))
        shown |= {(program, option, path) for program, words in commands
                  for option in re.findall(r"(?<!\S)--?[a-z][\w-]*", words)}
    if len(shown) < 20:
        yield "hardly any option found in the documents: %s" % sorted(shown)
    for program, option, path in sorted(shown):
        if not re.search(r"(?<![\w-])%s(?![\w-])" % option, texts[program]):
            yield "%s: %s has no option %s" % (path, program, option)


def reference_faults(program):
    examples = os.path.join(tree.ROOT, "conf", "examples")
    result = subprocess.run([program, examples], capture_output=True, text=True, timeout=60)
    if result.returncode != 0 or result.stdout != tree.read("docs/configuration.md"):
        yield "docs/configuration.md is not current: build/conf/key_reference conf/examples > docs/configuration.md"


def field_faults(program):
    page = os.path.join(tree.ROOT, "docs", "fields.md")
    result = subprocess.run([program, page], capture_output=True, text=True, timeout=60)
    if result.returncode != 0 or result.stdout != tree.read("docs/fields.md"):
        yield "docs/fields.md is not current: build/export/ipfix/field_reference docs/fields.md writes it anew"


key_reference, field_reference, *pages = sys.argv[1:]
faults = list(reference_faults(key_reference)) + list(field_faults(field_reference))
missing = [formatter[0] for formatter in FORMATTERS if shutil.which(formatter[0]) is None]
if missing and not faults:
    print("SKIP: not installed: " + " ".join(missing))
    sys.exit(77)
if not missing:
    faults += [fault for page in pages for fault in page_faults(page)] + list(option_faults(pages))
tree.report(faults, pages)
