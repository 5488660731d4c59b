# SPDX-License-Identifier: Apache-2.0
"""A time that IPFIX cannot say becomes the last good one: 1 s before any, then that of the packet before."""
import sys

sys.path.insert(0, sys.path[0] + "/..")
from packets import at, udp, write

write([
    (0, udp(1001)),                              # 1970: 1 s
    (at(0), udp(2002)),
    ((2**32 - 1) * 1_000_000, udp(2002)),        # 2106: the time of the packet before
    (at(4), udp(2002)),
    (999_999, udp(3003)),
    ((2**32 - 2) * 1_000_000, udp(4004)),        # the last time that is good
])
