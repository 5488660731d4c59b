# SPDX-License-Identifier: Apache-2.0
"""Inner packets are metered, with the tunnel right around them in record and key: equal inner addresses of two tenants
stay two flows, and so do those of two pairs of tunnel ends."""
import sys

sys.path.insert(0, sys.path[0] + "/..")
from frames import at, erspan, ether, geneve, gre, gtp_u, icmp, ipv4, ipv6, mpls, tcp, udp, vlan, vxlan, write

ENDS = {"source": "203.0.113.1", "destination": "203.0.113.2"}
BACK = {"source": "203.0.113.2", "destination": "203.0.113.1"}
ENDS6 = {"source": "2001:db8:1::1", "destination": "2001:db8:1::2"}
inner = ipv4(udp(1001, 53))
inner6 = ipv6(tcp(40000, 443))
tenant = ether(inner)
write([(at(second), ether(packet)) for second, packet in enumerate([
    inner,                                               # in no tunnel
    ipv4(vxlan(5001, tenant), **ENDS),                   # two tenants
    ipv4(vxlan(5002, tenant), **ENDS),
    ipv4(vxlan(5001, tenant), **ENDS),                   # the first tenant once more: the same flow
    ipv4(vxlan(5001, tenant), **BACK),                   # other tunnel ends
    ipv6(vxlan(5001, tenant), **ENDS6),
    ipv4(vxlan(5001, ether(vlan(7, inner6))), **ENDS),   # a tag inside the tunnel
    ipv4(gre(inner), **ENDS),
    ipv4(gre(inner, key=77), **ENDS),
    ipv6(gre(ether(inner6), key=78), **ENDS6),           # Ethernet in GRE
    ipv4(erspan(99, ether(inner)), **ENDS),
    ipv4(geneve(123, ether(inner)), **ENDS),
    ipv6(geneve(124, inner6), **ENDS6),                  # IP right in GENEVE
    ipv4(gtp_u(0x01020304, inner), **ENDS),
    ipv6(gtp_u(0xFFFFFFFF, inner6), **ENDS6),
    ipv4(inner, **ENDS),                                 # IP in IP, all four
    ipv4(inner6, **ENDS),
    ipv6(inner, **ENDS6),
    ipv6(inner6, **ENDS6),
    ipv4(gtp_u(9, ipv4(gre(inner, key=5), source="10.0.0.1", destination="10.0.0.2")), **ENDS),  # GRE is the innermost
    vlan(100, mpls([16, 17], ipv4(gre(ipv4(icmp(8, 0)), key=6), **ENDS))),
])])
