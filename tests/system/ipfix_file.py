# SPDX-License-Identifier: Apache-2.0
"""Reads the records of an IPFIX file, table by table, by RFC 7011 alone: without libfixbuf, and without `tributary flows`.

Octets and addresses are bytes, numbers int, texts str; times are nanoseconds since 1970.
"""
import struct

IANA, CERT, REVERSE = 0, 6871, 29305
REVERSE_BIT = 0x4000
NTP_EPOCH = 2_208_988_800  # from 1900 to 1970, in seconds
VARIABLE = 0xFFFF
TEMPLATES, OPTIONS_TEMPLATES, FIRST_DATA = 2, 3, 256
MILLISECOND, SECOND = 10**6, 10**9

# Number, name, and how a value is written: u unsigned, o octets and addresses, s text, f float, t time in seconds, tm
# milliseconds, tu microseconds, tn nanoseconds. From IANA's registry.
ELEMENTS = """
1 octetDeltaCount u|2 packetDeltaCount u|4 protocolIdentifier u|5 ipClassOfService u|6 tcpControlBits u
7 sourceTransportPort u|8 sourceIPv4Address o|9 sourceIPv4PrefixLength u|10 ingressInterface u|11 destinationTransportPort u
12 destinationIPv4Address o|13 destinationIPv4PrefixLength u|25 minimumIpTotalLength u|26 maximumIpTotalLength u
27 sourceIPv6Address o|28 destinationIPv6Address o|29 sourceIPv6PrefixLength u|30 destinationIPv6PrefixLength u
31 flowLabelIPv6 u|32 icmpTypeCodeIPv4 u|34 samplingInterval u|35 samplingAlgorithm u|40 exportedOctetTotalCount u
41 exportedMessageTotalCount u|42 exportedFlowRecordTotalCount u|44 sourceIPv4Prefix o|45 destinationIPv4Prefix o
52 minimumTTL u|53 maximumTTL u|54 fragmentIdentification u|56 sourceMacAddress o|58 vlanId u|60 ipVersion u
70 mplsTopLabelStackSection o|71 mplsLabelStackSection2 o|72 mplsLabelStackSection3 o|73 mplsLabelStackSection4 o
74 mplsLabelStackSection5 o|75 mplsLabelStackSection6 o|76 mplsLabelStackSection7 o|77 mplsLabelStackSection8 o
78 mplsLabelStackSection9 o|79 mplsLabelStackSection10 o|80 destinationMacAddress o|82 interfaceName s
83 interfaceDescription s|135 droppedPacketTotalCount u|136 flowEndReason u|139 icmpTypeCodeIPv6 u|144 exportingProcessId u
145 templateId u|149 observationDomainId u|152 flowStartMilliseconds tm|153 flowEndMilliseconds tm
154 flowStartMicroseconds tu|155 flowEndMicroseconds tu|156 flowStartNanoseconds tn|157 flowEndNanoseconds tn
164 ignoredPacketTotalCount u|165 ignoredOctetTotalCount u|166 notSentFlowTotalCount u|167 notSentPacketTotalCount u
168 notSentOctetTotalCount u|169 destinationIPv6Prefix o|170 sourceIPv6Prefix o|173 flowKeyIndicator u|176 icmpTypeIPv4 u
177 icmpCodeIPv4 u|178 icmpTypeIPv6 u|179 icmpCodeIPv6 u|192 ipTTL u|195 ipDiffServCodePoint u|197 fragmentFlags u
202 mplsLabelStackDepth u|224 ipTotalLength u|239 biflowDirection u|243 dot1qVlanId u|245 dot1qCustomerVlanId u
256 ethernetType u|302 selectorId u|303 informationElementId u|304 selectorAlgorithm u|305 samplingPacketInterval u
306 samplingPacketSpace u|311 samplingProbability f|312 dataLinkFrameSize u|322 observationTimeSeconds t
339 informationElementDataType u|341 informationElementName s|344 informationElementSemantics u|345 informationElementUnits u
346 privateEnterpriseNumber u|351 layer2SegmentId u|352 layer2OctetDeltaCount u
378 distinctCountOfSourceIPAddress u|379 distinctCountOfDestinationIPAddress u|422 minimumLayer2TotalLength u|423 maximumLayer2TotalLength u
"""
CERT_ELEMENTS = {1000: ("templateName", "s")}  # CERT's registry of IPFIX elements
# By informationElementDataType (RFC 5610 3.1), those that tributary's elements have.
KINDS = {0: "o", 1: "u", 2: "u", 3: "u", 4: "u", 12: "o", 13: "s", 18: "o", 19: "o"}


def messages_of(path):
    """The messages of a file, as octets."""
    with open(path, "rb") as source:
        octets = source.read()
    while octets:
        length = int.from_bytes(octets[2:4], "big")
        yield octets[:length]
        octets = octets[length:]


def reversed_name(name):
    return "reverse" + name[0].upper() + name[1:]


def known_elements():
    """{(enterprise, number): (name, kind)}"""
    known = {(CERT, number): element for number, element in CERT_ELEMENTS.items()}
    for entry in ELEMENTS.strip().replace("\n", "|").split("|"):
        number, name, kind = entry.split()
        known[IANA, int(number)] = name, kind
        known[REVERSE, int(number)] = reversed_name(name), kind
    return known


def ntp_time(octets):
    """RFC 7011 6.1.10, in the era that began in 1900; from 2036 on in the next."""
    seconds, fraction = struct.unpack(">II", octets)
    seconds += 0 if seconds >= NTP_EPOCH else 2**32
    return (seconds - NTP_EPOCH) * SECOND + (fraction * SECOND + 2**31 >> 32)


def value_of(octets, kind):
    if kind in ("u", "t"):
        return int.from_bytes(octets, "big")
    if kind == "s":
        return octets.decode()
    if kind == "f":
        return struct.unpack(">d", octets)[0]
    if kind == "tm":
        return int.from_bytes(octets, "big") * MILLISECOND
    if kind == "tu":
        return ntp_time(octets) // 1000 * 1000
    return ntp_time(octets) if kind == "tn" else octets


class IpfixFile:
    """All that a file holds: `records`, {table: [record]}; `options`, a list of records; `elements`, {name: (enterprise,
    number)} of all that flow records have."""

    def __init__(self, path):
        self.known, self.templates, self.tables = known_elements(), {}, {}
        self.options, self.elements, self.found = [], {}, []
        for message in messages_of(path):
            version, length = struct.unpack_from(">HH", message)
            assert version == 10 and length == len(message), (version, length)
            self.read_message(message[16:])
        # A name may come behind the first records of its template.
        self.records = {}
        for template, record in self.found:
            self.records.setdefault(self.tables.get(template), []).append(record)

    def read_message(self, sets):
        while sets:
            kind, length = struct.unpack_from(">HH", sets)
            body, sets = sets[4:length], sets[length:]
            if kind in (TEMPLATES, OPTIONS_TEMPLATES):
                self.read_templates(body, kind == OPTIONS_TEMPLATES)
            else:
                assert kind >= FIRST_DATA, kind
                self.read_data(kind, body)

    def read_templates(self, body, are_options):
        while body:
            number, count = struct.unpack_from(">HH", body)
            body, fields = body[6 if are_options else 4:], []
            for _ in range(count):
                element, length = struct.unpack_from(">HH", body)
                enterprise = struct.unpack_from(">I", body, 4)[0] if element & 0x8000 else IANA
                body = body[8 if element & 0x8000 else 4:]
                fields.append((enterprise, element & 0x7FFF, length))
            assert len({field[:2] for field in fields}) == len(fields), "an element twice in template %d" % number
            assert self.templates.setdefault(number, (fields, are_options)) == (fields, are_options), number

    def read_data(self, number, body):
        fields, are_options = self.templates[number]
        while body:
            record = {}
            for enterprise, element, length in fields:
                if length == VARIABLE:
                    length, body = body[0], body[1:]
                    assert length < 255
                octets, body = body[:length], body[length:]
                assert len(octets) == length
                name, kind = self.known[enterprise, element]
                record[name] = value_of(octets, kind)
                if not are_options:
                    self.elements[name] = enterprise, element
            if are_options:
                self.read_options(record)
            else:
                self.found.append((number, record))

    def read_options(self, record):
        self.options.append(record)
        if "informationElementName" in record:  # RFC 5610
            key = record["privateEnterpriseNumber"], record["informationElementId"]
            self.known.setdefault(key, (record["informationElementName"], KINDS[record["informationElementDataType"]]))
        if "templateName" in record:
            self.tables[record["templateId"]] = record["templateName"]
