# SPDX-License-Identifier: Apache-2.0
"""Without the tunnel in the key, equal inner addresses of two tenants are one flow, and so is the packet that travels in
no tunnel; the record tells the tunnel of its first packet."""
import sys

sys.path.insert(0, sys.path[0] + "/..")
from frames import at, ether, ipv4, udp, vxlan, write

ENDS = {"source": "203.0.113.1", "destination": "203.0.113.2"}
first, second = ipv4(udp(1001, 53)), ipv4(udp(1002, 53))
write([(at(time), ether(packet)) for time, packet in enumerate([
    ipv4(vxlan(5001, ether(first)), **ENDS),
    ipv4(vxlan(5002, ether(first)), **ENDS),
    first,
    second,
    ipv4(vxlan(5001, ether(second)), **ENDS),
])])
