#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Records demo.pcap: real programs talk over a wire that this script makes, loses packets on, and taps.

    sudo tests/data/record.py OUT.pcap

Four hosts are network namespaces. Two of them talk untagged, two of them in VLAN 100:

    client  ---+                              +---  server
               |== near ===== trunk ==== far ==|
    vclient ---+   (tags, tapped)   (untags,  +---  vserver
                                     drops)

near and far are this process: it forwards frames between AF_PACKET sockets, because a kernel without the vlan
device type and without netem can do neither tags nor loss. tcpdump taps the trunk, before the loss, so that the
capture shows both a lost segment and its retransmission.
"""
import os
import random
import select
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time

VLAN = 100
TCP_LOSS = 0.04
ETH_P_ALL, SOL_PACKET, PACKET_AUXDATA, PACKET_OUTGOING, TP_STATUS_VLAN_VALID = 3, 263, 8, 4, 1 << 4
HOSTS = {  # name: (index, VLAN or 0, peers' side of the trunk)
    "client": (1, 0, "near"), "server": (2, 0, "far"),
    "vclient": (3, VLAN, "near"), "vserver": (4, VLAN, "far"),
}
ADDRESS = {name: ("10.20.%d.%d" % (vlan, index), "2001:db8:%d::%d" % (vlan, index))
           for name, (index, vlan, _) in HOSTS.items()}
TOOLS = ("ip", "ethtool", "tcpdump", "curl", "dig", "dnsmasq", "ping", "iperf3", "ncat", "python3")


def sh(*command, **options):
    return subprocess.run(command, check=True, **options)


def ns(name):
    return "record-%s-%d" % (name, os.getpid())


def inside(name, *command, background=False, check=False, **options):
    command = ("ip", "netns", "exec", ns(name)) + command
    if background:
        return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **options)
    return subprocess.run(command, check=check, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **options)


def make_network():
    for name in [*HOSTS, "wire"]:
        sh("ip", "netns", "add", ns(name))
    inside("wire", "sysctl", "-qw", "net.ipv6.conf.all.disable_ipv6=1", check=True)
    sh("ip", "-n", ns("wire"), "link", "add", "near", "type", "veth", "peer", "name", "far")
    for name, (index, vlan, _) in HOSTS.items():
        sh("ip", "link", "add", "eth0", "netns", ns(name), "type", "veth", "peer", "name", name, "netns", ns("wire"))
        # 4 octets less inside the VLAN, so that a tagged frame is no longer than an untagged one
        sh("ip", "-n", ns(name), "link", "set", "eth0", "address", "02:00:00:00:00:%02x" % index,
           "mtu", str(1496 if vlan else 1500))
        inside(name, "sysctl", "-qw", "net.ipv6.conf.eth0.router_solicitations=0", check=True)
        # what is captured must be what a wire carries: no segmentation offload, every checksum filled in
        inside(name, "ethtool", "-K", "eth0", "tx", "off", "tso", "off", "gso", "off", "gro", "off", check=True)
        sh("ip", "-n", ns(name), "link", "set", "lo", "up")
        sh("ip", "-n", ns(name), "link", "set", "eth0", "up")
        v4, v6 = ADDRESS[name]
        sh("ip", "-n", ns(name), "addr", "add", v4 + "/24", "dev", "eth0")
        sh("ip", "-n", ns(name), "addr", "add", v6 + "/64", "dev", "eth0", "nodad")
    for port in [*HOSTS, "near", "far"]:
        sh("ip", "-n", ns("wire"), "link", "set", port, "up", "promisc", "on")


def packet_socket(port):
    handle = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
    handle.setsockopt(SOL_PACKET, PACKET_AUXDATA, 1)
    handle.bind((port, ETH_P_ALL))
    return handle


def receive(handle):
    """A frame and its VLAN id, which the kernel has taken out of it; (None, 0) for one that we sent."""
    frame, ancillary, _, address = handle.recvmsg(65536, 256)
    if address[2] == PACKET_OUTGOING:
        return None, 0
    for _, kind, data in ancillary:
        if kind == PACKET_AUXDATA:
            status, _, _, _, _, tci, _ = struct.unpack("IIIHHHH", data[:20])
            return frame, tci & 0xFFF if status & TP_STATUS_VLAN_VALID else 0
    return frame, 0


def is_tcp(frame):
    return (frame[12:14] == b"\x08\x00" and frame[23] == 6) or (frame[12:14] == b"\x86\xdd" and frame[20] == 6)


def forward(sockets, stop):
    """near and far: hosts' frames onto the trunk, with a tag where they have one, and off it again."""
    lots = random.Random(20)
    names = {handle: name for name, handle in sockets.items()}
    while not stop.is_set():
        for handle in select.select(list(names), [], [], 0.1)[0]:
            frame, vlan = receive(handle)
            if frame is None:
                continue
            name = names[handle]
            if name in HOSTS:
                _, tag, side = HOSTS[name]
                if tag:
                    frame = frame[:12] + struct.pack("!HH", 0x8100, tag) + frame[12:]
                sockets[side].send(frame)
            elif not (is_tcp(frame) and lots.random() < TCP_LOSS):
                for host, (_, tag, side) in HOSTS.items():
                    if side == name and tag == vlan:
                        sockets[host].send(frame)


def start_wire(stop):
    """Sockets belong to the namespace they are opened in, so this thread enters it."""
    import ctypes
    ready = threading.Event()

    def body():
        with open("/run/netns/" + ns("wire")) as namespace:
            if ctypes.CDLL(None, use_errno=True).setns(namespace.fileno(), 0):
                raise OSError(ctypes.get_errno(), "setns")
        sockets = {port: packet_socket(port) for port in [*HOSTS, "near", "far"]}
        ready.set()
        forward(sockets, stop)

    thread = threading.Thread(target=body)
    thread.start()
    if not ready.wait(5):
        raise SystemExit("record: the wire did not come up")
    return thread


def serve(directory):
    """The servers of both pairs; one file is large enough that some of its segments get lost."""
    lots = random.Random(21)
    for name, size in (("page.bin", 90_000), ("small.bin", 2_000)):
        with open(os.path.join(directory, name), "wb") as out:
            out.write(lots.randbytes(size))
    for host in ("server", "vserver"):
        v4, v6 = ADDRESS[host]
        yield inside(host, "python3", "-m", "http.server", "8080", "--bind", "::", cwd=directory, background=True)
        yield inside(host, "dnsmasq", "--keep-in-foreground", "--no-resolv", "--no-hosts", "--conf-file=/dev/null",
                     "--user=root", "--pid-file=", "--bind-interfaces", "--listen-address=%s,%s" % (v4, v6),
                     "--address=/probe.example/" + v4, "--address=/probe.example/" + v6, "--local=/example/",
                     "--txt-record=long.example," + "x" * 200, background=True)
    yield inside("server", "iperf3", "--server", background=True)
    yield inside("server", "ncat", "--listen", "--keep-open", "7777", "--exec", "/bin/cat", background=True)


def talk():
    """What the clients do, one after the other; what fails on purpose is said."""
    for client, server in (("client", "server"), ("vclient", "vserver")):
        v4, v6 = ADDRESS[server]
        inside(client, "ping", "-c", "4", "-i", "0.5", v4)
        inside(client, "ping", "-6", "-c", "4", "-i", "0.5", "-s", "1200", v6)
        for address in (v4, v6):
            inside(client, "dig", "@" + address, "probe.example", "A")
            inside(client, "dig", "@" + address, "probe.example", "AAAA")
            inside(client, "dig", "@" + address, "missing.example", "A")  # NXDOMAIN
            inside(client, "dig", "@" + address, "long.example", "TXT", "+tcp")
        inside(client, "curl", "-s", "-o", "/dev/null", "http://%s:8080/page.bin" % v4)
        inside(client, "curl", "-s", "-o", "/dev/null", "http://[%s]:8080/page.bin" % v6)
        inside(client, "curl", "-s", "-o", "/dev/null", "http://%s:8080/small.bin" % v4,
               "http://%s:8080/absent" % v4)  # two requests on one connection
        inside(client, "curl", "-s", "http://%s:9/" % v4)  # refused: TCP reset
        inside(client, "dig", "@" + v4, "-p", "5399", "+tries=1", "+time=1", "probe.example")  # port unreachable
        inside(client, "dig", "@" + v6, "-p", "5399", "+tries=1", "+time=1", "probe.example")
    v4, v6 = ADDRESS["server"]
    inside("client", "iperf3", "-c", v4, "-u", "-b", "200k", "-l", "400", "-t", "3")
    inside("client", "iperf3", "-c", v6, "-u", "-b", "100k", "-l", "900", "-t", "2", "--tos", "0xb8")
    talk_slowly = "for i in 1 2 3 4 5 6; do echo line $i; sleep 1; done"
    inside("client", "sh", "-c", "(%s) | ncat %s 7777" % (talk_slowly, v4))


def main():
    if len(sys.argv) != 2 or os.geteuid() != 0:
        raise SystemExit("usage (as root): record.py OUT.pcap")
    missing = [tool for tool in TOOLS if subprocess.run(["which", tool], capture_output=True).returncode]
    if missing:
        raise SystemExit("record: not installed: " + " ".join(missing))
    stop, started, wire = threading.Event(), [], None
    with tempfile.TemporaryDirectory() as directory:
        try:
            make_network()
            wire = start_wire(stop)
            started += serve(directory)
            time.sleep(2)
            tap = inside("wire", "tcpdump", "-i", "near", "-s", "0", "-U", "-Z", "root", "-w", sys.argv[1], background=True)
            started.append(tap)
            time.sleep(1)
            talk()
            time.sleep(1)
        finally:
            for process in reversed(started):
                process.terminate()
                process.wait()
            stop.set()
            if wire:
                wire.join()
            for name in [*HOSTS, "wire"]:
                subprocess.run(["ip", "netns", "del", ns(name)], stderr=subprocess.DEVNULL)


if __name__ == "__main__":
    main()
