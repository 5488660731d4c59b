# SPDX-License-Identifier: Apache-2.0
"""The label stack of a record's first packet, from the top; what is below the tenth label is not told. It is not in the
key, and packets without labels have no such elements."""
import sys

sys.path.insert(0, sys.path[0] + "/..")
from frames import at, ether, ipv4, ipv6, mpls, tcp, udp, vlan, write

write([(at(second), ether(packet)) for second, packet in enumerate([
    ipv4(udp(1001, 53)),
    mpls([100], ipv4(udp(1002, 53))),
    mpls([100, 200], ipv4(udp(1002, 53))),                       # the same flow
    mpls([0xFFFFF, 3, 16], ipv6(tcp(1003, 443))),
    mpls(list(range(1000, 1010)), ipv4(udp(1004, 53))),          # ten
    mpls(list(range(1000, 1012)), ipv4(udp(1005, 53))),          # twelve
    vlan(7, mpls([100, 300], ipv4(udp(1006, 53)))),
])])
