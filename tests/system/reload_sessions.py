#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A reload ends no session of an unchanged collector."""
import harness
from control import ControlCase
from stream_collector import Collector


class Sessions(ControlCase):
    def test_groups_that_follow_from_how_flows_are_metered_are_no_change(self):
        """flows.tcp-analysis and flows.tunnel add groups that are not in export.fields: no session ends by them."""
        for more in ({"analysis": "true"}, {"flows": ", tunnel: inner"}):
            with self.subTest(more):
                collector = self.enterContext(Collector())
                rotating = "{transport: file, path: %s, rotation: {interval: 3600}}" % self.path("rotated.ipfix")
                stream = "{host: 127.0.0.1, port: %d, transport: tcp}" % collector.port
                daemon = self.probe(collectors="%s, %s" % (rotating, stream), **more)
                self.wait_for_received(daemon)
                self.configure(collectors="%s, %s, {host: 127.0.0.1}" % (rotating, stream))
                self.assertEqual(self.ask(daemon, "reload"), "reloaded: export.collectors\n")
                self.configure(collectors="%s, %s" % (rotating, stream))
                self.assertEqual(self.ask(daemon, "reload"), "reloaded: export.collectors\n")
                self.end(daemon)
                self.assertEqual(len(collector.streams), 1)
                self.configure(analysis="false", flows="")


if __name__ == "__main__":
    harness.main()
