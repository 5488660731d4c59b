# SPDX-License-Identifier: Apache-2.0
"""A terminal for full-screen programs, and its content."""
import os
import re
import subprocess
import time

import harness


class Screen:
    """A shell in a tmux server of its own."""

    def __init__(self, directory, columns=80, rows=24):
        harness.need("tmux")
        self.socket = os.path.join(directory, "tmux%dx%d.sock" % (columns, rows))
        settings = os.path.join(directory, "tmux.conf")
        with open(settings, "w") as out:
            out.write("set -g status off\nset -g default-terminal screen-256color\nset -s escape-time 0\n")
        self.environment = {**os.environ, "LC_ALL": "C.UTF-8", "TERM": "xterm"}
        self.tmux("-f", settings, "new-session", "-d", "-x", str(columns), "-y", str(rows),
                  "ulimit -c 0; exec env PS1='$ ' bash --norc --noprofile -i")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        subprocess.run(["tmux", "-S", self.socket, "kill-server"], capture_output=True, timeout=60)

    def tmux(self, *words):
        return subprocess.run(["tmux", "-S", self.socket, *words], capture_output=True, text=True, timeout=60, check=True,
                              env=self.environment).stdout

    def type(self, line):
        self.tmux("send-keys", "-l", line)
        self.press("Enter")

    def press(self, *keys):
        self.tmux("send-keys", *keys)

    def lines(self):
        return self.tmux("capture-pane", "-p").rstrip("\n").split("\n")

    def resize(self, columns, rows):
        self.tmux("resize-window", "-x", str(columns), "-y", str(rows))

    def wait_for(self, pattern, seconds=20):
        """@return  the lines of the first screen that has it and stays for two looks: a screen is drawn in parts"""
        deadline = time.monotonic() + seconds
        former = None
        while True:
            lines = self.lines()
            found = re.search(pattern, "\n".join(lines))
            if found and lines == former:
                return lines
            if time.monotonic() > deadline:
                raise AssertionError("no %r on the screen:\n%s" % (pattern, "\n".join(lines)))
            former = lines
            time.sleep(0.05)

    def wait_until(self, value, expected, seconds=20):
        """@return  value(lines) of the first screen with the expected value, or else of the last one"""
        deadline = time.monotonic() + seconds
        while True:
            got = value(self.lines())
            if got == expected or time.monotonic() > deadline:
                return got
            time.sleep(0.05)

    def modes(self):
        """Whether there is an alternate screen, whether there is a cursor, and the modes of the terminal."""
        flags, path = self.tmux("display-message", "-p", "#{alternate_on}#{cursor_flag}#{wrap_flag} #{pane_tty}").split()
        return flags, subprocess.run(["stty", "-a", "-F", path], capture_output=True, text=True, check=True).stdout
