# SPDX-License-Identifier: Apache-2.0
# Sourced by the commands of perf/: what they have in common beside tools/lib/common.sh.
# shellcheck shell=bash

# What the figures were measured on and with.
machine_line() {
    local cpu compiler
    cpu=$(sed -n 's/^model name\s*: //p' /proc/cpuinfo | head -n 1)
    compiler=$(c++ --version | head -n 1)
    printf '%s, %s CPUs; %s; DPDK %s; %s\n' "$cpu" "$(nproc)" "$compiler" "$(pkg-config --modversion libdpdk)" "$(date -u +%Y-%m-%d)"
}

# instructions_per FEWER MORE COMMAND...: of one unit of work, by callgrind. COMMAND gets a number of units as its last
# argument; the difference of two runs leaves out the start.
instructions_per() {
    local fewer=$1 more=$2 units counts=()
    shift 2
    for units in "$fewer" "$more"; do
        counts+=("$(valgrind --tool=callgrind --callgrind-out-file=/dev/null "$@" "$units" 2>&1 |
            sed -n 's/.*Collected : \([0-9]*\).*/\1/p')")
    done
    echo $(((counts[1] - counts[0]) / (more - fewer)))
}

# last_cpu COMMAND...: on the last CPU, which the kernel uses least for its own work.
last_cpu() { taskset -c "$(($(nproc) - 1))" "$@"; }
