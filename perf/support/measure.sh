# SPDX-License-Identifier: Apache-2.0
# Sourced by the commands of perf/: their common functions beside tools/lib/common.sh. shellcheck shell=bash

# results_directory DEFAULT ARGUMENT...: sets `results` to the one argument, or to DEFAULT, below the checkout. With an
# option or more arguments, the command ends with the description at its own top.
results_directory() {
    local default=$1
    shift
    if [ $# -gt 1 ] || [[ ${1:-} == -* ]]; then
        sed -n '3,/^set /s/^# \{0,1\}//p' "$0" >&2
        exit 64
    fi
    results=${1:-$root/$default}
}

# Converts lines of a name, a tab and a number to JSON.
to_json() {
    python3 -c 'import json, sys; print(json.dumps({n: int(c) for n, c in (l.rstrip("\n").split("\t") for l in sys.stdin)}, indent=2))'
}

# of_first_cpu NAME: the first CPU's value in /proc/cpuinfo.
of_first_cpu() { sed -n "/^$1\s*: /{s///p;q}" /proc/cpuinfo; }

# The machine and the tools of the figures. Some virtual machines name only the CPU's maker: family and model are more
# exact.
machine_line() {
    local cpu family model last_level compiler
    cpu=$(of_first_cpu 'model name')
    family=$(of_first_cpu 'cpu family')
    model=$(of_first_cpu 'model')
    last_level=$(cat /sys/devices/system/cpu/cpu0/cache/index3/size 2>/dev/null || echo unknown)
    compiler=$(c++ --version | head -n 1)
    printf '%s (family %s, model %s, L3 %s), %s CPUs; ' "$cpu" "$family" "$model" "$last_level" "$(nproc)"
    printf '%s; DPDK %s; %s\n' "$compiler" "$(pkg-config --modversion libdpdk)" "$(date -u +%Y-%m-%d)"
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

# commit_build HASH: the build folder of a copy of that commit's files.
commit_build() { printf '%s/build/perf/commits/%s/build\n' "$root" "$1"; }

# copy_commit HASH: its files, once.
copy_commit() {
    local directory
    directory=$(dirname "$(commit_build "$1")")
    mkdir -p "$directory"
    [ -f "$directory/meson.build" ] || git -C "$root" archive "$1" | tar -x -C "$directory"
}

# build_commit HASH TARGET: of a copy of its files.
build_commit() {
    local directory
    directory=$(commit_build "$1")
    copy_commit "$1"
    [ -f "$directory/build.ninja" ] || meson setup "$directory" "$(dirname "$directory")" >"$directory.log" 2>&1 || {
        cat "$directory.log"
        fail "meson could not configure $1"
    }
    build "$directory" "$2"
}
