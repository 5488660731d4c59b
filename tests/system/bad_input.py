#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Faults from outside give one clear line, the right exit code, and a ledger that still adds up."""
import itertools
import os
import re
import resource
import signal
import socket
import subprocess
import threading
import time
import unittest

import harness

CONFIG = """inputs:
  - {name: uplink, device: "af_packet:absent0"}
flows:
  max-flows: 1024
export:
  collectors:
    - {host: 127.0.0.1}
"""


class Configuration(harness.TestCase):
    def refuse(self, text, *patterns, arguments=()):
        """Both --check-config and a run refuse it; the run without touching the device, which does not exist."""
        path = self.path("probe.yaml", text)
        for mode in (["--check-config"], []):
            result = self.tributaryd("--config", path, *arguments, *mode, expect=harness.EX_CONFIG)
            message = result.stdout + result.stderr
            for pattern in patterns:
                self.assertRegex(message, pattern)
            self.assertNotIn("EAL", message)

    def test_a_source_address_that_is_none_is_named(self):
        self.refuse(CONFIG.replace("{host: 127.0.0.1}", "{host: 127.0.0.1, source-address: abc}"), r"probe\.yaml:7: ",
                    "source-address is abc", "IP address")

    def test_a_good_configuration_passes(self):
        self.tributaryd("--config", self.path("probe.yaml", CONFIG), "--check-config")

    def test_all_faults_are_told_in_one_run(self):
        path = self.path("many.yaml", "inputs: [{device: eth0}]\nlog: {level: loud}\nflows:\n\tmax-flows: few\n")
        for command in ([harness.TRIBUTARYD, "--check-config", "--config", path], [harness.TRIBUTARY, "check", path]):
            result = subprocess.run(command, capture_output=True, text=True, timeout=60)
            self.assertEqual(result.returncode, harness.EX_CONFIG)
            faults = [line.split("error: ")[1] for line in result.stderr.splitlines()]
            for fault, begin in itertools.zip_longest(faults, (
                    ":4: a tab indents this line", ":1: inputs.0.device is eth0; ", ":2: log.level is loud; ",
                    ":4: flows.max-flows is few; ", ":1: export.collectors is empty; ")):
                self.assertTrue(fault.startswith(path + begin), fault)

    def test_an_unknown_key_is_named_with_what_was_meant(self):
        self.refuse(CONFIG.replace("max-flows: 1024", "max-flow: 1024"), r"probe\.yaml:4\b", "max-flow", "max-flows")

    def test_a_duplicate_key_is_named(self):
        self.refuse(CONFIG.replace("  max-flows: 1024\n", "  max-flows: 1024\n  max-flows: 2048\n"),
                    r"probe\.yaml:5\b", "max-flows", "(?i)twice|duplicate|again")

    def test_a_value_out_of_range_is_named_with_its_limits(self):
        self.refuse(CONFIG.replace("1024", "0"), r"probe\.yaml:4\b", r"max-flows", r"\b1\b.*\b1073741824\b")
        self.refuse(CONFIG.replace("1024\n", "1024\n  idle-timeout: 2147483649\n"), r"probe\.yaml:5\b", "idle-timeout",
                    "2147483648")

    def test_a_value_of_the_wrong_type_is_named(self):
        self.refuse(CONFIG.replace("1024", "many"), r"probe\.yaml:4\b", "max-flows", "many")
        self.refuse(CONFIG.replace("1024", "[1024]"), r"probe\.yaml:4\b", "max-flows")
        self.refuse(CONFIG.replace("127.0.0.1}", "127.0.0.1, port: 70000}"), r"probe\.yaml:7\b", "port", "65535")

    def test_yaml_that_is_none_names_file_and_line(self):
        self.refuse("flows: {idle-timeout: 3\n", r"probe\.yaml:\d+")

    def test_a_bad_set_names_the_key(self):
        self.refuse(CONFIG, "idle-timeot", "idle-timeout", arguments=("--set", "flows.idle-timeot=3"))
        self.refuse(CONFIG, "idle-timeout", r"\b1\b", arguments=("--set", "flows.idle-timeout=0"))

    def test_a_missing_file_is_named(self):
        result = self.tributaryd("--config", self.path("absent.yaml"), "--check-config", expect=harness.EX_CONFIG)
        self.assertIn("absent.yaml", result.stderr)

    def test_a_device_that_is_not_there_is_named(self):
        path = self.path("probe.yaml", CONFIG)
        result = self.tributaryd("--config", path, expect=None)
        self.assertIn("absent0", result.stderr)

    def tributaryd(self, *arguments, expect=harness.EX_OK, timeout=120):
        if expect is not None:
            return super().tributaryd(*arguments, expect=expect, timeout=timeout)
        with harness.Process(harness.TRIBUTARYD, *arguments) as process:
            code = process.popen.wait(timeout)
            self.assertNotIn(code, (0, harness.EX_CONFIG, -signal.SIGABRT, -signal.SIGSEGV), process.text())
            process.stderr = process.text()
            return process


class CommandLine(harness.TestCase):
    def test_misuse_exits_64(self):
        for arguments in (["--no-such-option"], ["--read"], ["--read", harness.DEMO], ["--set", "novalue"],
                          ["-i", "net_null0"], ["--write", self.path("out")]):
            with self.subTest(arguments):
                self.assertNotEqual(self.tributaryd(*arguments, expect=harness.EX_USAGE).stderr, "")

    def test_a_word_that_is_no_command_of_tributary_is_named(self):
        result = subprocess.run([harness.TRIBUTARY, "flow", harness.DEMO], capture_output=True, text=True, check=False)
        self.assertEqual(result.returncode, harness.EX_USAGE)
        self.assertRegex(result.stderr, "^tributary: flow is no command; must be one of .*flows, .*check\n$")

    @unittest.skipIf(harness.SANITIZED, "a sanitizer's own memory is far beyond the limit")
    def test_too_little_memory_is_told_in_figures(self):
        command = [harness.TRIBUTARYD, "--read", harness.DEMO, "--write", self.path("out.ipfix"), "--set",
                   "flows.max-flows=100000000"]
        limit = 4 << 30
        result = subprocess.run(command, capture_output=True, text=True, check=False,
                                preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))
        self.assertEqual(result.returncode, harness.EX_OSERR, result.stderr)
        needed = int(re.search(r"not enough memory: .* needs (\d+) MiB; flows\.max-flows", result.stderr)[1])
        self.assertTrue(8000 < needed < 16000, result.stderr)  # 85 to 168 octets a flow

    def test_help_and_version_exit_0(self):
        self.assertIn("--read", self.tributaryd("--help").stdout)
        self.assertRegex(self.tributaryd("--version").stdout, r"\d+\.\d+")


class Captures(harness.TestCase):
    def test_without_a_first_capture_nothing_is_written_over(self):
        former = {name: "what a former run has written" for name in ("out", "stats.json", "flows.ipfix")}
        os.mkdir(self.path("folder"))
        os.mkfifo(self.path("pipe"))
        runs = [[harness.TRIBUTARYD, "--write", self.path("out")], [harness.TRIBUTARY, "preparse", "--write", self.path("out")],
                [harness.TRIBUTARYD, "-n", "127.0.0.1:4739", "--set",
                 "export.collectors=[{transport: file, path: %s}]" % self.path("flows.ipfix")]]
        for command in runs:
            for name, content in (("absent.pcap", None), ("folder", None), ("text.pcap", "no capture\n" * 10), ("empty.pcap", ""),
                                  ("damaged.gz", "\x1f"), ("/dev/stdin", None)):
                with self.subTest(command=command, name=name):
                    for kept, text in former.items():
                        self.path(kept, text)
                    capture = self.path(name, content) if content is not None else self.path(name)
                    result = subprocess.run([*command, "--read", capture, harness.DEMO, "--stats", self.path("stats.json")],
                                            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
                    self.assertEqual(result.returncode, harness.EX_NOINPUT, result.stderr)
                    self.assertRegex(result.stderr, "error: .*%s: " % name)
                    self.assertIn("captures given behind it are not read: 1", result.stderr)
                    for kept, text in former.items():
                        with open(self.path(kept)) as file:
                            self.assertEqual(file.read(), text)
        self.assertFalse([name for name in os.listdir(self.directory) if name.startswith("flows-")])

    def test_a_run_that_does_not_begin_leaves_no_file(self):
        self.tributaryd("--read", self.path("absent.pcap"), "--write", self.path("out"), "--stats", self.path("stats.json"),
                        expect=harness.EX_NOINPUT)
        self.assertEqual(os.listdir(self.directory), [])

    def test_a_signal_before_the_first_capture_leaves_the_output(self):
        os.mkfifo(self.path("pipe"))
        out = self.path("out", "what a former run has written")
        with harness.Process(harness.TRIBUTARYD, "--read", self.path("pipe"), "--write", out) as run:
            writer = os.open(self.path("pipe"), os.O_WRONLY)  # waits until it reads
            run.send(signal.SIGUSR1)
            self.assertEqual(run.end(signal.SIGINT), 128 + signal.SIGINT, run.text())
            os.close(writer)
            self.assertIn("SIGINT: stopping, before a capture was read", run.text())
        with open(out) as file:
            self.assertEqual(file.read(), "what a former run has written")

    def test_what_came_before_a_missing_capture_is_written(self):
        out, ledger, result = self.meter("--read", harness.DEMO, self.path("absent.pcap"), expect=harness.EX_NOINPUT)
        self.assertIn("absent.pcap", result.stderr)
        self.assertEqual(ledger["packets"]["received"], harness.DEMO_FRAMES)
        self.assertEqual(len(self.flows(out)), harness.DEMO_FLOWS)

    def test_captures_behind_a_missing_one_are_told_to_be_unread(self):
        _, ledger, result = self.meter("--read", harness.DEMO, self.path("absent.pcap"), harness.DEMO, harness.DEMO,
                                       expect=harness.EX_NOINPUT)
        self.assertIn("captures given behind it are not read: 2", result.stderr)
        self.assertEqual(ledger["packets"]["received"], harness.DEMO_FRAMES)

    def test_a_cache_that_is_too_small_is_warned_of(self):
        _, ledger, result = self.meter("--read", harness.DEMO, "--set", "flows.max-flows=1")
        evicted = ledger["flows"]["ended_by_reason"]["lack_of_resources"]
        self.assertGreater(evicted, 0)
        self.assertIn(f"{evicted} flow records ended early", result.stderr)
        _, ledger, result = self.meter("--read", harness.DEMO)
        self.assertNotIn("ended early", result.stderr)

    def test_a_cut_capture_is_a_warning(self):
        with open(harness.DEMO, "rb") as source:
            capture = source.read()
        cut = self.path("cut.pcap", capture[:-1])
        _, ledger, result = self.meter("--read", cut)
        self.assertEqual(ledger["packets"]["received"], harness.DEMO_FRAMES - 1)
        self.assertEqual(ledger["captures_cut"], 1)
        self.assertRegex(result.stderr, r"(?i)warn.*cut\.pcap")

    def test_an_output_that_is_a_capture_to_be_read_is_refused_and_kept(self):
        with open(harness.DEMO, "rb") as source:
            capture = source.read()
        path = self.path("only.pcap", capture)
        os.link(path, self.path("link.pcap"))
        for options in (["--write", path], ["--write", self.path("link.pcap")],
                        ["--write", self.path("out.ipfix"), "--stats", path]):
            result = self.tributaryd("--read", path, *options, expect=harness.EX_USAGE)
            self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)
            with open(path, "rb") as source:
                self.assertEqual(source.read(), capture)

    def test_a_signal_ends_the_wait_for_a_pipe(self):
        os.mkfifo(self.path("pipe"))
        daemon = harness.Process(harness.TRIBUTARYD, "--read", harness.DEMO, self.path("pipe"), "--write",
                                 self.path("out.ipfix"), "--stats", self.path("stats.json"))
        with daemon:
            # Signals are handled from before the opening of the output.
            harness.wait_until(lambda: os.path.exists(self.path("out.ipfix")), 10, "the output")
            daemon.wait_for_received(harness.DEMO_FRAMES)
            self.assertEqual(daemon.end(signal.SIGINT), 128 + signal.SIGINT, daemon.text())
        self.check_ledger(harness.read_json(self.path("stats.json")))
        self.assertEqual(len(self.flows(self.path("out.ipfix"))), harness.DEMO_FLOWS)

    def test_what_a_pipe_brought_before_a_signal_is_metered(self):
        os.mkfifo(self.path("pipe"))
        daemon = harness.Process(harness.TRIBUTARYD, "--read", self.path("pipe"), harness.DEMO, "--write",
                                 self.path("out.ipfix"), "--stats", self.path("stats.json"))
        with daemon, harness.filled_pipe(self.path("pipe"), harness.DEMO):
            self.assertEqual(daemon.end(signal.SIGINT), 128 + signal.SIGINT, daemon.text())
        ledger = harness.read_json(self.path("stats.json"))
        self.check_ledger(ledger)
        self.assertEqual(ledger["packets"]["received"], harness.DEMO_FRAMES)  # the next file was not opened
        self.assertEqual(len(self.flows(self.path("out.ipfix"))), harness.DEMO_FLOWS)

    def test_the_last_bytes_of_a_pipe_may_come_after_the_signal(self):
        os.mkfifo(self.path("pipe"))
        with open(harness.DEMO, "rb") as source:
            capture = source.read()
        first = self.path("first.pcap", capture[:5000])
        daemon = harness.Process(harness.TRIBUTARYD, "--read", self.path("pipe"), "--write", self.path("out.ipfix"),
                                 "--stats", self.path("stats.json"))
        with daemon:
            with harness.filled_pipe(self.path("pipe"), first) as pipe:
                daemon.send(signal.SIGINT)
                time.sleep(0.2)
                pipe.write(capture[5000:])
            self.assertEqual(daemon.popen.wait(60), 128 + signal.SIGINT, daemon.text())
        self.assertEqual(harness.read_json(self.path("stats.json"))["packets"]["received"], harness.DEMO_FRAMES)

    def test_a_pipe_that_never_pauses_is_left_after_a_signal(self):
        os.mkfifo(self.path("pipe"))
        daemon = harness.Process(harness.TRIBUTARYD, "--read", self.path("pipe"), "--write", self.path("out.ipfix"),
                                 "--stats", self.path("stats.json"))
        with daemon, harness.filled_pipe(self.path("pipe"), harness.DEMO) as pipe:
            daemon.send(signal.SIGINT)
            with self.assertRaises(BrokenPipeError):
                for _ in range(2000):  # 20 s
                    pipe.write(b"\xff" * 100)  # not the begin of a frame
                    time.sleep(0.01)
            self.assertEqual(daemon.popen.wait(60), 128 + signal.SIGINT, daemon.text())
        ledger = harness.read_json(self.path("stats.json"))
        self.check_ledger(ledger)
        self.assertEqual(ledger["packets"]["received"], harness.DEMO_FRAMES)

    def test_a_wish_for_statistics_beside_the_end_kills_nothing(self):
        os.mkfifo(self.path("pipe"))
        daemon = harness.Process(harness.TRIBUTARYD, "--read", self.path("pipe"), "--write", self.path("out.ipfix"))
        with daemon, harness.filled_pipe(self.path("pipe"), harness.DEMO):
            # Both are pending when it goes on, and SIGINT, with the lower number, is handled first.
            for number in (signal.SIGSTOP, signal.SIGUSR1, signal.SIGINT, signal.SIGCONT):
                daemon.send(number)
            self.assertEqual(daemon.popen.wait(60), 128 + signal.SIGINT, daemon.text())

    def test_stats_that_cannot_be_written_exit_74_at_once(self):
        result = self.tributaryd("--read", harness.DEMO, "--write", self.path("out.ipfix"), "--stats",
                                 self.path("no/such/folder"), expect=harness.EX_IOERR)
        self.assertIn("no/such/folder", result.stderr)
        self.assertFalse(os.path.exists(self.path("out.ipfix")))

    def test_closed_standard_streams_do_not_mix_the_log_into_the_output(self):
        out = self.path("out.ipfix")
        command = '"$0" --read "$1" --write "$2" <&- >&- 2>&-'
        subprocess.run(["sh", "-c", command, harness.TRIBUTARYD, harness.DEMO, out], check=True)
        self.assertEqual(len(self.flows(out)), harness.DEMO_FLOWS)

    def test_a_closed_standard_output_that_is_written_to_is_an_error(self):
        for words in (["--read", harness.DEMO, "--write", "-"], ["--help"],
                      ["--read", harness.DEMO, "--write", self.path("out.ipfix"), "--stats", "-"]):
            command = ["sh", "-c", '"$0" "$@" >&-', harness.TRIBUTARYD, *words]
            self.assertEqual(subprocess.run(command, stderr=subprocess.PIPE, check=False).returncode, harness.EX_IOERR, words)

    def test_nothing_is_written_over_what_is_read_or_over_something_else(self):
        capture, link, out = self.path("in.pcap"), self.path("link"), self.path("out")
        config = self.path("probe.yaml", "log: {file: %s}\n" % self.path("probe.log"))
        logs = ["--set", "log.file=" + self.path("log")]
        with open(harness.DEMO, "rb") as demo:
            octets = demo.read()
        os.symlink(self.path("not-there-yet"), link)
        for words in (["--set", "log.file=" + capture, "--write", out], ["--write", capture], ["--write", config],
                      ["--write", out, "--stats", config], [*logs, "--write", self.path("log")],
                      ["--write", self.path("probe.log")],
                      [*logs, "--write", out, "--stats", self.path("log")], ["--write", link, "--stats", self.path("not-there-yet")]):
            self.path("in.pcap", octets)
            result = self.tributaryd("--config", config, "--read", capture, *words, expect=harness.EX_USAGE)
            self.assertRegex(result.stderr, "are one file, .*/(in.pcap|probe.yaml|probe.log|log|link)")
            with open(capture, "rb") as kept:
                self.assertEqual(kept.read(), octets, words)
            self.assertFalse(os.path.exists(out), words)
        new = self.path("new")  # it is not there, and one of its names is relative
        for words in (["--write", new, "--stats", "new"], ["--write", "new", "--stats", new]):
            done = subprocess.run([harness.TRIBUTARYD, "--read", harness.DEMO, *words], cwd=os.path.dirname(new),
                                  capture_output=True, text=True)
            self.assertEqual(done.returncode, harness.EX_USAGE, done.stderr)
            self.assertFalse(os.path.exists(new))
        for words in (["--write", "/dev/null", "--stats", "/dev/null"], ["--write", out, "--set", "log.file=/dev/null"]):
            self.tributaryd("--read", capture, *words)

    def test_records_and_statistics_on_standard_output_are_refused(self):
        self.tributaryd("--read", harness.DEMO, "--write", "/dev/stdout", "--stats", "-", expect=harness.EX_USAGE)
        out, stats = self.path("out.ipfix"), self.path("stats.json")
        command = [harness.TRIBUTARYD, "--read", harness.DEMO, "--stats", "-", "--write"]
        with open(out, "wb") as stdout:
            result = subprocess.run([*command, out], stdout=stdout, stderr=subprocess.PIPE, check=False)
        self.assertEqual(result.returncode, harness.EX_USAGE, result.stderr)
        with open(stats, "wb") as stdout:
            subprocess.run([*command, out], stdout=stdout, check=True)
        self.assertEqual(len(self.flows(out)), harness.DEMO_FLOWS)
        self.check_ledger(harness.read_json(stats))

    def test_a_full_disk_exits_74_and_the_records_are_lost_by_name(self):
        stats = self.path("stats.json")
        result = self.tributaryd("--read", harness.DEMO, "--write", "/dev/full", "--stats", stats, expect=harness.EX_IOERR)
        self.assertEqual(len(re.findall("/dev/full", result.stderr)), 1, result.stderr)
        ledger = harness.read_json(stats)
        self.check_ledger(ledger)
        self.assertEqual((ledger["flows"]["created"], ledger["flows"]["lost"]), (harness.DEMO_FLOWS, harness.DEMO_FLOWS))

    def test_an_output_that_cannot_be_opened_exits_74(self):
        result = self.tributaryd("--read", harness.DEMO, "--write", self.path("absent/out.ipfix"), expect=harness.EX_IOERR)
        self.assertIn("absent/out.ipfix", result.stderr)


class Collectors(harness.DemoProbeCase):
    """Faulty collectors."""

    def test_a_closed_udp_collector_is_a_loss_with_a_name(self):
        ledger, log = self.run_live("-n", "127.0.0.1:%d" % harness.free_port())
        flows = ledger["flows"]
        self.assertEqual((flows["exported"], flows["lost"]), (0, flows["created"]))
        self.assertRegex(log, "nobody listens there")

    def test_an_absent_tcp_collector_is_a_loss_with_a_name(self):
        port = harness.free_port(socket.SOCK_STREAM)
        ledger, _ = self.run_live("-n", "127.0.0.1:%d" % port, "--set", "export.collectors.0.transport=tcp")
        flows = ledger["flows"]
        self.assertEqual((flows["exported"], flows["lost"]), (0, flows["created"]))

    def test_a_tcp_collector_that_closes_and_comes_back_gets_templates_first(self):
        with socket.create_server(("127.0.0.1", 0)) as server:
            server.settimeout(60)
            sessions = []

            def serve():
                while True:
                    try:
                        connection, _ = server.accept()
                    except OSError:
                        return
                    connection.settimeout(60)
                    first = connection.recv(65536)
                    sessions.append(first)
                    if len(sessions) == 1:
                        connection.close()  # in the middle: after the first bytes
                        continue
                    with connection:
                        while data := connection.recv(65536):
                            sessions[-1] += data

            thread = threading.Thread(target=serve)
            thread.start()
            try:
                ledger, _ = self.run_live(
                    "-n", "127.0.0.1:%d" % server.getsockname()[1], "--set", "export.collectors.0.transport=tcp",
                    before_end=lambda: harness.wait_until(lambda: len(sessions) > 1, 30, "a second connection"))
            finally:
                server.shutdown(socket.SHUT_RDWR)
                thread.join()
        self.assertGreater(ledger["flows"]["exported"], 0)
        for session in sessions:
            self.assertEqual(session[:2], b"\x00\x0a")       # IPFIX
            self.assertIn(session[16:18], (b"\x00\x02", b"\x00\x03"))    # templates come first


if __name__ == "__main__":
    harness.main()
