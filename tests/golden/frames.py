# SPDX-License-Identifier: Apache-2.0
"""Frames put together header by header, the outermost call first; nothing but Python is needed.

    ether(MPLS, mpls([16, 17], ipv4(udp(1000, 53))))

Headers that carry IP find its version and, for IP's own protocol field, what it carries by the types below.
"""
import ipaddress
import os
import struct
import sys

IPV4, IPV6, VLAN, MPLS, ETHERNET = 0x0800, 0x86DD, 0x8100, 0x8847, 0x6558  # ethertypes; the last one in GRE and GENEVE
ETHERNET_LINK, RAW_LINK = 1, 101  # link types of captures


class Payload(bytes):
    """Bytes with their IP protocol number, `protocol`, and their ethertype, `type`."""
    protocol, type = 59, 0


def payload(data, protocol=59, ethertype=0):
    made = Payload(data)
    made.protocol, made.type = protocol, ethertype
    return made


def udp(source_port, destination_port, data=bytes(8)):
    return payload(struct.pack(">HHHH", source_port, destination_port, 8 + len(data), 0) + data, 17)


def tcp(source_port, destination_port, flags=0x10, data=b""):
    return payload(struct.pack(">HHIIHHHH", source_port, destination_port, 1, 0, 0x5000 | flags, 1000, 0, 0) + data, 6)


def icmp(kind, code):
    return payload(struct.pack(">BBHI", kind, code, 0, 0), 1)


def icmp6(kind, code):
    return payload(struct.pack(">BBHI", kind, code, 0, 0), 58)


def ipv4(inside, source="192.0.2.1", destination="198.51.100.1", flags=0, offset=0, number=1, length=None):
    """flags: 2 don't fragment, 1 more fragments; offset: in units of 8 octets; length: the total length, if not the right
    one."""
    header = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(inside) if length is None else length, number, flags << 13 | offset,
                         64, inside.protocol, 0)
    return payload(header + ipaddress.IPv4Address(source).packed + ipaddress.IPv4Address(destination).packed + inside,
                   4, IPV4)


def ipv6(inside, source="2001:db8::1", destination="2001:db8::2", flow_label=0, length=None):
    """length: the payload length, if not the right one."""
    header = struct.pack(">IHBB", 6 << 28 | flow_label, len(inside) if length is None else length, inside.protocol, 64)
    return payload(header + ipaddress.IPv6Address(source).packed + ipaddress.IPv6Address(destination).packed + inside,
                   41, IPV6)


def fragment6(inside, offset=0, more=False, number=1):
    return payload(struct.pack(">BBHI", inside.protocol, 0, offset << 3 | more, number) + inside, 44)


def options6(inside, kind=60, option=b"\x01\x04" + bytes(4)):
    """A header of destination (60) or hop-by-hop (0) options with one of six octets, by default PadN."""
    return payload(struct.pack(">BB", inside.protocol, 0) + option + inside, kind)


def mpls(labels, inside):
    """labels: from the top of the stack; each one with traffic class 0 and TTL 64."""
    entries = [struct.pack(">I", label << 12 | (index == len(labels) - 1) << 8 | 64) for index, label in enumerate(labels)]
    return payload(b"".join(entries) + inside, 137, MPLS)


def vlan(number, inside):
    return payload(struct.pack(">HH", number, inside.type) + inside, 0, VLAN)


def ether(inside, source="020000000001", destination="020000000002"):
    return payload(bytes.fromhex(destination + source) + struct.pack(">H", inside.type) + inside, 143, ETHERNET)


def gre(inside, key=None):
    optional = b"" if key is None else struct.pack(">I", key)
    return payload(struct.pack(">HH", 0 if key is None else 0x2000, inside.type) + optional + inside, 47)


def erspan(session, frame):
    """Type II."""
    return payload(struct.pack(">HHI", 0x1000, 0x88BE, 0) + struct.pack(">HHI", 0x1000, session, 0) + frame, 47)


def vxlan(vni, frame):
    return udp(50000, 4789, struct.pack(">II", 0x08000000, vni << 8) + frame)


def geneve(vni, inside):
    return udp(50001, 6081, struct.pack(">HHI", 0, inside.type, vni << 8) + inside)


def gtp_u(teid, inside):
    return udp(2152, 2152, struct.pack(">BBHI", 0x30, 0xFF, len(inside), teid) + inside)


def at(seconds, microseconds=0):
    """A time `seconds` after the cases' common beginning, in microseconds since 1970."""
    return (1_700_000_000 + seconds) * 1_000_000 + microseconds


def pcap(timed_frames, link_type=ETHERNET_LINK, snaplen=65535):
    """The octets of a capture of [(microseconds since 1970, frame)...]."""
    parts = [struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, snaplen, link_type)]
    for microseconds, frame in timed_frames:
        captured = frame[:snaplen]
        parts.append(struct.pack("<IIII", *divmod(microseconds, 1_000_000), len(captured), len(frame)) + captured)
    return b"".join(parts)


def write(timed_frames, snaplen=65535):
    """To input.pcap beside the calling make.py."""
    with open(os.path.join(os.path.dirname(os.path.abspath(sys.argv[0])), "input.pcap"), "wb") as out:
        out.write(pcap(timed_frames, snaplen=snaplen))
