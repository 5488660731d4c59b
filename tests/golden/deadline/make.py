# SPDX-License-Identifier: Apache-2.0
"""A packet exactly at a deadline still belongs to the record; one microsecond later it opens the next one."""
import sys

sys.path.insert(0, sys.path[0] + "/..")
from packets import at, udp, write

idle = [(at(0), udp(1001)), (at(10), udp(1001)), (at(20, 1), udp(1001))]
active = [(at(second), udp(2002)) for second in (0, 8, 16, 24, 30)] + [(at(30, 1), udp(2002))]
write(sorted(idle + active, key=lambda timed: timed[0]))
