"""Today's attentions against their published code: the largest difference that the unit tests meet.

    python benchmarks/frontier_equal.py

What the library transformers computed lies in tests/unit/frontier: benchmarks/frontier_reference.py put it
there, and the tests hold ours to it. This runs them, and notes what they compare: outputs and all gradients.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from pathlib import Path
from unittest.mock import patch

import pytest
import torch

from attnbook import results

ROOT = Path(__file__).parents[1]
PUBLISHED = "test_outputs_and_gradients_are_those_of_the_published_layer"
CHOSEN = "test_it_is_what_the_published_layer_computes"
TESTS = {
    "latent": f"latent.py::{PUBLISHED}[deepseek_v3-plain]",
    "latent, absorbed": f"latent.py::{PUBLISHED}[deepseek_v3-absorbed]",
    "latent, decoding": "latent.py::"
    "test_decoding_and_what_is_kept_are_those_of_the_published_layer[deepseek_v3]",
    "one wide head": f"kept.py::{PUBLISHED}[deepseek_v4_window]",
    "pooled blocks": f"kept.py::{PUBLISHED}[deepseek_v4_pooled]",
    "shared cache": f"kept.py::{PUBLISHED}[gemma4_shared]",
    "indexer": f"selection_published.py::{CHOSEN}[deepseek_v32]",
    "blocks by their mean": f"selection_published.py::{CHOSEN}[qwen4_exp]",
    "blocks by their best": f"selection_published.py::{CHOSEN}[minimax_m3]",
    "sinks": "tamed.py::test_a_layer_with_sinks_is_that_of_gpt_oss",
    "QK-norm": "tamed.py::test_norms_of_queries_and_keys_are_those_of_qwen3",
    "gate": "tamed.py::test_a_gate_behind_each_head_is_that_of_qwen3_next",
    "soft cap": "tamed.py::test_a_soft_cap_is_that_of_gemma_2",
    "keys that are values": "tamed.py::test_what_gemma_4_changes_is_said_by_parts_of_the_layer",
    "temperature by length": "tamed.py::"
    "test_a_temperature_that_grows_with_the_length_is_that_of_mistral_large_4",
    "difference": "tamed.py::test_a_difference_of_heads_is_that_of_diffllama",
    "over depth": "tamed.py::test_attention_over_depth_is_that_of_inkling_2",
    "gated delta rule": f"delta_net.py::{PUBLISHED}[qwen3_next]",
    "delta rule, a decay a row": f"delta_net.py::{PUBLISHED}[kimi_linear]",
    "delta rule, beta up to 2": f"delta_net.py::{PUBLISHED}[olmo_hybrid]",
    "state-space duality": f"delta_net.py::{PUBLISHED}[mamba2]",
}
"""What changes -> the test that compares it, in tests/unit/test_..."""


class Differences:
    """A plugin of pytest: the largest difference of each test, as a share of the largest number (or of 1)."""

    def __init__(self) -> None:
        self.found: dict[str, float] = defaultdict(float)
        self.failed: list[str] = []

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item):
        """Note what a test compares."""
        compare = torch.testing.assert_close

        def noting(got, want, **limits):
            compare(got, want, **limits)
            pairs = zip(got, want, strict=True) if isinstance(got, list | tuple) else [(got, want)]
            for one, other in pairs:
                share = (one - other).abs().max() / max(1.0, other.abs().max().item())
                self.found[item.nodeid] = max(self.found[item.nodeid], share.item())

        with patch("torch.testing.assert_close", noting):
            return (yield)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note which tests failed."""
        self.failed += [report.nodeid] if report.failed else []


def main() -> None:
    """Run the tests, and store what they compared."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, help="another file, for a trial")
    out = parser.parse_args().out
    results.begin(out)
    torch.set_num_threads(1)
    differences, nodes = Differences(), {name: f"tests/unit/test_{test}" for name, test in TESTS.items()}
    options = ["-q", "-p", "no:cacheprovider", "--rootdir", str(ROOT), "-c", str(ROOT / "pyproject.toml")]
    pytest.main([*options, *(str(ROOT / node) for node in nodes.values())], plugins=[differences])
    missing = [name for name, node in nodes.items() if node not in differences.found]
    if missing or differences.failed:
        raise SystemExit(
            f"not compared: {', '.join(missing) or 'none'}; failed: {differences.failed or 'none'}"
        )
    found = {name: {"test": node, "difference": differences.found[node]} for name, node in nodes.items()}
    results.store(
        "frontier-equal", {"compared": found}, command="python benchmarks/frontier_equal.py", path=out
    )


if __name__ == "__main__":
    main()
