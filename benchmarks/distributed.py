"""Measure attention on many processes of this machine: memory, bytes and time, beside one process.

    python benchmarks/distributed.py [--repeats 3] [--out FILE]

Writes benchmarks/results/distributed.json. Every scheme, length and number of processes has processes of its
own, with one thread each. Bytes are counted, peak memory is the system's, above what there was before the
call. Seconds on the clock say something where as many cores are idle as there are processes; seconds of the
processor stand beside them.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from attnbook import results
from attnlab.distributed import Processes, Split, all_to_all_bytes, ring_bytes

HEADS, D_HEAD = 4, 64
LENGTHS = (2048, 4096, 8192)
WORLDS = (1, 2, 4)
SCHEMES = {"ring": "contiguous", "zigzag": "zigzag", "all to all": "contiguous"}
MESSAGES = tuple(4**power for power in range(2, 12))
"""Bytes of messages that go from process to process, to measure what a message and what a byte costs."""

JOB = """
import gc, statistics, time
import torch
import torch.distributed as dist
from attnlab.distributed import Split, all_to_all_attention, ring_attention

def peak():
    with open("/proc/self/status") as status:
        (line,) = [line for line in status if line.startswith("VmHWM")]
    return 1024 * int(line.split()[1])

def measured(run):
    gc.collect()
    with open("/proc/self/clear_refs", "w") as forget:
        forget.write("5")
    before, clock, computed = peak(), time.perf_counter(), time.process_time()
    out = run()
    return out, {"peak": peak() - before, "seconds": time.perf_counter() - clock,
                 "computed": time.process_time() - computed}

def attend(comm, scheme, n, heads, d, kind, causal):
    split = Split(n, comm.size, kind)
    g = torch.Generator().manual_seed(comm.rank)
    shape = 1, heads, split.size(comm.rank), d
    q, k, v = (torch.randn(shape, generator=g, requires_grad=True) for _ in range(3))
    grad = torch.randn(shape, generator=g)
    run = {"all to all": all_to_all_attention}.get(scheme, ring_attention)
    comm.reset()
    comm.all_reduce(torch.ones(1), "start")
    out, forward = measured(lambda: run(q, k, v, comm, split, is_causal=causal))
    sent = {kind: count for kind, count in comm.sent.items() if kind not in ("start", "headers")}
    forward |= {"sent": sum(sent.values()), "scores": comm.work["scores"]}
    comm.all_reduce(torch.ones(1), "start")
    _, backward = measured(lambda: out.backward(grad))
    return {"forward": forward, "backward": backward}

def to_and_fro(comm, size, repeats):
    x, seconds = torch.zeros(size // 4), []
    for _ in range(repeats):
        start = time.perf_counter()
        comm.shift(x, torch.empty_like(x), "message")()
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds)

def main(comm, name, *args):
    return globals()[name](comm, *args)
"""


def main() -> None:
    """Measure all, and store it."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--repeats", type=int, default=3)
    arguments.add_argument("--out", type=Path, help="another file, for a trial")
    chosen = arguments.parse_args()
    results.begin(chosen.out)
    # Read by the C library as processes start: what is freed goes back to the system, and peaks are peaks.
    os.environ |= {"MALLOC_MMAP_THRESHOLD_": "65536", "MALLOC_TRIM_THRESHOLD_": "65536"}
    numbers = {
        "shape": {"heads": HEADS, "d_head": D_HEAD, "bytes_per_number": 4},
        "clock": f"seconds on the clock; {os.cpu_count()} cores, as many processes as said, one thread each",
        "repeats": chosen.repeats,
        "messages": messages(),
        "runs": [
            run_of(scheme, world, n, is_causal, chosen.repeats)
            for n in LENGTHS
            for world in WORLDS
            for scheme in SCHEMES
            for is_causal in (False, True)
        ],
    }
    results.store("distributed", numbers, command="python benchmarks/distributed.py", path=chosen.out)


def messages() -> dict[str, list[float]]:
    """Measure how long two processes take to exchange messages of a size, in seconds."""
    with Processes(2) as processes:
        processes.run(JOB, "to_and_fro", 4096, 20)
        return {str(size): processes.run(JOB, "to_and_fro", size, 20) for size in MESSAGES}


def run_of(scheme: str, world: int, n: int, is_causal: bool, repeats: int) -> dict:
    """Measure one scheme in processes of its own: of each process the least of what the repeats took."""
    every = []
    for _ in range(repeats):
        with Processes(world, limit=600) as processes:
            processes.run(JOB, "attend", scheme, 64 * world, HEADS, D_HEAD, SCHEMES[scheme], is_causal)
            every.append(processes.run(JOB, "attend", scheme, n, HEADS, D_HEAD, SCHEMES[scheme], is_causal))
    split = Split(n, world, SCHEMES[scheme])
    shape = {"n_kv_heads": HEADS, "d_head": D_HEAD}
    if scheme == "all to all":
        formula = [all_to_all_bytes(split, rank, n_heads=HEADS, **shape) for rank in range(world)]
    else:
        formula = [ring_bytes(split, rank, **shape) for rank in range(world)]
    found = {
        way: {
            what: [min(one[rank][way][what] for one in every) for rank in range(world)]
            for what in every[0][0][way]
        }
        for way in ("forward", "backward")
    }
    assert found["forward"]["sent"] == formula
    row = {"scheme": scheme, "world": world, "n": n, "is_causal": is_causal, "formula": formula, **found}
    slowest = max(found["forward"]["seconds"]), max(found["backward"]["seconds"])
    peaks = (max(found[way]["peak"]) / 2**20 for way in ("forward", "backward"))
    print(f"{scheme:11} {world} n={n:5} causal={is_causal!s:5}", end=" ")
    print(*(f"{s:6.2f} s" for s in slowest), *(f"{p:7.1f} MiB" for p in peaks), flush=True)
    return row


if __name__ == "__main__":
    main()
