# SPDX-License-Identifier: Apache-2.0
"""Below MPLS, Ethernet frames whose destination address begins like an IP header are pseudo-wires; IP packets whose source
address is like an EtherType are IP packets, whatever their length and checksum say. What carries no IP is in no record."""
import struct
import sys

sys.path.insert(0, sys.path[0] + "/..")
from frames import at, ether, ipv4, ipv6, mpls, payload, tcp, udp, vlan, write

DATA = bytes(50)
LIKE_IP = ["400000000001",  # IPv4: no header length
           "444c00600001",  # too short a one
           "4500002e0001",  # total length: shorter than the frame
           "450000000001",  # 0
           "4500ffff0001",  # longer than the frame
           "461200403456",  # options
           "600203040506",  # IPv6: longer than the frame
           "660000000007"]  # shorter


def summed(packet):
    """The IPv4 packet with its header checksum."""
    total = sum(struct.unpack(">10H", packet[:20]))
    return payload(packet[:10] + struct.pack(">H", 0xFFFF - total % 0xFFFF) + packet[12:], packet.protocol, packet.type)


packets = []
for number, address in enumerate(LIKE_IP):
    inside = [ipv4(tcp(1000 + number, 443, 0x18, DATA)), vlan(9, ipv4(tcp(2000 + number, 443, 0x18, DATA))),
              ipv6(tcp(3000 + number, 443, 0x18, DATA))]
    packets += [mpls([16], ether(frame, destination=address)) for frame in inside]
    packets.append(mpls([17, 18], payload(bytes(4) + ether(inside[0], destination=address))))  # a control word
    packets.append(mpls([16], ether(payload(bytes(46), ethertype=0x0806), destination=address)))  # ARP: in no record
like_ethertypes = ["8.0.64.1", "8.6.0.1", "134.221.96.1", "129.0.0.1", "136.71.1.1"]
for number, source in enumerate(like_ethertypes):
    packets += [mpls([20], summed(ipv4(udp(4000 + number, 53, DATA), source=source, length=length)))
                for length in (None, 0, 60_000)]
packets.append(mpls([20], ipv4(udp(5000, 53, DATA), source="8.0.0.1")))  # the checksum is left to the NIC
for number, source in enumerate(["2001:db8:800:4000::1", "2001:db8:8100::1"]):
    packets += [mpls([21], ipv6(udp(6000 + number, 53, DATA), source=source, length=length)) for length in (None, 0)]
write([(at(second), ether(packet)) for second, packet in enumerate(packets)])
