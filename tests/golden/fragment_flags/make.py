# SPDX-License-Identifier: Apache-2.0
"""fragmentFlags is the OR over a record's packets, of IPv4 (DF 0x40, MF 0x20) and of IPv6's fragment header (MF alone);
flowLabelIPv6 is that of its first packet, and in IPv6 records only."""
import sys

sys.path.insert(0, sys.path[0] + "/..")
from frames import at, ether, fragment6, ipv4, ipv6, payload, udp, write

write([(at(second), ether(packet)) for second, packet in enumerate([
    ipv4(udp(1001, 53)),                                                  # 0
    ipv4(udp(1002, 53), flags=2),                                         # DF
    ipv4(udp(1003, 53), flags=2),                                         # DF, then MF: both
    ipv4(udp(1003, 53), flags=1),
    ipv4(payload(bytes(24), 17), flags=1, offset=2),                      # later fragments: MF, then the last one
    ipv4(payload(bytes(8), 17), offset=5),
    ipv6(udp(1001, 53), flow_label=0xABCDE),                              # the first packet's label
    ipv6(udp(1001, 53), flow_label=0x12345),
    ipv6(fragment6(udp(1002, 53), more=True), flow_label=1),
    ipv6(fragment6(payload(bytes(8), 17), offset=2), flow_label=2),       # the last fragment: no flag
    ipv6(fragment6(udp(1003, 53)), flow_label=3),                         # atomic: no flag
])])
