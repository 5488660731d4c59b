# SPDX-License-Identifier: Apache-2.0
"""Later fragments have the ports of their first one for the timeout of 60 seconds, the end included."""
import sys

sys.path.insert(0, sys.path[0] + "/..")
from frames import at, ether, fragment6, icmp, ipv4, ipv6, payload, tcp, udp, write


def later(number, protocol=17, **addresses):
    return ipv4(payload(bytes(8), protocol), offset=2, number=number, **addresses)


write([(time, ether(packet)) for time, packet in [
    (at(0), ipv4(udp(1001, 53), flags=1, number=1)),                      # 1: the last one exactly at the end
    (at(1), later(1)),
    (at(60), later(1)),
    (at(60, 1), later(1)),                                                # ports 0: too late
    (at(61), later(2)),                                                   # 2: the last one first, ports 0
    (at(62), ipv4(udp(1002, 53), flags=1, number=2)),
    (at(63), later(2)),
    (at(64), ipv4(tcp(1003, 80), flags=1, number=3)),                     # 3: TCP and UDP of one number
    (at(65), ipv4(udp(1004, 53), flags=1, number=3)),
    (at(66), later(3, protocol=6)),
    (at(67), later(3)),
    (at(68), later(3, source="192.0.2.9")),                               # ports 0: another host's
    (at(69), ipv4(icmp(8, 0), flags=1, number=4)),                        # ICMP: type and code are the first one's
    (at(70), later(4, protocol=1)),
    (at(71), ipv6(fragment6(udp(1005, 53), more=True, number=5))),        # IPv6: whatever follows the fragment header
    (at(72), ipv6(fragment6(payload(bytes(8), 17), offset=2, number=5))),
    (at(73), ipv6(fragment6(payload(bytes(8), 6), offset=3, number=5))),
]])
