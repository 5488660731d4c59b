# SPDX-License-Identifier: Apache-2.0
"""With room for one flow every new one ends the one before it for lack of resources."""
import sys

sys.path.insert(0, sys.path[0] + "/..")
from packets import at, udp, write

write([(at(0), udp(1001)), (at(1), udp(1001)), (at(2), udp(2002)), (at(3), udp(1001)), (at(20), udp(2002))])
