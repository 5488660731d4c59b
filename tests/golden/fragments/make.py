# SPDX-License-Identifier: Apache-2.0
"""A first fragment has its ports; later ones have ports 0 and a record of their own. Octets are IP lengths."""
import sys

sys.path.insert(0, sys.path[0] + "/..")
from packets import IP, UDP, IPv6, IPv6ExtHdrFragment, Raw, at, fragment, udp, write

v4 = fragment(udp(1001, octets=1000), fragsize=400)
v6 = IPv6(src="2001:db8::1", dst="2001:db8::2", hlim=7)
first = v6 / IPv6ExtHdrFragment(offset=0, m=1, id=9, nh=17) / UDP(sport=1001, dport=53, len=88, chksum=1) / Raw(bytes(64))
last = v6 / IPv6ExtHdrFragment(offset=9, m=0, id=9, nh=17) / Raw(bytes(16))
atomic = v6 / IPv6ExtHdrFragment(offset=0, m=0, id=10, nh=17) / UDP(sport=2002, dport=53, len=12, chksum=1) / Raw(bytes(4))
short = IP(src="192.0.2.9", dst="198.51.100.1", proto=17) / Raw(b"\x03\xe9")  # an L4 header without its second port
write([(at(second), packet) for second, packet in enumerate([*v4, first, last, atomic, short])])
