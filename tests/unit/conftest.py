"""The treebank, for the tests that train or measure on it; and both slopes of a clamp at its bound."""

import os
from pathlib import Path

import pytest
import torch
from torch.overrides import TorchFunctionMode

from attnbook.tagging import load_treebank

BESIDE = Path(__file__).resolve().parents[3] / "shared/data/ewt"


@pytest.fixture(scope="session")
def treebank_folder():
    """Name the treebank's folder; without it the tests that ask for it say so in one line."""
    folder = os.environ.get("ATTNLAB_DATA") or (BESIDE if BESIDE.is_dir() else None)
    if folder is None:
        pytest.skip("the treebank is not on this machine: set ATTNLAB_DATA to its folder")
    return Path(folder)


@pytest.fixture(scope="session")
def treebank(treebank_folder):
    """Read the treebank once."""
    return load_treebank(treebank_folder)


class Clamps(TorchFunctionMode):
    """Give a clamp this slope where a number lies on its bound: in torch it was 1 before 2.14, and is 0."""

    names = frozenset({"clamp", "clamp_min", "clamp_max", "clip"})

    def __init__(self, slope):
        super().__init__()
        self.slope = slope

    def __torch_function__(self, function, types, args=(), kwargs=None):
        out = function(*args, **(kwargs or {}))
        if getattr(function, "__name__", "") not in self.names or not args[0].is_floating_point():
            return out
        x, bounds = args[0], [b for b in (*args[1:], *(kwargs or {}).values()) if b is not None]
        for bound in bounds:
            out = torch.where(x == bound, out.detach() + self.slope * (x - x.detach()), out)
        return out


@pytest.fixture(params=[0.0, 1.0], ids=["none", "all"])
def whatever_a_clamp_passes_back(request):
    """Run a test twice: with nothing and with all of the gradient passed back where a clamp's number ties."""
    with Clamps(request.param):
        yield


@pytest.fixture(scope="session")
def processes():
    """Give processes that are started once for all tests: a function of how many, and of a job for them."""
    from attnlab.distributed import Processes

    started, source = {}, Path(__file__).with_name("distributed_jobs.py").read_text(encoding="utf-8")

    def run(world, *job, **options):
        if world not in started:
            started[world] = Processes(world, limit=300)
        return started[world].run(source, *job, **options)

    yield run
    for group in started.values():
        group.close()
