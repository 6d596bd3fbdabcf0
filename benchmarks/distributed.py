"""Measure attention on many processes of this machine: time, memory and bytes, beside one process.

    python benchmarks/distributed.py [--worlds 1 2 4 8] [--repeats 3] [--out FILE]

Writes benchmarks/results/distributed.json. Every process has one thread, so seconds on the clock say
something where as many cores are idle as there are processes. Bytes are counted, and must be what the
formulas say. Peak memory is the system's, above what there was before the call, in processes of their own.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from attnbook import results
from attnlab.distributed import Processes, Split, all_to_all_bytes, ring_bytes

HEADS, D_HEAD = 8, 64
LENGTHS = (1024, 2048, 4096)
WORLDS = (1, 2, 4, 8)
SCHEMES = {"ring": "contiguous", "zigzag": "zigzag", "all to all": "contiguous"}
MESSAGES = tuple(4**power for power in range(2, 13))
"""Bytes of messages that go from process to process, to measure what a message and what a byte costs."""

JOB = """
import gc, os, time
import torch
from attnlab.distributed import Split, all_to_all_attention, ring_attention

def peak():
    with open("/proc/self/status") as status:
        (line,) = [line for line in status if line.startswith("VmHWM")]
    return 1024 * int(line.split()[1])

def measured(run, comm):
    gc.collect()
    if os.path.exists("/proc/self/clear_refs"):
        with open("/proc/self/clear_refs", "w") as forget:
            forget.write("5")
    comm.all_reduce(torch.ones(1), "start")
    comm.reset()
    before, clock, computed = peak(), time.perf_counter(), time.process_time()
    out = run()
    own = time.perf_counter() - clock
    found = {"own": own, "computed": time.process_time() - computed, "peak": peak() - before}
    found["sent"] = sum(count for kind, count in comm.sent.items() if kind != "headers")
    found["messages"] = sum(comm.messages.values())
    found["scores"] = comm.work["scores"]
    comm.all_reduce(torch.ones(1), "end")
    return out, found | {"seconds": time.perf_counter() - clock}

def attend(comm, scheme, n, heads, d, kind, causal, repeats):
    split = Split(n, comm.size, kind)
    g = torch.Generator().manual_seed(comm.rank)
    shape = 1, heads, split.size(comm.rank), d
    q, k, v = (torch.randn(shape, generator=g, requires_grad=True) for _ in range(3))
    grad = torch.randn(shape, generator=g)
    run = {"all to all": all_to_all_attention}.get(scheme, ring_attention)
    every = []
    for _ in range(repeats):
        out, forward = measured(lambda: run(q, k, v, comm, split, is_causal=causal), comm)
        _, backward = measured(lambda: out.backward(grad), comm)
        every.append({"forward": forward, "backward": backward})
    return every

def to_and_fro(comm, size, repeats):
    x, seconds = torch.zeros(size // 4), []
    for _ in range(repeats):
        comm.all_reduce(torch.ones(1), "start")
        start = time.perf_counter()
        comm.shift(x, torch.empty_like(x), "message")()
        seconds.append(time.perf_counter() - start)
    return sorted(seconds)[repeats // 2]

def main(comm, name, *args):
    return globals()[name](comm, *args)
"""


def main() -> None:
    """Measure all, and store it."""
    arguments = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    arguments.add_argument("--worlds", type=int, nargs="+", default=WORLDS)
    arguments.add_argument("--repeats", type=int, default=3)
    arguments.add_argument("--out", type=Path, help="another file, for a trial")
    chosen = arguments.parse_args()
    results.begin(chosen.out)
    # Read by the C library as processes start: what is freed goes back to the system, and peaks are peaks.
    os.environ |= {"MALLOC_MMAP_THRESHOLD_": "65536", "MALLOC_TRIM_THRESHOLD_": "65536"}
    memory = [
        row
        for scheme in ("ring", "all to all")
        for world in chosen.worlds
        for row in runs_of(world, [(scheme, 4096, False)], 1)
    ]
    del os.environ["MALLOC_MMAP_THRESHOLD_"], os.environ["MALLOC_TRIM_THRESHOLD_"]
    numbers = {
        "shape": {"heads": HEADS, "d_head": D_HEAD, "bytes_per_number": 4},
        "clock": f"seconds on the clock; {os.cpu_count()} cores, as many processes as said, one thread each",
        "repeats": chosen.repeats,
        "messages": {str(world): messages(world) for world in chosen.worlds if world > 1},
        "memory": memory,
        "runs": [
            row
            for world in chosen.worlds
            for row in runs_of(
                world,
                [
                    (scheme, n, is_causal)
                    for n in LENGTHS
                    for scheme in (SCHEMES if world > 1 else ["ring"])
                    for is_causal in (False, True)
                ],
                chosen.repeats,
            )
        ],
    }
    results.store("distributed", numbers, command="python benchmarks/distributed.py", path=chosen.out)


def messages(world: int) -> dict[str, list[float]]:
    """Measure how long messages of a size take, each process sending to the next, in seconds by rank."""
    with Processes(world) as processes:
        processes.run(JOB, "to_and_fro", 4096, 20)
        return {str(size): processes.run(JOB, "to_and_fro", size, 20) for size in MESSAGES}


def runs_of(world: int, settings: list[tuple[str, int, bool]], repeats: int) -> list[dict]:
    """Measure schemes in one group of processes; of each process, the repeat that ended first for all."""
    rows = []
    with Processes(world, limit=600) as processes:
        for scheme, n, is_causal in settings:
            split = Split(n, world, SCHEMES[scheme])
            rest = HEADS, D_HEAD, SCHEMES[scheme], is_causal
            processes.run(JOB, "attend", scheme, 64 * world, *rest, 1)
            ranks = processes.run(JOB, "attend", scheme, n, *rest, repeats)
            row = {"scheme": scheme, "world": world, "n": n, "is_causal": is_causal}
            for way in ("forward", "backward"):
                best = min(range(repeats), key=lambda r: max(each[r][way]["seconds"] for each in ranks))
                row[way] = {
                    what: [each[best][way][what] for each in ranks] for what in ranks[0][0]["forward"]
                }
                assert row[way]["sent"] == [sent(split, rank, scheme, way) for rank in range(world)]
            rows.append(row)
            slowest = (max(row[way]["seconds"]) for way in ("forward", "backward"))
            peaks = (max(row[way]["peak"]) / 2**20 for way in ("forward", "backward"))
            print(f"{scheme:11} {world} n={n:5} causal={is_causal!s:5}", end=" ")
            print(*(f"{s:7.3f} s" for s in slowest), *(f"{p:7.1f} MiB" for p in peaks), flush=True)
    return rows


def sent(split: Split, rank: int, scheme: str, way: str) -> int:
    """Return the bytes of the formula."""
    shape = {"n_kv_heads": HEADS, "d_head": D_HEAD}
    if scheme == "all to all":
        return all_to_all_bytes(split, rank, n_heads=HEADS, **shape)
    return ring_bytes(split, rank, **shape, backward=way == "backward")


if __name__ == "__main__":
    main()
