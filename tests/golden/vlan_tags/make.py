# SPDX-License-Identifier: Apache-2.0
"""The outer VLAN id is in the key, the inner one is not; a priority tag (id 0) is no VLAN."""
import sys

sys.path.insert(0, sys.path[0] + "/..")
from packets import ETHER, Dot1AD, Dot1Q, at, udp, write

write([
    (at(0), ETHER / udp(1001)),
    (at(1), ETHER / Dot1Q(vlan=0, prio=5) / udp(1001)),                 # the same flow
    (at(2), ETHER / Dot1Q(vlan=100) / udp(1001)),
    (at(3), ETHER / Dot1Q(vlan=100) / Dot1Q(vlan=7) / udp(1001)),       # the same flow as the one above
    (at(4), ETHER / Dot1AD(vlan=200) / Dot1Q(vlan=7) / udp(1001)),
    (at(5), ETHER / Dot1AD(vlan=200) / Dot1Q(vlan=8) / udp(1001)),      # the same flow as the one above
    (at(6), ETHER / Dot1Q(vlan=4095) / udp(1001)),
])
