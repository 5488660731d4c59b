# SPDX-License-Identifier: Apache-2.0
"""Which frames a filter in pcap syntax passes: libpcap itself is asked, without tributaryd."""
import ctypes
import ctypes.util

MOST_OCTETS = 262_144  # of a frame
NETMASK_UNKNOWN = 0xFFFFFFFF
RAW_IP = {101: 12}  # link types of captures that have another number in programs (pcap/dlt.h)


class Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_uint), ("instructions", ctypes.c_void_p)]


class Header(ctypes.Structure):
    _fields_ = [("seconds", ctypes.c_long), ("microseconds", ctypes.c_long), ("captured", ctypes.c_uint32),
                ("wire", ctypes.c_uint32)]


class PcapFilters:
    """Compiles each filter once for each link type."""

    def __init__(self):
        self.pcap = ctypes.CDLL(ctypes.util.find_library("pcap") or "libpcap.so.0.8")
        self.pcap.pcap_open_dead.restype = ctypes.c_void_p
        self.pcap.pcap_compile.argtypes = [ctypes.c_void_p, ctypes.POINTER(Program), ctypes.c_char_p, ctypes.c_int,
                                           ctypes.c_uint32]
        self.pcap.pcap_offline_filter.argtypes = [ctypes.POINTER(Program), ctypes.POINTER(Header), ctypes.c_char_p]
        self.pcap.pcap_close.argtypes = [ctypes.c_void_p]
        self.programs = {}

    def compiled(self, expression, link):
        """None: it has no meaning for frames of this link type."""
        if (expression, link) not in self.programs:
            handle, program = self.pcap.pcap_open_dead(RAW_IP.get(link, link), MOST_OCTETS), Program()
            failed = self.pcap.pcap_compile(handle, program, expression.encode(), 1, NETMASK_UNKNOWN)
            self.programs[expression, link] = None if failed else program
            self.pcap.pcap_close(handle)
        return self.programs[expression, link]

    def passes(self, expression, frame):
        program = self.compiled(expression, frame.link)
        header = Header(0, 0, len(frame.octets), frame.wire)
        return program is not None and self.pcap.pcap_offline_filter(program, header, bytes(frame.octets)) != 0
