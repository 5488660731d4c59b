# SPDX-License-Identifier: Apache-2.0
"""The right content of a TCP record, by the definitions of docs/tcp-records.md: every octet and segment of a direction
is remembered. Slow, unbounded, and simple."""
import collections

DUPLICATE_TIME = 3600  # seconds: for the captures that is almost any time
FIN, SYN, RST, PSH = 1, 2, 4, 8

FLAG_COUNTS = ("tcpSynTotalCount", "tcpFinTotalCount", "tcpRstTotalCount")
PLAIN_COUNTS = ("segments", "dataSegments", "zeroWindow", *FLAG_COUNTS)
JUDGED = ("duplicates", "retransmissions", "retransmittedOctets", "outOfOrder", "keepAlives")
FIRST = ("tcpSequenceNumber", "tcpWindowSize")

Segment = collections.namedtuple("Segment", "time sequence acknowledgement flags window payload octets ttl copy_id")


class AllCopies:
    """Remembers every segment."""

    def __init__(self):
        self.segments = set()

    def has(self, segment):
        return segment[1:] in self.segments  # at any time

    def add(self, segment, is_disturbed):
        self.segments.add(segment[1:])


class RecentCopies:
    """Remembers the same segments as tributaryd: the last 3 that were no duplicates, and the last 8 of those that left
    these after the direction's first anomaly. None after a long silence."""

    def __init__(self):
        self.recent, self.older, self.time = [], [], None

    def has(self, segment):
        if self.time is not None and segment.time - self.time > DUPLICATE_TIME * 10**9:
            self.recent, self.older = [], []
        self.time = max(segment.time, self.time or 0)
        return segment[1:] in self.recent + self.older

    def add(self, segment, is_disturbed):
        self.recent.append(segment[1:])
        if len(self.recent) > 3:
            oldest = self.recent.pop(0)
            self.older = (self.older + [oldest])[-8:] if is_disturbed else []


class Octets:
    """A set of octets, as ranges that do not touch."""

    def __init__(self):
        self.ranges = []

    def add(self, begin, end):
        """The number of known ones among these."""
        touched = [each for each in self.ranges if each[0] <= end and begin <= each[1]]
        self.ranges = [each for each in self.ranges if each not in touched]
        self.ranges.append((min([begin] + [each[0] for each in touched]), max([end] + [each[1] for each in touched])))
        return sum(max(0, min(end, each[1]) - max(begin, each[0])) for each in touched)

    def fill_lowest_hole(self):
        """Its end."""
        first, second, *rest = sorted(self.ranges)
        self.ranges = [(first[0], second[1]), *rest]
        return second[0]


class Reference:
    """The record of one direction, by the definitions. Positions are sequence numbers that never wrap.

    With a limit of holes, one more replaces the lowest, and segments that begin before its end are not judged."""
    FARTHEST = 2**30

    def __init__(self, segments, copies, holes=None):
        self.counts = dict.fromkeys((*PLAIN_COUNTS, *JUDGED, "tcpAnalysisOverflow"), 0)
        self.counts.update(zip(FIRST, (segments[0].sequence, segments[0].window)))
        self.copies, self.holes, self.is_disturbed = copies, holes, False
        # octets seen; the lowest known; after the highest seen; whether some below the lowest are forgotten
        self.octets, self.low, self.next, self.forgot = None, None, None, False
        self.syns, self.fins = [], []  # without duplicates: (index, time, sequence number)
        self.probing_octets = 0
        for index, segment in enumerate(segments):
            self.add(index, segment)
        self.counts.update(self.sizes())

    def increase(self, name, by=1):
        self.counts[name] += by

    def add(self, index, segment):
        self.count_plainly(segment)
        if self.copies.has(segment):
            self.increase("duplicates")
            self.is_disturbed = True
            return
        self.copies.add(segment, self.is_disturbed)
        if segment.flags & SYN:
            self.add_syn(segment)
            self.syns.append((index, segment.time, segment.sequence))
        if segment.flags & FIN:
            self.fins.append((index, segment.time, segment.sequence + segment.payload))
        self.add_data(segment)

    def count_plainly(self, segment):
        self.increase("segments")
        self.increase("dataSegments", segment.payload > 0)
        self.increase("zeroWindow", segment.window == 0 and not segment.flags & RST)
        for name, flag in zip(FLAG_COUNTS, (SYN, FIN, RST)):
            self.increase(name, bool(segment.flags & flag))

    def add_syn(self, segment):
        is_repeated = bool(self.syns) and self.syns[-1][2] == segment.sequence
        if not is_repeated and (self.low is None or (segment.sequence + 1 - self.low) % 2**32 != 0):
            self.next = None

    def add_data(self, segment):
        begin = self.position(segment.sequence + bool(segment.flags & SYN))
        end = begin + segment.payload
        if self.next is None:
            self.know(begin, end)
        elif begin == self.next - 1 and segment.payload <= 1 and not segment.flags & (SYN | FIN | RST | PSH):
            self.increase("keepAlives")
            self.probing_octets += segment.payload
            self.is_disturbed = True
        elif segment.payload > 0 and abs(begin - self.next) > self.FARTHEST:
            self.increase("tcpAnalysisOverflow")
            self.know(begin, end)
        elif segment.payload > 0 and begin < self.low and self.forgot:
            self.increase("tcpAnalysisOverflow")
            self.octets.add(self.low, max(self.low, end))
            self.next = max(self.next, end)
        elif segment.payload > 0:
            self.is_disturbed |= begin != self.next
            repeated = self.octets.add(begin, end)
            self.increase("retransmissions", repeated > 0)
            self.increase("retransmittedOctets", repeated)
            self.increase("outOfOrder", repeated == 0 and begin < self.next)
            self.low, self.next = min(self.low, begin), max(self.next, end)
            while self.holes is not None and len(self.octets.ranges) - 1 > self.holes:
                self.low, self.forgot = self.octets.fill_lowest_hole(), True
                self.increase("tcpAnalysisOverflow")

    def know(self, begin, end):
        """These octets, if any, are the first seen ones."""
        self.octets, self.low, self.next, self.forgot = Octets(), begin, end, False
        if begin != end:
            self.octets.add(begin, end)

    def position(self, number):
        if self.next is None:
            return number % 2**32
        ahead = (number - self.next) % 2**32
        return self.next + (ahead if ahead < 2**31 else ahead - 2**32)

    def sizes(self):
        """None, unless there is one SYN and, after it, one FIN."""
        if len(self.syns) != 1 or len(self.fins) != 1 or self.syns[0][0] > self.fins[0][0]:
            return {}
        (_, begin, syn), (_, end, fin) = self.syns[0], self.fins[0]
        return {"flowSize": (fin - syn - 1) % 2**32, "flowDurationNanoseconds": max(0, end - begin)}
