"""The stored census: what a row may say, bytes counted another way, shares and fields."""

import json
import re

import nbformat
import pytest

from attnbook import census, results
from attnbook.widgets import Anatomy, anatomy

from .test_widgets import ROOT, Cells

STORED = results.load("census")
ROWS = census.models()
RUN = [row for row in ROWS if row["read"] == "run"]
BY_NAME = {row["model"]: row for row in ROWS}


def test_every_name_of_the_release_is_read_once_or_said_to_be_another_s():
    assert STORED["release"] == "5.23.0"
    assert STORED["machine"]["packages"]["transformers"] == "5.23.0"
    names = [row["model"] for row in STORED["models"]]
    assert names == sorted(set(names))
    others = [name for row in STORED["models"] for name in row.get("names", ())]
    assert len(others) == len(set(others))
    assert len({*names, *others}) >= STORED["names"] - 1
    assert 170 <= len(names) <= STORED["names"]
    assert len(RUN) >= 0.9 * len(names), "most are read by running them"
    assert len(names) - len(ROWS) <= 2


def test_a_row_says_what_it_is():
    for row in ROWS:
        assert row["strip"] == "unknown" or set(row["strip"]) <= set(census.KINDS), row["model"]
        assert row["strip"] == "unknown" or len(row["strip"]) == row["layers"], row["model"]
        assert row["read"] == "run" or row["why"], row["model"]
        assert row["year"] == "unknown" or row["year"] in census.YEARS, row["model"]
        assert ("W" not in row["strip"]) or row["read"] != "run" or row["windows"], row["model"]
        assert (
            not {"cache", "heads", "norms"} & set(row.get("unknown", ())) & row.keys()
            or row["norms"] == "unknown"
        )


def plain(row):
    """Whether all layers are alike, and keep keys and values of every token, and nothing else."""
    odd = {
        "latent",
        "shared",
        "linear",
        "convolution",
        "keys are values",
        "selection",
        "unknown",
    } & row.keys()
    whole = all(isinstance(row.get(key), int) for key in ("heads", "kv_heads", "head"))
    return (
        whole
        and not odd
        and set(row["strip"]) == {"F"}
        and sum(c["layers"] for c in row["cache"]) == row["layers"]
    )


def test_what_plain_models_keep_is_what_their_heads_say():
    found = [row for row in RUN if plain(row)]
    assert len(found) > 60
    for row in found:
        each = 2 * row["kv_heads"] * (row["head"] + row.get("value", row["head"])) * row["layers"]
        states = sum(cost["layers"] * cost.get("state", 0) for cost in row["cache"])
        assert census.cache_bytes(row, 1000) - states == 1000 * each, row["model"]


def test_latent_models_keep_their_latent_and_what_chooses():
    found = [row for row in RUN if isinstance(row.get("latent"), int) and "state" not in row["cache"][0]]
    assert len(found) > 8
    for row in found:
        heads = row["kv_heads"] * (row["head"] + row.get("value", row["head"]))
        assert 4 * row["latent"] < 2 * heads, row["model"]
        kept = {cost["bytes"] for cost in row["cache"]}
        assert min(kept) >= 2 * row["latent"], row["model"]
        assert "selection" in row or kept == {2 * row["latent"]}, row["model"]


def test_windows_end_the_growth():
    row = BY_NAME["gpt_oss"]
    few, many = (census.cache_bytes(row, n + 1) - census.cache_bytes(row, n) for n in (127, 128))
    assert (few, many) == (36 * 2 * 2 * 8 * 64, 18 * 2 * 2 * 8 * 64)
    for row in RUN:
        for cost in row.get("cache", ()):
            assert ("window" in cost) == ("within" in cost), row["model"]


def test_what_is_known_of_models_that_everybody_knows():
    assert BY_NAME["gpt2"]["positions"] == {"learned": 12}
    assert BY_NAME["llama"]["positions"] == {"rotary": 32, "base": 10000.0}
    assert BY_NAME["bloom"]["positions"].keys() == {"ALiBi"}
    assert (BY_NAME["bert"]["norms"], BY_NAME["gpt2"]["norms"]) == ("post", "pre")
    assert (BY_NAME["olmo2"]["norms"], BY_NAME["gemma2"]["norms"]) == ("output", "sandwich")
    assert BY_NAME["gemma2"]["cap"] == 50.0
    assert BY_NAME["gpt_oss"]["sinks"] == 36
    assert BY_NAME["deepseek_v3"]["latent"] == 512 + 64
    assert BY_NAME["deepseek_v32"]["selection"] == {"index_topk": 2048, "layers": 61}
    assert BY_NAME["falcon"]["kv_heads"] == 1
    assert BY_NAME["gemma3n_text"]["shared"] == 15
    assert BY_NAME["qwen3_next"]["strip"] == "LLLF" * 12
    assert BY_NAME["qwen3_next"]["gate"] == "sigmoid"
    assert BY_NAME["mamba2"]["strip"].strip("L") == ""
    assert BY_NAME["diffllama"]["differential"] is True
    assert "QK-norm" in BY_NAME["qwen3"]
    assert "QK-norm" not in BY_NAME["llama"]
    assert BY_NAME["kimi_linear"]["positions"] == {"none": 6}


def test_shares_are_what_counting_gives():
    shares, count = census.shares(), census.count()
    assert shares.keys() == census.CHANGES.keys()
    assert sum(count.values()) == sum(row["year"] != "unknown" for row in ROWS)
    for name in ("latent", "QK-norm", "sinks", "gate"):
        said = {"latent": "latent keys and values", "gate": "gate behind the heads"}.get(name, name)
        for year in census.YEARS:
            rows = [row for row in ROWS if row["year"] == year]
            assert shares[said][year] == pytest.approx(sum(name in row for row in rows) / len(rows))
    assert all(0 <= share <= 1 for by_year in shares.values() for share in by_year.values())
    assert shares["learned positions"][2018] > 0.5 > shares["learned positions"][2025]
    assert shares["rotary positions"][2018] == 0 < 0.8 < shares["rotary positions"][2025]
    both = {row["model"] for row in ROWS if row.get("windows") and not {"W", "B"} & set(row["strip"])}
    assert both == {"deepseek_v4"}
    rows = [row for row in ROWS if row["year"] == 2026]
    found = sum(bool({"W", "B"} & set(row["strip"])) or row["model"] in both for row in rows)
    assert shares["windows"][2026] == pytest.approx(found / len(rows))
    for late in ("latent keys and values", "selected or pooled keys", "gate behind the heads", "sinks"):
        assert shares[late][2026] > shares[late][2024], late


def test_the_plot_has_a_number_for_each_share():
    shares = census.shares()
    names = ["QK-norm", "windows"]
    figure = census.plot(names)
    written = [text.get_text() for text in figure.axes[0].texts]
    assert written == [f"{100 * shares[name][year]:.0f}" for name in names for year in census.YEARS]
    with pytest.raises(ValueError, match="names must be changes, as 'learned positions', got \\['wings'\\]"):
        census.plot(["QK-norm", "wings"])


def test_strips_in_words():
    assert census.strip({"strip": "FFF"}) == "3 full"
    assert census.strip({"strip": "WWFWWF"}) == "(2 window, 1 full) × 2"
    assert census.strip({"strip": "FWWFW"}) == "1 full, 2 window, 1 full, 1 window"


def test_a_table_of_models(capsys):
    census.show(["llama", "gpt_oss"])
    text = capsys.readouterr().out
    assert re.search(r"llama +2022 +32 full +32 : 32 +2\.00 +16\.00 +64\.00", text)
    with pytest.raises(ValueError, match="name must be a model of the census, as 'llama', got 'alpaca'"):
        census.show(["alpaca"])


def test_bytes_need_a_length_and_may_be_unknown():
    with pytest.raises(ValueError, match="n must be at least 1, got 0"):
        census.cache_bytes(BY_NAME["llama"], 0)
    unknown = next(row for row in ROWS if "cache" not in row)
    assert census.cache_bytes(unknown, 10) is None


NOT_ATTENTION = re.compile(
    "encoder|summary|eos|mamba_kernels|mambapy|associative_scan|residual_in_fp32|rescale_pre|num_codebooks"
    "|logits_to_keep|^eps$|attention_hidden_size|moe|expert"
)


def test_fields_are_explained_and_lead_to_sections_that_are_there():
    fields = census.fields()
    assert [field["models"] for field in fields] == sorted((f["models"] for f in fields), reverse=True)
    told = {field["name"] for field in fields}
    often = {name for name, number in STORED["fields"].items() if number >= 3}
    assert {name for name in often - told if not NOT_ATTENTION.search(name)} == set()
    chapters = {path.stem[3:]: path for path in ROOT.glob("chapters/[0-9]*.ipynb")}
    for field in fields:
        assert re.fullmatch(r"\S.*[^.]", field["means"]), field
        assert bool(field["label"]) <= bool(field["topic"]), field
        if not field["topic"]:
            continue
        cells = nbformat.read(chapters[field["topic"]], as_version=4).cells
        heads = re.findall(
            r"^## (.+)$", "\n".join(c.source for c in cells if c.cell_type == "markdown"), re.M
        )
        assert field["label"] in heads, field


def test_a_checkpoint_has_its_own_numbers_and_says_where_they_are_from():
    table = json.loads((ROOT / "benchmarks/checkpoints.json").read_text(encoding="utf-8"))
    rows = census.checkpoints()
    assert [{key: row[key] for key in one} for one, row in zip(table, rows, strict=True)] == table
    assert len({row["name"] for row in rows}) == len({row["checkpoint"] for row in rows}) == len(rows) >= 16
    for row in rows:
        assert row["read"] == "run"
        assert row["sources"], row["name"]
        assert not {"base", "stretched"} & row["positions"].keys(), "of the default"
        usual = BY_NAME[row["model"]]
        same = {key for key in ("strip", "heads", "kv_heads", "cache") if row.get(key) == usual.get(key)}
        assert bool(row["fields"]) == (len(same) < 4), row["name"]
    with pytest.raises(ValueError, match=r"name must be one of gpt2, .*, got 'alpaca'"):
        census.checkpoint("alpaca")


def test_what_is_known_of_checkpoints_that_everybody_knows():
    known = {row["checkpoint"]: row for row in census.checkpoints()}
    each = lambda name: census.cache_bytes(known[name], 2**20 + 1) - census.cache_bytes(known[name], 2**20)  # noqa: E731
    assert (each("Llama 2 7B"), each("Llama 3 8B")) == (32 * 2 * 2 * 32 * 128, 32 * 2 * 2 * 8 * 128)
    assert each("Qwen3 8B") == 36 * 2 * 2 * 8 * 128
    assert each("Command R7B") == 8 * 2 * 2 * 8 * 128
    assert known["Gemma 3 27B"]["windows"] == [1024]
    v4 = known["DeepSeek-V4-Flash"]
    assert v4["strip"] == "WW" + "SP" * 20 + "S"
    assert v4["sinks"] == v4["layers"] > v4["selection"]["layers"] == 21
    assert known["Kimi Linear 48B-A3B"]["strip"] == "LLLF" * 6 + "LLF"


def test_the_figure_s_script_holds_what_the_census_says():
    stored = (ROOT / "src/widgets/math/published.js").read_text(encoding="utf-8")
    assert stored == anatomy.script()
    assert len(stored) <= 12_000
    assert len(anatomy.published()) >= 16
    for name, model in anatomy.published().items():
        layers = [count * grow for count, grow, *_ in model["cache"]]
        row = census.checkpoint(name)
        assert sum(layers) == census.cache_bytes(row, 2**21) - census.cache_bytes(row, 2**21 - 1), name
    has = lambda part: {name: model[part] for name, model in anatomy.published().items() if part in model}  # noqa: E731
    assert has("root") == {"gemma3_text": 5376 // 32, "gemma3n_text": 0, "gemma4_text": 0}
    assert [name for name, model in anatomy.published().items() if "B" in model["strip"]] == ["llama4_text"]


def test_the_figure_s_table_and_errors():
    figure = Anatomy("gpt_oss", "llama", length=1000)
    assert figure.sizes() == [18 * 2048 * (1000 + 128), 32 * 16384 * 1000]
    cells = Cells(figure._repr_html_())
    assert cells.rows[1] == ["gpt-oss-120b", "2025", "(1 window, 1 full) × 18", "36,864", "39.7"]
    assert json.loads(cells.figure["data-settings"]) == {
        "first": "gpt_oss",
        "second": "llama",
        "length": 1000,
    }
    with pytest.raises(ValueError, match=r"second must be one of gpt2, .*, got 'alpaca'"):
        Anatomy("llama", "alpaca")
    with pytest.raises(ValueError, match="length must be from 256 to 1048576, got 100"):
        Anatomy(length=100)
