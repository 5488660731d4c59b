# SPDX-License-Identifier: Apache-2.0
"""IPv4 total length 0 and IPv6 payload length 0 without a Jumbo option, as hosts with segmentation offload capture their own
packets: the packet reaches to the end of the frame, inside a tunnel to the end of the packet around it. Without a next
header there is nothing behind IPv6's 40 octets, and a Jumbo option says the length itself. The frame's length is that on the
wire: 200 octets of each are captured."""
import sys

sys.path.insert(0, sys.path[0] + "/..")
from frames import at, ether, fragment6, gre, ipv4, ipv6, mpls, options6, payload, tcp, udp, vlan, vxlan, write

ENDS = {"source": "203.0.113.1", "destination": "203.0.113.2"}
ENDS6 = {"source": "2001:db8:1::1", "destination": "2001:db8:1::2"}
DATA = bytes(70_000)


def segment(port, data=bytes(1500)):
    return tcp(port, 443, 0x18, data)


packets = [
    ipv4(segment(1001), length=0),                                             # 1540 octets
    ipv6(segment(1002), length=0),                                             # 1560, and so on
    ipv6(udp(1003, 53), length=0),
    vlan(9, ipv6(segment(1004), length=0)),
    mpls([16], ipv6(segment(1005), length=0)),
    ipv6(options6(segment(1006)), length=0),                                   # 1568
    ipv6(options6(segment(1007), kind=0), length=0),
    ipv6(options6(fragment6(segment(1008)), kind=0), length=0),
    ipv6(options6(segment(1009, DATA), kind=0), length=0),                     # 70068
    ipv6(options6(segment(1010, DATA), kind=0, option=bytes.fromhex("c2040001118c")), length=0),  # the same, told
    ipv6(payload(b""), length=0),                                              # no next header: 40
    ipv6(payload(bytes(100)), length=0),                                       # as well
    ipv6(vxlan(77, ether(ipv6(segment(1012), length=0))), length=0, **ENDS6),  # the inner one is metered
    ipv4(vxlan(77, ether(ipv6(segment(1013), length=0))), **ENDS),
    ipv6(gre(ipv4(segment(1014), length=0)), length=0, **ENDS6),
    ipv6(ipv6(segment(1015), length=0), **ENDS6),
]
frames = [(at(second), ether(packet)) for second, packet in enumerate(packets)]
# behind the outer packet's end: padding, which does not belong to the inner one
frames.append((at(100), ether(ipv4(ipv6(segment(1016), length=0), **ENDS)) + bytes(50)))
write(frames, snaplen=200)
