#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`tributary top` in a terminal (tmux): whole screens against a control socket with fixed answers, its keys, what it leaves
behind at each way to end, a real probe that is started again under it, and one with a packet recorder."""
import os
import re
import shlex
import signal
import socket
import subprocess
import time

import harness
from control import ControlCase
from fake_probe import FakeProbe
from terminal_screen import Screen
from top_scene import STARTED, collector, figures, flows, ledger, recorder

SCREENS = os.path.join(harness.ROOT, "tests", "data", "top")


class TopCase(harness.TestCase):
    def setUp(self):
        super().setUp()
        self.socket = self.path("control.sock")

    def show(self, probe, step):
        probe.stats, probe.figures, probe.flows = ledger(step), figures(step), flows(step)

    def fake(self):
        probe = self.enterContext(FakeProbe(self.socket))
        self.show(probe, 1)
        return probe

    def screen(self, columns=80, rows=24):
        return self.enterContext(Screen(self.directory, columns, rows))

    def start(self, screen, *words):
        """With an interval of an hour, only Enter makes it look again."""
        self.command = shlex.join([harness.TRIBUTARY, "top", "--socket", self.socket,
                                   *(words or ("--interval", "3600"))])
        screen.type(self.command)
        return screen.wait_for("q quit")

    def look_again(self, screen, probe, step, pattern=None):
        self.show(probe, step)
        screen.press("Enter")
        return screen.wait_for(pattern or re.escape(time.strftime("%H:%M:%S UTC", time.gmtime(figures(step)["now"]))))

    def check_screen(self, name, screen):
        path = os.path.join(SCREENS, name + ".txt")
        if "TRIBUTARY_WRITE_SCREENS" in os.environ:
            with open(path, "w") as out:
                out.write("\n".join(screen.lines()) + "\n")
        with open(path) as source:
            expected = source.read().rstrip("\n").split("\n")
        self.assertEqual(screen.wait_until(list, expected), expected, name)


class Screens(TopCase):
    def test_screens_of_both_sizes(self):
        for columns, rows in ((80, 24), (120, 40)):
            with self.subTest(columns), FakeProbe(self.socket) as probe, Screen(self.directory, columns, rows) as screen:
                self.show(probe, 1)
                self.start(screen)
                self.check_screen("%dx%d_first" % (columns, rows), screen)
                self.look_again(screen, probe, 2)
                self.check_screen("%dx%d" % (columns, rows), screen)
                screen.press("h")
                screen.wait_for("share of a thread's time")
                self.check_screen("%dx%d_help" % (columns, rows), screen)

    def test_a_terminal_of_another_size_is_filled_at_once(self):
        probe, screen = self.fake(), self.screen()
        self.start(screen)
        self.look_again(screen, probe, 2)
        screen.resize(120, 40)
        screen.wait_for("every 3600 s")
        self.check_screen("120x40", screen)
        for columns, rows in ((30, 5), (1, 1), (200, 3)):
            screen.resize(columns, rows)
        screen.resize(80, 24)
        screen.wait_for("every 3600 s")
        self.check_screen("80x24", screen)

    def test_what_needs_a_look_stays_where_not_all_finds_room(self):
        probe, screen = self.fake(), self.screen()

        def show(step):
            probe.stats = ledger(step, queues=18, inputs=9, collectors=[
                collector("udp 192.0.2.%d:4739" % i, 100 * step, connected=int(i != 7)) for i in range(12)])
            probe.figures, probe.flows = figures(step, queues=18, inputs=9), flows(step)
        show(1)
        self.start(screen)
        show(2)
        screen.press("Enter")
        screen.wait_for("10:00:04 UTC")
        self.check_screen("80x24_crowded", screen)

    def test_a_recorder_has_its_rings_dumps_and_triggers(self):
        for columns, rows in ((80, 24), (120, 40)):
            with self.subTest(columns), FakeProbe(self.socket) as probe, Screen(self.directory, columns, rows) as screen:
                def show(step):
                    self.show(probe, step)
                    probe.stats["recorder"] = recorder(step, triggers=columns == 120)
                show(1)
                self.start(screen)
                show(2)
                screen.press("Enter")
                screen.wait_for("10:00:04 UTC")
                self.check_screen("%dx%d_recorder" % (columns, rows), screen)
                screen.press("h")
                screen.wait_for("share of a thread's time")
                self.check_screen("%dx%d_recorder_help" % (columns, rows), screen)


class Stats(TopCase):
    """`tributary stats`: the values that are not 0, so that it fits a screen; as a page, not a screen of its own."""

    def test_screens_of_both_sizes(self):
        for columns, rows in ((80, 24), (120, 40)):
            with self.subTest(columns), FakeProbe(self.socket) as probe, Screen(self.directory, columns, rows) as screen:
                probe.stats = ledger(2, queues=1, inputs=1)
                screen.type("clear; " + shlex.join([harness.TRIBUTARY, "stats", "--socket", self.socket]))
                screen.wait_for(r"(?s)queues.*\n\$$")
                self.check_screen("stats_%dx%d" % (columns, rows), screen)

    def test_all_has_the_rest(self):
        probe = self.fake()
        probe.stats = ledger(2, queues=1, inputs=1)
        lines, every = (subprocess.run([harness.TRIBUTARY, "stats", "--socket", self.socket, *words], capture_output=True,
                                       text=True, timeout=60, check=True).stdout.splitlines() for words in ([], ["--all"]))
        self.assertLess(set(lines), set(every))
        self.assertTrue(all(line.endswith("  0") or line.endswith("  0.0") for line in set(every) - set(lines)), every)
        self.assertIn("packets.nic_missed  unknown", lines)     # which is not 0


class Keys(TopCase):
    def flows_shown(self, lines):
        first = next((i for i, line in enumerate(lines) if line.startswith("FLOWS")), len(lines))
        return [(line.split() + [""])[1] for line in lines[first + 2:-1] if line]

    def test_flows_are_those_of_now_and_in_the_order_that_is_asked_for(self):
        probe, screen = self.fake(), self.screen(120, 40)
        self.start(screen)
        by_octets = ["203.0.113.100:53", "[2001:db8:1:2:3:4:5:6]:22", "192.0.2.7"]
        self.look_again(screen, probe, 2)
        self.assertEqual(screen.wait_until(self.flows_shown, by_octets), by_octets)
        for key, words, expected in (("p", "most packets/s over the last 2.0 s", [by_octets[1], by_octets[0], by_octets[2]]),
                                     ("o", "most octets so far", ["192.0.2.1:443", *by_octets]),
                                     ("r", "most bit/s over the last 2.0 s", by_octets)):
            screen.press(key)
            screen.wait_for(words)
            self.assertEqual(screen.wait_until(self.flows_shown, expected), expected)
        self.assertRegex("\n".join(screen.lines()), r"(?m)^TCP +\[2001\S+ \S+ +100 k +450 ")

    def test_pause_holds_the_picture_and_goes_on(self):
        probe, screen = self.fake(), self.screen()
        self.start(screen, "--interval", "1")
        screen.press("Space")
        shown = screen.wait_for("PAUSED")
        self.show(probe, 3)
        time.sleep(1.5)     # an interval and a half
        self.assertEqual(screen.lines(), shown)
        screen.press("o")   # keys work meanwhile
        screen.wait_for(r"\[o octets\]")
        screen.press("Space")
        screen.wait_for("10:00:06 UTC")
        screen.wait_for("every 1 s")

    def test_keys_are_obeyed_while_the_probe_is_silent(self):
        probe, screen = self.fake(), self.screen()
        self.start(screen)
        probe.silent = True
        screen.press("Enter", "o")
        screen.wait_for(r"\[o octets\]")
        screen.press("q")
        screen.wait_for(r"(?m)^\$$")

    def test_help_comes_and_goes(self):
        _, screen = self.fake(), self.screen()
        self.start(screen)
        screen.press("h")
        screen.wait_for("share of a thread's time")
        screen.press("h")
        screen.wait_for("COLLECTOR")


class Ends(TopCase):
    """The terminal is restored, and the exit status shows how it ended."""

    def setUp(self):
        super().setUp()
        self.probe, self.shell = self.fake(), self.screen()
        self.begin()
        self.flags, self.stty = self.shell.modes()

    def begin(self):
        self.shell.type("clear; echo before")
        self.shell.wait_for(r"\Abefore\n\$$")

    def check_end(self, status):
        self.shell.wait_for(r"(?m)^\$$")
        self.assertEqual(self.shell.modes(), (self.flags, self.stty))
        self.shell.type("echo status $?")
        lines = self.shell.wait_for(r"(?m)^status \d+$")
        self.assertIn("status %d" % status, lines)
        self.assertEqual(lines[0], "before")    # the former screen
        self.begin()

    def started(self):
        self.start(self.shell)
        self.assertEqual(self.shell.modes()[0], "100")
        shell = self.shell.tmux("display-message", "-p", "#{pane_pid}").strip()
        with open("/proc/%s/task/%s/children" % (shell, shell)) as children:
            return int(children.read())

    def test_q_and_signals(self):
        for key, status in (("q", 0), ("C-c", 130), ("C-\\", 131)):
            with self.subTest(key):
                self.started()
                self.shell.press(key)
                self.check_end(status)
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGSEGV, signal.SIGABRT):
            with self.subTest(number):
                os.kill(self.started(), number)
                self.check_end(128 + number)

    def test_stopped_and_continued(self):
        self.started()
        self.shell.press("C-z")
        self.shell.wait_for(r"Stopped(.|\n)*\n\$$")    # the shell waits for a line again
        self.assertEqual(self.shell.modes(), (self.flags, self.stty))
        self.shell.type("fg")
        self.shell.wait_for("q quit")
        self.assertEqual(self.shell.modes()[0], "100")
        self.shell.press("q")
        self.check_end(0)

    def test_in_the_background_it_draws_nothing_and_can_be_ended(self):
        pid = self.started()
        self.shell.press("C-z")
        self.shell.wait_for(r"Stopped(.|\n)*\n\$$")    # the shell waits for a line again
        self.shell.type("bg")
        time.sleep(0.5)     # time in which it would draw
        self.assertEqual(self.shell.modes(), (self.flags, self.stty))
        os.kill(pid, signal.SIGTERM)
        self.shell.type("wait -n")
        self.check_end(143)

    def test_the_last_of_so_many_looks_stays(self):
        self.command = shlex.join([harness.TRIBUTARY, "top", "--socket", self.socket, "--interval", "1", "--count", "1"])
        self.shell.type("clear; " + self.command)
        self.shell.wait_for("q quit")
        self.show(self.probe, 2)
        self.shell.wait_for(r"(?m)^\$$")
        self.assertIn("1.50 M packets/s", "\n".join(self.shell.lines()))

    def test_a_first_look_that_fails_is_told_on_the_screen_of_before(self):
        self.probe.refusal = {"stats": "not today"}
        self.shell.type(shlex.join([harness.TRIBUTARY, "top", "--socket", self.socket]))
        self.shell.wait_for("tributary: not today")
        self.check_end(69)

    def test_a_terminal_that_cannot_move_its_cursor_gets_pages(self):
        self.shell.type("TERM=dumb " + shlex.join(
            [harness.TRIBUTARY, "top", "--socket", self.socket, "--interval", "1", "--count", "1"]))
        self.shell.wait_for(r"(?m)^FLOWS  4 run")
        self.assertEqual(self.shell.modes()[0], self.flags)


class Bytes(TopCase):
    """The text of an answer that is not JSON does not reach the terminal unchanged."""

    def test_they_are_told_printable(self):
        for octets in (b'{"\xe2\x80\xae": ', b'{"\xc2\x9b31m": ', b"\xff\xfe", b'{"a": "\x1b[31m"}'):
            for words in (["stats"], ["top", "--count", "1"]):
                with self.subTest(octets=octets, words=words), FakeProbe(self.socket) as probe:
                    probe.raw_stats = octets
                    result = subprocess.run([harness.TRIBUTARY, *words, "--socket", self.socket], capture_output=True,
                                            timeout=60)
                    self.assertEqual(result.returncode, 76, result.stderr)
                    self.assertRegex(result.stderr, rb"\A[ -~]+\n\Z")


class Away(TopCase):
    def test_it_waits_for_the_probe_and_goes_on_with_the_next(self):
        screen = self.screen()
        with FakeProbe(self.socket) as probe:
            self.show(probe, 1)
            self.start(screen)
            self.look_again(screen, probe, 2)
        screen.press("Enter")
        lines = screen.wait_for("waiting for the probe for 0 s: ")
        self.assertRegex(" ".join(lines[1:4]), r"control\.sock: No such file or directory \(is tributaryd running")
        self.assertIn("1.50 M packets/s", "\n".join(lines))     # known values stay
        screen.wait_for("waiting for the probe for 2 s")
        with FakeProbe(self.socket) as probe:
            self.show(probe, 1)
            probe.figures["started"] += 273_600
            lines = screen.wait_for("up 2 s")                   # of itself
            self.assertIn("- packets/s", lines[1])              # counts of another process begin anew
            self.show(probe, 3)
            probe.figures["started"] += 273_600
            screen.press("Enter")
            screen.wait_for("1.50 M packets/s")

    def test_an_answer_that_is_none_is_waited_out(self):
        probe, screen = self.fake(), self.screen()
        self.start(screen)
        probe.figures = {"started": STARTED}
        screen.press("Enter")
        screen.wait_for("waiting for the probe for 0 s")
        self.look_again(screen, probe, 2, "1.50 M packets/s")

    def test_a_silent_probe_is_left_when_the_timeout_has_passed(self):
        probe, screen = self.fake(), self.screen()
        probe.silent = True
        begin = time.monotonic()
        screen.type(shlex.join([harness.TRIBUTARY, "top", "--socket", self.socket, "--timeout", "3"]))
        screen.wait_for("no answer for 3 s")
        self.assertAlmostEqual(time.monotonic() - begin, 3.5, delta=1)

    def test_it_can_be_ended_while_no_connection_is_taken(self):
        screen = self.screen()
        busy, waiting = (self.enterContext(socket.socket(socket.AF_UNIX)) for _ in range(2))
        busy.bind(self.socket)
        busy.listen(0)
        waiting.connect(self.socket)
        for key in ("q", "C-c"):
            with self.subTest(key):
                screen.type(shlex.join([harness.TRIBUTARY, "top", "--socket", self.socket]))
                screen.wait_until(lambda lines: "".join(lines), "")
                screen.press(key)
                screen.wait_for(r"(?m)^\$$", seconds=5)

    def test_flows_that_cannot_be_had_leave_the_rest(self):
        probe, screen = self.fake(), self.screen()
        self.start(screen)
        probe.refusal = {"flows": "thread in-0 does not answer"}
        lines = self.look_again(screen, probe, 2, "1.50 M packets/s")
        self.assertEqual(lines[1], "flows: thread in-0 does not answer")
        probe.refusal = {}
        self.assertNotIn("does not answer", "\n".join(self.look_again(screen, probe, 3)))


class Pages(TopCase):
    """With standard output that is no terminal; needs no tmux."""

    def pages(self, *words):
        return subprocess.run([harness.TRIBUTARY, "top", "--socket", self.socket, "--interval", "1", *words],
                              capture_output=True, text=True, timeout=60)

    def test_a_page_for_each_look_until_the_probe_has_gone(self):
        probe = self.fake()
        result = self.pages("--count", "2")
        self.assertEqual(result.returncode, harness.EX_OK, result.stderr)
        self.assertEqual(result.stdout.count("QUEUE "), 2)
        self.assertNotIn("\033", result.stdout)
        self.assertNotIn("q quit", result.stdout)
        probe.refusal = {"stats": "gone"}
        result = self.pages()
        self.assertEqual((result.returncode, result.stderr), (69, "tributary: gone\n"))


class RealProbe(ControlCase):
    def test_it_outlives_a_restart_of_the_probe(self):
        screen = self.enterContext(Screen(self.directory, 120, 40))
        link = self.path("here.sock")
        daemon = self.probe(more=",infinite_rx=1")
        os.symlink(daemon.control_socket, link)
        screen.type(shlex.join([harness.TRIBUTARY, "top", "--socket", link, "--interval", "1"]))
        lines = screen.wait_for(r"(?m)^(TCP|UDP) .* [1-9][\d.]* [kM] ")
        text = "\n".join(lines)
        version = subprocess.run([harness.TRIBUTARY, "--version"], capture_output=True, text=True).stdout.strip()
        self.assertRegex(text, r"\Atributary %s  up \d+ s  clock ok +\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC" % re.escape(version))
        self.assertRegex(text, r"(?m)^up/0 +[1-9][\d.]* [kM] +[1-9][\d.]* [kMG] +84 ")
        self.assertIn("FLOWS  84 run; most bit/s over the last 1.0 s", text)
        self.end(daemon)
        screen.wait_for("waiting for the probe for ")
        again = self.probe()
        os.unlink(link)
        os.symlink(again.control_socket, link)
        screen.wait_for(r"\Atributary .*\n[^w].*\n(.*\n)+up/0 .* 84 ")
        screen.press("q")
        screen.wait_for(r"(?m)^\$$")
        self.end(again)


class RealRecorder(harness.TestCase):
    """The recorder of a real probe, in pages of text."""

    CONFIG = """
        inputs: [{name: up, device: "net_pcap0,rx_pcap=%s,infinite_rx=1"}]
        flows: {max-flows: 4096}
        telemetry: {listen: ""}
        recorder: {memory: 16MiB, socket: %s, cutoff: 500, filter: "tcp or udp"}
        export: {collectors: [{transport: file, path: %s}]}
        """

    def setUp(self):
        super().setUp()
        self.enterContext(harness.huge_pages())
        self.socket = self.path("recorder.sock")

    def page(self, daemon):
        result = subprocess.run([harness.TRIBUTARY, "top", "--socket", daemon.control_socket, "--interval", "1", "--count", "1",
                                 "--flows", "0"], capture_output=True, text=True, timeout=60)
        self.assertEqual(result.returncode, harness.EX_OK, result.stderr + daemon.text())
        return result.stdout

    def dump(self, *words):
        return [harness.TRIBUTARY, "dump", "--socket", self.socket, "--write", self.path("dump.pcapng"), *words]

    def test_its_ring_and_its_dumps(self):
        config = self.CONFIG % (harness.DEMO, self.socket, self.path("out.ipfix"))
        daemon = self.enterContext(harness.Process(
            harness.TRIBUTARYD, "--config", self.path("probe.yaml", config), "--stats-interval", "0"))
        daemon.wait_for_log("ready: ")
        daemon.wait_for(lambda: daemon.stats()["recorder"]["overwritten"] > 0, 30, "a full ring")
        page = self.page(daemon)
        number = r" +[1-9][\d.]* [kMG]"
        self.assertRegex(page, r"(?m)^RECORDER +REACH  FRAMES/S  OCTETS/S      CUT   LEFT OUT/S\n"
                               r"up/0 +\d+ s" + number + number + r" +[1-9][\d.]* %" + number + "$")
        self.assertRegex(page, r"(?m)^LEFT OUT NOW  filtered [1-9][\d.]* [kM] frames/s$")
        self.assertIn("\nDUMPS  0 running  0 begun  0 whole  0 cut off  0 packets  0 overwritten\n", page)
        self.assertNotIn("TRIGGER", page)
        subprocess.run(self.dump("--last", "1s", "--filter", "port 53"), check=True, timeout=60)
        daemon.wait_for(lambda: daemon.stats()["recorder"]["dumps"]["whole"] == 1, 20, "the account of the dump")
        dumps = daemon.stats()["recorder"]["dumps"]
        self.assertGreater(dumps["packets"], 0)
        self.assertIn("\nDUMPS  0 running  1 begun  1 whole  0 cut off  %d packets  " % dumps["packets"], self.page(daemon))
        with subprocess.Popen(self.dump("--for", "1h", "--filter", "tcp port 1")) as client:
            harness.wait_until(lambda: daemon.stats()["recorder"]["dumps"]["begun"] == 2, 20, "the second dump")
            self.assertIn("\nDUMPS  1 running  2 begun  1 whole  0 cut off  ", self.page(daemon))
            client.send_signal(signal.SIGINT)
            self.assertEqual(client.wait(20), harness.EX_OK)
        self.assertEqual(daemon.end(), harness.EX_OK, daemon.text())


if __name__ == "__main__":
    harness.main()
