# SPDX-License-Identifier: Apache-2.0
"""Captures of many small packets: 60-octet IPv4/UDP frames, each of a flow chosen at random, over ten seconds."""
import struct

import numpy

SECONDS = 10
START = 1_700_000_000
CHUNK = 1_000_000  # packets made at a time


def scrambled(numbers):
    """One to one: MurmurHash3's finaliser, as in perf/support/random.hpp."""
    numbers = numbers.astype(numpy.uint32)
    numbers ^= numbers >> numpy.uint32(16)
    numbers *= numpy.uint32(0x85EBCA6B)
    numbers ^= numbers >> numpy.uint32(13)
    numbers *= numpy.uint32(0xC2B2AE35)
    return numbers ^ numbers >> numpy.uint32(16)


def template():
    """One frame with zeros for the source address; its IP checksum is 0, which none of the peers looks at.

    The ports are nobody's: nfpcapd makes a record of each packet to port 53.
    """
    payload = bytes(18)
    udp = struct.pack("!HHHH", 10000, 20000, 8 + len(payload), 0)
    ip = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 20 + len(udp) + len(payload), 0, 0, 64, 17, 0, bytes(4),
                     bytes((192, 0, 2, 1)))
    ethernet = bytes.fromhex("02000000000d020000000005") + struct.pack("!H", 0x0800)
    return ethernet + ip + udp + payload


def write(path, packets, flows):
    """Writes a capture (pcap, little-endian, microseconds). Returns the number of distinct flows in it."""
    frame = template()
    record = numpy.dtype([("seconds", "<u4"), ("microseconds", "<u4"), ("captured", "<u4"), ("length", "<u4"),
                          ("before", "V26"), ("source", "<u4"), ("after", "V%d" % (len(frame) - 30))])
    chooser = numpy.random.Generator(numpy.random.PCG64(1))
    seen = numpy.zeros(flows, dtype=bool)
    with open(path, "wb") as out:
        out.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1))
        for first in range(0, packets, CHUNK):
            count = min(CHUNK, packets - first)
            chosen = chooser.integers(0, flows, count, dtype=numpy.uint32)
            seen[chosen] = True
            times = numpy.arange(first, first + count, dtype=numpy.uint64) * (SECONDS * 1_000_000) // packets
            chunk = numpy.zeros(count, dtype=record)
            chunk["seconds"] = START + times // 1_000_000
            chunk["microseconds"] = times % 1_000_000
            chunk["captured"] = chunk["length"] = len(frame)
            chunk["before"] = numpy.void(frame[:26])
            chunk["source"] = scrambled(chosen + 1)  # never 0.0.0.0
            chunk["after"] = numpy.void(frame[30:])
            out.write(chunk.tobytes())
    return int(seen.sum())
