# SPDX-License-Identifier: Apache-2.0
"""With tcp-end a packet with FIN or RST is the last of its record; the one after it opens a new record."""
import sys

sys.path.insert(0, sys.path[0] + "/..")
from packets import at, tcp, udp, write

write([
    (at(0), tcp("S")), (at(1), tcp("A")), (at(2), tcp("PA")), (at(3), tcp("FA")),
    (at(4), tcp("A")),
    (at(5), tcp("S", 40001)), (at(6), tcp("R", 40001)),
    (at(7), tcp("FUEC", 40002)),
    (at(8), udp(40003)), (at(9), udp(40003)),
])
