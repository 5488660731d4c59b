# SPDX-License-Identifier: Apache-2.0
"""Prints tributaryd's ledger (--stats JSON) for a person: show_ledger.py FILE"""
import json
import sys


def show(name, value):
    if isinstance(value, dict):
        value = ", ".join("%s %s" % item for item in value.items() if item[1]) or "none"
    print("    %-18s %s" % (name.replace("_", " "), value))


with open(sys.argv[1]) as source:
    ledger = json.load(source)
for group in ("packets", "octets", "flows"):
    print("  " + group)
    for item in ledger[group].items():
        show(*item)
for number, queue in enumerate(ledger["queues"]):
    print("  queue %d: %s packets received, %s flows created"
          % (number, queue["packets"]["received"], queue["flows"]["created"]))
