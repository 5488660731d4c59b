#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`tributary` reads files of any exporter, and answers from any socket: time and memory in proportion to
the octets, no name that passes for another, no control sequences for a terminal."""
import contextlib
import itertools
import json
import os
import re
import resource
import socket
import struct
import subprocess
import threading
import time
import unittest

import harness

EX_DATAERR, EX_UNAVAILABLE, EX_PROTOCOL = 65, 69, 76
READERS = os.path.join(harness.SHARED, "findings", "readers")
HIDDEN = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]")

# Limits of a run: several times its need, and a small part of its former cost (15 s, 4.3 GB).
CPU_SECONDS = 5
MEBIBYTES = 160


def message(sets, domain=1):
    return struct.pack("!HHIII", 10, 16 + len(sets), 1_600_000_000, 0, domain) + sets


def ipfix_set(number, body):
    return struct.pack("!HH", number, 4 + len(body)) + body


def field(element, length, enterprise=None):
    if enterprise is None:
        return struct.pack("!HH", element, length)
    return struct.pack("!HHI", element | 0x8000, length, enterprise)


def template(number, *fields, scope=None):
    head = struct.pack("!HH", number, len(fields))
    return head + (b"" if scope is None else struct.pack("!H", scope)) + b"".join(fields)


TYPES = ipfix_set(3, template(300, field(346, 4), field(303, 2), field(339, 1), field(341, 65535), scope=2))


def description(enterprise, element, name, kind=1):
    """RFC 5610: an element's name; `kind` is its type, by default unsigned8."""
    length = bytes([len(name)]) if len(name) < 255 else b"\xff" + struct.pack("!H", len(name))
    return struct.pack("!IHB", enterprise, element, kind) + length + name


def descriptions(*told):
    return message(TYPES + ipfix_set(300, b"".join(told)))


def parts(items, most=60_000):
    """Octets of many items in as few chunks as fit into a message."""
    lump = b""
    for item in items:
        if len(lump) + len(item) > most:
            yield lump
            lump = b""
        lump += item
    yield lump


class StrangeCase(harness.TestCase):
    def list(self, path, *options, expect=harness.EX_OK):
        """Runs `tributary flows` within the limits; lines of output, lines of standard error."""
        def limit():
            resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
            resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 30, 1 << 30))

        out, err = self.path("out.txt"), self.path("err.txt")
        with open(out, "wb") as stdout, open(err, "wb") as stderr:
            child = subprocess.Popen([harness.TRIBUTARY, "flows", path, *options], stdout=stdout, stderr=stderr,
                                     preexec_fn=None if harness.SANITIZED else limit)
            _, status, usage = os.wait4(child.pid, 0)
            child.returncode = os.waitstatus_to_exitcode(status)
        with open(err, encoding="utf-8") as stream:
            complaints = stream.read().split("\n")
        self.assertEqual(child.returncode, expect, complaints[:5])
        if not harness.SANITIZED:
            self.assertLess(usage.ru_maxrss, MEBIBYTES * 1024, "memory")
        self.assertEqual(complaints.pop(), "")
        with open(out, encoding="utf-8") as stream:  # UTF-8, or this raises
            lines = stream.read().split("\n")
        for line in lines + complaints:
            self.assertIsNone(HIDDEN.search(line), repr(line))
        return lines[:-1], complaints

    def elements(self, path, **expected):
        """The data records of a file in JSON; each has every member once."""
        def unique(pairs):
            self.assertEqual(len(pairs), len({name for name, _ in pairs}), pairs)
            return dict(pairs)

        lines, _ = self.list(path, "--json", **expected)
        records = [json.loads(line, object_pairs_hook=unique) for line in lines]
        return [record for record in records if record["@type"] == "data"]


class Effort(StrangeCase):
    """The cost of a file is in proportion to its octets."""

    def both(self, octets, expect=harness.EX_OK):
        path = self.path("strange.ipfix", octets)
        table = self.list(path, expect=expect)
        for options in (["--json"], ["--sort", "rate"], ["--json", "--sort", "packets"]):
            self.list(path, *options, expect=expect)
        return table

    def test_a_name_that_is_long_in_templates_that_are_long(self):
        name = descriptions(description(1234, 5, b"n" * 65_000))
        layouts = [message(ipfix_set(2, template(256 + number, *[field(5, 1, 1234)] * 8000))) for number in range(8)]
        lines, complaints = self.both(name + b"".join(layouts) + message(ipfix_set(256, b"\x01" * 8000)))
        self.assertTrue(lines[-1].startswith("1 records, "), lines[-1])
        self.assertEqual(len(complaints), 1)
        self.assertIn("1 names of elements not taken, longer than 128 octets", complaints[0])

    def test_the_longest_name_in_many_records(self):
        name = descriptions(description(1234, 5, b"n" * 128))
        layout = message(ipfix_set(2, template(256, field(5, 1, 1234))))
        self.both(name + layout + message(ipfix_set(256, b"\x01" * 60_000)) * 2)

    def test_templates_that_are_withdrawn_all_at_once(self):
        for set_number, other in ((2, 3), (3, 2)):
            made = []
            for domain in range(20):
                layouts = (template(256 + number, field(4, 1), scope=1 if other == 3 else None) for number in range(8000))
                made += [message(ipfix_set(other, lump), domain) for lump in parts(layouts)]
            withdrawals = b"".join(message(ipfix_set(set_number, struct.pack("!HH", set_number, 0)), domain % 20)
                                   for domain in range(16_000))
            again = b"".join(message(ipfix_set(other, struct.pack("!HH", other, 0)), domain) for domain in range(20))
            with self.subTest(set_number):
                self.both(b"".join(made) + withdrawals + again + withdrawals)

    def test_fields_without_octets(self):
        layout = template(256, *[field(82, 0)] * 16_000, field(4, 1))
        data = message(ipfix_set(256, b"\x06" * 65_000))
        lines, _ = self.both(message(ipfix_set(2, layout)) + data)
        self.assertTrue(lines[-1].startswith("65000 records, "), lines[-1])

    def test_a_description_before_each_record_of_many_fields(self):
        layout = ipfix_set(2, template(256, *[field(82, 0)] * 8000, *[field(5, 0, 1234)] * 3000, field(5, 1, 1234)))
        sets = (ipfix_set(300, description(1234, 5, b"name%d" % (number % 7))) + ipfix_set(256, b"\x01")
                for number in range(30_000))
        lines, _ = self.both(message(layout) + message(TYPES) + b"".join(message(lump) for lump in parts(sets)))
        self.assertTrue(lines[-1].startswith("30000 records, "), lines[-1])

    def test_elements_that_are_ever_others(self):
        count = itertools.count(1000)
        layouts = [message(ipfix_set(2, template(256, *(field(1, 1, next(count)) for _ in range(8000))))) for _ in range(40)]
        good = message(ipfix_set(2, template(257, field(4, 1))) + ipfix_set(257, b"\x06"), 2)
        lines, complaints = self.both(b"".join(layouts) + good, expect=EX_DATAERR)
        self.assertTrue(lines[-1].startswith("1 records, "), lines[-1])
        self.assertRegex(complaints[-1], r"strange\.ipfix: message 9 at octet \d+: template 256 is beyond what is kept: ")

    def test_domains_that_are_ever_others(self):
        one = ipfix_set(2, template(256, field(4, 1)))
        lines, complaints = self.both(b"".join(message(one, domain) for domain in range(300_000)) + message(ipfix_set(256, b"\x06"), 7),
                                      expect=EX_DATAERR)
        self.assertTrue(lines[-1].startswith("1 records, "), lines[-1])
        self.assertIn("37856 templates refused", complaints[0])

    def test_names_that_are_ever_others(self):
        told = (description(1000 + number, 1, b"a name of forty octets, which is not long") for number in range(100_000))
        _, complaints = self.both(b"".join(message(TYPES + ipfix_set(300, lump)) for lump in parts(told)))
        self.assertIn("names of elements not taken", complaints[0])

    def test_a_reader_that_has_enough_is_no_fault(self):
        """Also if output is flushed while the program waits for the next records."""
        path = self.path("flows.ipfix")
        subprocess.run([harness.TRIBUTARYD, "--read", harness.DEMO, "--write", path], check=True, capture_output=True)
        command = 'for i in 1 2 3 4 5 6 7 8; do { head -c 3000 "$1"; sleep .05; tail -c +3001 "$1"; }'
        result = subprocess.run(["bash", "-c", command + ' | "$0" flows --json - | head -n 1 >/dev/null; '
                                 'echo ${PIPESTATUS[1]}; done', harness.TRIBUTARY, path],
                                capture_output=True, text=True, check=True)
        self.assertEqual((result.stdout, result.stderr), ("0\n" * 8, ""))

    def test_time_grows_with_the_file(self):
        """Twice the withdrawals take about twice the time, not four times."""
        def seconds(count):
            layouts = b"".join(message(ipfix_set(3, lump)) for lump in parts(
                template(256 + number, field(4, 1), scope=1) for number in range(count)))
            withdrawals = message(ipfix_set(2, struct.pack("!HH", 2, 0) * 15_000)) * (count // 10_000)
            path = self.path("grows.ipfix", layouts + withdrawals)
            best = 9.0
            for _ in range(3):
                before = os.times().children_user
                self.list(path)
                best = min(best, os.times().children_user - before)
            return best

        self.assertLess(seconds(60_000), 3 * seconds(30_000) + 0.1)


class Names(StrangeCase):
    """An exporter cannot change an element's name."""

    def test_members_of_ours_and_registered_names_are_nobody_elses(self):
        told = [(1, b"@type"), (2, b"octetDeltaCount"), (3, b"@domain"), (4, b"e1234id5"), (6, b"reverseOctetDeltaCount"),
                (7, b"same"), (8, b"same"), (9, b"a\xff"), (10, b"a\xfe"), (11, b"a\xef\xbf\xbd"), (12, b'q":1,"@type')]
        layout = template(256, field(1, 1), field(1, 1, 29305), field(5, 1, 1234), *(field(number, 1, 1234) for number, _ in told))
        path = self.path("names.ipfix", descriptions(*(description(1234, *each) for each in told)) +
                         message(ipfix_set(2, layout) + ipfix_set(256, bytes(range(1, 15)))))
        record, = self.elements(path)
        self.assertEqual((record["@type"], record["@domain"], record["octetDeltaCount"], record["reverseOctetDeltaCount"]),
                         ("data", 1, 1, 2))
        self.assertEqual((record["1234/@type"], record["1234/octetDeltaCount"], record["e1234id5"], record["1234/same"],
                          record["e1234id8"]), (4, 5, "03", 9, "0a"))
        self.assertEqual(len(record), 5 + 14)

    def test_records_are_named_when_they_come(self):
        """Elements of another enterprise have their names in every file, wherever they are described in it."""
        out, _, _ = self.meter("--read", harness.DEMO, "--set", "export.enterprise-number=4711", "--set",
                               "flows.tcp-analysis=true")
        with open(out, "rb") as source:
            octets = source.read()
        templates, rest = b"", b""
        while octets:
            length, domain = struct.unpack("!2xH8xI", octets[:16])
            sets, octets = octets[16:length], octets[length:]
            while sets:
                number, size = struct.unpack("!HH", sets[:4])
                if number < 256:
                    templates += message(sets[:size], domain)
                else:
                    rest += message(sets[:size], domain)
                sets = sets[size:]
        records = self.elements(self.path("reordered.ipfix", templates + rest))
        self.assertEqual(len(records), harness.DEMO_FLOWS)
        named = [record for record in records if "retransmissions" in record]
        self.assertGreater(len(named), 10)
        for record in records:
            self.assertEqual([name for name in record if re.match(r"e\d+id|\d+/", name)], [])
        lines, _ = self.list(self.path("reordered.ipfix"))
        self.assertIn("Retrans", lines[0])


class Terminal(StrangeCase):
    """No control sequence or hidden text of a file reaches a terminal."""

    EVIL = b"\x1b[2J\x1b]0;owned\x07\xc2\x9b31m\xe2\x80\xaeevil\n2nd line\r\xff"

    def test_a_name_in_a_fault(self):
        path = self.path("e\x1b[31m\u202evil.ipfix", descriptions(description(1234, 5, self.EVIL, 13)) +
                         message(ipfix_set(2, template(256, field(5, 65535, 1234))) + ipfix_set(256, b"\xff\xff\xff")))
        for options in ([], ["--json"]):
            _, complaints = self.list(path, *options, expect=EX_DATAERR)
            self.assertEqual(len(complaints), 1)
            self.assertIn(r"1234/\x1b[2J\x1b]0;owned\x07\u009b31m\u202eevil\x0a2nd line\x0d\xff needs 65535 octets",
                          complaints[0])
            self.assertIn(r"e\x1b[31m\u202evil.ipfix: message 2 at octet ", complaints[0])

    def test_text_and_names_in_json_keep_their_meaning(self):
        text = self.EVIL[:-1]
        layout = template(256, field(82, 65535), field(5, 65535, 1234), field(5, 65535, 1234))
        value = bytes([len(text)]) + text
        path = self.path("text.ipfix", descriptions(description(1234, 5, self.EVIL, 13)) +
                         message(ipfix_set(2, layout) + ipfix_set(256, value * 3)))
        record, = self.elements(path)
        self.assertEqual(record["interfaceName"], text.decode())
        self.assertEqual(record[r"1234/\x1b[2J\x1b]0;owned\x07\u009b31m\u202eevil\x0a2nd line\x0d\xff"], [text.decode()] * 2)

    def test_a_file_that_is_missing(self):
        _, complaints = self.list(self.path("no\x1b[2Jfile\n.ipfix"), expect=harness.EX_NOINPUT)
        self.assertEqual(len(complaints), 1)
        self.assertIn(r"no\x1b[2Jfile\x0a.ipfix: cannot open", complaints[0])

    def test_a_filter(self):
        _, complaints = self.list(harness.DEMO, "--filter", "host \x1b[2J", expect=harness.EX_USAGE)
        self.assertIn(r"found '\x1b[2J'", complaints[0])


class Answers(StrangeCase):
    """The server at a control socket may not be a tributaryd."""

    def ask(self, answer, *words, expect):
        """Runs a command of `tributary` against an answer of a server; its output and standard error."""
        path = self.path("control.sock")

        def serve(listener):
            connection, _ = listener.accept()
            with connection, contextlib.suppress(OSError):
                connection.recv(4096)
                for part in answer:
                    connection.sendall(part)

        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(path)
            listener.listen()
            thread = threading.Thread(target=serve, args=(listener,))
            thread.start()
            try:
                result = subprocess.run([harness.TRIBUTARY, *words, "--socket", path], capture_output=True, timeout=60)
            finally:
                thread.join()
        os.unlink(path)
        self.assertEqual(result.returncode, expect, result.stderr[:500])
        out, err = result.stdout.decode(), result.stderr.decode()
        for line in (out + err).split("\n"):
            self.assertIsNone(HIDDEN.search(line), repr(line[:200]))
        return out, err

    @staticmethod
    def parts(text):
        return [struct.pack("!I", len(text)) + text, b"\0\0\0\0ok"]

    def test_a_verdict_is_one_printable_line(self):
        for words in (["flush"], ["stats"], ["show", "flows"], ["top", "--count", "1"]):
            with self.subTest(words):
                _, err = self.ask([b"\0\0\0\0\x1b[2Jno\nsecond\xff"], *words, expect=EX_UNAVAILABLE)
                self.assertEqual(err, "tributary: \\x1b[2Jno\\x0asecond\\xff\n")

    def test_a_verdict_without_end_is_read_to_a_limit(self):
        _, err = self.ask([b"\0\0\0\0"] + [b"x" * 65_536] * 1000, "flush", expect=EX_UNAVAILABLE)
        self.assertLess(len(err), 5000)

    def test_what_an_answer_says_is_printable(self):
        out, _ = self.ask(self.parts(b"\x1b[2J1 flow\r ended\n"), "flush", expect=harness.EX_OK)
        self.assertEqual(out, "\\x1b[2J1 flow\\x0d ended\n")
        text = '{"a\u202eb": {"c": "\x9b31m"}}'.encode()
        out, _ = self.ask(self.parts(text), "stats", expect=harness.EX_OK)
        self.assertEqual(out, '"a\\u202eb'.replace('"', "") + '.c  "\\u009b31m"\n')
        out, _ = self.ask(self.parts(text), "stats", "--json", expect=harness.EX_OK)
        self.assertEqual(json.loads(out), json.loads(text))

    def test_a_probe_that_is_silent_ends_no_patience(self):
        """Before a connection is accepted, before the answer and within it."""
        for number, said in enumerate((None, b"", bytes(2), b"\0\0\1\0{")):
            with socket.socket(socket.AF_UNIX) as silent:
                path = self.path("silent%d.sock" % number)
                silent.bind(path)
                silent.listen(0)
                with contextlib.ExitStack() as clients:
                    if said is None:  # another client waits, and there is room for only one
                        clients.enter_context(socket.socket(socket.AF_UNIX)).connect(path)
                    asking = subprocess.Popen([harness.TRIBUTARY, "stats", "--socket", path, "--timeout", "1"],
                                              stderr=subprocess.PIPE, text=True)
                    if said is not None:
                        clients.enter_context(silent.accept()[0]).sendall(said)
                    began = time.monotonic()
                    _, error = asking.communicate(timeout=30)
                    self.assertLess(time.monotonic() - began, 10)
            self.assertEqual(asking.returncode, EX_UNAVAILABLE, error)
            self.assertIn("no answer for 1 s", error)

    def test_json_that_is_not_a_tributaryds(self):
        for text in (b"[" * 1_000_000, b'{"a":' * 100_000, b"[1e300]", b"[-9.3e18]"):
            for words in (["stats"], ["top", "--count", "1"]):
                with self.subTest((text[:10], words)):
                    _, err = self.ask(self.parts(text), *words, expect=EX_UNAVAILABLE)
                    self.assertEqual(err, "tributary: the answer is not a tributaryd's\n")
        for text in (b"[1,", b"", b"nonsense"):
            self.ask(self.parts(text) if text else [b"\0\0\0\0ok"], "stats", expect=EX_PROTOCOL)


@unittest.skipUnless(os.path.isdir(READERS), "the captures that are not part of the repository are missing")
class Findings(StrangeCase):
    def test_the_name_in_the_fault_is_escaped(self):
        _, complaints = self.list(os.path.join(READERS, "a_escape.ipfix"), expect=EX_DATAERR)
        self.assertEqual(len(complaints), 1)

    def test_the_member_stands_once(self):
        record, = self.elements(os.path.join(READERS, "e_at.ipfix"))
        self.assertEqual((record["@type"], record["protocolIdentifier"]), ("data", 6))

    def test_the_greatest_rate_is_first(self):
        lines, _ = self.list(os.path.join(READERS, "d_rate.ipfix"), "--sort", "rate", "--json")
        self.assertEqual([json.loads(line)["octetDeltaCount"] for line in lines], [2 ** 64 - 1, 5])


if __name__ == "__main__":
    harness.main()
