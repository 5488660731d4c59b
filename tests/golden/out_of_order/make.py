# SPDX-License-Identifier: Apache-2.0
"""Start and end are the smallest and largest packet time; deadlines are tested against the highest time so far."""
import sys

sys.path.insert(0, sys.path[0] + "/..")
from packets import at, udp, write

write([
    (at(5), udp(1001)), (at(3), udp(1001)), (at(4), udp(1001)),  # one record from 3 to 5
    (at(9), udp(2002)),
    (at(16), udp(3003)),   # the clock passes 5 + 10
    (at(14), udp(1001)),   # within 10 s of the record's end, but the clock says that it is over
    (at(18), udp(2002)),   # 9 + 10 is not reached yet
])
