# SPDX-License-Identifier: Apache-2.0
"""The records of a declared table, by docs/tables.md, docs/fields.md and docs/metering.md: each packet is looked at by
itself, and every distinct value is kept. Slow, unbounded, and simple."""
import packet_reference
from packet_reference import ACK, ADDRESSES, COUNTERPARTS, ICMP, ICMP6, NUMBERS, OCTETS, SYN, TCP

TIME, FRAME_SIZE = "observationTimeSeconds", "dataLinkFrameSize"
MOST_OF_TWO_OCTETS = 0xFFFF
NUMERIC_TYPES = {"unsigned8": 1, "unsigned16": 2, "unsigned32": 4, "unsigned64": 8}
IDLE_TIMEOUT, ACTIVE_TIMEOUT, FORCED_END = 1, 2, 4
FOREVER = 2**31  # seconds: the longest timeout
SECOND = packet_reference.NANOSECONDS

# Values that are IANA's elements; any other one's name is the function's and the field's.
IANA_VALUES = {
    ("min", "ipTTL"): "minimumTTL", ("max", "ipTTL"): "maximumTTL",
    ("min", "ipTotalLength"): "minimumIpTotalLength", ("max", "ipTotalLength"): "maximumIpTotalLength",
    ("sum", FRAME_SIZE): "layer2OctetDeltaCount", ("min", FRAME_SIZE): "minimumLayer2TotalLength",
    ("max", FRAME_SIZE): "maximumLayer2TotalLength",
    ("or", "tcpControlBits"): "tcpControlBits", ("or", "fragmentFlags"): "fragmentFlags",
    ("distinct", "sourceAddress"): "distinctCountOfSourceIPAddress",
    ("distinct", "destinationAddress"): "distinctCountOfDestinationIPAddress",
}
OF_FIRST_PACKET = {"ipDiffServCodePoint", "ipClassOfService", "ipTTL", "ipTotalLength", "fragmentIdentification", "flowLabelIPv6",
                   "dot1qCustomerVlanId", "ethernetType", "mplsLabelStackDepth", FRAME_SIZE, TIME,
                   "icmpTypeIPv4", "icmpCodeIPv4", "icmpTypeIPv6", "icmpCodeIPv6"}


def add(one, other):
    return (one + other) % 2**64


# What the state becomes by another packet's value.
UPDATES = {"sum": add, "min": min, "max": max, "or": lambda state, value: state | value,
           "first": lambda state, value: state, "last": lambda state, value: value}


def capitalized(name):
    return name[0].upper() + name[1:]


def reverse(name):
    """RFC 5103 6.1."""
    return "reverse" + capitalized(name)


def masked(address, bits):
    whole = len(address) * 8
    number = int.from_bytes(address, "big") >> (whole - bits) << (whole - bits)
    return number.to_bytes(len(address), "big")


class Field:
    """A field as an entry of a key or the argument of a value names it."""

    def __init__(self, text, own_fields):
        self.name, *numbers = text.strip().split("/")
        numbers = [int(number) for number in numbers]
        self.own = own_fields.get(self.name)
        self.is_address = self.name in ADDRESSES
        self.has_prefix = self.is_address and bool(numbers)
        self.prefix = dict(zip((4, 6), numbers)) if self.has_prefix else {4: 32, 6: 128}
        self.interval = numbers[0] if self.name == TIME and numbers else 1
        self.read = NUMBERS.get(self.name) or OCTETS.get(self.name)

    def value(self, packet):
        """A number, octets, an address with its IP version, or a text; None: octets that the packet does not have."""
        if self.own is not None:
            return own_value(self.own, packet_reference.own_octets(packet, self.own))
        value = self.read(packet)
        if self.is_address:
            version = {0: 0, 4: 4, 16: 6}[len(value or b"")]
            return (version, masked(value, self.prefix[version])) if version else None
        return value - value % self.interval if self.name == TIME else value

    def in_key(self, packet):
        """Octets that a packet does not have are 0 there."""
        value = self.value(packet)
        if value is None:
            return (0, b"") if self.is_address else bytes(6 if self.name.endswith("MacAddress") else 3)
        return min(value, MOST_OF_TWO_OCTETS) if self.name == FRAME_SIZE else value

    def elements(self, value):
        """Those by which records tell a value of in_key()."""
        if self.is_address:
            return self.address_elements(*value)
        if self.name == "vlanId" and value == 0:
            return {}
        return {self.name: value}

    def address_elements(self, version, address):
        if version == 0:
            return {}
        bits, side = self.prefix[version], self.name.removesuffix("Address")
        is_outer = side.startswith("tunnel")
        is_cut = bits < len(address) * 8 and not is_outer
        name = "%sIPv%d%s" % (side, version, "Prefix" if is_cut else "Address")
        elements = {name: address} if bits or is_outer else {}
        if self.has_prefix:
            elements["%sIPv%dPrefixLength" % (side, version)] = bits
        return elements


def own_value(field, octets):
    if octets is None:
        return None
    if field["as"] in NUMERIC_TYPES:
        return int.from_bytes(octets, "big")
    if field["as"] == "string":
        return "".join(chr(octet) if 0x20 <= octet <= 0x7E else "." for octet in octets.split(b"\0")[0])
    return octets


class Value:
    """A function of a field over the packets of a record, or of one direction of it."""

    def __init__(self, text, own_fields):
        self.function, argument = text.strip().removesuffix(")").split("(")
        self.field = Field(argument, own_fields)
        plain = (self.function, self.field.name)
        self.name = self.function + capitalized(self.field.name)
        if not self.field.has_prefix and self.field.own is None:
            self.name = IANA_VALUES.get(plain) or (self.field.name if self.is_of_first_packet() else self.name)
        self.most = MOST_OF_TWO_OCTETS if plain == ("first", FRAME_SIZE) else 2**64 - 1

    def is_of_first_packet(self):
        return self.function == "first" and self.field.name in OF_FIRST_PACKET

    @property
    def is_distinct(self):
        return self.function == "distinct"

    def add(self, state, packet):
        """The state after another packet; before the first one it is None."""
        value = self.field.value(packet)
        if self.is_distinct:
            state = set() if state is None else state
            state.update({value} - {None})
            return state
        value = min(value, self.most)
        return value if state is None else UPDATES[self.function](state, value)

    def result(self, state):
        return len(state or ()) if self.is_distinct else state or 0


class Direction:
    """What was measured of the packets of one direction."""

    def __init__(self, values):
        self.values, self.states = values, [None] * len(values)
        self.packets = self.octets = 0
        self.start, self.end = None, None  # nanoseconds

    def add(self, packet):
        time = packet.frame.time
        self.packets, self.octets = self.packets + 1, self.octets + packet.length
        self.start = time if self.start is None else min(self.start, time)
        self.end = time if self.end is None else max(self.end, time)
        self.states = [value.add(state, packet) for value, state in zip(self.values, self.states)]

    def elements(self):
        return {"packetDeltaCount": self.packets, "octetDeltaCount": self.octets, "start": self.start, "end": self.end,
                **{value.name: value.result(state) for value, state in zip(self.values, self.states)}}


class Flow:
    """A flow and its present record.

    @param place  under which the table finds it"""

    def __init__(self, place, key, values):
        self.place, self.key, self.values = place, key, values
        self.has_initiator = True  # biflowDirection
        self.last = None           # the latest time of the present record, or of the one before
        self.begin()

    def begin(self):
        self.there, self.back = Direction(self.values), Direction(self.values)

    def turn(self, key):
        self.key, self.there, self.back = key, self.back, self.there

    @property
    def has_packets(self):
        return self.there.packets + self.back.packets > 0

    def add(self, packet, is_back):
        time = packet.frame.time
        self.last = max(self.last, time) if self.has_packets else time
        (self.back if is_back else self.there).add(packet)

    def deadline(self, idle, active):
        """When its record ends, and why; of a flow between two records, when the flow does."""
        if not self.has_packets:
            return self.last + idle, IDLE_TIMEOUT
        start = min(each.start for each in (self.there, self.back) if each.packets)
        return min((self.last + idle, IDLE_TIMEOUT), (start + active, ACTIVE_TIMEOUT))


class Table:
    """A declared table and its records.

    @param declaration  an item of `tables`; without a timeout it has the longest
    @param own_fields   the list `fields`"""

    def __init__(self, declaration, own_fields=()):
        own = {field["name"]: field for field in own_fields}
        self.name, self.is_biflow = declaration["name"], declaration.get("direction") == "biflow"
        self.key = [Field(text, own) for text in declaration["key"]]
        in_each_record = ("packetDeltaCount", "octetDeltaCount", "sum(ipTotalLength)")
        self.values = [Value(text, own) for text in declaration.get("values", ()) if text not in in_each_record]
        self.own = [field.own for field in (*self.key, *(value.field for value in self.values)) if field.own is not None]
        self.filters = [declaration.get("filter", "")] + [field.get("when", "") for field in self.own]
        names = [field.name for field in self.key]
        self.counterparts = [names.index(COUNTERPARTS.get(name, name)) for name in names] if self.is_biflow else []
        self.names = names
        self.idle, self.active = (declaration.get(name, FOREVER) * SECOND for name in ("idle-timeout", "active-timeout"))
        self.flows, self.records = {}, []
        self.ledger = dict.fromkeys(("metered", "filtered", "without_field", "matched"), 0)

    def add(self, packet, passes):
        """@param passes  (filter, frame) -> whether the frame passes"""
        self.ledger["metered"] += 1
        if not all(passes(each, packet.frame) for each in self.filters if each):
            self.ledger["filtered"] += 1
        elif any(packet_reference.own_octets(packet, field) is None for field in self.own):
            self.ledger["without_field"] += 1
        else:
            self.ledger["matched"] += 1
            self.account(packet)

    def account(self, packet):
        key = tuple(field.in_key(packet) for field in self.key)
        other = self.swapped(key) if self.can_be_paired(packet) else key
        flow = self.flows.get(key) or self.flows.get(other)
        if flow is None or self.has_ended(flow, packet.clock):
            flow = self.flows[key] = Flow(key, key if is_initiator(packet) else other, self.values)
            flow.has_initiator = packet.protocol != TCP or bool(packet.tcp_flags & SYN)
        is_back = key != flow.key
        if not flow.has_initiator and packet.tcp_flags & (SYN | ACK) == SYN:
            flow.has_initiator = True
            if is_back:
                flow.turn(key)
                is_back = False
        flow.add(packet, is_back)

    def has_ended(self, flow, clock):
        """Ends what is due. A packet exactly at a deadline still belongs to the record. Returns whether the flow is over."""
        at, reason = flow.deadline(self.idle, self.active)
        while clock > at:
            if flow.has_packets:
                self.records.append(self.record(flow, reason))
            if reason == IDLE_TIMEOUT:
                del self.flows[flow.place]
                return True
            flow.begin()
            at, reason = flow.deadline(self.idle, self.active)
        return False

    def end(self, clock):
        """At the end of the capture."""
        for flow in list(self.flows.values()):
            if not self.has_ended(flow, clock) and flow.has_packets:
                self.records.append(self.record(flow, FORCED_END))

    def can_be_paired(self, packet):
        """Type and code of ICMP are no ports, which directions exchange."""
        has_type_and_code = {"protocolIdentifier", "destinationTransportPort"} <= set(self.names)
        return self.is_biflow and not (has_type_and_code and packet.protocol in (ICMP, ICMP6))

    def swapped(self, key):
        return tuple(key[place] for place in self.counterparts)

    def key_elements(self, key):
        values = dict(zip(self.names, key))
        elements = {}
        for field in self.key:
            elements.update(field.elements(values[field.name]))
        versions = [values[name][0] for name in ("sourceAddress", "destinationAddress") if name in values]
        if versions:
            elements["ipVersion"] = versions[0]
        code, kind = values.get("destinationTransportPort"), values.get("protocolIdentifier")
        version = elements.get("ipVersion", 4)
        if code is not None and (kind, version) in ((ICMP, 4), (ICMP6, 6)):
            elements["icmpTypeCodeIPv%d" % version] = code
        return elements

    def record(self, flow, reason):
        record = {**self.key_elements(flow.key), **flow.there.elements(), "flowEndReason": reason}
        if not flow.there.packets:
            record["start"] = record["end"] = flow.back.start
        if self.is_biflow:
            record["biflowDirection"] = int(flow.has_initiator)
        if flow.back.packets:
            record.update({reverse(name): value for name, value in flow.back.elements().items()})
        return record


def is_initiator(packet):
    """Whether the sender of a flow's first packet is its source."""
    return not packet.tcp_flags & SYN or not packet.tcp_flags & ACK


def account(tables, capture, passes):
    """Gives all packets of a capture to all tables, and ends their records."""
    for packet in capture.packets:
        for table in tables:
            table.add(packet, passes)
    for table in tables:
        table.end(capture.clock)
