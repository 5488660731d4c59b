#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The Debian package: its content and dependencies; and installed into a copy of this system that is gone after
the test (a file system over it, in a mount namespace), its scripts, units, manual pages, completion and programs."""
import contextlib
import functools
import glob
import json
import os
import re
import shutil
import subprocess
import tempfile
import unittest
import xml.etree.ElementTree

import harness

PROGRAMS = ("tributary", "tributaryd")
PAGES = ("man1/tributary.1", "man5/tributary.yaml.5", "man8/tributaryd.8")
UNITS = ("tributary.service", "tributary@.service", "tributary-hugepages@.service", "tributary-hugepages.target")
# DPDK's drivers, loaded at run time
DRIVERS = {"librte-meta-bus", "librte-meta-mempool", "librte-meta-net"}

# A system over this one. The package is installed without /proc, as into many a chroot.
OVER_THIS_SYSTEM = """
mount -t tmpfs tmpfs "$1" && cd "$1" && mkdir upper work root &&
mount -t overlay overlay -o "lowerdir=/,upperdir=$1/upper,workdir=$1/work" root || exit 77
for device in null zero urandom; do
    : >>"root/dev/$device"
    mount --bind "/dev/$device" "root/dev/$device" || exit 77
done
echo mounted
exec sleep 600
"""
ENVIRONMENT = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8", "MANWIDTH": "80"}


def run(*command, **options):
    return subprocess.run(command, capture_output=True, text=True, timeout=120, **options)


@functools.cache
def make_package():
    """Path of one package for all tests."""
    harness.need("dpkg-shlibdeps", "dpkg-deb", "meson")
    if not os.access(os.path.join(harness.BUILD, "meson-logs"), os.W_OK):
        raise unittest.SkipTest("meson wants to write a log into %s, and may not" % harness.BUILD)
    directory = tempfile.mkdtemp(prefix="tributary-package-")
    unittest.addModuleCleanup(shutil.rmtree, directory, ignore_errors=True)
    result = run(os.path.join(harness.ROOT, "tools", "package"), "--build", harness.BUILD, "--into", directory)
    if result.returncode != 0:
        raise AssertionError(result.stdout + result.stderr)
    package = result.stdout.splitlines()[-1]
    if os.listdir(directory) != [os.path.basename(package)]:
        raise AssertionError("%s is not all of %s" % (package, os.listdir(directory)))
    return package


def names_of_folder(*path, suffix):
    return [name for name in os.listdir(os.path.join(harness.ROOT, *path)) if name.endswith(suffix)]


def headings_of(text):
    """The anchors of a document's headings, as renderers of Markdown make them."""
    lines = re.findall(r"(?m)^#+ (.*)$", text)
    return {re.sub(r"[^\w -]", "", line.lower()).replace(" ", "-") for line in lines}


class PackageCase(harness.TestCase):
    def setUp(self):
        super().setUp()
        self.package = make_package()


class Contents(PackageCase):
    def test_name_and_version(self):
        result = run("dpkg-deb", "-f", self.package, "Package", "Version", "Architecture")
        fields = dict(line.split(": ") for line in result.stdout.splitlines())
        self.assertEqual(os.path.basename(self.package), "%(Package)s_%(Version)s_%(Architecture)s.deb" % fields)
        self.assertIn(" %s " % fields["Version"], self.tributaryd("--version").stdout)

    def test_files(self):
        documents = "usr/share/doc/tributary/"
        expected = {"usr/bin/" + program for program in PROGRAMS}
        expected |= {"usr/share/bash-completion/completions/" + program for program in PROGRAMS}
        expected |= {"usr/share/man/%s.gz" % page for page in PAGES}
        expected |= {"usr/lib/systemd/system/" + unit for unit in UNITS}
        expected |= {"usr/lib/sysusers.d/tributary.conf", "usr/lib/tmpfiles.d/tributary.conf",
                     "usr/lib/udev/rules.d/60-tributary.rules"}
        expected |= {"usr/share/tributary/" + name for name in (
            "tributary.rules.yaml", "grafana/tributary.json", "libfds/tributary.xml")}
        expected |= {documents + name for name in ("README.md", "changelog.gz", "copyright")}
        expected |= {documents + "docs/" + name for name in names_of_folder("docs", suffix=".md")}
        expected |= {documents + "docs/" + name for name in names_of_folder("docs", suffix=".proto")}
        expected |= {documents + "examples/" + name for name in names_of_folder("conf", "examples", suffix=".yaml")}
        expected |= {documents + "docs/monitoring/" + name for name in ("tributary.rules.yaml", "grafana/tributary.json")}
        expected |= {documents + os.path.relpath(os.path.join(folder, name), harness.ROOT)
                     for folder, _, names in os.walk(os.path.join(harness.ROOT, "docs", "fleet")) for name in names}
        expected |= {documents + os.path.relpath(path, harness.ROOT)
                     for path in glob.glob(os.path.join(harness.ROOT, "perf", "results", "*", "*.*"))
                     if path.endswith((".md", ".svg"))}
        files, directories = set(), set()
        for line in run("dpkg-deb", "-c", self.package).stdout.splitlines():
            mode, owner, *_, path = line.split(" -> ")[0].split()
            self.assertEqual(owner, "root/root", line)
            self.assertTrue(mode.startswith("l") or "w" not in mode[4:], line)
            (directories if mode.startswith("d") else files).add(path.removeprefix("./").rstrip("/"))
        self.assertEqual(files, expected)
        # No configuration: a probe without configured NICs must not run.
        self.assertEqual({path for path in directories if path.startswith("etc")}, {"etc", "etc/tributary"})
        self.assertNotEqual(run("dpkg-deb", "--info", self.package, "conffiles").returncode, 0)

    def test_links_of_its_documents_lead_to_something_in_it(self):
        run("dpkg-deb", "-x", self.package, self.directory, check=True)
        share = self.path("usr/share")
        documents = os.path.join(share, "doc", "tributary")
        links = 0
        for path in glob.glob(os.path.join(documents, "**", "*.md"), recursive=True):
            with open(path) as source:
                text = source.read()
            for link in re.findall(r"\]\(([^)\s]+)\)", text):
                if re.match(r"[a-z]+:", link):
                    continue
                file, _, heading = link.partition("#")
                target = os.path.realpath(os.path.join(os.path.dirname(path), file)) if file else path
                self.assertTrue(os.path.isfile(target) and target.startswith(share), "%s: %s" % (path, link))
                if heading:
                    with open(target) as source:
                        self.assertIn(heading, headings_of(source.read()), "%s: %s" % (path, link))
                links += 1
        self.assertGreater(links, 30)

    def test_elements_for_libfds_are_those_of_the_documents(self):
        run("dpkg-deb", "-x", self.package, self.directory, check=True)
        root = xml.etree.ElementTree.parse(self.path("usr/share/tributary/libfds/tributary.xml")).getroot()
        self.assertEqual(root.tag, "ipfix-elements")
        self.assertEqual([root.findtext("scope/" + tag) for tag in ("pen", "name")], ["32473", "tributary"])
        self.assertEqual(root.find("scope/biflow").attrib, {"mode": "split"})
        found = {(each.findtext("name"), int(each.findtext("id")), each.findtext("dataType"))
                 for each in root.findall("element")}
        self.assertEqual({each.findtext("status") for each in root.findall("element")}, {"current"})
        with open(os.path.join(harness.ROOT, "docs", "fields.md")) as source:
            documents = source.read()
        expected = set()
        for names, numbers, kind in re.findall(
                r"(?m)^\| ((?:`\w+`(?:, )?)+) \| ([0-9, ]+) \| ((?:unsigned\d+)|ipv[46]Address)[^|]*\|", documents):
            for name, number in zip(re.findall(r"\w+", names), re.findall(r"\d+", numbers), strict=True):
                expected.add((name, int(number), kind))
        expected = {each for each in expected if not each[0].endswith("_PKTS")}
        self.assertEqual(found, expected)
        self.assertEqual(len(found), 19)
        self.assertTrue(all(number < 1 << 14 for _, number, _ in found))  # bit 14 marks the reverse elements

    def test_dependencies_are_the_libraries_that_the_programs_need(self):
        harness.need("objdump", "ldd")
        depends = run("dpkg-deb", "-f", self.package, "Depends").stdout
        named = {re.match(r"[^ ]+", part).group() for part in depends.strip().split(", ")}
        self.assertLessEqual(DRIVERS, named)
        provides = []
        for program in (harness.TRIBUTARY, harness.TRIBUTARYD):
            libraries = set(re.findall(r"NEEDED +(\S+)", run("objdump", "-p", program).stdout))
            found = run("ldd", program).stdout
            self.assertGreater(len(libraries), 10)
            for library in libraries - {"ld-linux-x86-64.so.2"}:
                path = re.search(r"(?m)^\s*%s => (/\S+)" % re.escape(library), found).group(1)
                # It may be registered below /lib or below /usr/lib.
                owners = run("dpkg-query", "-S", "*/%s/%s" % tuple(path.split("/")[-2:])).stdout.splitlines()
                self.assertEqual(len(owners), 1, owners)
                provides.append(self.names_of(owners[0].split(":")[0]))
        self.assertEqual([names for names in provides if not names & named], [])
        self.assertEqual(named - DRIVERS - set().union(*provides), set())

    def names_of(self, library):
        """A package's own name and the names that it provides."""
        result = run("dpkg-query", "-W", "-f", "${Package}, ${Provides}", library)
        return set(re.findall(r"(?:^|, )([\w.+-]+)", result.stdout))


class Completion(PackageCase):
    def complete(self, *words):
        """bash's completions of the last word."""
        script = os.path.join("usr", "share", "bash-completion", "completions", words[0])
        if not os.path.exists(self.path(script)):
            run("dpkg-deb", "-x", self.package, self.directory, check=True)
        result = run("bash", "-uc", 'source "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); "_$1"; '
                     'printf "%s\\n" "${COMPREPLY[@]-}"', self.path(script), *words, cwd=self.directory)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        return result.stdout.split()

    def test_subcommands_and_options(self):
        self.assertEqual(self.complete("tributary", "pre"), ["preparse"])
        self.assertLessEqual({"flows", "preparse", "plan"}, set(self.complete("tributary", "")))
        self.assertEqual(self.complete("tributary", "flows", "--js"), ["--json"])
        self.assertEqual(self.complete("tributary", "plan", "--js"), [])
        self.assertEqual(self.complete("tributaryd", "--check"), ["--check-config"])

    def test_every_option_of_the_help(self):
        options = set(re.findall(r"(?<!\S)--?[a-z][\w-]*(?= )", self.tributaryd("--help").stdout))
        self.assertEqual(set(self.complete("tributaryd", "")), options)

    def test_values(self):
        self.path("one.yaml", "")
        self.path("two.pcap", "")
        self.assertEqual(self.complete("tributaryd", "--config", "on"), ["one.yaml"])
        self.assertEqual(self.complete("tributaryd", "--config", "=", "on"), ["one.yaml"])
        self.assertEqual(self.complete("tributaryd", "--read", "one.yaml", "tw"), ["two.pcap"])
        self.assertEqual(self.complete("tributary", "flows", "--json", "tw"), ["two.pcap"])
        self.assertEqual(self.complete("tributary", "flows", "--sort", "o"), ["octets", "out-of-order"])
        self.assertEqual(self.complete("tributaryd", "--log-level", "t"), ["trace"])
        self.assertEqual(self.complete("tributaryd", "--set", "inputs.0.que"), ["inputs.0.queues="])
        self.assertEqual(self.complete("tributaryd", "-i", ""), [])


class InstalledCase(PackageCase):
    """The package in a copy of this system."""

    def setUp(self):
        super().setUp()
        harness.need("unshare", "nsenter", root=True)
        stack = contextlib.ExitStack()
        self.addCleanup(stack.close)
        self.holder = stack.enter_context(harness.Process(
            "unshare", "--mount", "--propagation", "private", "sh", "-c", OVER_THIS_SYSTEM, "sh", self.directory))
        try:
            self.holder.wait_for_log("mounted", 10)
        except AssertionError as error:
            if self.holder.popen.poll() == 77:
                raise unittest.SkipTest("no file system can be laid over this one: " + str(error)) from None
            raise
        with open(self.package, "rb") as deb:
            self.inside("sh", "-c", "cat >/tributary.deb", input=deb.read(), text=False)
        self.dpkg("--install", "/tributary.deb")

    def enter_copy(self):
        """The front of a command for the copy of this system."""
        return [*self.enter_namespace(), "chroot", self.path("root")]

    def enter_namespace(self):
        """Its root is ours, even if the test itself runs in a chroot."""
        return ["nsenter", "--target", str(self.holder.popen.pid), "--mount", "--root"]

    def inside(self, *command, expect=0, **options):
        """Runs a command in the copy of this system."""
        options = {"text": True, "timeout": 120, **options}
        result = subprocess.run([*self.enter_copy(), *command], capture_output=True, env=ENVIRONMENT, **options)
        self.assertEqual(result.returncode, expect, (command, result.stdout, result.stderr))
        return result

    def dpkg(self, *arguments):
        """A warning of dpkg or a maintainer script is a fault. Small systems leave manuals and documents out."""
        result = self.inside("dpkg", "--no-triggers", "--path-include=/usr/share/*", *arguments)
        self.assertNotRegex(result.stderr, r"(?i)\b(error|warning)\b", arguments)

    def mount_proc(self):
        run(*self.enter_namespace(), "mount", "--rbind", "/proc", self.path("root/proc"), check=True)


class Installed(InstalledCase):
    def test_a_user_a_directory_and_nothing_that_runs(self):
        self.inside("id", "tributary")
        self.mount_proc()
        self.inside("systemd-tmpfiles", "--create", "tributary.conf")
        state = self.inside("stat", "-c", "%U %G %a", "/etc/tributary").stdout
        self.assertEqual(state, "root tributary 750\n")
        for unit in UNITS:
            if unit.endswith(".service"):
                self.assertEqual(self.inside("systemctl", "is-enabled", unit, expect=1).stdout, "disabled\n")

    def test_units_manual_and_programs(self):
        self.mount_proc()
        for unit in UNITS:
            path = "/usr/lib/systemd/system/" + unit.replace("@", "@0")
            result = self.inside("systemd-analyze", "verify", path)
            self.assertEqual(result.stdout + result.stderr, "", unit)
        for page in PAGES:
            result = self.inside("man", "--warnings", "-l", "/usr/share/man/%s.gz" % page)
            self.assertIn("NAME", result.stdout)
            self.assertEqual(result.stderr, "", page)
        with open(harness.DEMO, "rb") as capture:
            self.inside("sh", "-c", "cat >/demo.pcap", input=capture.read(), text=False)
        result = self.inside("/usr/bin/tributaryd", "--read", "/demo.pcap", "--write", "/demo.ipfix", "--stats", "-")
        ledger = json.loads(result.stdout)
        self.check_ledger(ledger)
        self.assertEqual((ledger["packets"]["received"], ledger["packets"]["metered"], ledger["octets"]["metered"],
                          ledger["flows"]["exported"]),
                         (harness.DEMO_FRAMES, harness.DEMO_PACKETS, harness.DEMO_OCTETS, harness.DEMO_FLOWS))
        records = self.inside("/usr/bin/tributary", "flows", "--json", "/demo.ipfix").stdout.splitlines()
        self.assertEqual(sum(json.loads(record)["@type"] == "data" for record in records), harness.DEMO_FLOWS)
        self.inside("/usr/bin/tributaryd", "--check-config", "--config",
                    "/usr/share/doc/tributary/examples/minimal.yaml")

    def test_what_removing_and_purging_leave(self):
        self.inside("systemctl", "enable", "tributary", "tributary@west", "tributary-hugepages@0")
        self.inside("sh", "-c", "echo >/etc/tributary/west.yaml")
        self.dpkg("--remove", "tributary")
        self.assertEqual(self.inside("find", "/etc/systemd/system", "-name", "*tributary*").stdout, "")
        self.inside("test", "-e", "/etc/tributary/west.yaml")
        self.inside("dpkg", "--no-triggers", "--purge", "tributary")
        self.inside("test", "-e", "/etc/tributary/west.yaml")    # the operator's
        self.dpkg("--install", "/tributary.deb")
        self.inside("rm", "/etc/tributary/west.yaml")
        self.dpkg("--purge", "tributary")
        self.inside("test", "-e", "/etc/tributary", expect=1)


if __name__ == "__main__":
    harness.main()
