# SPDX-License-Identifier: Apache-2.0
"""The packets of a capture that tributaryd meters, with every field that declared tables can name, by docs/metering.md,
docs/fields.md and the RFCs. Slow and simple: whole slices of octets, no shortcuts.

`Capture(path, tunnel)` has them in their order; tunnel is "outer" or "inner", as `flows.tunnel`. Other options of the
parser have their defaults.
"""
import copy
import struct

# 1. Captures: pcap (draft-ietf-opsawg-pcap), pcapng (draft-ietf-opsawg-pcapng)

NANOSECONDS = 10**9
EARLIEST, LATEST = NANOSECONDS, (2**32 - 2) * NANOSECONDS  # what an export time can say
LINK_TYPE_BITS = 0x03FFFFFF
ETHERNET = 1


class Frame:
    """time: nanoseconds since 1970; octets: those captured; wire: its length on the wire."""

    def __init__(self, time, link, octets, wire):
        self.time, self.link, self.octets, self.wire = time, link, octets, max(wire, len(octets))


def pcap_frames(content):
    """@param content  of a whole file"""
    for order in "<>":
        magic = struct.unpack_from(order + "I", content)[0]
        if magic in (0xA1B2C3D4, 0xA1B23C4D):
            break
    else:
        raise ValueError("no capture")
    unit = 1000 if magic == 0xA1B2C3D4 else 1
    link = struct.unpack_from(order + "I", content, 20)[0] & LINK_TYPE_BITS
    at = 24
    while at + 16 <= len(content):
        seconds, fraction, captured, wire = struct.unpack_from(order + "IIII", content, at)
        at += 16 + captured
        if at > len(content):
            return
        yield Frame(seconds * NANOSECONDS + fraction * unit, link, content[at - captured:at], wire)


class Interface:
    """An interface description block."""

    def __init__(self, body, order):
        self.link, _, self.snap = struct.unpack_from(order + "HHI", body)
        self.ticks, self.offset = 10**6, 0  # a second has so many
        at = 8
        while at + 4 <= len(body):
            code, length = struct.unpack_from(order + "HH", body, at)
            value = body[at + 4:at + 4 + length]
            at += 4 + (length + 3) // 4 * 4
            if code == 0:
                break
            if code == 9:  # if_tsresol
                self.ticks = 2 ** (value[0] & 0x7F) if value[0] & 0x80 else 10 ** value[0]
            if code == 14:  # if_tsoffset
                self.offset, = struct.unpack(order + "q", value)


def pcapng_frames(content):
    at, order, interfaces = 0, "<", []
    while at + 12 <= len(content):
        kind = struct.unpack_from(order + "I", content, at)[0]
        if kind == 0x0A0D0D0A:  # a section
            order = "<" if content[at + 8:at + 12] == b"\x4d\x3c\x2b\x1a" else ">"
            interfaces = []
        length = struct.unpack_from(order + "I", content, at + 4)[0]
        if length < 12 or at + length > len(content):
            return
        body = content[at + 8:at + length - 4]
        at += length
        if kind == 1:
            interfaces.append(Interface(body, order))
        elif kind in (2, 6):  # a packet with a time; the older block has a count of drops beside the interface
            if kind == 6:
                number, high, low, captured, wire = struct.unpack_from(order + "IIIII", body)
            else:
                number, _, high, low, captured, wire = struct.unpack_from(order + "HHIIII", body)
            if number < len(interfaces):
                interface = interfaces[number]
                time = (high << 32 | low) * NANOSECONDS // interface.ticks + interface.offset * NANOSECONDS
                yield Frame(time, interface.link, body[20:20 + captured], wire)
        elif kind == 3 and interfaces:
            wire = struct.unpack_from(order + "I", body)[0]
            captured = min(wire, interfaces[0].snap or wire)
            yield Frame(0, interfaces[0].link, body[4:4 + captured], wire)


def frames_of(path):
    """All frames of a capture. One without a usable time has the last good one, before any that of the first second."""
    with open(path, "rb") as source:
        content = source.read()
    good = EARLIEST
    for frame in (pcapng_frames if content[:4] == b"\x0a\x0d\x0d\x0a" else pcap_frames)(content):
        good = frame.time if EARLIEST <= frame.time <= LATEST else good
        frame.time = good
        yield frame


# 2. The way to the IP header

IPV4, IPV6, ARP = 0x0800, 0x86DD, 0x0806
TAGS = (0x8100, 0x88A8, 0x9100, 0x9200, 0x9300)
LABELS = (0x8847, 0x8848)
PPPOE_DISCOVERY, PPPOE = 0x8863, 0x8864
BRIDGED = 0x6558  # in GRE and GENEVE: an Ethernet frame
ERSPAN = 0x88BE
LAST_LENGTH = 1500  # a greater number in the type's place is a type (IEEE 802.3 3.2.6)
PPP_TYPES = {0x0021: IPV4, 0x0057: IPV6, 0x0281: LABELS[0], 0x0283: LABELS[1]}
MOST_COUNTED = 255


class NotMetered(Exception):
    """The frame is in no flow, or a tunnel in it leads to nothing."""


def need(octets, at, count):
    """The octets of a header."""
    if at + count > len(octets):
        raise NotMetered
    return octets[at:at + count]


def number_at(octets, at, count):
    return int.from_bytes(need(octets, at, count), "big")


def ethernet(octets, at, packet):
    """Returns the type, and where what it names begins; so do the next functions."""
    header = need(octets, at, 14)
    packet.macs = header[:6], header[6:12]
    return number_at(header, 12, 2), at + 14


def ppp(octets, at):
    need(octets, at, 2)
    size = 1 if octets[at] & 1 else 2  # the field may be compressed (RFC 1661 6.5)
    protocol = number_at(octets, at, size)
    if protocol not in PPP_TYPES:
        raise NotMetered
    return PPP_TYPES[protocol], at + size


def label_stack(octets, at, wire, packet):
    """RFC 3032. Only the first stack of a frame is a packet's."""
    is_first, is_last = not packet.labels, False
    while not is_last:
        entry = need(octets, at, 4)
        is_last, at = bool(entry[2] & 1), at + 4
        if is_first and len(packet.labels) < MOST_COUNTED:
            packet.labels.append(entry)
    return type_of_untyped(octets, at, wire), at


def type_of_untyped(octets, at, wire):
    """What no header names is IP, by the version in front, unless it is rather an Ethernet frame."""
    version = need(octets, at, 1)[0] >> 4
    if version not in (4, 6) or (has_type_of_frame(octets[at:]) and contradicts_itself(octets[at:], version, at, wire)):
        raise NotMetered
    return IPV4 if version == 4 else IPV6


def has_type_of_frame(octets):
    if len(octets) < 20:
        return False
    kind, version = number_at(octets, 12, 2), octets[14] >> 4
    if kind in (IPV4, IPV6):
        return version == (4 if kind == IPV4 else 6)
    return kind in (ARP, PPPOE_DISCOVERY, PPPOE, *LABELS, *TAGS)


def contradicts_itself(octets, version, at, wire):
    """@param octets  from what might be an IP header, at `at` in a frame, on"""
    left = wire - at
    if version == 6:
        size = 40 + number_at(octets, 4, 2)
        # Behind short frames there is padding, and perhaps a frame check sequence.
        is_shorter = size > 40 and wire > 68 and size + 4 < left
        return is_shorter or size > left
    header, total = (octets[0] & 15) * 4, number_at(octets, 2, 2)
    if header < 20 or 0 < total < header:
        return True
    if header > len(octets):
        return total > left
    return sum(struct.unpack(">%dH" % (header // 2), octets[:header])) % 0xFFFF != 0


def link_layer(frame, packet):
    """What the frame begins with (tcpdump.org/linktypes.html)."""
    octets, link = frame.octets, frame.link
    if link == ETHERNET:
        return ethernet(octets, 0, packet)
    if link in (12, 14, 101, 228, 229):  # raw IP
        return {4: IPV4, 6: IPV6}.get(need(octets, 0, 1)[0] >> 4, 0), 0
    if link in (0, 108):  # BSD loopback, in either byte order
        family = min(number_at(octets, 0, 4), int.from_bytes(octets[:4], "little"))
        return IPV4 if family == 2 else IPV6 if family in (10, 23, 24, 28, 30) else 0, 4
    if link == 113:  # Linux SLL
        return number_at(need(octets, 0, 16), 14, 2), 16
    if link == 276:  # Linux SLL2
        return number_at(need(octets, 0, 20), 0, 2), 20
    if link == 104:  # Cisco HDLC
        return number_at(need(octets, 0, 4), 2, 2), 4
    if link in (9, 50):  # PPP, perhaps in HDLC's framing
        return ppp(octets, 2 if octets[:2] == b"\xff\x03" else 0)
    if link == 51:
        return PPPOE, 0
    raise NotMetered


def network_layer(octets, kind, at, wire, packet):
    """Steps over tags, label stacks and PPPoE. Returns the IP version, and where its header begins."""
    while kind not in (IPV4, IPV6):
        if kind in TAGS:
            tag = need(octets, at, 4)
            packet.tags.append(number_at(tag, 0, 2) & 0x0FFF)
            kind, at = number_at(tag, 2, 2), at + 4
        elif kind in LABELS:
            kind, at = label_stack(octets, at, wire, packet)
        elif kind == PPPOE:
            need(octets, at, 6)
            kind, at = ppp(octets, at + 6)
        else:
            raise NotMetered
    return 4 if kind == IPV4 else 6, at


# 3. IP and what it carries

ICMP, TCP, UDP, DCCP, GRE, ICMP6, SCTP, UDP_LITE = 1, 6, 17, 33, 47, 58, 132, 136
WITH_PORTS = (TCP, UDP, DCCP, SCTP, UDP_LITE)
HOP_BY_HOP, FRAGMENT, AUTHENTICATION, NO_NEXT = 0, 44, 51, 59
EXTENSIONS = (HOP_BY_HOP, 43, FRAGMENT, AUTHENTICATION, 60, 135, 139, 140)
DONT_FRAGMENT, MORE_FRAGMENTS = 0x40, 0x20
SYN, ACK = 0x02, 0x10


class Packet:
    """A metered packet; numbers that it does not have are 0, octets None. Places count from the frame's first octet."""

    def __init__(self, frame):
        self.frame = frame
        self.macs = None    # (destination, source)
        self.tags = []      # VLAN ids, the outermost first
        self.labels = []    # entries of the first label stack, the top first
        self.tunnel = None  # (kind, id, source, destination)

    def clear(self):
        """What an IP header and those behind it tell."""
        self.version = self.protocol = self.length = self.ttl = self.service = self.flow_label = 0
        self.source_port = self.destination_port = self.tcp_flags = 0
        self.fragment_flags = self.fragment_id = 0
        self.source = self.destination = b""
        self.is_later_fragment = False
        self.l3 = self.l4 = self.payload = None
        self.end = 0  # of the IP packet, which may be behind the captured octets

    @property
    def is_fragment(self):
        return self.is_later_fragment or bool(self.fragment_flags & MORE_FRAGMENTS)


def ipv4(octets, at, wire, packet):
    """RFC 791. Returns where the payload begins; so does ipv6()."""
    header = need(octets, at, 20)
    size = (header[0] & 15) * 4
    total, packet.fragment_id, fragment = struct.unpack_from(">HHH", header, 2)
    total = total or max(wire - at, 0)  # segmentation offload leaves 0
    if header[0] >> 4 != 4 or size < 20 or total < size:
        raise NotMetered
    need(octets, at, size)
    packet.version, packet.l3, packet.length, packet.end = 4, at, total, at + total
    packet.service, packet.ttl, packet.protocol = header[1], header[8], header[9]
    packet.source, packet.destination = header[12:16], header[16:20]
    packet.fragment_flags = header[6] & (DONT_FRAGMENT | MORE_FRAGMENTS)
    packet.is_later_fragment = fragment & 0x1FFF != 0
    return at + size


def ipv6(octets, at, wire, packet):
    """RFC 8200."""
    header = need(octets, at, 40)
    first, payload, packet.protocol, packet.ttl = struct.unpack_from(">IHBB", header)
    if first >> 28 != 6:
        raise NotMetered
    packet.version, packet.l3 = 6, at
    packet.service, packet.flow_label = first >> 20 & 0xFF, first & 0xFFFFF
    packet.source, packet.destination = header[8:24], header[24:40]
    begin = at + 40
    if payload == 0 and packet.protocol != NO_NEXT:
        jumbo = jumbo_length(octets, begin) if packet.protocol == HOP_BY_HOP else 0
        payload = jumbo or max(wire - begin, 0)
    packet.length, packet.end = min(40 + payload, 2**32 - 1), begin + payload
    return extension_headers(octets[:packet.end], begin, packet)


def extension_headers(octets, at, packet):
    while packet.protocol in EXTENSIONS and not packet.is_later_fragment:
        header = need(octets, at, 8)
        if packet.protocol == FRAGMENT:
            size, fragment = 8, number_at(header, 2, 2)
            packet.is_later_fragment = fragment >> 3 != 0
            packet.fragment_flags = MORE_FRAGMENTS if fragment & 1 else 0
            packet.fragment_id = number_at(header, 4, 4)
        elif packet.protocol == AUTHENTICATION:  # RFC 4302 2.2
            size = (header[1] + 2) * 4
        else:
            size = (header[1] + 1) * 8
        need(octets, at, size)
        packet.protocol, at = header[0], at + size
    return at


def jumbo_length(octets, at):
    """That of the option of RFC 2675 in the hop-by-hop header at `at`; 0: there is none."""
    if at + 8 > len(octets):
        return 0
    options = octets[at + 2:at + (octets[at + 1] + 1) * 8]
    at = 0
    while at < len(options):
        if options[at] == 0:  # Pad1
            at += 1
        elif options[at:at + 2] == b"\xc2\x04" and at + 6 <= len(options):
            return number_at(options, at + 2, 4)
        elif at + 2 > len(options):
            return 0
        else:
            at += 2 + options[at + 1]
    return 0


def transport(octets, at, packet):
    """Reads what is there, also of a header that is cut.

    @param octets  up to the end of the IP packet"""
    if packet.is_later_fragment:
        return
    packet.l4 = at
    header = octets[at:]
    if packet.protocol in WITH_PORTS and len(header) >= 4:
        packet.source_port, packet.destination_port = struct.unpack_from(">HH", header)
    if packet.protocol in (ICMP, ICMP6) and len(header) >= 2:
        packet.destination_port = number_at(header, 0, 2)
    if packet.protocol == TCP and len(header) >= 14:
        packet.tcp_flags = number_at(header, 12, 2) & 0x0FFF
    size = transport_header_size(header, packet.protocol)
    packet.payload = at + size if size else None


def transport_header_size(header, protocol):
    """0: it is not known."""
    if protocol == TCP:  # RFC 9293 3.1
        size = (header[12] >> 4) * 4 if len(header) >= 20 else 0
        return size if size >= 20 else 0
    if protocol == DCCP:  # RFC 4340 5.1
        size = header[4] * 4 if len(header) >= 12 else 0
        return size if size >= 12 else 0
    return {UDP: 8, UDP_LITE: 8, SCTP: 12, ICMP: 8, ICMP6: 8}.get(protocol, 0)


def ip_packet(octets, version, at, wire, packet):
    packet.clear()
    begin = (ipv4 if version == 4 else ipv6)(octets, at, wire, packet)
    transport(octets[:packet.end], begin, packet)
    return begin


# 4. Tunnels

IP_IN_IP, GRE_TUNNEL, ERSPAN_TUNNEL, VXLAN, GENEVE, GTP_U = range(1, 7)
VXLAN_PORT, GENEVE_PORT, GTP_U_PORT = 4789, 6081, 2152
MOST_TUNNELS = 8


def tunnel_in(octets, at, wire, packet):
    """What the tunnel of a packet carries: its kind, its id, and type and place of what is inside; None: there is none.

    @param octets  up to the end of the IP packet, whose payload begins at `at`"""
    if packet.protocol in (4, 41):  # RFC 2003, RFC 2473
        return IP_IN_IP, 0, IPV4 if packet.protocol == 4 else IPV6, at
    if packet.protocol == GRE:
        return gre(octets, at, packet)
    if packet.protocol != UDP:
        return None
    header = need(octets, at, 16)[8:]
    if packet.destination_port == VXLAN_PORT and header[0] & 0x08:  # RFC 7348 5
        return VXLAN, number_at(header, 4, 3), *ethernet(octets, at + 16, packet)
    if packet.destination_port == GENEVE_PORT and header[0] >> 6 == 0:  # RFC 8926 3.4
        begin = at + 16 + (header[0] & 0x3F) * 4
        return GENEVE, number_at(header, 4, 3), *frame_or_not(octets, number_at(header, 2, 2), begin, packet)
    if GTP_U_PORT in (packet.source_port, packet.destination_port) and header[0] >> 4 == 3 and header[1] == 0xFF:
        begin = behind_gtp_u(octets, at + 8, header)
        return GTP_U, number_at(header, 4, 4), type_of_untyped(octets, begin, wire), begin
    return None


def frame_or_not(octets, kind, at, packet):
    return ethernet(octets, at, packet) if kind == BRIDGED else (kind, at)


def gre(octets, at, packet):
    """RFC 2784, RFC 2890; draft-foschiano-erspan-03."""
    flags, kind = struct.unpack(">HH", need(octets, at, 4))
    if flags & 0x4007:  # RFC 1701's source routes; a version
        return None
    key_at = at + (8 if flags & 0x8000 else 4)
    sequence_at = key_at + (4 if flags & 0x2000 else 0)
    begin = sequence_at + (4 if flags & 0x1000 else 0)
    if kind == ERSPAN and flags & 0x1000:  # type II
        return ERSPAN_TUNNEL, number_at(octets, begin, 4) & 0x3FF, *ethernet(octets, begin + 8, packet)
    if kind == ERSPAN:
        return ERSPAN_TUNNEL, 0, *ethernet(octets, begin, packet)
    key = number_at(octets, key_at, 4) if flags & 0x2000 else 0
    return GRE_TUNNEL, key, *frame_or_not(octets, kind, begin, packet)


def behind_gtp_u(octets, at, header):
    """3GPP TS 29.281 5.1, 5.2: optional fields, and extension headers that each name the next."""
    if header[0] & 0x07 == 0:
        return at + 8
    following = need(octets, at + 8, 4)[3] if header[0] & 0x04 else 0
    at += 12
    while following:
        size = need(octets, at, 1)[0] * 4
        if size == 0:
            raise NotMetered
        following, at = need(octets, at, size)[-1], at + size
    return at


def inside(octets, begin, wire, outer):
    """The packet inside a packet's tunnel, with what the search for the next one needs; None: there is none, or not
    a whole one."""
    octets, wire = octets[:outer.end], min(wire, outer.end)
    packet = copy.copy(outer)
    packet.tags, packet.labels = list(outer.tags), list(outer.labels)
    try:
        found = tunnel_in(octets, begin, wire, packet)
        if found is None:
            return None
        kind, number, carried, at = found
        packet.tunnel = kind, number, outer.source, outer.destination
        version, at = network_layer(octets, carried, at, wire, packet)
        begin = ip_packet(octets, version, at, wire, packet)
    except NotMetered:
        return None
    return packet, octets, begin, wire


def packet_of(frame, tunnel):
    """The packet that is metered; None: there is none."""
    packet, octets, wire = Packet(frame), frame.octets, frame.wire
    try:
        version, at = network_layer(octets, *link_layer(frame, packet), wire, packet)
        begin = ip_packet(octets, version, at, wire, packet)
    except NotMetered:
        return None
    for _ in range(MOST_TUNNELS if tunnel == "inner" else 0):
        found = None if packet.is_fragment else inside(octets, begin, wire, packet)
        if found is None:
            break
        packet, octets, begin, wire = found
    return packet


class Capture:
    """packets: those that are metered, each with the clock at which it came; clock: at the end. The clock is the largest time
    of all frames so far."""

    def __init__(self, path, tunnel):
        self.packets, self.clock = [], EARLIEST
        for frame in frames_of(path):
            self.clock = max(self.clock, frame.time)
            packet = packet_of(frame, tunnel)
            if packet is not None:
                packet.clock = self.clock
                self.packets.append(packet)


# 5. The fields that tables name (docs/fields.md)


def ethernet_type(packet):
    """That of the outermost frame, behind its tags."""
    octets, at = packet.frame.octets, 12
    if packet.frame.link != ETHERNET:
        return 0
    while at + 2 <= len(octets) and number_at(octets, at, 2) in TAGS:
        at += 4
    kind = number_at(octets, at, 2) if at + 2 <= len(octets) else 0
    return kind if kind > LAST_LENGTH else 0


def icmp(protocol, version, shift, mask):
    def of(packet):
        is_it = packet.protocol == protocol and packet.version == version
        return packet.destination_port >> shift & mask if is_it else 0
    return of


def in_tunnel(place, absent):
    return lambda packet: packet.tunnel[place] if packet.tunnel else absent


def section(number):
    """The label stack entry without its TTL."""
    return lambda packet: packet.labels[number - 1][:3] if number <= len(packet.labels) else None


NUMBERS = {
    "sourceTransportPort": lambda p: p.source_port,
    "destinationTransportPort": lambda p: p.destination_port,
    "protocolIdentifier": lambda p: p.protocol,
    "ipVersion": lambda p: p.version,
    "vlanId": lambda p: p.tags[0] if p.tags else 0,
    "ingressInterface": lambda p: 1,
    "ipDiffServCodePoint": lambda p: p.service >> 2,
    "ipClassOfService": lambda p: p.service,
    "ipTTL": lambda p: p.ttl,
    "ipTotalLength": lambda p: p.length,
    "tcpControlBits": lambda p: p.tcp_flags,
    "fragmentFlags": lambda p: p.fragment_flags,
    "fragmentIdentification": lambda p: p.fragment_id,
    "flowLabelIPv6": lambda p: p.flow_label,
    "icmpTypeCodeIPv4": icmp(ICMP, 4, 0, 0xFFFF),
    "icmpTypeCodeIPv6": icmp(ICMP6, 6, 0, 0xFFFF),
    "icmpTypeIPv4": icmp(ICMP, 4, 8, 0xFF),
    "icmpCodeIPv4": icmp(ICMP, 4, 0, 0xFF),
    "icmpTypeIPv6": icmp(ICMP6, 6, 8, 0xFF),
    "icmpCodeIPv6": icmp(ICMP6, 6, 0, 0xFF),
    "dot1qCustomerVlanId": lambda p: p.tags[1] if len(p.tags) > 1 else 0,
    "vlanTagCount": lambda p: min(len(p.tags), MOST_COUNTED),
    "ethernetType": ethernet_type,
    "mplsLabelStackDepth": lambda p: len(p.labels),
    "tunnelType": in_tunnel(0, 0),
    "tunnelId": in_tunnel(1, 0),
    "dataLinkFrameSize": lambda p: p.frame.wire,
    "observationTimeSeconds": lambda p: p.frame.time // NANOSECONDS,
}
OCTETS = {
    "sourceAddress": lambda p: p.source,
    "destinationAddress": lambda p: p.destination,
    "sourceMacAddress": lambda p: p.macs[1] if p.macs else None,
    "destinationMacAddress": lambda p: p.macs[0] if p.macs else None,
    "tunnelSourceAddress": in_tunnel(2, None),
    "tunnelDestinationAddress": in_tunnel(3, None),
    "mplsTopLabelStackSection": section(1),
    **{"mplsLabelStackSection%d" % number: section(number) for number in range(2, 11)},
}
ADDRESSES = ("sourceAddress", "destinationAddress", "tunnelSourceAddress", "tunnelDestinationAddress")
COUNTERPARTS = {}  # what two directions exchange
for one, other in (("sourceAddress", "destinationAddress"), ("sourceTransportPort", "destinationTransportPort"),
                   ("sourceMacAddress", "destinationMacAddress"), ("tunnelSourceAddress", "tunnelDestinationAddress")):
    COUNTERPARTS.update({one: other, other: one})


def own_octets(packet, field):
    """The octets of a field of the user's own; None: the packet, or what was captured of it, ends before the field.

    @param field  a declaration: from, offset, octets"""
    octets, base = packet.frame.octets, {"frame": 0, "l3": packet.l3, "l4": packet.l4, "payload": packet.payload}[field["from"]]
    if base is None:
        return None
    if field["from"] != "frame":
        octets = octets[:packet.end]
    begin = base + field.get("offset", 0)
    found = octets[begin:begin + field["octets"]]
    return found if len(found) == field["octets"] else None
