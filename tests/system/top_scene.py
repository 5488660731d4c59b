# SPDX-License-Identifier: Apache-2.0
"""A probe's answers from step to step: each step is two seconds of its clock, and counts grow evenly."""

STARTED = 1_795_500_000     # 2026-11-24 22:00:00 UTC
SECONDS = 2                 # of the fake probe's clock from step to step


def queue(name, packets, flows, ended, lost=0):
    return {"name": name, "packets": {"received": packets}, "octets": {"metered": 800 * packets},
            "flows": {"created": flows, "lost": lost, "ended_by_reason": {"idle": ended, "active": 0}},
            "clock": {"lead_seconds": 0.0, "times_set_back": 0}}


def collector(name, records, **more):
    return {"name": name, "connected": 1, "failed": 0, "errors": 0, "lost": 0, "octets": 60 * records, "records": records,
            "spool_octets": 0, "waiting_octets": 0, "lost_by_cause": {"spool_full": 0}, **more}


def ledger(step, queues=2, inputs=2, collectors=None):
    records = 100_000 + 20_000 * step
    missed = [1000 + 500 * step, None]
    return {
        "packets": {"received": 3_000_000 * step, "nic_missed": None, "nic_no_buffer": 0, "nic_errors": 3},
        "octets": {"metered": 2_400_000_000 * step},
        "flows": {"created": 120_000 + 20_000 * step, "exported": records, "lost": 700 * step, "active": 1_250_000,
                  "lost_by_cause": {"ring_full": 0, "collector_away": 700 * step}},
        "ports": [{"name": "in%d" % i, "nic_missed": missed[i % 2], "nic_no_buffer": 0, "nic_errors": 3 * (i == 0)}
                  for i in range(inputs)],
        "collectors": collectors or [
            collector("tcp collector.example.net:4739", records),
            collector("tls [2001:db8::5]:4740", 7000, connected=0, errors=4 + step, lost=700 * step, next_try_in=7,
                      spool_octets=600_000_000 + 2_000_000 * step, waiting_octets=65_000)],
        "queues": [queue("in%d/%d" % (i % inputs, i // inputs), 1_500_000 * step, 60_000 + 10_000 * step, 20_000)
                   for i in range(queues)]}


def recorder(step, triggers=True):
    """Of both queues; that of in1/0 is full, reaches back 3 s, and cuts half of its frames."""
    def queue(name, seconds, cut, overwritten):
        frames = 1_000_000 * step
        return {"name": name, "seen": frames, "kept_whole": (9 - cut) * frames // 10, "kept_cut": cut * frames // 10,
                "left_out": frames // 10, "left_out_by_cause": {"filter_not_ready": 0, "filtered": frames // 10, "input": 0},
                "kept_octets": 600 * frames, "overwritten": overwritten, "held": 9 * frames // 10 - overwritten,
                "reach_seconds": seconds}
    queues = [queue("in0/0", 94, 0, 0), queue("in1/0", 3, 5, 500_000 * step)]
    trigger = lambda name, fired, overwritten: {"name": name, "fired": fired, "suppressed": 2 * fired, "files": fired,
                                                "packets": 4200 * fired, "overwritten": overwritten}
    causes = {cause: sum(each["left_out_by_cause"][cause] for each in queues) for cause in queues[0]["left_out_by_cause"]}
    more = {"triggers": [trigger("syn-flood", step, 0), trigger("resolver-is-slow", 0, None)]} if triggers else {}
    return {"queues": queues, "left_out_by_cause": causes, **more,
            "dumps": {"begun": 4, "whole": 2, "cut_off": 1, "packets": 48_211, "octets": 30_000_000, "overwritten": 7 * step}}


def figures(step, queues=2, inputs=2, names=("tcp collector.example.net:4739", "tls [2001:db8::5]:4740")):
    busy = [900, 450, 60]
    threads = ["in-%d" % i for i in range(queues)] + ["export"]
    helper = lambda number, name, share, hangs=None: {
        "id": number, "name": name, "role": "helper", "cpus": "2", "node": 0, "cpu_seconds": share * SECONDS * step, "hangs": hangs}
    memory = lambda part, octets, used: {"part": part, "node": 0, "octets": octets, "used": used}
    return {
        "started": STARTED, "now": STARTED + 273_600 + SECONDS * step, "host_uptime": 10**9 * (5000 + SECONDS * step),
        "version": "9.8.7", "max_flows": 1_000_000,
        "rings": [{"records": 1000 * i, "room": 65_536} for i in range(queues)],
        "inputs": [{"name": "in%d" % i, "link": ("up", "down", "gone")[i % 3]} for i in range(inputs)],
        "collectors": [{"name": names[0], "spool_max_octets": 0}, {"name": names[1], "spool_max_octets": 2_000_000_000}],
        "helpers": [helper(1, "main", 0.002), helper(2, "command", 0.31), helper(3, "control", 0.001, False),
                    helper(4, "telemetry", 0.015, False), helper(5, "eal-intr-thread", 0)],
        "memory": [memory("packet buffers", 137_000_000, 40_000_000 + 1_000_000 * step),
                   memory("flow caches", 250_000_000, 15_000_000), memory("DPDK", 67_108_864, None)],
        "threads": [{"name": name, "rounds": step, "busy_cycles": busy[i % 3] * step,
                     "idle_cycles": (1000 - busy[i % 3]) * step} for i, name in enumerate(threads)]}


def flows(step):
    began = STARTED + 200_000
    now = began + 30 + SECONDS * step
    return [
        (6, "192.0.2.1", 443, "198.51.100.200", 51_234, 10_000_000_000, 9_000_000, began, now),    # much, but long ago
        (17, "203.0.113.100", 53, "192.168.100.200", 65_535, 5000 + 250_000 * step, 10 + 200 * step, began, now),
        (6, "2001:db8:1:2:3:4:5:6", 22, "2001:db8::1", 40_000, 3000 + 25_000 * step, 40 + 900 * step, began, now),
        (1, "192.0.2.7", 0, "192.0.2.8", 2048, 840 + 168 * step, 10 + 2 * step, began, now)]
