#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The interface of an input is deleted and made anew: it is taken again, and its account still adds up."""
import contextlib
import re
import resource
import subprocess
import threading
import time

import harness
import inputs
import telemetry


class Gone(inputs.InputCase):
    """The interface of an input is deleted, and may be made anew."""

    def ip(self, *arguments):
        subprocess.run(["ip", *arguments], check=True)

    def make_interface(self, name="trib0", peer="trib1"):
        self.ip("link", "add", name, "netns", self.probe, "type", "veth", "peer", "name", peer, "netns", self.sender)
        self.ip("-n", self.sender, "link", "set", peer, "up")
        self.ip("-n", self.probe, "link", "set", name, "up")
        # Carrier is up at once; the kernel reports it only from time to time.
        harness.wait_until(lambda: "LOWER_UP" in subprocess.run(
            ["ip", "-n", self.probe, "link", "show", name], capture_output=True, text=True, check=True).stdout, 10, "a link")

    def check_that_it_is_gone(self, daemon, name):
        """The log, /healthz, top and metrics report it."""
        daemon.wait_for_log(r"error: input %s: its device .* was removed" % name)
        daemon.wait_for(lambda: self.page("healthz")[0] == 503, 10, "its illness")
        self.assertRegex(self.page("healthz")[1], r"^input %s has no device: .* was removed\n$" % name)
        self.assertRegex(self.top(daemon), r"(?m)^%s +gone " % name)
        families = self.metrics()
        self.assertEqual(telemetry.total(families, "tributary_input_gone", input=name), 1)
        self.assertEqual(telemetry.total(families, "tributary_input_link_up", input=name), 0)

    def check_that_it_is_well(self, daemon, name):
        daemon.wait_for(lambda: self.page("healthz") == (200, "ok\n"), 10, "its recovery")
        families = self.metrics()
        self.assertEqual(telemetry.total(families, "tributary_input_gone", input=name), 0)

    def test_an_interface_that_is_made_anew_is_taken(self):
        daemon = self.start(("af_packet:trib0", 2))
        self.send("trib1", 500)
        daemon.wait_for_received(500)
        self.check_that_it_is_well(daemon, "a")
        self.ip("-n", self.probe, "link", "del", "trib0")
        self.check_that_it_is_gone(daemon, "a")
        self.make_interface()
        daemon.wait_for_log("input a: the new interface trib0 is taken")
        self.send("trib1", 700)
        daemon.wait_for_received(1200)
        self.check_that_it_is_well(daemon, "a")
        self.assertRegex(self.top(daemon), r"(?m)^a +up ")
        ledger = self.end(daemon)
        self.assertEqual((ledger["packets"]["received"], ledger["packets"]["nic_missed"]), (1200, 0))

    def test_interfaces_that_follow_each_other_are_each_taken(self):
        """An interface that lasts a third of a second after the former is not missed."""
        daemon = self.start("af_packet:trib0")
        for _ in range(4):
            time.sleep(0.3)
            self.send("trib1", 500)
            self.ip("-n", self.probe, "link", "del", "trib0")
            self.make_interface()
        time.sleep(0.3)
        self.send("trib1", 500)
        daemon.wait_for(lambda: self.received_and_missed(daemon) == 2500, 30, "every frame")
        self.assertEqual(len(re.findall("the new interface trib0 is taken", daemon.text())), 4)
        self.end(daemon)

    @staticmethod
    def received_and_missed(daemon):
        packets = daemon.stats()["packets"]
        return packets["received"] + (packets["nic_missed"] or 0)

    @contextlib.contextmanager
    def sending(self, interface="trib1"):
        """Sends some 5000 frames a second. @return a function that ends it and returns their number"""
        frames, is_over, sent = [inputs.frame(number) for number in range(1000)], threading.Event(), [0]
        sender = inputs.raw_socket(self.sender, interface)

        def run():
            while not is_over.is_set():
                sender.send(frames[sent[0] % 1000])
                sent[0] += 1
                time.sleep(0.0001)
        thread = threading.Thread(target=run)

        def end():
            is_over.set()
            thread.join()
            return sent[0]
        try:
            thread.start()
            yield end
        finally:
            end()
            sender.close()

    def check_take_over_while_sending(self, *devices):
        """Several times: each sent packet is received or missed, none twice, none forgotten."""
        daemon = self.start(*devices)
        sent = 0
        for life in range(1, 4):
            self.ip("-n", self.probe, "link", "del", "trib0")
            daemon.wait_for(lambda: len(re.findall("its device .* was removed", daemon.text())) == life * len(devices), 10,
                            "the removal")
            with contextlib.ExitStack() as stack:
                with inputs.stopped(daemon):
                    self.make_interface()
                    end = stack.enter_context(self.sending())
                    time.sleep(0.05)
                daemon.wait_for(lambda: daemon.text().count("the new interface trib0 is taken") == life * len(devices), 10,
                                "the new interface")
                time.sleep(0.1)
                sent += end()
            packets = lambda: daemon.stats()["packets"]
        ledger = self.end(daemon)["packets"]
        self.assertEqual(ledger["received"] + ledger["nic_missed"], sent, ledger)
        return ledger

    def test_what_comes_while_an_interface_is_taken_is_received_or_missed(self):
        ledger = self.check_take_over_while_sending("af_packet:trib0")
        self.assertGreater(ledger["received"], 0)

    def test_af_xdp_takes_a_new_interface_while_packets_come(self):
        """Its sockets do not count their packets: the interface does."""
        self.make_interface("q0", "q1")
        daemon = self.start_or_skip_af_xdp("q0")
        with contextlib.ExitStack() as stack:
            with inputs.stopped(daemon):
                self.ip("-n", self.probe, "link", "del", "q0")
                self.make_interface("q0", "q1")
                end = stack.enter_context(self.sending("q1"))
                time.sleep(0.05)
            daemon.wait_for_log("the new interface q0 is taken")
            time.sleep(0.1)
            sent = end()
        packets = lambda: daemon.stats()["packets"]
        daemon.wait_for(lambda: packets()["received"] + packets()["nic_missed"] >= sent, 10, "the packets")
        ledger = self.end(daemon)["packets"]
        self.assertEqual(ledger["received"] + ledger["nic_missed"], sent)
        self.assertGreater(ledger["nic_missed"], 0)

    def test_what_two_inputs_of_an_interface_have_not_got_is_missed_once(self):
        """Each packet would have been for one of the sockets."""
        daemon = self.start("af_packet:trib0", "net_af_packet9,iface=trib0,qpairs=1,blocksz=65536,framesz=2048,framecnt=%d"
                            % inputs.RING_FRAMES)
        with inputs.stopped(daemon):
            self.ip("-n", self.probe, "link", "del", "trib0")
            self.make_interface()
            self.send("trib1", 50)
        daemon.wait_for_log("(?s)the new interface trib0 is taken.*the new interface trib0 is taken")
        self.send("trib1", 100)
        daemon.wait_for_received(100)
        ledger = self.end(daemon)
        self.assertEqual(ledger["packets"]["nic_missed"], 50)

    def test_an_interface_that_is_away_again_was_not_refused(self):
        """It is refused: no room for the rings. Only 10 s of refusals without a break end the probe."""
        daemon = self.start("af_packet:trib0")
        self.ip("-n", self.probe, "link", "del", "trib0")
        daemon.wait_for_log("its device .* was removed")
        limits = resource.prlimit(daemon.popen.pid, resource.RLIMIT_AS)
        with open("/proc/%d/statm" % daemon.popen.pid) as source:
            octets = int(source.read().split()[0]) * resource.getpagesize()
        resource.prlimit(daemon.popen.pid, resource.RLIMIT_AS, (octets - inputs.RING_FRAMES * 2048, limits[1]))
        self.make_interface()
        daemon.wait_for_log("trib0 is there again and can't be taken")
        refused = time.monotonic()
        self.ip("-n", self.probe, "link", "del", "trib0")
        time.sleep(0.5)     # it checks every 20 ms
        resource.prlimit(daemon.popen.pid, resource.RLIMIT_AS, limits)
        with self.assertRaises(subprocess.TimeoutExpired):
            daemon.popen.wait(refused + 11.5 - time.monotonic())
        self.make_interface()
        daemon.wait_for_log("the new interface trib0 is taken")
        self.send("trib1", 100)
        daemon.wait_for_received(100)
        self.assertEqual(self.end(daemon)["packets"]["nic_missed"], 0)

    def test_what_came_before_a_new_interface_was_taken_is_missed(self):
        """So are the packets missed in its former life and in this one. It has its old index."""
        index = subprocess.run(["ip", "netns", "exec", self.probe, "cat", "/sys/class/net/trib0/ifindex"],
                               capture_output=True, text=True).stdout.strip()
        daemon = self.start("af_packet:trib0")
        with inputs.stopped(daemon):
            self.send("trib1", inputs.RING_FRAMES + 100)
            self.ip("-n", self.probe, "link", "del", "trib0")
            self.ip("link", "add", "trib0", "netns", self.probe, *(["index", index] if index else []), "type", "veth",
                    "peer", "name", "trib1", "netns", self.sender)
            self.ip("-n", self.sender, "link", "set", "trib1", "up")
            self.ip("-n", self.probe, "link", "set", "trib0", "up")
            self.send("trib1", 50)
        daemon.wait_for_log("input a: the new interface trib0 is taken")
        with inputs.stopped(daemon):
            self.send("trib1", inputs.RING_FRAMES + 7)
        daemon.wait_for(lambda: daemon.stats()["packets"]["received"] == 2 * inputs.RING_FRAMES, 30, "both rings")
        ledger = self.end(daemon)
        self.assertEqual((ledger["packets"]["received"], ledger["packets"]["nic_missed"]), (2 * inputs.RING_FRAMES, 157))
        self.assertEqual(ledger["queues"][0]["packets"]["nic_queue_errors"], 107)

    def test_an_interface_in_another_namespace_is_gone_and_others_go_on(self):
        self.make_interface("trib2", "trib3")
        daemon = self.start("af_packet:trib0", "af_packet:trib2")
        self.ip("-n", self.probe, "link", "set", "trib0", "netns", self.sender)
        self.check_that_it_is_gone(daemon, "a")
        self.send("trib3", 300)
        daemon.wait_for_received(300)
        self.ip("-n", self.sender, "link", "set", "trib0", "netns", self.probe)
        self.ip("-n", self.probe, "link", "set", "trib0", "up")
        daemon.wait_for_log("input a: the new interface trib0 is taken")
        self.send("trib1", 200)
        daemon.wait_for_received(500)
        self.check_that_it_is_well(daemon, "a")
        ledger = self.end(daemon)
        self.assertEqual([queue["packets"]["received"] for queue in ledger["queues"]], [200, 300])

    def test_a_new_name_is_no_new_interface(self):
        daemon = self.start("af_packet:trib0")
        self.ip("-n", self.probe, "link", "set", "trib0", "down")
        daemon.wait_for_log("input a: link down")
        self.assertRegex(self.top(daemon), r"(?m)^a +down ")
        self.ip("-n", self.probe, "link", "set", "trib0", "name", "other0")
        self.ip("-n", self.probe, "link", "set", "other0", "up")
        daemon.wait_for_log("(?s)link down.*link up")
        self.send("trib1", 100)
        daemon.wait_for_received(100)
        self.check_that_it_is_well(daemon, "a")
        self.end(daemon)

    def test_a_device_that_cannot_be_taken_again_ends_the_probe(self):
        daemon = self.start("net_tap0,iface=trib2")
        self.send("trib2", 100, self.probe)
        daemon.wait_for_received(100)
        self.ip("-n", self.probe, "link", "del", "trib2")
        self.assertEqual(daemon.popen.wait(60), 69, daemon.text())
        self.assertIn("error: no input is left: stopping, with exit code 69", daemon.text())
        ledger = harness.read_json(self.path("stats.json"))
        self.check_ledger(ledger)
        self.assertEqual((ledger["packets"]["received"], ledger["flows"]["exported"]), (100, 100))
        self.assertEqual(len(self.flows(self.path("flows.ipfix"))), 100)

    def preparse(self, device):
        daemon = self.enter(harness.Process(
            harness.TRIBUTARY, "preparse", "--from", device, "--write", self.path("uh.pcap"), "--stats",
            self.path("stats.json"), namespace=self.probe))
        daemon.wait_for_log("ready: ")
        return daemon

    def test_preparse_takes_a_new_interface_too(self):
        daemon = self.preparse("af_packet:trib0")
        self.ip("-n", self.probe, "link", "del", "trib0")
        daemon.wait_for_log("its device .* was removed")
        self.make_interface()
        daemon.wait_for_log("the new interface trib0 is taken")
        self.send("trib1", 300)
        daemon.wait_for_received(300)
        self.assertEqual(daemon.end(), harness.EX_OK, daemon.text())
        packets = harness.read_json(self.path("stats.json"))["packets"]
        self.assertEqual((packets["received"], packets["sent"], packets["nic_missed"]), (300, 300, 0))

    def test_preparse_ends_where_it_cannot(self):
        daemon = self.preparse("net_tap0,iface=trib2")
        self.ip("-n", self.probe, "link", "del", "trib2")
        self.assertEqual(daemon.popen.wait(60), 69, daemon.text())
        self.assertIsNone(harness.read_json(self.path("stats.json"))["packets"]["nic_missed"])


if __name__ == "__main__":
    harness.main()
