"""Configurations: what their fields say, held to what running the models told; and every field's place."""

import json
import re
from pathlib import Path

import pytest

from attnbook import census, configuration, reading, results, widgets
from attnbook.fields import empty, numbers
from attnbook.rules import RULES
from attnbook.widgets import configuration as figures

from .test_widgets import Cells

STORED = results.load("configurations")["configurations"]
WIDER = results.load("configurations")["twice the heads"]
NAMES = results.load("configurations")["other names"]
EXAMPLES = {row["name"]: (census.published(row["name"]), row) for row in census.checkpoints()}
BESIDE = set((Path(__file__).parent / "not_in_this_book.txt").read_text(encoding="utf-8").split())
PASTED = json.loads((Path(__file__).parents[1] / "widgets/configurations.json").read_text(encoding="utf-8"))
LETTERS = {
    "full": "F",
    "window": "W",
    "block": "B",
    "selected": "S",
    "linear": "L",
    "convolution": "C",
    "none": "N",
}


def read(**fields):
    return configuration.read(fields)


def said(**fields):
    return dict(reading.summary(read(**fields)))


def decoders():
    """Yield each default and each checkpoint as a decoder, as the census ran it, with what that told.

    Without their longest text: a window that is no shorter is none.
    """
    endless = lambda config: (  # noqa: E731
        {k: v for k, v in config.items() if k not in RULES["length"]} | {"n_positions": 2**30}
    )
    for name, config in STORED.items():
        yield name, endless(config) | {"is_decoder": True}, census.model(name)
    for config, row in EXAMPLES.values():
        yield row["checkpoint"], endless(config), row


def test_what_fields_tell_of_a_cache_is_what_running_the_model_told():
    compared, states = 0, set()
    for name, config, row in decoders():
        found = configuration.read(config)
        if found["cache"] is None:
            assert found["why"], name
            continue
        if "cache" not in row:
            continue
        kept = {}
        for group in found["cache"]:
            each = reading.group_bytes(group) // group["layers"]
            if "state" in group:
                want = [(cost["layers"], cost["state"]) for cost in row["cache"] if "state" in cost]
                assert [(group["layers"], each)] == want, name
                states.add(config["model_type"])
                continue
            key = (group["window"], each) if "window" in group else (0, each)
            kept[key] = kept.get(key, 0) + group["layers"]
        want = {}
        for cost in row["cache"]:
            if each := cost.get("within") or cost.get("bytes"):
                assert not (cost.get("within") and cost.get("bytes")), name
                key = (cost.get("window", 0), each)
                want[key] = want.get(key, 0) + cost["layers"]
        assert kept == want, name
        compared += 1
    assert compared > 120
    assert states == {name for names, _ in RULES["states"] for name in names}


def test_a_token_past_all_windows_adds_what_the_census_says():
    for name, config, row in decoders():
        each = reading.token_bytes(configuration.read(config))
        if each is not None and "cache" in row:
            assert each == census.cache_bytes(row, 2**21) - census.cache_bytes(row, 2**21 - 1), name


def test_heads_kinds_and_positions_are_those_of_the_census_where_fields_tell_them():
    told = {"heads": 0, "kept": 0, "kinds": 0, "positions": 0}
    for name, config in STORED.items():
        found, row = configuration.read(config), census.model(name)
        for ours, theirs in (("heads", "heads"), ("kept", "kv_heads")):
            if found[ours] and isinstance(row.get(theirs), int):
                assert found[ours] == row[theirs], name
                told[ours] += 1
        if found["kinds"] and set(row["strip"]) <= set(census.KINDS) and row["strip"]:
            strip = row["strip"]
            if "shared" not in found["kinds"]:
                want = {letter: strip.count(letter) for letter in set(strip)}
                assert {LETTERS[kind]: many for kind, many in found["kinds"].items()} == want, name
                told["kinds"] += 1
        # Hybrids whose layers are all linear by default have a base, and nothing to turn.
        if found["positions"] and row.get("positions") and "F" in row["strip"]:
            assert found["positions"]["kind"] in row["positions"], name
            told["positions"] += 1
    assert min(told.values()) > 90, told


def test_every_field_of_every_model_is_told_of_or_listed_as_not_in_this_book():
    known = {field["name"] for field in census.fields()}
    met = set()

    def walk(config):
        for name, value in config.items():
            met.add(name)
            if isinstance(value, dict) and name not in BESIDE | {"per_layer_config", *RULES["odd"]}:
                walk(value)

    for config in STORED.values():
        walk(config)
    assert len(met) > 500
    assert met - known - BESIDE == set(), "say what they mean, or list them in not_in_this_book.txt"
    assert BESIDE & known == set()
    assert BESIDE - met == set(), "no model has them: take them off the list"


def test_every_field_that_the_box_reads_has_a_meaning_in_the_table():
    kinds = (
        "inside",
        "each",
        "wholes",
        "flags",
        "lists",
        "denied",
        "bases",
        "images",
        "odd",
        "looks",
        "usual",
    )
    named = {name for what in (*kinds, *RULES["numbers"]) for name in RULES[what]}
    for file in ("configuration", "fields"):
        code = (Path(configuration.__file__).parent / f"{file}.py").read_text(encoding="utf-8")
        named |= set(re.findall(r'(?:text|part|scaling)(?:\.get\(|\[)"(\w+)"', code))
    assert {"dim", "mla_use_nope", "factor", "global_attn_every_n_layers"} <= named
    assert named - {field["name"] for field in census.fields()} == set(), "say what they mean"


def test_meanings_are_of_their_own_field():
    means = {field["name"]: field["means"] for field in census.fields()}
    assert means["rope_theta"] == "base of the rotations"
    assert means["first_k_dense_replace"] == "how many layers come before the first with experts"
    assert means["mlp_only_layers"] == "layers without experts"
    assert means["mrope_section"] == "pairs of a head that turn by time, by height and by width"


def test_the_stored_fields_are_those_of_the_census():
    counted = results.load("census")["fields"]
    for name, config in STORED.items():
        assert set(config) - set(counted) <= {"model_type", "is_encoder_decoder"}, name
    assert set(counted) == {name for config in STORED.values() for name in config} - {
        "model_type",
        "is_encoder_decoder",
    }


# Whose list of layers goes on in its period where there are more or fewer, as release 5.24 was seen to do.
PERIODIC = {
    "afmoe",
    "cohere2",
    "exaone4",
    "exaone_moe",
    "gemma2",
    "gemma3_text",
    "gemma3n_text",
    "gpt_oss",
} | {
    "llama4_text",
    "olmo3",
    "vaultgemma",
}


def left_out(name, config):
    """Return what a class puts where a file says nothing, where that can't be derived."""
    (found, unread), own = numbers(config), {}
    derived = {
        "kept": lambda made: made["heads"],
        "head": lambda made: made["width"] and made["width"] // made["heads"],
    }
    for what in derived if found["heads"] else ():
        # The class was made with its own heads, and with twice as many: one size alone can't tell.
        made = [found, WIDER[name]] if WIDER[name] else []
        if not any(field in config for field in RULES[what]):
            own[what] = 0
        elif what in unread:
            own[what] = None
        elif found[what] and not (made and all(one[what] == derived[what](one) for one in made)):
            own[what] = found[what] if made and made[0][what] == made[1][what] else None
    if config.get("multi_query") is True:
        own["kept"] = 1
    own |= {what: found[what] for what in ("layers", "heads", "width", "length") if found[what]}
    places = configuration.read(config)["positions"]
    turns = "rotary" in (census.model(name).get("positions") or {})
    if turns and places and places.get("bases") and not (places["stretched"] or places["bare"]):
        own["bases"] = places["bases"]
    if found["window"] and name in PERIODIC | set(RULES["windows"]):
        own["window"] = found["window"]
    words = {RULES["kinds"].get(word) for field in RULES["each"] for word in config.get(field) or []}
    if words and words not in ({"full"}, {"selected"}):
        strip = census.model(name)["strip"]
        own["each"] = strip[: strip.index("F") + 1] if name in PERIODIC else None
        if own["each"]:
            assert (own["each"] * len(strip))[: len(strip)] == strip, name
    if more := beside(config, own):
        own["more"] = more
    if "kv_lora_rank" in more and own.get("head"):
        del own["head"]  # the width of what is turned: without the latent, heads are as wide as in others
    # Of a model whose text is read in another part, the class's numbers are not those of that part.
    return {"more": more} if configuration.read(config)["inside"] else own


def beside(config, own):
    """Return the other fields of a class that bear on the cache: what is read of them, and 1 for one more.

    Of those that are not read one is enough: any of them makes the cache unknown.
    """
    # One that goes by two names is left unknown where the file has neither.
    named = set(NAMES.get(config["model_type"], {}).values())
    more = {
        name: config[name] for name in RULES["wholes"] if name not in named and not empty(config.get(name))
    }
    if config.get("multi_query") is True:
        more["multi_query"] = True
    if "kv_lora_rank" in more:
        del more["v_head_dim"]  # values are made from the latent
    if "shared" in config.get("indexer_types", []):
        more["indexer_types"] = ["shared"]
    if 0 in (config.get("no_rope_layers") or []):
        more["no_rope_layers"] = []
    settled = bool({"attn_layer_period", "state_size"} & set(more)) or "each" in own
    read_here = {
        "attn_layer_indices",
        "indexer_types",
        "sliding_window_pattern",
        "global_attn_every_n_layers",
    }
    read_here |= set(more) | {name for what in (*RULES["numbers"], "each", "flags") for name in RULES[what]}
    others = []
    for name, value in config.items():
        bears = re.search(RULES["bears"], name) and not re.search(RULES["harmless"], name)
        if name in read_here or name == "attn_config" or empty(value) or value in RULES["plain"]:
            continue
        if bears and re.search(RULES["keys"], name) and name not in RULES["odd"]:
            more[name] = 1  # it may number heads of keys
        elif name in RULES["odd"]:
            others.insert(0, name)
        elif name in RULES["looks"]:
            more[name] = 1
        elif settled and re.search(RULES["which"], name):
            continue
        elif bears and not re.search(RULES["windowed"], name):
            others.append(name)
    # One that says only which layers are of which kind is passed over where a list says it.
    others.sort(key=lambda name: name not in RULES["odd"] and bool(re.search(RULES["which"], name)))
    if others and config["model_type"] not in RULES["types"]:
        more[others[0]] = 1
    return more


def test_the_shipped_defaults_of_classes_are_those_of_the_stored_configurations():
    want = {config["model_type"]: left_out(name, config) for name, config in STORED.items()}
    assert RULES["classes"] == want, "write them to static/class-defaults.json, a class a line"


TOLD = ("cache", "kinds", "layers", "heads", "kept", "head", "latent", "value", "window", "length")


def differ(found, whole):
    """Return what is read of a part of a configuration, and is not what the whole one says."""
    # Where two fields of the whole one contradict each other, one alone may be read.
    both = {told for told, why in whole["unread"].items() if " and " in why and " is " in why}
    grows = lambda cache: cache and [group for group in cache if "state" not in group]  # noqa: E731
    # A state is told or said not to be.
    if found["cache"] is not None and grows(found["cache"]) == grows(whole["cache"]):
        states = [group in (whole["cache"] or ()) for group in found["cache"]]
        both |= {"cache"} if all(states) else set()
    return [told for told in TOLD if told not in both and found[told] not in (None, whole[told])]


def test_a_field_left_out_never_gives_another_number():
    answers = 0
    for name, config in STORED.items():
        whole = configuration.read(config)
        parts = [{"model_type": config["model_type"]}]
        parts += [{field: config[field] for field in config if field != out} for out in config]
        parts += [
            {field: value for field, value in config.items() if field not in RULES[what]}
            for what in (*RULES["numbers"], "each", "wholes")
        ]
        for part in parts:
            if "model_type" not in part:
                continue
            found = configuration.read(part)
            if len(part) > 1 and found["inside"] != whole["inside"]:
                continue  # the part of the text itself is left out
            assert differ(found, whole) == [], (name, set(config) - set(part))
            bare = [one["positions"] and one["positions"].get("bare") for one in (found, whole)]
            assert bare[0] in (None, bare[1]), (name, set(config) - set(part))
            answers += found["cache"] is not None
    assert answers > 3000
    assert reading.token_bytes(read(model_type="deepseek_v3")) == 70_272


def test_a_field_by_another_name_of_its_class_gives_no_other_number():
    renamed = 0
    for name, others in NAMES.items():
        config = STORED[name]
        for standard, own in others.items():
            for old, new in ((own, standard), (standard, own)):
                if old not in config or new in config or config[old] is None:
                    continue
                # Of the part that reads, or of a model whose class does what no field says.
                if "encoder_" in own or config["model_type"] in RULES["types"]:
                    assert configuration.read(config)["cache"] is None, name
                    continue
                # A value that is not the class's: a name that is passed over would give the class's.
                value = 2 * config[old] if type(config[old]) is int else config[old]
                whole = configuration.read(config | {old: value})
                fields = {field: value for field, value in config.items() if field != old}
                assert differ(configuration.read(fields | {new: value}), whole) == [], (name, old, new)
                renamed += 1
    assert renamed > 100
    # Two that no class lists: one is taken out of what a file gives, one is the class's own.
    bloom = {"model_type": "bloom", "n_embed": 1024, "n_layer": 24, "num_attention_heads": 16}
    assert reading.token_bytes(configuration.read(bloom)) == 24 * 2 * 1024 * 2
    assert {"n_embed", "emb_dim"} <= set(RULES["width"])


def test_what_a_class_decides_and_two_lengths_are_told_as_such():
    small = dict(n_layer=1, n_head=1, head_dim=256, max_position_embeddings=8192, model_max_length=131072)
    differ = "131,072 tokens (the largest: its fields differ)"
    assert said(**small)["made for"] == [differ]
    assert said(**small)["in all"][0].endswith(differ.replace("tokens", "tokens, its longest text"))
    assert said(rope_theta=5e5, no_rope_layers=[])["positions"] == [
        "rotary, base 500,000; its class says in which layers"
    ]
    words = said(model_type="deepseek_v3")["cache"][-1]
    assert words == "with its class's fields, which the file leaves out: kv_lora_rank, qk_rope_head_dim"
    assert read(n_layer=1, n_head=1, head_dim=1, sparse_pred_ignore_index=-100)["cache"]


def test_what_a_class_says_and_what_is_taken_stand_beside_the_value():
    gemma = {"model_type": "gemma3_text", "hidden_size": 3840, "num_attention_heads": 16}
    more = {"num_key_value_heads": 8, "num_hidden_layers": 48, "sliding_window": 1024}
    words = said(**gemma, **more)
    assert words["heads"][0].startswith("16 of queries, 8 of keys and values, each 256 wide (its class's)")
    assert words["layers"] == [f"48: 40 with a window of 1,024 tokens, 8 full{RULES['which_own']}"]
    # Of a window no more than the line of layers does not say.
    assert "window" not in words
    assert said(model_type="mistral")["window"] == ["4,096 tokens (its class's)"]
    unknown = said(num_hidden_layers=2, num_attention_heads=4, hidden_size=64)
    assert "each 16 wide (taken as width over heads: no field says it)" in unknown["heads"][0]
    assert unknown["window"] == ["none: no field says one"]
    assert "taken" not in said(**STORED["gpt2"])["heads"][0]


def test_no_published_checkpoint_contradicts_itself():
    for name, (config, row) in EXAMPLES.items():
        assert "listed layers are not" not in str(configuration.read(config)), name
        assert len(config.get("layer_types", row["strip"])) == len(row["strip"]), name
    each = {"qwen3": 147_456, "gemma3_text": 10 * 2 * 16 * 128 * 2, "cohere2": 8 * 2 * 8 * 128 * 2}
    assert {name: widgets.Configuration(name).bytes_a_token for name in each} == each
    assert widgets.Configuration("llama").config()["max_position_embeddings"] == 4096
    assert "rope_theta" not in widgets.Configuration("deepseek_v4").config(), "not known of the checkpoint"


def test_without_heads_no_layer_is_told_to_be_full():
    assert said(d_model=768, n_layer=24, ssm_cfg={})["layers"] == ["24; of which kinds is unknown"]


def test_what_is_held_in_all_counts_windows():
    assert said(**STORED["gpt_oss"])["in all"] == ["4.5 GiB at 131,072 tokens, its longest text"]
    small = dict(n_layer=1, n_head=1, num_kv_heads=1, head_dim=256, sliding_window=8)
    small["model_type"] = "mistral"
    held = {n: reading.held_bytes(read(**small, n_positions=n), n) for n in (8, 9)}
    assert held == {8: 8 * 1024, 9: 8 * 1024}
    # A window that no text outgrows is none.
    assert [reading.token_bytes(read(**small, n_positions=n)) for n in (8, 9)] == [1024, 0]
    unsaid = {name: value for name, value in small.items() if name != "model_type"} | {"sliding_window": 0}
    assert said(**unsaid)["in all"] == ["32.0 MiB at 32,768 tokens (a length of ours: no field says one)"]
    assert said(**small)["made for"] == ["131,072 tokens (its class's)"]
    # And states, whose size no length changes.
    assert said(**EXAMPLES["mamba2"][0], n_positions=10)["in all"] == [
        "82.6 MiB at 10 tokens, its longest text"
    ]
    kimi = EXAMPLES["kimi_linear"][0] | {"model_max_length": 1000}
    assert reading.held_bytes(configuration.read(kimi), 1000) == 1000 * 7 * 1152 + 20 * 1_146_880
    convolved = {"layer_types": ["conv", "full_attention"], "n_head": 1, "head_dim": 2**14, "n_positions": 32}
    assert said(**convolved)["in all"] == ["2.0 MiB at 32 tokens, its longest text; more is not computed"]
    # Where nothing is known there is a line all the same.
    assert said(**EXAMPLES["deepseek_v4"][0])["in all"] == ["unknown at 1,048,576 tokens, its longest text"]
    odd = EXAMPLES["mamba2"][0] | {"n_groups": "1"}
    assert said(**odd)["in all"][0].startswith("unknown at 32,768 tokens (a length of ours")


@pytest.mark.parametrize(
    ("fields", "kind"),
    [
        (STORED["gpt2"], "learned"),
        ({"model_type": "bert", "position_embedding_type": "absolute"}, "learned"),
        ({"position_embedding_type": "absolute", "global_rope_theta": 16e4}, "rotary, base 160,000"),
        ({"model_type": "bloom"}, "ALiBi"),
        ({"position_embedding_type": "alibi"}, "ALiBi"),
        (STORED["jamba"], "none"),
    ],
)
def test_positions_by_the_type_of_a_model(fields, kind):
    assert said(**fields)["positions"] == [kind]


def test_gpt_oss_by_hand():
    found = configuration.read(STORED["gpt_oss"])
    assert reading.token_bytes(found) == 18 * 2 * 8 * 64 * 2 == 36_864
    words = dict(reading.summary(found))
    assert words["layers"] == ["36: 18 with a window of 128 tokens, 18 full"]
    assert words["cache"] == [
        "18 layers × 2 × 8 × 64 × 2 bytes = 36,864 bytes a token",
        "18 layers × 2 × 8 × 64 × 2 bytes = 36,864 bytes a token, for the last 128 tokens only",
    ]
    assert words["positions"] == ["rotary, base 150,000, stretched by 32 (yarn)"]


def test_a_latent_with_an_indexer_by_hand():
    found = configuration.read(STORED["deepseek_v32"])
    assert reading.token_bytes(found) == 61 * (512 + 64 + 128) * 2
    # As older files of the same model have it, without the list of layers.
    older = {name: value for name, value in STORED["deepseek_v32"].items() if name != "layer_types"}
    assert configuration.read(older)["cache"] == found["cache"]


def test_older_names_and_lists():
    assert said(n_layer=2, n_head=4, n_embd=64)["cache"] == [
        "2 layers × 2 × 4 × 16 × 2 bytes = 512 bytes a token"
    ]
    assert read(n_layers=3, n_heads=2, d_model=8, multi_query=True)["kept"] == 1
    jamba = dict(
        num_hidden_layers=8, num_attention_heads=2, head_dim=4, attn_layer_period=4, attn_layer_offset=1
    )
    assert read(**jamba)["kinds"] == {"linear": 6, "full": 2}
    assert read(**jamba, sliding_window=7)["kinds"] == {"linear": 6, "full": 2}
    assert read(num_hidden_layers=4, attn_layer_indices=[1, 3], mamba_d_state=8)["kinds"] == {
        "linear": 2,
        "full": 2,
    }
    shared = read(num_hidden_layers=4, num_attention_heads=2, head_dim=4, num_kv_shared_layers=1)
    assert shared["cache"] == [{"layers": 3, "terms": [2, 2, 4]}]


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({}, "no field read here says how many layers there are"),
        ({"num_hidden_layers": None}, "no field read here says how many layers there are"),
        ({"num_hidden_layers": 2}, "no field read here says how many heads there are"),
        ({"num_hidden_layers": 2, "n_head": 3}, "no field read here says how wide a head is"),
        (
            {"num_hidden_layers": 2, "sliding_window": 5},
            "no field read here says which layers have the window",
        ),
        ({"num_hidden_layers": 2, "mamba_d_state": 5}, "mamba_d_state is not read here, and may change"),
        ({"num_hidden_layers": 2, "layer_types": ["wings"]}, "layers of the kind “wings” are not read here"),
        ({"num_hidden_layers": 2, "layer_types": ["full_attention"]}, "1 listed layers are not the 2"),
        ({"layer_types": ["sliding_attention"]}, "no field read here says how long the window is"),
        ({"num_hidden_layers": 2, "compress_rates": {"a": 4}}, "compress_rates changes what is kept"),
        ({"model_type": "rwkv", "num_hidden_layers": 2}, "its state is not computed here"),
    ],
)
def test_what_cant_be_told_is_said(fields, why):
    assert read(**fields)["why"].startswith(why)
    assert reading.token_bytes(read(**fields)) is None


@pytest.mark.parametrize(
    ("fields", "what", "words"),
    [
        ({"num_hidden_layers": "32"}, "layers", "num_hidden_layers is “32”, no whole number above 0"),
        ({"num_hidden_layers": "32"}, "cache", "num_hidden_layers is “32”, no whole number above 0"),
        ({"num_hidden_layers": -3}, "layers", "num_hidden_layers is -3, no whole number above 0"),
        ({"n_layer": 10**9}, "cache", "more than 100,000 layers are not counted here"),
        ({"n_layer": 2, "n_head": [1, 2]}, "heads", "n_head is a list or an object, no whole number above 0"),
        (
            {"n_layer": 2, "n_head": 4, "d_head": {}},
            "cache",
            "d_head is a list or an object, no whole number above 0",
        ),
        ({"n_layer": 2, "n_head": 3, "n_embd": "8"}, "cache", "n_embd is “8”, no whole number above 0"),
        ({"n_layer": 2, "n_head": 3, "dim": 64}, "cache", "dim is 64, which 3 heads can't share evenly"),
        (
            {"model_type": "llama", "n_head": 3},
            "cache",
            "the width of its class is 4096, which 3 heads can't share evenly",
        ),
        ({"n_layer": 2, "sliding_window": -2}, "window", "sliding_window is -2, no whole number above 0"),
        ({"n_positions": True}, "made for", "n_positions is true, no whole number above 0"),
    ],
)
def test_a_field_whose_value_cant_be_used_is_named_with_it(fields, what, words):
    assert said(**fields)[what] == [f"unknown: {words}"]
    assert read(**fields)["cache"] is None


def test_heads_that_cant_be_read_are_not_taken_for_as_many_as_there_are_queries():
    fields = {"n_layer": 2, "n_head": 8, "head_dim": 4, "num_key_value_heads": "2"}
    why = "num_key_value_heads is “2”, no whole number above 0"
    assert said(**fields)["heads"] == [f"8 of queries; keys and values are unknown: {why}"]
    assert said(**fields)["cache"] == [f"unknown: {why}"]


def test_a_window_of_nothing_is_none():
    for nothing in (0, False, None):
        assert read(n_layer=2, n_head=1, sliding_window=nothing)["kinds"] == {"full": 2}


def test_rotations_of_which_no_field_says_the_base():
    # As a published file of Gemma 3 has them.
    stretched = {"text_config": {"rope_scaling": {"factor": 8.0, "rope_type": "linear"}}}
    assert said(**stretched)["positions"] == ["rotary, base not said, stretched by 8 (linear)"]


def two(one, by, other, times):
    return {"a": {"rope_theta": 5, "type": one, "factor": by}, "b": {"type": other, "factor": times}}


@pytest.mark.parametrize(
    ("scaling", "told"),
    [
        ({"type": "linear", "factor": 1}, ""),
        ({"rope_type": "yarn", "factor": 1.0}, ""),
        ({"type": "dynamic", "factor": 1.0}, ", stretched (dynamic)"),
        ({"type": "dynamic", "alpha": 1000.0, "factor": 1.0}, ", stretched (dynamic, alpha 1,000)"),
        ({"type": "longrope", "factor": 4}, ", stretched by 4 (longrope)"),
        (two("linear", 4, "linear", 4), ", stretched by 4 (linear)"),
        (two("linear", 4, "linear", 8), ", stretched (linear)"),
        (two("default", None, "linear", 8), ", in some layers stretched by 8 (linear)"),
    ],
)
def test_a_stretch_is_told_with_its_factor_where_there_is_one_and_of_the_layers_that_have_it(scaling, told):
    bases = "5 and 9" if "a" in scaling else "9"
    fields = {"rope_theta": 9, "rope_scaling": scaling}
    assert said(**fields)["positions"] == [f"rotary, base {bases}{told}"]
    assert said(rope_parameters={"rope_type": "default"})["positions"] == ["rotary, base not said"]
    assert said(rope_scaling={}, rope_theta=None)["positions"] == ["unknown: no field read here says it"]
    unread = "rotary, base unknown: rope_theta is “1e6”, no number above 0"
    assert said(rope_theta="1e6")["positions"] == [unread]


def test_layers_that_hold_a_state_are_said_beside_what_grows():
    beside = "whatever the length: not computed here"
    assert reading.summary(configuration.read(STORED["qwen3_next"]))[2][1] == [
        "12 layers × 2 × 2 × 256 × 2 bytes = 24,576 bytes a token",
        "36 layers × 557,056 × 2 bytes = 40,108,032 bytes of states, whatever the length",
    ]
    assert said(**STORED["falcon_mamba"])["cache"] == [
        "0 bytes a token",
        f"and a state in 32 layers, {beside}",
    ]
    convolved = {"layer_types": ["conv", "full_attention"], "n_head": 1, "head_dim": 8}
    assert said(**convolved)["cache"][1] == f"and the last tokens of a convolution in 1 layer, {beside}"


def test_of_what_may_write_nothing_it_is_said():
    assert said(**STORED["bert"])["cache"][1] == RULES["if"]
    assert said(**STORED["bert"] | {"is_decoder": True})["cache"][1:] == []
    small = dict(n_layer=2, n_head=1, head_dim=8)
    for more in ({"architectures": ["LayoutLMForMaskedLM"]}, {"image_size": 8}, {"causal": False}):
        assert RULES["if"] in said(**small, **more)["cache"], more
    for more in ({}, {"architectures": ["GPT2LMHeadModel"], "model_type": "bert"}):
        assert RULES["if"] not in said(**small, **more)["cache"], more
    # The field alone tells nothing: that of a decoder says false as well.
    assert STORED["gpt_neox"]["is_decoder"] is False
    assert reading.token_bytes(configuration.read(STORED["gpt_neox"])) > 0


def test_t5_has_names_of_its_own():
    t5 = dict(num_layers=6, num_heads=8, d_kv=64, d_model=1024, is_encoder_decoder=True)
    assert said(**t5)["heads"] == [
        "8 of queries, 8 of keys and values (taken as many as of queries: no field says it), each 64 wide"
    ]
    assert said(**t5)["cache"][0].startswith("unknown: is_encoder_decoder changes what is kept")
    # Without d_kv the same name is that of a state's heads.
    assert read(num_hidden_layers=2, num_heads=8, state_size=4)["heads"] is None


@pytest.mark.parametrize(
    ("name", "each"),
    [
        ("DBRX", 40 * 2 * 8 * 128 * 2),
        ("Llama 3's params.json", 32 * 2 * 8 * 128 * 2),
        ("Step-3", 61 * 2 * 1 * 256 * 2),
        ("ModernBERT", 8 * 2 * 12 * 64 * 2),
        ("Nomic BERT", 12 * 2 * 12 * 64 * 2),
        ("MPT", "attn_type is not read here"),
        ("MiniMax-Text-01", 10 * 2 * 8 * 128 * 2),
        ("MiniMax-M2", 62 * 2 * 8 * 128 * 2),
        ("Command R7B", 8 * 2 * 8 * 128 * 2),
        ("LFM2", 6 * 2 * 8 * 64 * 2),
        ("Phi-4-mini", 32 * 2 * 8 * 128 * 2),
        ("Gemma 3 4B", 5 * 2 * 4 * 256 * 2),
        ("Qwen3 without a width", 28 * 2 * 8 * 128 * 2),
        ("Falcon without multi_query", 32 * 2 * 1 * 64 * 2),
        ("Falcon's newer design", 60 * 2 * 128 * 64 * 2),
        ("LLaVA 1.5", 32 * 2 * 32 * 128 * 2),
        ("Trinity", 2 * 2 * 4 * 128 * 2),
        ("MiniMax with another list", "layers of the kind 2 are not read here"),
        ("A list of numbers", "layers of the kind 1 are not read here"),
        ("Phi-4-mini with fewer full layers", "full_attn_mod is not read here"),
        ("Hunyuan-Large", "use_cla is not read here"),
        ("Kimi Linear", 8_064),
        ("Nemotron-NAS", "block_configs is not read here"),
        ("DeciLM", "num_key_value_heads_per_layer is not read here"),
        ("OLMo", "multi_query_attention is not read here"),
        ("Qwen2 with windows", "max_window_layers is not read here"),
        ("RecurrentGemma", "attention_window_size is not read here"),
    ],
)
def test_a_published_file_is_read_or_the_field_that_hides_its_cache_is_named(name, each):
    found = configuration.read(PASTED["published"][name])
    if isinstance(each, int):
        assert reading.token_bytes(found) == each
    else:
        assert found["cache"] is None
        assert found["why"].startswith(each)


def test_bases_and_lengths_that_a_file_leaves_out_are_those_of_its_class():
    words = {
        name: dict(reading.summary(configuration.read(PASTED["published"][name])))
        for name in PASTED["published"]
    }
    gemma = words["Gemma 3 4B"]
    both = "rotary, base 10,000 and 1,000,000"
    assert gemma["positions"] == [f"{both} (its class's), in some layers stretched by 8 (linear)"]
    assert gemma["made for"] == ["131,072 tokens (its class's)"]
    assert words["Falcon without multi_query"]["positions"] == ["rotary, base 10,000 (its class's)"]
    assert words["LLaVA 1.5"]["layers"] == ["32 (its class's), all full"]
    assert said(model_type="falcon", alibi=True)["positions"] == ["ALiBi"]
    # Parts of a head that turn by time, height and width are no stretch.
    assert words["Qwen2-VL"]["positions"] == ["rotary, base 1,000,000"]
    assert read(layer_types=["full_attention"], model_type="llama")["layers"] == 1


def test_what_files_of_published_models_hold_besides_hides_nothing():
    found = {name: configuration.read(fields) for name, fields in PASTED["published"].items()}
    assert reading.token_bytes(found["GPT-J"]) == 28 * 2 * 4096 * 2
    assert reading.token_bytes(found["Llama, weights compressed"]) == 32 * 2 * 8 * 128 * 2
    assert reading.token_bytes(found["Phi-3.5-MoE"]) == 32 * 2 * 8 * 128 * 2
    assert found["Ouro"]["why"].startswith("total_ut_steps changes what is kept")
    plain = read(n_layer=2, n_head=4, num_key_value_heads=2, head_dim=8, kv_lora_rank=512, use_mla=False)
    assert (plain["latent"], plain["kept"], plain["head"]) == (None, 2, 8)
    assert plain["why"] == "kv_lora_rank has a number, and use_mla is false"
    stretched = found["Qwen2.5, YaRN by hand"]
    assert (stretched["length"], stretched["by"]["length"]) == (131_072, "taken")
    lines = dict(reading.summary(found["Of a class of its own"]))["cache"]
    assert lines == [
        "2 layers × 2 × 2 × 8 × 2 bytes = 128 bytes a token",
        "its class is not known here: it may do more than its fields say",
    ]
    assert not any(one["foreign"] for one in map(configuration.read, STORED.values()) if one["cache"])
    newest = found["DeepSeek V4 as published"]
    assert newest["why"].startswith("compress_ratios changes what is kept")
    assert "compress_rates" not in newest["more"]
    assert newest["positions"]["bases"] == [10_000, 160_000]
    assert dict(reading.summary(found["Command R7B"]))["positions"] == [
        "rotary, base 10,000 (its class's); its class says in which layers"
    ]


def test_heads_that_another_field_may_number_are_not_taken_for_those_of_queries():
    for name in ("MPT", "DeciLM", "OLMo", "Nemotron-NAS"):
        words = dict(reading.summary(configuration.read(PASTED["published"][name])))
        assert "keys and values are unknown" in words["heads"][0], name


def test_no_field_of_small_configurations_that_cant_be_used_is_passed_over():
    for more in PASTED["beside"]:
        found = configuration.read(PASTED["small"] | more)
        if any(isinstance(value, str) for value in more.values()) and "position_embedding_type" not in more:
            assert found["cache"] is None or "rope_scaling" in found["unread"]["positions"], more
    whole = [reading.summary(read(**{**PASTED["small"], "num_hidden_layers": n})) for n in (4, 4.0)]
    assert whole[0] == whole[1]
    assert read(**PASTED["small"], text_config={})["layers"] == 4


def test_positions_that_a_field_denies_are_not_told():
    assert said(rope_theta=1e4, position_embedding_type="nope")["positions"] == [
        "none: position_embedding_type says so"
    ]
    assert said(rope_theta=1e4, mla_use_nope=True)["positions"] == ["none: mla_use_nope says so"]
    assert said(rope_theta=1e4, position_embedding_type="rope")["positions"] == ["rotary, base 10,000"]


def test_a_configuration_may_be_a_path_or_an_object_that_has_its_fields(tmp_path):
    path = tmp_path / "config.json"
    path.write_text('{"n_layer": 2, "n_head": 4, "n_embd": 64}')
    given = type("Given", (), {"to_dict": lambda self: {"n_layer": 2, "n_head": 4, "n_embd": 64}})()
    assert widgets.Configuration(path).bytes_a_token == widgets.Configuration(given).bytes_a_token == 512
    with pytest.raises(TypeError, match="fields, a text or a Path, got a int"):
        widgets.Configuration(12)


def test_what_sets_the_root_is_told():
    means = {field["name"]: field["means"] for field in census.fields()}
    gemma = means["query_pre_attn_scalar"]
    assert gemma == "the number whose root scores are divided by, in place of the width"
    times = "what scores are multiplied by, in place of one over the root of the width"
    assert means["attention_multiplier"] == means["softmax_scale"] == times
    assert "the d under the root" not in means["head_dim"]


def test_an_example_is_the_checkpoint_that_the_chapter_has():
    kimi = widgets.Configuration("kimi_linear")
    assert kimi.bytes_a_token == 8_064
    assert configuration.read(kimi.config())["kinds"] == {"linear": 20, "full": 7}
    assert widgets.Configuration("bloom").config() == STORED["bloom"], "no checkpoint: its class's defaults"


def test_the_model_of_the_text_is_found_inside():
    found = read(vision_config={"num_attention_heads": 9}, text_config={"num_hidden_layers": 2, "n_head": 1})
    assert (found["inside"], found["layers"], found["heads"]) == ("text_config.", 2, 1)


def test_the_figure_s_table_and_errors():
    figure = widgets.Configuration({"n_layer": 2, "n_head": 4, "n_embd": 64, "rope_scaling": {"type": "<b>"}})
    rows = Cells(figure._repr_html_()).rows
    assert rows[0] == ["field", "value", "what it means", "section"]
    assert rows[3][:2] == ["cache", "2 layers × 2 × 4 × 16 × 2 bytes = 512 bytes a token"]
    assert rows[-1][:2] == ["rope_scaling.type", '"<b>"']
    assert "<b>" not in figure._repr_html_()
    assert [row[0] for row in rows[8:]] == [
        "n_layer",
        "n_head",
        "n_embd",
        "rope_scaling",
        "rope_scaling.type",
    ]
    assert figure.bytes_a_token == 512
    assert widgets.Configuration('{"a": 1}').bytes_a_token is None
    assert Cells(widgets.Configuration({"a": 1})._repr_html_()).rows[-1] == ["a", "1", "", "not in this book"]
    rows = Cells(widgets.Configuration({"n_head": 2, "vision_config": {"n_head": 2}})._repr_html_()).rows
    assert rows[-3][2]
    assert rows[-1] == ["vision_config.n_head", "2", "", "not in this book"]
    for text, message in (
        ("alpaca", "name must be a model of the census, as 'llama', got 'alpaca'"),
        ('{"a": 1,}', "config must be JSON: "),
        ("[1]", "config must be an object with fields, got a list"),
        ("", "config must be JSON: "),
        ("{" + " " * figures.LONGEST, "config must have at most 1,000,000 characters, got 1,000,001"),
    ):
        with pytest.raises(ValueError, match=re.escape(message)):
            widgets.Configuration(text)


def test_what_goes_to_the_page_is_small_and_whole():
    held = json.loads(figures.data())
    assert len(figures.data()) < 65_000
    assert len(held["examples"]) == len(figures.OFFERED) > 8
    for name, (label, text) in zip(figures.OFFERED, held["examples"], strict=True):
        config, row = EXAMPLES[name]
        assert (label, json.loads(text)) == (row["checkpoint"], config)
    names = [name for *_, names in held["fields"] for name in names]
    assert sorted(names) == sorted(field["name"] for field in census.fields())
    assert not any(at for _, _, at, _ in held["fields"])
    linked = json.loads(figures.data(lambda topic, label: (label, f"{topic}#x")))
    assert all(bool(section) == bool(at) for _, section, at, _ in linked["fields"])


def test_what_the_chapter_on_positions_says_of_gemma_4_and_qwen_stands_in_their_configurations():
    seen = STORED["gemma4_text"]["rope_parameters"]
    window, whole = seen["sliding_attention"], seen["full_attention"]
    assert (window["rope_theta"], whole["rope_theta"]) == (10_000, 1_000_000)
    assert (
        whole["partial_rotary_factor"]
        == STORED["qwen3_5_text"]["rope_parameters"]["partial_rotary_factor"]
        == 0.25
    )
    assert "partial_rotary_factor" not in window
