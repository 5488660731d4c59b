# SPDX-License-Identifier: Apache-2.0
"""A server of another make that a test starts, breaks and starts again, with its data in a folder of its own. Process and
folder are gone with the test, also where the test is killed."""
import ctypes
import os
import shutil
import signal
import subprocess
import tempfile

import harness

PR_SET_PDEATHSIG = 1
LIBC = ctypes.CDLL(None, use_errno=True)
# Runs beside the test, in a session of its own: its input ends with the test, however that ends, and the folder goes then.
# The server, which ends with the test too, may write its last for some time yet.
KEEPER = 'cat; for i in $(seq 100); do rm -rf "$0" 2>/dev/null && exit; sleep 0.1; done'


def end_with_parent():
    """Between fork and exec: the kernel kills this process when the thread that forked it ends."""
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


class ForeignServer:
    """A server on ports of the loopback address. A context: the server and its folder are gone after it. It is to be started
    by the main thread, since it ends with the thread that started it."""

    SECONDS_TO_START = 60

    def __init__(self, name):
        self.directory = tempfile.mkdtemp(prefix="tributary-%s-" % name)
        self.keeper = subprocess.Popen(["sh", "-c", KEEPER, self.directory], stdin=subprocess.PIPE, start_new_session=True)
        self.process, self.stopped = None, False

    def __enter__(self):
        try:
            self.start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_):
        self.close()

    def path(self, *names):
        return os.path.join(self.directory, *names)

    def command(self):
        """The command line that starts the server."""
        raise NotImplementedError

    def answers(self):
        """Whether the server does what it is for."""
        raise NotImplementedError

    def start(self):
        """Starts the server, on the data that is there, and waits until it answers."""
        self.launch()
        self.wait()

    def launch(self):
        with open(self.path("log"), "ab") as log:
            self.process = subprocess.Popen(self.command(), stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                            cwd=self.directory, preexec_fn=end_with_parent)

    def wait(self):
        def ready():
            if self.process.poll() is not None:
                raise AssertionError("%s ended with %d" % (self.command()[0], self.process.returncode))
            return self.answers()
        try:
            harness.wait_until(ready, self.SECONDS_TO_START, "an answer of " + type(self).__name__)
        except AssertionError as error:
            raise AssertionError("%s; the end of its log:\n%s" % (error, self.log()[-4000:])) from None

    def log(self):
        with open(self.path("log"), encoding="utf-8", errors="replace") as log:
            return log.read()

    def end(self, number, seconds):
        if self.process is None or self.process.poll() is not None:
            return
        self.process.send_signal(number)
        if self.stopped:
            self.resume()
        self.process.wait(seconds)

    def stop(self):
        """Ends it in order. The data stays."""
        self.end(signal.SIGTERM, 60)

    def kill(self):
        """Ends it as a fault of it does. What it wrote to the kernel stays."""
        self.end(signal.SIGKILL, 20)

    def pause(self):
        """From here on it answers nothing; its connections stay."""
        self.process.send_signal(signal.SIGSTOP)
        self.stopped = True

    def resume(self):
        self.process.send_signal(signal.SIGCONT)
        self.stopped = False

    def close(self):
        self.kill()
        shutil.rmtree(self.directory, ignore_errors=True)
        self.keeper.stdin.close()
        self.keeper.wait(30)
