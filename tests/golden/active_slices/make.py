# SPDX-License-Identifier: Apache-2.0
"""A flow that never pauses is cut every active timeout; the next slice starts with its own first packet."""
import sys

sys.path.insert(0, sys.path[0] + "/..")
from packets import at, udp, write

write([(at(0, 700_000 * number), udp(1001, octets=number)) for number in range(20)])
