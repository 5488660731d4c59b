#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Captures compressed by gzip, xz and zstd: the records of the plain file, named damage, bounded memory. tshark
unpacks by itself, and counts the frames."""
import gzip
import json
import lzma
import os
import shutil
import struct
import subprocess
import sys
import zlib

import harness

sys.path.insert(0, os.path.join(harness.ROOT, "tests", "golden"))
import frames  # noqa: E402

FRAMES = 3000


def some_frames():
    """Frames of many lengths, and some without IP."""
    for number in range(FRAMES):
        inside = frames.udp(1000 + number % 50, 53, bytes(number % 1400))
        yield frames.ether(frames.ipv4(inside, source="192.0.2.%d" % (number % 7))) if number % 100 else bytes(60)


def pcap_of(all_frames):
    parts = [struct.pack("<IHHIIII", 0xA1B2C3D4, 2, 4, 0, 0, 262144, 1)]
    for number, frame in enumerate(all_frames):
        parts.append(struct.pack("<IIII", 1_700_000_000 + number // 100, number % 100 * 10_000, len(frame), len(frame)))
        parts.append(frame)
    return b"".join(parts)


def pcapng_of(all_frames):
    def block(kind, body):
        body += bytes(-len(body) % 4)
        return struct.pack("<II", kind, len(body) + 12) + body + struct.pack("<I", len(body) + 12)
    parts = [block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1)), block(1, struct.pack("<HHI", 1, 0, 0))]
    for number, frame in enumerate(all_frames):
        microseconds = (1_700_000_000 + number // 100) * 1_000_000 + number % 100 * 10_000
        parts.append(block(6, struct.pack("<IIIII", 0, microseconds >> 32, microseconds & 0xFFFFFFFF, len(frame), len(frame)) + frame))
    return b"".join(parts)


def zstd(content, *options):
    harness.need("zstd")
    return subprocess.run(["zstd", "-qc", *options], input=content, stdout=subprocess.PIPE, check=True).stdout


COMPRESS = {"gzip": gzip.compress, "xz": lzma.compress, "zstd": zstd}


class Case(harness.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.frames = list(some_frames())
        cls.captures = {"pcap": pcap_of(cls.frames), "pcapng": pcapng_of(cls.frames)}

    def records(self, *captures, queues=1, expect=0):
        """The flows in a fixed order, the ledger, and the log."""
        out, ledger, result = self.meter("--read", *captures, "--set", "read.queues=%d" % queues, expect=expect)
        flows = sorted(json.dumps({name: value for name, value in record.items() if not name.startswith("@")}, sort_keys=True)
                       for record in self.flows(out))
        return flows, ledger, result.stderr

    def formats(self):
        for name in COMPRESS:
            if name != "zstd" or shutil.which("zstd"):
                yield name


class Whole(Case):
    def test_records_are_those_of_the_plain_file(self):
        for kind, capture in self.captures.items():
            plain, expected, _ = self.records(self.path("plain", capture))
            self.assertEqual(expected["packets"]["received"], FRAMES)
            for name in self.formats():
                path = self.path("packed", COMPRESS[name](capture))  # the name has no suffix
                for queues in (1, 3):
                    with self.subTest(kind, by=name, queues=queues):
                        flows, ledger, log = self.records(path, queues=queues)
                        self.assertEqual(flows, plain)
                        self.assertEqual((ledger["packets"], ledger["captures_cut"]), (expected["packets"], 0))
                        self.assertNotIn("warning", log)

    def test_tshark_counts_the_same_frames(self):
        harness.need("tshark")
        for kind, capture in self.captures.items():
            for name, suffix in (("gzip", ".gz"), ("zstd", ".zst")):
                if name not in self.formats():
                    continue
                path = self.path("capture.%s%s" % (kind, suffix), COMPRESS[name](capture))
                lines = subprocess.run(["tshark", "-r", path, "-T", "fields", "-e", "frame.number"], capture_output=True, text=True,
                                       check=True).stdout.splitlines()
                _, ledger, _ = self.records(path)
                self.assertEqual(ledger["packets"]["received"], len(lines))

    def test_through_a_pipe_and_as_standard_input(self):
        plain, _, _ = self.records(self.path("plain", self.captures["pcapng"]))
        for name in (*self.formats(), "not at all"):
            packed = COMPRESS.get(name, bytes)(self.captures["pcapng"])
            out = self.path("out.ipfix")
            for stdin in ("cat %s |", "<%s"):
                with self.subTest(name, stdin=stdin):
                    line = stdin % self.path("packed", packed) + " %s --read - --write %s" % (harness.TRIBUTARYD, out)
                    subprocess.run(["sh", "-c", line], check=True, stderr=subprocess.DEVNULL)
                    flows = sorted(json.dumps({name: value for name, value in record.items() if not name.startswith("@")},
                                              sort_keys=True) for record in self.flows(out))
                    self.assertEqual(flows, plain)

    def test_a_standard_input_that_was_read_before(self):
        """Another program has read the octets in front of the capture, up to its first octet."""
        capture, front = self.captures["pcap"], b"a line that another program has read\n"
        plain = self.records(self.path("plain", capture))[1]["packets"]["received"]
        for name in (*self.formats(), "not at all"):
            ledger = self.path("ledger.json")
            with self.subTest(name), open(self.path("behind", front + COMPRESS.get(name, bytes)(capture)), "rb") as stdin:
                os.lseek(stdin.fileno(), len(front), os.SEEK_SET)
                subprocess.run([harness.TRIBUTARYD, "--read", "-", "--write", self.path("out.ipfix"), "--stats", ledger],
                               stdin=stdin, check=True, stderr=subprocess.DEVNULL)
                with open(ledger, encoding="utf-8") as stats:
                    self.assertEqual(json.load(stats)["packets"]["received"], plain)

    def test_several_captures_are_one_stream_however_each_is_packed(self):
        third = FRAMES // 3
        whole, _, _ = self.records(self.path("plain", self.captures["pcap"]))
        full = self.captures["pcap"]
        header, at, cuts = full[:24], 24, []
        for number in range(FRAMES):
            if number % third == 0:
                cuts.append(at)
            at += 16 + struct.unpack_from("<I", full, at + 8)[0]
        parts = [header + full[start:end] for start, end in zip(cuts, [*cuts[1:], at])]
        packed = [self.path("0", gzip.compress(parts[0])), self.path("1", parts[1]), self.path("2", lzma.compress(parts[2]))]
        for queues in (1, 2):
            flows, ledger, log = self.records(*packed, queues=queues)
            self.assertEqual((flows, ledger["packets"]["received"]), (whole, FRAMES))
        _, ledger, log = self.records(packed[2], packed[0])  # the later capture first
        self.assertRegex(log, r"warning: .*/0: begins [0-9.]+ s before the captures in front of it end")

    def test_members_of_programs_that_compress_in_parallel(self):
        plain, _, _ = self.records(self.path("plain", self.captures["pcap"]))
        capture = self.captures["pcap"]
        half = len(capture) // 2
        many = {"gzip members and a tape's zeros": gzip.compress(capture[:half]) + gzip.compress(capture[half:]) + bytes(512),
                "xz streams with padding": lzma.compress(capture[:half]) + bytes(4) + lzma.compress(capture[half:])}
        if "zstd" in self.formats():
            many["zstd frames, one of them skipped"] = \
                b"\x51\x2A\x4D\x18\x03\0\0\0abc" + zstd(capture[:half]) + zstd(capture[half:], "-19", "--long=27")
        if shutil.which("pzstd"):
            many["pzstd"] = subprocess.run(["pzstd", "-qc", "-p", "3"], input=capture, stdout=subprocess.PIPE, check=True).stdout
        for name, packed in many.items():
            with self.subTest(name):
                flows, ledger, _ = self.records(self.path("packed", packed))
                self.assertEqual((flows, ledger["captures_cut"]), (plain, 0))

    def test_preparse_reads_them_too(self):
        sent = {}
        for name, content in (("plain", self.captures["pcap"]), ("packed", gzip.compress(self.captures["pcap"]))):
            subprocess.run([harness.TRIBUTARY, "preparse", "--read", self.path(name, content), "--write", self.path("out")],
                           check=True, capture_output=True, timeout=60)
            with open(self.path("out"), "rb") as out:
                sent[name] = out.read()
        self.assertEqual(sent["packed"], sent["plain"])
        cut = self.path("cut", gzip.compress(self.captures["pcap"])[:-100])
        result = subprocess.run([harness.TRIBUTARY, "preparse", "--read", cut, "--write", self.path("out")], capture_output=True,
                                text=True, timeout=60)
        self.assertEqual(result.returncode, 0)
        self.assertRegex(result.stderr, r"warning: .*/cut: gzip: the file is cut off, .*; what came before is sent")


class Damaged(Case):
    def check_cut(self, packed, reason, frames_at_most=FRAMES):
        """A damaged capture is metered up to the damage, which is logged and counted like that of a plain one."""
        _, ledger, log = self.records(self.path("damaged", packed))
        self.assertEqual(ledger["captures_cut"], 1)
        self.assertRegex(log, r"warning: .*/damaged: %s; what came before is metered" % reason)
        self.assertLessEqual(ledger["packets"]["received"], frames_at_most)
        return ledger["packets"]["received"]

    def test_a_cut_file(self):
        for kind, capture in self.captures.items():
            for name in self.formats():
                with self.subTest(kind, by=name):
                    packed = COMPRESS[name](capture)
                    cut = len(packed) * 3 // 4
                    place = "%s: the file is cut off, in front of octet %%d of the file" % name
                    got = self.check_cut(packed[:cut], place % cut, FRAMES - 1)
                    # The library's output for these octets, one by one in Python, has as many frames.
                    if name == "gzip":
                        unpacked = zlib.decompressobj(31).decompress(packed[:cut])
                        _, plain, _ = self.records(self.path("plain", unpacked))
                        self.assertEqual(got, plain["packets"]["received"])
                    # Without its last octet all frames of a file come, but its checksum is unknown.
                    self.assertGreaterEqual(self.check_cut(packed[:-1], place % (len(packed) - 1)), FRAMES - (name == "zstd"))

    def test_a_damaged_octet(self):
        for name in self.formats():
            packed = bytearray(COMPRESS[name](self.captures["pcap"]))
            packed[-len(packed) // 8] ^= 0x40  # in a later block of zstd
            with self.subTest(name):
                self.check_cut(bytes(packed), name + ": .*, in front of octet [0-9]+ of the file")

    def test_a_checksum_that_does_not_fit(self):
        packed = bytearray(gzip.compress(self.captures["pcap"]))
        packed[-6] ^= 1
        self.assertEqual(self.check_cut(bytes(packed), "gzip: incorrect data check, .*"), FRAMES)

    def test_something_else_behind_the_end(self):
        for name in self.formats():
            with self.subTest(name):
                packed = COMPRESS[name](self.captures["pcap"]) + b"something else"
                self.assertEqual(self.check_cut(packed, name + ": .*what follows its end is not %s, .*" % name), FRAMES)

    def test_the_next_capture_is_read_and_no_worker_waits_for_ever(self):
        packed = gzip.compress(self.captures["pcap"])
        cut, whole = self.path("cut", packed[:len(packed) // 2]), self.path("whole", packed)
        for queues in (1, 4):
            flows, ledger, _ = self.records(cut, whole, queues=queues)
            self.assertEqual(ledger["captures_cut"], 1)
            self.assertGreater(ledger["packets"]["received"], FRAMES)

    def test_what_is_no_capture_is_an_error(self):
        capture = self.captures["pcap"]
        cases = {"unpacked by gzip: too short for a capture file": gzip.compress(b""),
                 "unpacked by xz: not a pcap or pcapng file": lzma.compress(bytes(100)),
                 "gzip: the file is cut off, in front of octet 9 of the file": gzip.compress(capture)[:9],
                 "unpacked by xz: compressed twice, or not by gzip, xz or zstd; unpack it first":
                     lzma.compress(gzip.compress(capture)),
                 "compressed twice, or not by gzip, xz or zstd; unpack it first": b"BZh9" + bytes(100)}
        for reason, content in cases.items():
            with self.subTest(reason):
                result = self.tributaryd("--read", self.path("none", content), "--write", self.path("out.ipfix"),
                                         expect=harness.EX_NOINPUT)
                self.assertRegex(result.stderr, "error: .*/none: " + reason)


class Memory(Case):
    def peak(self, path, expect=0):
        """Highest memory in KiB."""
        run = subprocess.Popen([harness.TRIBUTARYD, "--read", path, "--write", self.path("out.ipfix"), "--set",
                                "flows.max-flows=4096"], stderr=subprocess.PIPE)
        run.stderr.read()
        _, status, usage = os.wait4(run.pid, 0)
        run.returncode = os.waitstatus_to_exitcode(status)
        run.stderr.close()
        self.assertEqual(run.returncode, expect)
        return usage.ru_maxrss

    def test_what_unpacks_to_very_much_takes_no_more_memory(self):
        """Members of zeros: no capture, frames without octets, and a frame with a length of 4 GiB."""
        header, zeros = self.captures["pcap"][:24], 1 << 24
        member = gzip.compress(bytes(zeros))
        ordinary = self.peak(self.path("ordinary", gzip.compress(self.captures["pcap"])))
        for name, begin, expect in (("none", b"", harness.EX_NOINPUT), ("frames", header, 0),
                                    ("long", header + struct.pack("<IIII", 1, 0, 0xFFFFFFF0, 0xFFFFFFF0), 0)):
            with self.subTest(name):
                bomb = self.path("bomb", gzip.compress(begin) + 30 * member)
                self.assertLess(os.path.getsize(bomb), 600_000)  # 500 million octets
                allowed = 64 << 10 if name == "long" else 8 << 10  # the buffer for the longest frame
                self.assertLess(self.peak(bomb, expect), ordinary + allowed)

    def test_what_wants_too_much_to_unpack_is_refused_by_name(self):
        cases = {"zstd: its window is larger than 128 MiB": b"\x28\xB5\x2F\xFD\x00\x90\x01\0\0"}
        for reason, content in cases.items():
            result = self.tributaryd("--read", self.path("large", content), "--write", self.path("out.ipfix"),
                                     expect=harness.EX_NOINPUT)
            self.assertRegex(result.stderr, "error: .*/large: " + reason)

    def test_a_dictionary_that_is_allowed(self):
        filters = [{"id": lzma.FILTER_LZMA2, "preset": 0, "dict_size": 64 << 20}]
        flows, _, _ = self.records(self.path("packed", lzma.compress(self.captures["pcap"], filters=filters)))
        self.assertEqual(flows, self.records(self.path("plain", self.captures["pcap"]))[0])


if __name__ == "__main__":
    harness.main()
