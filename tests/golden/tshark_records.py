# SPDX-License-Identifier: Apache-2.0
"""Flow records of an IPFIX file as tshark decodes them, under the names and in the form of expected.jsonl.

tshark shows a record as a tree of fields with names of its own ("cflow.octets"). A field that the tables below do not
have is an error, so that no field passes unseen.
"""
import datetime
import ipaddress
import os
import re
import subprocess
import xml.etree.ElementTree

# tshark's name of a field: IANA's name of the information element
ELEMENTS = {
    "biflow_direction": "biflowDirection",
    "dot1q_customer_vlan_id": "dot1qCustomerVlanId",
    "dot1q_vlan_id": "dot1qVlanId",
    "dstaddr": "destinationIPv4Address",
    "dstaddrv6": "destinationIPv6Address",
    "dstmac": "destinationMacAddress",
    "dstport": "destinationTransportPort",
    "flow_end_reason": "flowEndReason",
    "icmp_type_code_ipv4": "icmpTypeCodeIPv4",
    "inputint": "ingressInterface",
    "ip_fragment_flags": "fragmentFlags",
    "ip_version": "ipVersion",
    "ipv6flowlabel": "flowLabelIPv6",
    "layer2_octet_delta_count": "layer2OctetDeltaCount",
    "layer2_segment_id": "layer2SegmentId",
    "length_max": "maximumIpTotalLength",
    "length_min": "minimumIpTotalLength",
    "octets": "octetDeltaCount",
    "packets": "packetDeltaCount",
    "protocol": "protocolIdentifier",
    "srcaddr": "sourceIPv4Address",
    "srcaddrv6": "sourceIPv6Address",
    "srcmac": "sourceMacAddress",
    "srcport": "sourceTransportPort",
    "tcp_seq_num": "tcpSequenceNumber",
    "tcp_windows_size": "tcpWindowSize",
    "tcpflags": "tcpControlBits",
    "tos": "ipClassOfService",
    "total_tcp_ack": "tcpAckTotalCount",
    "total_tcp_fin": "tcpFinTotalCount",
    "total_tcp_psh": "tcpPshTotalCount",
    "total_tcp_rst": "tcpRstTotalCount",
    "total_tcp_syn": "tcpSynTotalCount",
    "total_tcp_urg": "tcpUrgTotalCount",
    "ttl_max": "maximumTTL",
    "ttl_min": "minimumTTL",
    "vlanid": "vlanId",
    # ntop's; they have a name of their own for each direction
    "pie.ntop.ooorder_in_pkts": "OOORDER_IN_PKTS",
    "pie.ntop.ooorder_out_pkts": "OOORDER_OUT_PKTS",
    "pie.ntop.retransmitted_in_pkts": "RETRANSMITTED_IN_PKTS",
    "pie.ntop.retransmitted_out_pkts": "RETRANSMITTED_OUT_PKTS",
}
# Those of tributary, by their number (docs/fields.md), of which tshark knows the octets alone. They come under the
# enterprise number for documentation (RFC 5612), because the golden cases name no other one.
ENTERPRISE = "Example Enterprise Number for Documentation Use"
ENTERPRISE_ELEMENTS = {
    1: "tunnelType", 2: "tunnelId", 3: "tunnelSourceIPv4Address", 4: "tunnelDestinationIPv4Address",
    5: "tunnelSourceIPv6Address", 6: "tunnelDestinationIPv6Address", 7: "segments", 8: "dataSegments",
    9: "retransmissions", 10: "retransmittedOctets", 11: "duplicates", 12: "outOfOrder", 13: "zeroWindow",
    14: "keepAlives", 15: "flowSize", 16: "flowDurationNanoseconds", 17: "tcpAnalysisOverflow",
    18: "tcpHandshakeNanoseconds",
}
REVERSE_BIT = 0x4000  # in the number of an element of tributary that is of the reverse direction
TEMPLATE_SET = 2      # RFC 7011 3.3.2
FAULTS = ("_ws.expert", "_ws.malformed")
UNITS = {"milliseconds": 10**3, "microseconds": 10**6, "nanoseconds": 10**9}


def reverse(name):
    return "reverse" + name[0].upper() + name[1:]


def plain_field(field):
    """A number, decimal or 0x..., or an address; tshark marks the reverse direction (RFC 5103) behind it."""
    name, text = ELEMENTS[field.get("name").removeprefix("cflow.")], field.get("show")
    value = int(text, 0) if re.fullmatch(r"\d+|0x[0-9a-f]+", text) else text
    yield reverse(name) if "(Reverse Type " in field.get("showname") else name, value


def enterprise_field(field):
    enterprise, number = re.match(r"Enterprise Private entry: \((.*)\) Type (\d+):", field.get("showname")).groups()
    assert enterprise == ENTERPRISE, field.get("showname")
    name, octets = ENTERPRISE_ELEMENTS[int(number) & ~REVERSE_BIT], bytes.fromhex(field.get("show").replace(":", ""))
    value = str(ipaddress.ip_address(octets)) if name.endswith("Address") else int.from_bytes(octets, "big")
    yield reverse(name) if int(number) & REVERSE_BIT else name, value


def time_of(text, unit):
    """"Nov 14, 2023 22:13:31.030000209 UTC" in whole units since 1970; a year that Python does not know stays text."""
    found = re.fullmatch(r"(\w{3} +\d+, \d{4} .*)\.(\d{9}) UTC", text)
    if found is None:
        return text
    date, fraction = found.groups()
    seconds = datetime.datetime.strptime(date + " +0000", "%b %d, %Y %H:%M:%S %z").timestamp()
    return int(seconds) * UNITS[unit] + int(fraction) * UNITS[unit] // 10**9


def time_fields(field):
    """Start and end, which tshark shows as one duration and does not mark as reverse."""
    unit = re.search(r"\((\w+)\)$", field.get("showname")).group(1)
    for name, element in (("cflow.abstimestart", "flowStart"), ("cflow.abstimeend", "flowEnd")):
        yield element + unit.capitalize(), time_of(field.find("field[@name='%s']" % name).get("show"), unit)


def label_field(field):
    """A label stack entry without its TTL: the label, three bits of experimental use, the bottom of the stack."""
    number = int(re.match(r"MPLS-Label(\d+):", field.get("show")).group(1))
    label, experimental, bottom = (int(field.find("field[@name='cflow.mpls_%s']" % part).get("show"))
                                   for part in ("label", "exp", "bos"))
    name = "mplsTopLabelStackSection" if number == 1 else "mplsLabelStackSection%d" % number
    yield name, "%06x" % (label << 4 | experimental << 1 | bottom)


READERS = {"cflow.enterprise_private_entry": enterprise_field, "cflow.timedelta": time_fields, "": label_field}


def record_of(flow):
    record = {}
    for field in flow:
        if field.get("hide") == "yes":  # of a search expression, not of the record
            continue
        for name, value in READERS.get(field.get("name"), plain_field)(field):
            if name in record and name.startswith(("flowStart", "flowEnd")):
                name = reverse(name)  # the other direction's come second
            assert name not in record, "%s comes twice" % name
            record[name] = value
    return record


def decode(path):
    """The records of flows, in the file's order, without those of options; and what tshark complains of, such as a
    wrong sequence number."""
    shown = subprocess.run(["tshark", "-r", path, "-T", "pdml"], capture_output=True, text=True, timeout=120,
                           env={**os.environ, "LC_ALL": "C.UTF-8", "TZ": "UTC"})
    assert shown.returncode == 0, shown.stderr
    tree = xml.etree.ElementTree.fromstring(shown.stdout)
    faults = [field.get("showname") for field in tree.iter("field") if field.get("name") in FAULTS]
    templates, found = set(), []
    for message in tree.iterfind("packet/proto[@name='cflow']"):
        for part in message.iterfind("field[@name='']"):
            kind = int(part.find("field[@name='cflow.flowset_id']").get("show"))
            if kind == TEMPLATE_SET:
                templates.update(number.get("show") for number in part.iterfind(".//field[@name='cflow.template_id']"))
            elif str(kind) in templates:
                found += [record_of(flow) for flow in part.iterfind("field[@name='']")
                          if flow.get("show").startswith("Flow ")]
    return found, faults
