# SPDX-License-Identifier: Apache-2.0
# Sourced by the programs in tools: install, build, wait, and give back what was taken.
# shellcheck shell=bash

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
export DEBIAN_FRONTEND=noninteractive

say() { printf '\n== %s\n' "$*"; }
failure_status=1  # what fail() exits with
fail() {
    printf '%s: %s\n' "${0##*/}" "$*" >&2
    exit "$failure_status"
}
is_root() { [ "$(id -u)" = 0 ]; }

# What on_exit was given runs at the end, last first, however the script ends.
cleanups=()
on_exit() { cleanups+=("$*"); }
run_cleanups() {
    local status=$? i
    trap '' INT TERM  # a second one must not cut the cleaning short
    trap - EXIT
    for ((i = ${#cleanups[@]} - 1; i >= 0; i--)); do
        eval "${cleanups[i]}" || true
    done
    exit "$status"
}
trap run_cleanups EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

service_policy=/usr/sbin/policy-rc.d
# Servers among the packages must not start when they are installed: tests start their own. A policy that is there stays.
forbid_services() {
    [ ! -e "$service_policy" ] || return 0
    on_exit allow_services
    service_policy_is_ours=1
    printf '#!/bin/sh\nexit 101\n' >"$service_policy"
    chmod +x "$service_policy"
}
allow_services() {
    [ -z "${service_policy_is_ours:-}" ] || rm -f "$service_policy"
    service_policy_is_ours=
}

# install_missing GROUP...: the packages of these groups that are not there yet; a second run touches nothing.
install_missing() {
    local group package missing=()
    while read -r group package; do
        case " $* " in *" $group "*) ;; *) continue ;; esac
        dpkg-query -W -f='${db:Status-Status}\n' "$package" 2>/dev/null | grep -qx installed || missing+=("$package")
    done <"$root/tools/lib/packages.txt"
    [ ${#missing[@]} -gt 0 ] || return 0
    if ! is_root; then
        fail "packages are missing; as root, run: apt-get install --no-install-recommends ${missing[*]}"
    fi
    say "installing: ${missing[*]}"
    local apt=(apt-get -q -o Dpkg::Use-Pty=0 -o DPkg::Lock::Timeout=300)
    forbid_services
    "${apt[@]}" update >/dev/null || fail "the package lists cannot be fetched"
    "${apt[@]}" install -y --no-install-recommends "${missing[@]}" >/dev/null ||
        fail "packages cannot be installed: ${missing[*]}"
    allow_services
}

# configure DIR [MESON OPTION...]: the first time only.
configure() {
    local directory=$1
    shift
    [ ! -f "$directory/build.ninja" ] || return 0
    meson setup "$directory" "$root" "$@" >"$directory.log" 2>&1 || {
        cat "$directory.log"
        fail "meson could not configure $directory"
    }
    rm -f "$directory.log"
}

# build DIR [TARGET...]: compiles what changed, of everything or of the targets.
build() {
    local directory=$1
    shift
    ninja --quiet -C "$directory" "$@"
}

# wait_for SECONDS WHAT COMMAND...: until COMMAND succeeds.
wait_for() {
    local deadline=$((SECONDS + $1)) what=$2
    shift 2
    until "$@"; do
        [ "$SECONDS" -lt "$deadline" ] || fail "gave up waiting for $what"
        sleep 0.1
    done
}

huge_pages=/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages
# reserve_huge_pages N: where there are none and we may; what was there before comes back at exit.
reserve_huge_pages() {
    [ -w "$huge_pages" ] && [ "$(cat "$huge_pages")" = 0 ] || return 0
    on_exit release_huge_pages
    huge_pages_are_ours=1
    echo "$1" >"$huge_pages" || true
}
# Gives them back before the end.
release_huge_pages() {
    [ -z "${huge_pages_are_ours:-}" ] || echo 0 >"$huge_pages"
    huge_pages_are_ours=
}
