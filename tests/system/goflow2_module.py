# SPDX-License-Identifier: Apache-2.0
"""What tests use of goflow2: its schema, its kit for ClickHouse, and its decoder, in programs of tests/system/goflow2. Its
module comes through the Go proxy; the programs are built in the build folder."""
import json
import os
import re
import shutil
import subprocess
import unittest

import harness

MODULE = "github.com/netsampler/goflow2/v2"
SOURCE = os.path.join(harness.ROOT, "tests", "system", "goflow2")
BUILT = os.path.join(harness.BUILD, "collectors", "goflow2-programs")
FETCH_SECONDS, BUILD_SECONDS = 300, 300
# Words of go's about a proxy that does not answer or has not got it, and about a go that is too old for goflow2.
UNREACHED = re.compile(r"https?://|GOPROXY|go version|toolchain")


def go(*arguments, seconds, **environment):
    return subprocess.run(["go", *arguments], cwd=SOURCE, capture_output=True, text=True, timeout=seconds,
                          env={**os.environ, "GOFLAGS": "-mod=readonly -buildvcs=false", **environment})


def last_line(text):
    return (text.strip().splitlines() or ["no word of why"])[-1][:300]


def modules_in(text):
    """The objects that `go mod download -json` prints, one behind the other."""
    decoder, position = json.JSONDecoder(), 0
    while text[position:].strip():
        position += len(text[position:]) - len(text[position:].lstrip())
        module, position = decoder.raw_decode(text, position)
        yield module


def fetch():
    """The folder of goflow2's module. @throws unittest.SkipTest where Go is missing, or the proxy cannot be reached"""
    if shutil.which("go") is None:
        raise unittest.SkipTest("no goflow2: Go is missing")
    try:
        fetched = go("mod", "download", "-json", seconds=FETCH_SECONDS)
    except subprocess.TimeoutExpired:
        raise unittest.SkipTest("no goflow2: the Go proxy did not answer within %d s" % FETCH_SECONDS) from None
    modules = list(modules_in(fetched.stdout))
    if fetched.returncode == 0:
        return next(module["Dir"] for module in modules if module["Path"] == MODULE)
    faults = "\n".join([fetched.stderr, *(module["Error"] for module in modules if "Error" in module)])
    if UNREACHED.search(faults):
        raise unittest.SkipTest("no goflow2: " + last_line(faults))
    raise AssertionError("goflow2 cannot be fetched: " + faults)


def build(name):
    """The path of a program of tests/system/goflow2. It uses nothing but what fetch() has brought.
    @throws unittest.SkipTest as fetch() does  @throws AssertionError where it cannot be compiled"""
    fetch()
    program = os.path.join(BUILT, name)
    built = go("build", "-o", program, "./" + name, seconds=BUILD_SECONDS, GOPROXY="off")
    if built.returncode != 0:
        raise AssertionError("%s cannot be compiled: %s" % (name, built.stderr))
    return program
