#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Declared tables from outside: over captures, all records of each table are those of a reference that looks at each packet by
itself; those of a table with the main table's key are the main table's; the accounts add up; and others read the file.

The project's own captures are always judged, those of $TRIBUTARY_SHARED (default: ../shared beside the checkout) where it is
there: each small one in one setting, drawn by $TRIBUTARY_SEED, and all of them in all settings with $TRIBUTARY_LONG.
"""
import collections
import concurrent.futures
import glob
import itertools
import json
import os
import random
import re
import socket
import subprocess
import sys
import tempfile

import harness
import ipfix_file
import packet_reference
import table_reference
from ipfix_file import IpfixFile
from pcap_filters import PcapFilters
from table_reference import FOREVER, Table, reverse

OWN_CAPTURES = [harness.DEMO, *sorted(glob.glob(os.path.join(harness.ROOT, "tests", "golden", "*", "input.pcap")))]
SHARED_FOLDERS = [os.path.join(harness.SHARED, *folder) for folder in (("pcaps",), ("findings",), ("flowtest", "pcaps"))]
SMALL = 2**17  # octets of a capture that the short form judges
UNITS = {"milliseconds": 10**6, "microseconds": 10**3, "nanoseconds": 1}
TIMES = re.compile(r"flow(Start|End)\w+seconds|reverseFlow(Start|End)\w+seconds")
MOST_KEYS = 2**18  # more than there are packets in any of the captures
NTP_WRAPS = 2_085_978_496  # 2036-02-07, in seconds since 1970: the reader cannot tell the next era's times from 1900's

EXACT, STANDARD_ERROR = 80, 0.046  # of distinct()
MOST_STANDARD_ERRORS = 5

FIVE_TUPLE = ["sourceAddress", "destinationAddress", "sourceTransportPort", "destinationTransportPort", "protocolIdentifier",
              "vlanId", "ingressInterface"]
OWN_FIELDS = [
    {"name": "dnsTransactionId", "from": "l4", "offset": 8, "octets": 2, "as": "unsigned16", "when": "udp port 53"},
    {"name": "beginning", "from": "payload", "octets": 4, "as": "octetArray"},
    {"name": "word", "from": "payload", "offset": 2, "octets": 8, "as": "string", "when": "tcp or udp"},
    {"name": "middle", "from": "l3", "offset": 3, "octets": 3, "as": "unsigned32", "number": 1},
    {"name": "long", "from": "frame", "offset": 20, "octets": 8, "as": "unsigned64"},
    {"name": "flag", "from": "l4", "offset": 1, "octets": 1, "as": "unsigned8", "number": 1792},
    {"name": "station", "from": "frame", "octets": 6, "as": "macAddress"},
    {"name": "address", "from": "l3", "offset": 12, "octets": 4, "as": "ipv4Address"},
    {"name": "longAddress", "from": "l3", "offset": 8, "octets": 16, "as": "ipv6Address"},
    {"name": "deep", "from": "payload", "offset": 200, "octets": 32, "as": "octetArray"},
]
NUMERIC_OWN = [field["name"] for field in OWN_FIELDS if field["as"].startswith("unsigned")]
OCTETS_OWN = [field["name"] for field in OWN_FIELDS if field["name"] not in NUMERIC_OWN]

# Tables of uniflows.
PREFIXES = {"name": "subnets", "key": ["sourceAddress/24/56", "destinationAddress/20/48", "ipDiffServCodePoint"], "values": [
    "packetDeltaCount", "octetDeltaCount", "min(ipTTL)", "max(ipTTL)", "distinct(sourceAddress)", "or(tcpControlBits)",
    "first(ipTTL)", "last(ipTotalLength)", "sum(dataLinkFrameSize)", "max(ipTotalLength)", "distinct(sourceTransportPort)"]}
DNS = {"name": "dns", "key": ["dnsTransactionId", "ipVersion"], "values": [
    "first(sourceTransportPort)", "min(dnsTransactionId)", "distinct(destinationAddress)"]}
OCTETS = {"name": "octets", "key": ["beginning", "protocolIdentifier"], "values": [
    "distinct(word)", "sum(middle)", "min(middle)", "max(middle)", "first(long)", "last(long)", "or(long)", "or(flag)"]}
TEXT = {"name": "text", "key": ["word"], "values": ["distinct(beginning)", "distinct(address)"], "filter": "not port 443"}
DEEP = {"name": "deep", "key": ["station", "address", "deep"], "values": ["distinct(longAddress)", "last(flag)"]}
MINUTES = {"name": "minutes", "key": ["observationTimeSeconds/60", "ingressInterface"], "values": [
    "max(dataLinkFrameSize)", "min(dataLinkFrameSize)", "last(observationTimeSeconds)", "first(protocolIdentifier)",
    "distinct(destinationAddress/16/48)", "distinct(protocolIdentifier)"]}
LAYER_2 = {"name": "layer-2", "key": [
    "sourceMacAddress", "destinationMacAddress", "ethernetType", "vlanId", "dot1qCustomerVlanId", "vlanTagCount",
    "mplsTopLabelStackSection", "mplsLabelStackSection2", "mplsLabelStackDepth"], "values": [
    "distinct(mplsLabelStackSection3)", "first(flowLabelIPv6)", "or(fragmentFlags)", "max(fragmentIdentification)"]}
TUNNELS = {"name": "tunnels", "key": [
    "tunnelType", "tunnelId", "tunnelSourceAddress", "tunnelDestinationAddress/16/48", "destinationAddress/24/0"], "values": [
    "distinct(sourceAddress)", "distinct(tunnelDestinationAddress)", "min(ipTTL)"]}
# Tables of biflows: with a distinct() in each direction there is no room for more.
PREFIX_PAIRS = {"name": "pairs", "key": ["sourceAddress/24/56", "destinationAddress/24/56"], "values": [
    "distinct(sourceTransportPort)"]}
CLASS_PAIRS = {"name": "class-pairs", "key": ["sourceAddress/16/64", "destinationAddress/16/64", "ipDiffServCodePoint"], "values": [
    "min(ipTTL)", "max(ipTTL)", "first(ipTotalLength)", "last(ipTotalLength)", "or(tcpControlBits)", "sum(dataLinkFrameSize)"]}
STATIONS = {"name": "stations", "key": ["sourceMacAddress", "destinationMacAddress", "ethernetType"], "values": [
    "first(tcpControlBits)", "max(sourceTransportPort)", "min(destinationTransportPort)", "last(ipVersion)"]}
TUNNEL_PAIRS = {"name": "tunnel-pairs", "key": [
    "tunnelType", "tunnelId", "tunnelSourceAddress/24/64", "tunnelDestinationAddress/24/64", "sourceTransportPort",
    "destinationTransportPort"], "values": ["sum(ipTTL)", "or(ipClassOfService)"]}
TRANSACTIONS = {"name": "transactions", "key": ["sourceAddress", "destinationAddress", "dnsTransactionId"], "values": [
    "first(sourceTransportPort)", "or(flag)"]}
HOSTS = {"name": "hosts", "key": ["sourceAddress", "destinationAddress"], "values": ["distinct(destinationTransportPort)"]}
CONVERSATIONS = {"name": "conversations", "key": [*FIVE_TUPLE[:5], "ethernetType"], "values": [
    "first(ipTTL)", "last(ipTTL)", "max(long)"]}

Setting = collections.namedtuple("Setting", "tunnel direction queues timestamps tables idle active",
                                 defaults=(FOREVER, FOREVER))
SETTINGS = [
    Setting("outer", "uniflow", 1, "milliseconds", [PREFIXES, DNS, OCTETS, TEXT, MINUTES, LAYER_2]),
    Setting("inner", "biflow", 1, "microseconds", [PREFIX_PAIRS, CLASS_PAIRS, STATIONS, TUNNEL_PAIRS, TRANSACTIONS]),
    Setting("inner", "uniflow", 4, "nanoseconds", [PREFIXES, DEEP, MINUTES, LAYER_2, TUNNELS]),
    Setting("outer", "biflow", 4, "milliseconds", [TRANSACTIONS, HOSTS, CONVERSATIONS]),
]
# Timeouts that end records on the way, by the time of packets.
TIMED = [Setting("outer", "uniflow", 1, "milliseconds", [PREFIXES, OCTETS, TEXT], 2, 5),
         Setting("inner", "biflow", 1, "milliseconds", [CLASS_PAIRS, STATIONS, TUNNEL_PAIRS], 2, 5),
         Setting("inner", "uniflow", 4, "milliseconds", [CONVERSATIONS, HOSTS], 1, 10),
         Setting("outer", "biflow", 4, "milliseconds", [CONVERSATIONS, HOSTS], 3, 4)]
FUNCTIONS = ("sum", "min", "max", "first", "last", "or")


def shared_captures():
    names = [os.path.join(folder, name) for folder in SHARED_FOLDERS if os.path.isdir(folder) for name in os.listdir(folder)]
    return sorted(name for name in names if name.endswith((".pcap", ".pcapng")))


def seed_of(*parts):
    """The same in each process, other than hash()."""
    return random.Random("%d %s" % (harness.SEED, parts))


def field_texts(rng, tunnel, has_whole_addresses):
    """Fields, each as a key may name it."""
    for name in (*packet_reference.NUMBERS, *packet_reference.OCTETS, *NUMERIC_OWN, *OCTETS_OWN):
        if name.startswith("tunnel") and tunnel == "outer":
            continue
        prefix = "/%d/%d" % (rng.randrange(1, 33), rng.randrange(0, 129))
        if name in packet_reference.ADDRESSES and rng.random() < 0.7 and not has_whole_addresses:
            yield name + prefix
        elif name == table_reference.TIME:
            yield "%s/%d" % (name, rng.choice((1, 2, 10, 60, 3600, 86_400)))
        else:
            yield name


def random_key(rng, setting, has_whole_addresses):
    texts = {text.split("/")[0]: text for text in field_texts(rng, setting.tunnel, has_whole_addresses)}
    names = rng.sample(sorted(texts), rng.randrange(1, 5))
    if has_whole_addresses or setting.direction == "biflow":
        names = ["sourceAddress", "destinationAddress", *names]
    if setting.direction == "biflow":
        names += [packet_reference.COUNTERPARTS[name] for name in names if name in packet_reference.COUNTERPARTS]
    names = list(dict.fromkeys(names))
    for name in names:  # both sides alike
        counterpart = packet_reference.COUNTERPARTS.get(name)
        if counterpart in names and setting.direction == "biflow":
            texts[counterpart] = texts[name].replace(name, counterpart)
    return [texts[name] for name in names]


def random_table(rng, setting, name):
    """A declaration that is permitted, with any of all fields and functions."""
    is_biflow = setting.direction == "biflow"
    key = random_key(rng, setting, setting.queues > 1 and (is_biflow or setting.idle < FOREVER))
    taken = {text.split("/")[0] for text in key} | {"icmpTypeCodeIPv4", "icmpTypeCodeIPv6"}
    numbers = [name for name in (*packet_reference.NUMBERS, *NUMERIC_OWN)
               if setting.tunnel == "inner" or not name.startswith("tunnel")]
    wanted = ["%s(%s)" % (rng.choice(FUNCTIONS), rng.choice(numbers)) for _ in range(rng.randrange(0, 7))]
    if not is_biflow and rng.random() < 0.5:
        wanted.append("distinct(%s)" % rng.choice([*numbers, *(text for text in packet_reference.OCTETS
                                                              if setting.tunnel == "inner" or "tunnel" not in text), *OCTETS_OWN]))
    values = []
    for text in wanted:
        value = table_reference.Value(text, {field["name"]: field for field in OWN_FIELDS})
        if value.name not in taken:
            taken.add(value.name)
            values.append(text)
    return {"name": name, "key": key, "values": values}


def declarations_of(setting, capture):
    """A table with the main table's key, those of the setting, and one with a random declaration."""
    five = {"name": "five", "key": FIVE_TUPLE}
    drawn = random_table(seed_of(os.path.relpath(capture, harness.ROOT), setting[:3], setting.idle), setting, "random")
    common = {"idle-timeout": setting.idle, "active-timeout": setting.active, "direction": setting.direction}
    # Each packet of a capture may have a key of its own; without room for all, records end for lack of resources.
    return [{**table, **common} for table in (five, *setting.tables, {**drawn, "max-flows": MOST_KEYS})]


def meter(capture, config, directory, *more):
    """The file's records and the ledger, which is checked."""
    path, out, stats = (os.path.join(directory, name) for name in ("tables.yaml", "out.ipfix", "stats.json"))
    with open(path, "w") as target:
        json.dump(config, target)  # which is YAML, too
    result = subprocess.run([harness.TRIBUTARYD, "--read", capture, "--config", path, "--write", out, "--stats", stats, *more],
                            capture_output=True, text=True, timeout=500)
    if result.returncode != 0:
        raise AssertionError("exit code %d: %s" % (result.returncode, result.stderr[-3000:]))
    ledger = harness.read_json(stats)
    harness.TestCase().check_ledger(ledger)
    return out, IpfixFile(out), ledger


def plain(record):
    """Times under names without their unit."""
    return {TIMES.sub(lambda found: "reverse" + found[2] if found[2] else found[1].lower(), name): value
            for name, value in record.items()}


def floored(record, unit):
    return {name: value // unit * unit if name in ("start", "end", "reverseStart", "reverseEnd") else value
            for name, value in record.items()}


class Comparison:
    """Records of a table against those of its reference."""

    def __init__(self, table, are_split):
        self.table, self.are_split = table, are_split
        self.functions = {}
        for value in table.values:
            self.functions[value.name] = self.functions[reverse(value.name)] = value.function
        counts = ("packetDeltaCount", "octetDeltaCount", "start", "end")
        self.sums = {"packetDeltaCount", "octetDeltaCount"}
        self.no_key = {*counts, *map(reverse, counts), *self.functions, "flowEndReason", "biflowDirection"}
        self.errors = []  # of estimates: relative to the truth

    def by_key(self, records):
        found = collections.defaultdict(list)
        for record in records:
            found[tuple(sorted((name, value) for name, value in record.items() if name not in self.no_key))].append(record)
        return found

    def differences(self, expected, actual):
        expected, actual = self.by_key(expected), self.by_key(actual)
        for key in expected.keys() - actual.keys():
            yield "no record of %s, but there should be %s" % (key, expected[key])
        for key in actual.keys() - expected.keys():
            yield "a record too many: %s" % actual[key]
        for key in expected.keys() & actual.keys():
            for wanted, got in self.pairs(expected[key], actual[key]):
                names = sorted(name for name in wanted.keys() | got.keys() if wanted.get(name) != got.get(name))
                if names:
                    yield "%s: %s" % (dict(key), ", ".join("%s is %r, not %r" % (name, got.get(name), wanted.get(name))
                                                           for name in names))

    def pairs(self, expected, actual):
        """A record that is wanted, and what there is."""
        if self.are_split:
            (wanted,) = expected
            yield wanted, self.merged(wanted, actual)
            return
        in_order = [sorted(records, key=lambda record: (record["start"], record["end"])) for records in (expected, actual)]
        for wanted, got in itertools.zip_longest(*in_order, fillvalue={}):
            yield wanted, self.merged(wanted, [got])

    def merged(self, wanted, parts):
        """One record of what the queues have. An estimate that is near enough becomes the number that is wanted."""
        if len({frozenset(part) for part in parts}) != 1 or not parts[0]:
            return {"elements": parts}
        return {name: self.merged_value(name, wanted.get(name), [part[name] for part in parts]) for name in parts[0]}

    def merged_value(self, name, wanted, values):
        function = self.functions.get(name)
        if function == "distinct":
            return wanted if self.is_near(wanted, values) else values
        if len(values) == 1:
            return values[0]
        if function in ("first", "last"):
            return wanted if wanted in values else values
        if name in self.sums or function == "sum":
            return sum(values) % 2**64
        if function == "or":
            merged = 0
            for value in values:
                merged |= value
            return merged
        if name == "start" or function == "min":
            return min(values)
        if name == "end" or function == "max":
            return max(values)
        return values[0] if len(set(values)) == 1 else values

    def is_near(self, wanted, values):
        """Within some standard errors; several queues may have seen the same values."""
        if wanted is None:
            return False
        slack = MOST_STANDARD_ERRORS * STANDARD_ERROR if wanted > EXACT else 0
        if len(values) == 1 and wanted > EXACT:
            self.errors.append(values[0] / wanted - 1)
        return max(values) * (1 - slack) <= wanted <= sum(values) * (1 + slack)


def has_one_record_each(table):
    """Whether no timeout has cut a flow, not even the longest: then the records of several queues are those of one flow."""
    return all(record["flowEndReason"] == table_reference.FORCED_END for record in table.records)


def has_whole_addresses(declaration):
    return {"sourceAddress", "destinationAddress"} <= set(declaration["key"])


def sorted_records(records):
    return sorted((sorted(record.items()) for record in records), key=repr)


def difference_of_five(records):
    """How the records of the table with the main table's key differ from the main table's, or None."""
    main, five = records.get("main", []), records.get("five", [])
    names = {name for record in five for name in record}
    if five and not {"packetDeltaCount", "octetDeltaCount", "flowEndReason", "ipVersion", "protocolIdentifier"} < names:
        return "elements of the table with the main table's key: %s" % names
    projected = sorted_records({name: record[name] for name in record if name in names} for record in main)
    found = sorted_records(five)
    if projected != found:
        other = [(one, two) for one, two in zip(projected, found) if one != two][:2]
        return "%d records of main, %d of the table with its key; %s" % (len(main), len(five), other)
    return None


def difference_of_ledger(ledger, name, records, wanted):
    """How a table's account differs from its equations, its records and the reference; or None.

    @param wanted  packets, by what became of them; {}: not known"""
    account = ledger["tables"][name]
    packets, flows = account["packets"], account["flows"]
    counted, octets = (sum(record[name] + record.get(reverse(name), 0) for record in records)
                       for name in ("packetDeltaCount", "octetDeltaCount"))
    pairs = [
        ("metered by the main table", packets["metered"], ledger["packets"]["metered"]),
        ("metered", packets["metered"], sum(packets[key] for key in ("filtered", "filter_not_ready", "without_field", "matched"))),
        ("matched", packets["matched"], packets["in_records"] + sum(packets["refused_by_cause"].values())),
        *((unit, account[unit][total], sum(account[unit][part] for part in ("exported", "lost", "active")))
          for unit, total in (("packets", "in_records"), ("octets", "in_records"), ("flows", "created"))),
        ("packets of records", packets["exported"], counted),
        ("octets of records", account["octets"]["exported"], octets),
        ("records", flows["exported"], len(records)),
        ("ended", flows["created"], sum(flows["ended_by_reason"].values())),
        *((key, packets[key], value) for key, value in wanted.items())]
    wrong = ["%s: %d is not %d" % pair for pair in pairs if pair[1] != pair[2]]
    return "; ".join(wrong) or None


def differences_of(capture, setting, directory):
    """Texts, and errors of estimates."""
    declarations = declarations_of(setting, capture)
    packets = packet_reference.Capture(capture, setting.tunnel)
    tables = [Table(declaration, OWN_FIELDS) for declaration in declarations]
    table_reference.account(tables, packets, PcapFilters().passes)
    is_too_late = packets.clock >= NTP_WRAPS * table_reference.SECOND
    timestamps = "milliseconds" if is_too_late else setting.timestamps
    are_split = [setting.queues > 1 and not has_whole_addresses(declaration) for declaration in declarations]
    is_cut = any(is_split and not has_one_record_each(table) for is_split, table in zip(are_split, tables))
    queues = 1 if is_cut else setting.queues
    config = {"flows": {"tunnel": setting.tunnel, "direction": setting.direction, "idle-timeout": setting.idle,
                        "active-timeout": setting.active},
              "read": {"queues": queues}, "export": {"timestamps": timestamps}, "fields": OWN_FIELDS,
              "tables": declarations}
    _, file, ledger = meter(capture, config, directory)
    records = {name: [plain(record) for record in found] for name, found in file.records.items()}
    texts = [difference_of_five(records)]
    errors = []
    for declaration, table, is_split in zip(declarations, tables, are_split):
        found = records.get(table.name, [])
        comparison = Comparison(table, is_split and queues > 1)
        wanted = [floored(record, UNITS[timestamps]) for record in table.records]
        told = list(comparison.differences(wanted, found))
        texts += ["table %s: %s" % (json.dumps(declaration), text) for text in told[:3]]
        texts.append(difference_of_ledger(ledger, table.name, found, table.ledger))
        errors += comparison.errors
    return [text for text in texts if text is not None], errors


def judge(job):
    capture, setting = job
    with tempfile.TemporaryDirectory(prefix="tributary-tables-") as directory:
        try:
            return differences_of(capture, setting, directory)
        except (AssertionError, KeyError, subprocess.TimeoutExpired) as fault:
            return ["%s: %s" % (type(fault).__name__, fault)], []


def drawn_captures(number):
    """Those of the shared ones that a setting judges."""
    captures = shared_captures()
    if harness.LONG:
        return captures
    small = [capture for capture in captures if os.path.getsize(capture) <= SMALL]
    seed_of("captures").shuffle(small)
    return small[number::len(SETTINGS)]


def judged_by_oracle(packet):
    """What the oracle knows of a packet, too."""
    return (packet.version, packet.source, packet.destination, packet.protocol, packet.source_port, packet.destination_port,
            packet.length, packet.ttl, packet.service, packet.fragment_id, packet.is_later_fragment,
            bool(packet.fragment_flags & packet_reference.MORE_FRAGMENTS), packet.flow_label, packet.tcp_flags, packet.tags,
            [int.from_bytes(entry, "big") >> 12 for entry in packet.labels])


def packet_by_oracle(oracle, frame, options):
    try:
        packet = oracle.parse(frame, options)
    except (oracle.NonIP, oracle.Malformed):
        return None
    port = packet.dport if packet.icmp is None else packet.icmp
    return (packet.version, packet.src, packet.dst, packet.proto, packet.sport, port, packet.length, packet.ttl, packet.tos,
            packet.ident, packet.frag_offset > 0, packet.more_frags, packet.flow_label, packet.tcp_flags, packet.vlans,
            packet.mpls)


def difference_from_oracle(capture):
    """The first difference between this reference's packets and those of the shared collection's oracle, or None."""
    sys.path.insert(0, os.path.join(harness.SHARED, "oracle"))
    import oracle  # pylint: disable=import-outside-toplevel
    for tunnel in ("outer", "inner"):
        options = oracle.options([capture, "--tunnel", tunnel, "--zero-length", "any", "--mpls-ethernet"])
        theirs = list(oracle.read_capture(capture))
        ours = list(packet_reference.frames_of(capture))
        if len(ours) != len(theirs):
            return "%d frames, not %d" % (len(ours), len(theirs))
        for number, (frame, wanted) in enumerate(zip(ours, theirs), 1):
            packet = packet_reference.packet_of(frame, tunnel)
            pair = packet and judged_by_oracle(packet), packet_by_oracle(oracle, wanted, options)
            if pair[0] != pair[1] or (frame.time, frame.octets) != (wanted.ts, wanted.data):
                return "frame %d, %s: %s, not %s" % (number, tunnel, *pair)
    return None


class Reference(harness.TestCase):
    def test_its_packets_are_the_oracles(self):
        captures = drawn_captures(0)
        if not captures or not os.path.exists(os.path.join(harness.SHARED, "oracle", "oracle.py")):
            self.skipTest("no captures, or no oracle, in " + harness.SHARED)
        with concurrent.futures.ProcessPoolExecutor(os.cpu_count()) as pool:
            for capture, text in zip(captures, pool.map(difference_from_oracle, captures)):
                with self.subTest(capture, TRIBUTARY_SEED=harness.SEED):
                    self.assertIsNone(text)


class Captures(harness.TestCase):
    """Each setting is a run with up to eight tables."""

    def check(self, jobs):
        """@param jobs  [(capture, setting)...]"""
        errors = []
        with concurrent.futures.ProcessPoolExecutor(os.cpu_count()) as pool:
            for (capture, setting), (texts, found) in zip(jobs, pool.map(judge, jobs)):
                errors += found
                with self.subTest(capture, setting=setting[:4], TRIBUTARY_SEED=harness.SEED):
                    self.assertEqual(texts, [])
        if len(errors) >= 10:
            root_of_squares = (sum(error**2 for error in errors) / len(errors)) ** 0.5
            self.assertLess(root_of_squares, 2 * STANDARD_ERROR, errors)

    def check_shared(self, jobs):
        if not jobs:
            self.skipTest("no captures in " + harness.SHARED)
        self.check(jobs)

    def test_own_captures(self):
        self.check([(capture, setting) for capture in OWN_CAPTURES for setting in SETTINGS])

    def test_own_captures_whose_records_end_on_the_way(self):
        self.check([(capture, setting) for number, capture in enumerate(OWN_CAPTURES)
                    for setting in (TIMED if harness.LONG or capture == harness.DEMO else [TIMED[number % len(TIMED)]])])

    def test_shared_captures(self):
        self.check_shared([(capture, setting) for number, setting in enumerate(SETTINGS) for capture in drawn_captures(number)])

    def test_shared_captures_whose_records_end_on_the_way(self):
        jobs = [(capture, setting) for number, setting in enumerate(TIMED) for capture in drawn_captures(number)]
        self.check_shared(jobs if harness.LONG else seed_of("timed").sample(jobs, min(20, len(jobs))))


class Elements(harness.TestCase):
    """What the records are called on the wire."""

    def run_demo(self, tables, **more):
        config = {"fields": OWN_FIELDS, "tables": [{"idle-timeout": FOREVER, "active-timeout": FOREVER, **table} for table in tables],
                  **more}
        return meter(harness.DEMO, config, self.directory)

    def test_numbers_follow_from_functions_and_fields(self):
        _, file, _ = self.run_demo([OCTETS, {**MINUTES, "values": [*MINUTES["values"], "or(middle)"]}, PREFIXES])
        enterprise = file.elements["sumMiddle"][0]
        self.assertEqual(enterprise, 32473)  # the number for documentation, unless the configuration has another one
        expected = {
            "maximumTTL": (0, 53), "tcpControlBits": (0, 6), "ipTTL": (0, 192), "layer2OctetDeltaCount": (0, 352),
            "distinctCountOfSourceIPAddress": (0, 378), "sourceIPv4Prefix": (0, 44), "destinationIPv6PrefixLength": (0, 30),
            "observationTimeSeconds": (0, 322), "minimumLayer2TotalLength": (0, 422),
            # 1024 + 64 * function + field; the functions are sum, min, max, first, last, or, distinct
            "lastIpTotalLength": (enterprise, 1024 + 64 * 5 + 12), "firstProtocolIdentifier": (enterprise, 1024 + 64 * 4 + 5),
            "lastObservationTimeSeconds": (enterprise, 1024 + 64 * 5 + 44),
            "distinctDestinationAddress": (enterprise, 1024 + 64 * 7 + 2),
            # 2048 + 8 * slot + function, where a number of its own is the slot, from 1
            "sumMiddle": (enterprise, 2048 + 1), "minMiddle": (enterprise, 2048 + 2), "maxMiddle": (enterprise, 2048 + 3),
            "orMiddle": (enterprise, 2048 + 6), "orFlag": (enterprise, 2048 + 8 * 1791 + 6)}
        self.assertEqual({name: file.elements.get(name) for name in expected}, expected)
        own, number = file.elements["beginning"]
        self.assertEqual((own, number % 8), (enterprise, 0))
        self.assertEqual(file.elements["distinctWord"][1] % 8, 7)

    def test_each_table_has_templates_of_its_own(self):
        _, file, _ = self.run_demo([PREFIXES, MINUTES])
        self.assertEqual(set(file.tables.values()), {"main", "subnets", "minutes"})
        self.assertEqual(set(file.records), {"main", "subnets", "minutes"})

    def test_the_same_tables_have_the_same_numbers_in_another_order(self):
        runs = [self.run_demo(tables)[1].elements for tables in ([OCTETS, TEXT, DNS], [DNS, OCTETS, TEXT])]
        self.assertEqual(*runs)

    def test_elements_of_another_enterprise(self):
        _, file, _ = self.run_demo([OCTETS], export={"enterprise-number": 4711})
        self.assertEqual(file.elements["sumMiddle"][0], 4711)


def without_zeros(account):
    """The ledger also names causes that were never met, which depend on the configuration."""
    return {name: without_zeros(value) if isinstance(value, dict) else value for name, value in account.items() if value}


class Accounts(harness.TestCase):
    def test_a_packet_that_ends_before_a_field_is_counted(self):
        declaration = {"name": "deep", "key": ["deep"], "filter": "tcp"}
        with open(self.path("tables.yaml"), "w") as config:
            json.dump({"fields": OWN_FIELDS, "tables": [declaration]}, config)
        _, ledger, _ = self.meter("--read", harness.DEMO, "--config", self.path("tables.yaml"))
        table = Table(declaration, OWN_FIELDS)
        table_reference.account([table], packet_reference.Capture(harness.DEMO, "outer"), PcapFilters().passes)
        packets = ledger["tables"]["deep"]["packets"]
        self.assertEqual({name: packets[name] for name in table.ledger}, table.ledger)
        self.assertTrue(all(table.ledger.values()), table.ledger)  # there are packets of each kind

    def test_tables_do_not_change_the_main_tables_account(self):
        config = self.path("tables.yaml", json.dumps({"fields": OWN_FIELDS, "tables": [PREFIXES, OCTETS, MINUTES]}))
        _, without, _ = self.meter("--read", harness.DEMO)
        _, beside, _ = self.meter("--read", harness.DEMO, "--config", config)
        for part in ("packets", "octets", "flows"):
            self.assertEqual(without_zeros(without[part]), without_zeros(beside[part]))


class OtherDecoders(harness.TestCase):
    """The tables of two settings in one file each, read by programs that others wrote."""

    def file_of(self, number):
        setting = SETTINGS[number]
        config = {"flows": {"tunnel": setting.tunnel, "direction": setting.direction}, "fields": OWN_FIELDS,
                  "tables": [{**table, "direction": setting.direction} for table in setting.tables]}
        capture = os.path.join(harness.ROOT, "tests", "golden", "tunnels", "input.pcap")
        with open(self.path("tables.yaml"), "w") as target:
            json.dump(config, target)
        out, _, _ = self.meter("--read", capture, harness.DEMO, "--config", self.path("tables.yaml"))
        return out, IpfixFile(out)

    def test_tshark_and_ipfixdump_read_all(self):
        harness.need("tshark", "ipfixDump")
        for number in range(len(SETTINGS)):
            with self.subTest(SETTINGS[number]):
                out, file = self.file_of(number)
                self.check_strictly(out)
                records = [record for found in file.records.values() for record in found]
                self.assertGreater(len(records), 0)
                counts = sum(1 + ("reverseOctetDeltaCount" in record) for record in records)
                messages = harness.tshark_records(out)
                self.assertEqual(sum(found for found, _ in messages), counts)
                self.assertFalse(any(fault for _, fault in messages))
                marks = subprocess.run(["tshark", "-r", out, "-Y", "_ws.malformed or _ws.expert.severity >= warning"],
                                       capture_output=True, text=True, timeout=60)
                self.assertEqual((marks.returncode, marks.stdout), (0, ""), marks.stderr)
                dump = subprocess.run(["ipfixDump", "--in", out, "--data"], capture_output=True, text=True, timeout=60)
                self.assertEqual(dump.returncode, 0, dump.stderr)
                self.assertEqual(dump.stdout.count("--- data record "), len(records) + len(file.options))

    def test_nfdump_reads_every_record(self):
        harness.need("nfcapd", "nfdump")
        for number in range(len(SETTINGS)):
            with self.subTest(SETTINGS[number]):
                out, file = self.file_of(number)
                directory, port = self.path("flows-%d" % number), harness.free_port()
                os.mkdir(directory)
                with harness.Process("nfcapd", "-w", directory, "-b", "127.0.0.1", "-p", str(port)) as collector, \
                        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as exporter:
                    harness.wait_until(lambda: collector.udp_backlog(port) is not None, 10, "nfcapd")
                    exporter.connect(("127.0.0.1", port))
                    for message in ipfix_file.messages_of(out):
                        exporter.send(message)
                        harness.wait_until(lambda: collector.udp_backlog(port) == 0, 10, "nfcapd")
                    collector.end()
                    self.assertIn("Sequence Errors: 0, Bad Packets: 0", collector.text())
                records = [record for found in file.records.values() for record in found]
                text = subprocess.run(["nfdump", "-I", "-R", directory], capture_output=True, text=True, check=True).stdout
                totals = {name: int(value) for name, value in re.findall(r"^(\w[\w ]*): (\d+)$", text, re.MULTILINE)}
                packets = sum(record["packetDeltaCount"] + record.get("reversePacketDeltaCount", 0) for record in records)
                self.assertEqual((totals["Packets"], totals["Sequence failures"]), (packets, 0))


class Document(harness.TestCase):
    """The examples of docs/tables.md are loaded as they stand, and give the records that their declarations say."""
    # Captures of $TRIBUTARY_SHARED/pcaps that an example suits.
    SUITABLE = {"subnets": "large-apps-A.pcap", "tenants": "ndpi--vxlan.pcap", "dns": "pktvisor--dns_udp_tcp_random.pcap",
                "syn-flood": "ndpi--synscan.pcap", "minutes": "large-apps-A.pcap", "servers": "pcapplusplus--many-protocols.pcap"}

    TIMEOUTS = {"idle-timeout": 30, "active-timeout": 300}  # those of `flows`, which no example changes

    @staticmethod
    def examples():
        with open(os.path.join(harness.ROOT, "docs", "tables.md")) as source:
            return re.findall(r"(?ms)^```yaml\n(.*?)^```$", source.read())

    @staticmethod
    def lists_of(text):
        """The lists `fields` and `tables` and the section `flows` of an example, in the one style of that page."""
        found = {"fields": [], "tables": [], "flows": {}}
        section = None
        for line in text.splitlines():
            line = line.split("  #")[0].rstrip()
            if re.match(r"\w+:$", line):
                section = line[:-1]
            entry = re.match(r" +(- )?([\w-]+): (.*)$", line)
            if section not in found or not entry:
                continue
            is_item, key, value = entry.groups()
            if is_item:
                found[section].append({})
            target = found[section][-1] if isinstance(found[section], list) else found[section]
            target[key] = value_of(value)
        return found

    def test_there_are_six(self):
        self.assertEqual([self.lists_of(text)["tables"][0]["name"] for text in self.examples()], list(self.SUITABLE))

    def test_they_are_loaded(self):
        for number, text in enumerate(self.examples()):
            with self.subTest(text):
                config = self.path("example-%d.yaml" % number, text)
                self.tributaryd("--check-config", "--config", config)

    def test_they_give_the_records_that_they_declare(self):
        for number, text in enumerate(self.examples()):
            lists = self.lists_of(text)
            suitable = os.path.join(harness.SHARED, "pcaps", self.SUITABLE[lists["tables"][0]["name"]])
            for capture in (harness.DEMO, suitable):
                if os.path.exists(capture):
                    with self.subTest(lists["tables"][0]["name"], capture=capture):
                        self.check_example(self.path("example-%d.yaml" % number, text), lists, capture)

    def check_example(self, config, lists, capture):
        out, stats = self.path("out.ipfix"), self.path("stats.json")
        self.tributaryd("--config", config, "--read", capture, "--write", out, "--stats", stats)
        file, ledger = IpfixFile(out), harness.read_json(stats)
        self.check_ledger(ledger)
        tables = [Table({**self.TIMEOUTS, **declaration}, lists["fields"]) for declaration in lists["tables"]]
        packets = packet_reference.Capture(capture, lists["flows"].get("tunnel", "outer"))
        table_reference.account(tables, packets, PcapFilters().passes)
        for table in tables:
            found = [plain(record) for record in file.records.get(table.name, [])]
            wanted = [floored(record, UNITS["milliseconds"]) for record in table.records]
            self.assertEqual(list(Comparison(table, False).differences(wanted, found))[:3], [])
            self.assertIsNone(difference_of_ledger(ledger, table.name, found, table.ledger))
            if capture != harness.DEMO:
                self.assertGreater(len(found), 0)


def value_of(text):
    """A plain value, or a list of such in one line."""
    if text.startswith("["):
        return [value_of(part) for part in re.split(r", *", text[1:-1])]
    if text.startswith('"'):
        return text[1:-1]
    return int(text) if text.isdigit() else text


if __name__ == "__main__":
    os.environ["TRIBUTARY_SEED"] = str(harness.SEED)  # also of the processes that judge
    print("TRIBUTARY_SEED=%d" % harness.SEED, flush=True)
    harness.main()
