"""The names and kinds by which a configuration is read: in `attnbook.configuration`, and in the page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

RULES: dict[str, Any] = {
    # The parts of a configuration that hold the model of the text.
    "inside": ["text_config", "llm_config", "language_config", "thinker_config", "decoder_config"],
    # Other parts that are read, as are all whose names begin with "rope_", and what stands in those.
    "parts": ["attn_config", "linear_attn_config"],
    # What a thing is called. The first that is there counts.
    "layers": ["num_hidden_layers", "n_layer", "n_layers", "num_layers", "decoder_layers"],
    "heads": ["num_attention_heads", "n_head", "n_heads", "decoder_attention_heads", "attention_heads"],
    "kept": [
        "num_key_value_heads",
        "num_kv_heads",
        "n_kv_heads",
        "kv_n_heads",
        "n_head_kv",
        "multi_query_group_num",
        "num_query_groups",
        "num_attention_groups",
    ],
    "head": ["head_dim", "attention_head_dim", "kv_channels", "d_head", "d_kv"],
    "width": ["hidden_size", "n_embd", "n_embed", "d_model", "dim", "emb_dim"],
    "window": [
        "sliding_window",
        "sliding_window_size",
        "window_size",
        "attention_chunk_size",
        "local_attention",
    ],
    "length": [
        "max_position_embeddings",
        "n_positions",
        "n_ctx",
        "max_seq_len",
        "max_sequence_length",
        "context_length",
        "seq_length",
        "model_max_length",
        "max_target_positions",
    ],
    # A list with a word for each layer, and what the words mean.
    "each": ["layer_types", "layers_block_type", "block_types", "attention_layers", "attn_type_list"],
    "kinds": {
        "attn_type_list 0": "linear",
        "attn_type_list 1": "full",
        "full_attention": "full",
        "attention": "full",
        "global": "full",
        "full": "full",
        "sliding_attention": "window",
        "chunked_attention": "block",
        "local": "window",
        "indexed_attention": "selected",
        "linear_attention": "linear",
        "mamba": "linear",
        "recurrent": "linear",
        "conv": "convolution",
        "moe": "none",
        "mlp": "none",
    },
    # Types of models with `global_attn_every_n_layers`, and how many layers the first period lacks.
    "every": {"afmoe": 1, "modernbert": 0},
    # Types of models whose window, where no field says which layers have it, is in all of them.
    "windows": ["mistral", "mixtral", "phi3", "phimoe", "starcoder2", "moshi"],
    # What is looked for as a number.
    "numbers": ["layers", "heads", "kept", "head", "width", "window", "length"],
    # Other fields that are read, by what their values must be; and where places are told.
    "wholes": [
        "kv_lora_rank",
        "qk_rope_head_dim",
        "v_head_dim",
        "num_kv_shared_layers",
        "attn_layer_period",
        "attn_layer_offset",
        "full_attention_interval",
        "index_topk",
        "index_head_dim",
        "state_size",
    ],
    "flags": ["multi_query", "new_decoder_architecture", "use_sliding_window", "use_mla"],
    "lists": [
        "layer_types",
        "layers_block_type",
        "block_types",
        "attention_layers",
        "attn_type_list",
        "attn_layer_indices",
        "indexer_types",
    ],
    # Patterns of names. Without a field of `kept`, one of `keys` may say how many heads of keys there are. A
    # field of `bears` that is neither read nor of `harmless` may change what is kept; of those, `which` say
    # only which layers are of which kind, and `windowed` nothing where there is no window.
    "keys": (
        "kv|key_?value|multi_?query|[gm]qa|attn_type|(attention|attn|head|query)_groups?|in_group|block_configs"
    ),
    "bears": (
        "attn|attention|layer|window|block|pattern|interval|shar|cla_|_cla(?!ss)|mla|ssm|mamba|state|conv"
        "|linear|recur|rwkv|hyena|local|global|chunk|sparse|mem_|memory|compress|latent|idx|swa"
    ),
    "harmless": (
        "norm|bias|drop|prob|scal|softmax|logit|logn|temperature|multipl|factor|sparsity|sparse_step|expert|mlp"
        "|moe|mtp|nextn|dense_layers|intermediate|ffn|_ff_|dtype|rope|nope|rotary|gate$|per_layer_input|kernels"
        "|parallel|impl|flash|multi_?query|share_q|^output_|embedding|layer_switch|interleaved_layers"
        "|ignore_index"
        "|^compression_config$|^mm_|^embd_layer$|^max_attn_value$"
        "|^block_(size|type|group_size|dim|multiple_of|use_swiglu|use_xavier_init)$"
    ),
    "which": (
        "pattern|interval|every|max_window_layers|idx|indices|group_size|_list$|state|ssm|mamba|conv|linear"
        "|^chunk_size"
    ),
    "windowed": "max_window_layers|sliding_window_pattern",
    # Words, and a number, in which nothing is hidden.
    "plain": ["multihead_attention", "grouped_query_attention", "multiquery_attention", "vision"],
    "usual": {"full_attn_mod": 1},
    # Words of position_embedding_type; "absolute" stands in files of models that turn as well.
    "turned": ["rope", "rotary", "rope_gptj"],
    "bare": ["nope", "none"],
    "denied": ["use_rope", "rope", "rotary"],
    # Types of rotations that are not stretched: mrope turns parts of a head by time, height and width.
    "unstretched": ["default", "main", "mrope"],
    "by_factor": ["linear", "llama3", "yarn"],  # these stretch by their factor, so by 1 not at all
    # Fields that say a base of rotations.
    "bases": [
        "rope_theta",
        "rotary_emb_base",
        "rope_local_base_freq",
        "global_rope_theta",
        "local_rope_theta",
        "compress_rope_theta",
    ],
    # What is at no other place said of models by their type: how they tell places.
    "places": {
        "learned": ["gpt2", "opt", "gpt_bigcode", "bert", "roberta", "distilbert"],
        "ALiBi": ["bloom", "jais"],
        "none": ["jamba", "mamba", "mamba2", "falcon_mamba"],
    },
    # Types of models in whose full layers nothing is turned, and no field says so.
    "bare_types": ["afmoe", "cohere2", "cohere2_moe", "exaone4", "exaone_moe"],
    # Fields that have another name in published files.
    "also": {"compress_rates": "compress_ratios"},
    # Who reads a text at once, by type; a class that writes, by its name; and fields of what looks at images.
    "readers": (
        "^(albert|canine|clip_text|data2vec-text|deberta|deit|dinov2|electra|ernie$|esm|layoutlm|llada"
        "|longformer|luke|mpnet|siglip|splinter|vit|xmod)|bert|^big_bird$|^roformer"
    ),
    "writers": "CausalLM|LMHead|Generat|DoubleHeads",
    "images": ["image_size", "patch_size"],
    "if": "if it writes: a model that reads a text at once keeps nothing of it",
    # Where a value comes from that no field says.
    "own": "its class's",
    "own_width": "the width of its class",
    "which_own": "; which is which its class says, not the file",
    "bare_own": "; its class says in which layers",
    "foreign": "its class is not known here: it may do more than its fields say",
    "more": "with its class's fields, which the file leaves out: ",
    "taken": {
        "kept": "taken as many as of queries: no field says it",
        "head": "taken as width over heads: no field says it",
        "length": "the largest: its fields differ",
    },
    "unsaid": "none: no field says one",
    # The length for which the cache is told where none is known.
    "length_taken": 32_768,
    "ours": " (a length of ours: no field says one)",
    "letters": {"F": "full", "W": "window", "B": "block"},
    # What classes put where a file says nothing, where that can't be derived: numbers, bases of rotations,
    # and kinds in their period. 0: the class has no such field. None: it derives it in a way of its own.
    # Under `more`, other fields that bear on the cache: 1 may stand for a value that is not read here.
    "classes": json.loads((Path(__file__).parent / "static/class-defaults.json").read_text(encoding="utf-8")),
    # Why a cache is empty, or hidden.
    "another": "some layers choose keys with the indexer of another",
    "changes": "changes what is kept, in a way not computed here",
    "blurs": "changes what is seen, in a way that is not read here",
    # What is said of what no field tells, and of what can't be used.
    "no": {
        "layers": "no field read here says how many layers there are",
        "windows": "no field read here says which layers have the window",
        "each": "no field read here says which layers are of which kind",
        "kept": "no field read here says how many heads of keys there are",
        "window": "no field read here says how long the window is",
        "heads": "no field read here says how many heads there are",
        "head": "no field read here says how wide a head is",
        "choose": "no field read here says what is kept to choose keys by",
        "it": "no field read here says it",
    },
    "unfit": {"wholes": "no whole number above 0", "flags": "neither true nor false", "lists": "no list"},
    "unturned": "kv_lora_rank has a number, and qk_rope_head_dim none",
    "absent": "the list of full layers names one that is not there",
    "unused": "kv_lora_rank has a number, and use_mla is false",
    # Kinds of layers in words, # for the window; and what those that keep no tokens hold.
    "words": {
        "full": "full",
        "window": "with a window of # tokens",
        "block": "with blocks of # tokens",
        "selected": "with chosen keys",
        "linear": "with a state in place of keys",
        "convolution": "with a short convolution",
        "shared": "with the cache of another layer",
        "none": "without attention",
    },
    "apart": "whatever the length: not computed here",
    "stays": " bytes of states, whatever the length",
    "aside": "; more is not computed",
    "held": {"linear": "a state", "convolution": "the last tokens of a convolution"},
    "may": "not read here, and may change what is kept",
    "many": "more than 100,000 layers are not counted here",
    "most": 100_000,
    # Numbers in the state of a layer and its convolution, by types of models: products that are added, of
    # fields and of sums of fields.
    "states": [
        [["mamba"], [["expand", "hidden_size", ["state_size", "conv_kernel"]]]],
        [
            ["mamba2"],
            [
                ["num_heads", "head_dim", ["state_size", "conv_kernel"]],
                ["n_groups", "state_size", ["conv_kernel", "conv_kernel"]],
            ],
        ],
        [["jamba"], [["mamba_expand", "hidden_size", ["mamba_d_state", "mamba_d_conv"]]]],
        [
            ["qwen3_next", "qwen3_5_text", "qwen3_5_moe_text"],
            [
                [
                    "linear_num_value_heads",
                    "linear_value_head_dim",
                    ["linear_key_head_dim", "linear_conv_kernel_dim"],
                ],
                [
                    "linear_num_key_heads",
                    "linear_key_head_dim",
                    ["linear_conv_kernel_dim", "linear_conv_kernel_dim"],
                ],
            ],
        ],
        [
            ["kimi_linear"],
            [
                [
                    "linear_num_heads",
                    "linear_head_dim",
                    [
                        "linear_head_dim",
                        "linear_conv_kernel_dim",
                        "linear_conv_kernel_dim",
                        "linear_conv_kernel_dim",
                    ],
                ]
            ],
        ],
    ],
    # Fields that change what is kept, unless they are false, zero, empty or null, in ways not read here.
    "odd": [
        "is_encoder_decoder",
        "per_layer_config",
        "cross_attention_layers",
        "swa_head_dim",
        "swa_num_key_value_heads",
        "attention_k_eq_v",
        "global_head_dim",
        "num_global_key_value_heads",
        "compress_ratios",
        "compress_rates",
        "cca_time0",
        "mem_len",
        "total_ut_steps",
        "patcher_config",
    ],
    # Fields that change what a layer sees, and leave the cache as it is.
    "looks": ["cross_attention_layers", "keep_window_size", "num_random_blocks", "H_cycles"],
    # Types of models whose class does what no field says.
    "types": {
        "falcon_h1": "each layer has attention and a state, which is not read here",
        "gpt_neo": "its library keeps all keys, though half of its layers look at a window",
        "longcat_flash": "each layer attends twice, which is not read here",
        "mimo_v2_flash": "its layers with a window have heads of their own, which are not read here",
        "modernbert-decoder": "its window is half of local_attention, which is not read here",
        "openai-gpt": "its library keeps nothing",
        "reformer": "what it keeps is not computed here",
        "rwkv": "its state is not computed here",
        "xlstm": "its state is not computed here",
        "xmod": "it keeps nothing of a text that it reads at once",
    },
}
"""How fields are read, here and in the page."""
