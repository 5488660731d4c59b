# SPDX-License-Identifier: Apache-2.0
"""MAC addresses are those of the Ethernet frame right around the packet that is metered, in either direction, where its
tunnel or pseudo-wire carries Ethernet, and the outer frame's where it carries IP. Tags and frame lengths are the whole
frame's."""
import sys

sys.path.insert(0, sys.path[0] + "/..")
from frames import at, erspan, ether, geneve, gre, gtp_u, ipv4, ipv6, mpls, payload, udp, vlan, vxlan, write

ENDS = {"source": "203.0.113.1", "destination": "203.0.113.2"}
BACK = {"source": "203.0.113.2", "destination": "203.0.113.1"}
HOSTS, HOSTS_BACK = {"source": "0600000000a1", "destination": "0600000000b2"}, {"source": "0600000000b2", "destination": "0600000000a1"}


def there(port):
    return ipv4(udp(port, 53))


def back(port):
    return ipv4(udp(53, port), source="198.51.100.1", destination="192.0.2.1")


packets = [
    ether(ipv4(vxlan(5, ether(there(1001), **HOSTS)), **ENDS)),
    ether(ipv4(vxlan(5, ether(back(1001), **HOSTS_BACK)), **BACK), source="020000000002", destination="020000000001"),
    ether(vlan(7, ipv4(vxlan(5, ether(vlan(8, there(1002)), **HOSTS)), **ENDS))),  # a tag outside and one inside
    ether(ipv4(vxlan(5, ether(vlan(8, there(1003)), **HOSTS)), **ENDS)),           # one inside
    ether(ipv4(geneve(5, ether(there(1004), **HOSTS)), **ENDS)),
    ether(ipv4(gre(ether(there(1005), **HOSTS)), **ENDS)),
    ether(ipv4(erspan(5, ether(there(1006), **HOSTS)), **ENDS)),
    ether(mpls([16], ether(there(1007), **HOSTS))),
    ether(mpls([16], payload(bytes(4) + ether(there(1008), **HOSTS)))),            # a control word
    ether(ipv4(vxlan(5, ether(ipv4(gtp_u(6, there(1009)), source="10.0.0.1"), **HOSTS)), **ENDS)),  # IP in Ethernet in IP
    ether(ipv4(geneve(5, there(2001)), **ENDS)),                                   # what carries IP
    ether(ipv4(gre(there(2002)), **ENDS)),
    ether(ipv4(gtp_u(5, there(2003)), **ENDS)),
    ether(ipv4(there(2004), **ENDS)),
    ether(mpls([16], there(2005))),
    ether(ipv4(vxlan(5, ether(payload(bytes(46), ethertype=0x0806), **HOSTS)), **ENDS)),  # ARP inside: the outer packet
    ether(ipv6(udp(2006, 53))),
]
write([(at(second), packet) for second, packet in enumerate(packets)])
