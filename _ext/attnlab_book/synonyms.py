"""What readers call things, and what the book calls them: the search looks for the one under the other.

A word of the reader is looked for as it is, too, so only what the book says otherwise, or hardly says, stands
here. Short forms that the glossary gives, such as GQA, come from there.
"""

from __future__ import annotations

SIZES = (1, 3, 7, 8, 13, 14, 30, 32, 70, 72)
"""Billions of parameters that readers call a model by."""
ROOTS = [f"{root} {of}" for root in ("sqrt", "root") for of in ("d", "dk", "d_k")]
"""Of what attention divides its scores by."""
LENGTH = ("A measurement: longer than anything seen", "longer than", "stretching")
ASKED = {
    **{f"{size}B": ("read a configuration",) for size in SIZES},
    **{why + root: ("Scaling by √d",) for root in ROOTS for why in ("", "divide by ")},
    "attention is all you need": ("The Transformer",),
    "attn": ("attention",),
    "autograd": ("gradient",),
    "backprop": ("What passes back", "gradient"),
    "backpropagation": ("What passes back", "gradient"),
    "backward pass": ("What passes back", "gradient"),
    "bandwidth": ("what a step reads", "bytes"),
    "chat GPT": ("The loop", "language model", "The Transformer"),
    "chatbot": ("The loop", "language model"),
    "ChatGPT": ("The loop", "language model", "The Transformer"),
    "complexity": ("cost", "all pairs"),
    "context length": LENGTH,
    "context window": LENGTH,
    "data parallel": ("many devices",),
    "derivative": ("Jacobian", "gradient"),
    "dk": ("sqrt d",),
    "encoder decoder": ("cross-attention", "Bahdanau"),
    "expensive": ("cost",),
    "explainability": ("explanation",),
    "feed forward": ("Work on each token",),
    "FFN": ("feed-forward network",),
    "FlashAttention": ("never sees its row",),
    "fp16": ("half precision",),
    "everything masked": ("The row with nothing to see",),
    "first token": ("Where does weight go when there is nothing to say?", "sink"),
    "future": ("Who may see whom", "causal mask"),
    "generate": ("decoding", "sample"),
    "GPT": ("The Transformer", "language model", "The loop"),
    "GQA": ("Fewer keys and values",),
    "GPU": ("many devices",),
    "gradient of softmax": ("Jacobian",),
    "heatmap": ("weights",),
    "inference": ("decoding", "step reads"),
    "interpretability": ("inside a real model", "explanation"),
    "kernel trick": ("feature map", "moving the brackets"),
    "key value cache": ("KV cache",),
    "KV cache": ("need not be computed",),
    "KV cache size": ("Fewer keys and values",),
    "large language model": ("Inside a real model", "language model"),
    "LLM": ("Inside a real model", "language model"),
    "local attention": ("window",),
    "long context": LENGTH,
    "long document": LENGTH,
    "look left": ("Who may see whom", "causal mask"),
    "masked out": ("The row with nothing to see",),
    "memory": ("cost", "cache"),
    "meaning": ("One word, two jobs",),
    "MHA": ("multi-head attention",),
    "MLA": ("latent attention",),
    "MoE": ("mixture of experts",),
    "multiple heads": ("Multi-head attention",),
    "multi-GPU": ("many devices", "ring"),
    "nearby": ("A window by blocks", "window"),
    "normalization": ("a common size", "layer norm", "RMSNorm"),
    "nucleus sampling": ("top-p",),
    "numerical stability": ("largest", "half precision"),
    "O(n^2)": ("all pairs",),
    "paged attention": ("serving many texts",),
    "parallel": ("many devices",),
    "position embedding": ("positional encoding", "learned positions"),
    "q k v": ("Queries, keys, values",),
    "QKV": ("Queries, keys, values",),
    "quadratic": ("all pairs", "cost"),
    "quantization": ("half precision",),
    "RNN": ("recurrent network", "before transformers"),
    "root": ("sqrt",),
    "sampling": ("From scores to a word",),
    "same word": ("One word, two jobs",),
    "scaled dot product attention": ("scaling", "dot product"),
    "SDPA": ("dot product attention",),
    "seq2seq": ("before transformers", "Bahdanau"),
    "skip connection": ("residual stream",),
    "sliding window": ("window",),
    "slow": ("cost", "what a step reads"),
    "softmax gradient": ("Jacobian",),
    "softmax temperature": ("The figure: set the width, drag the scores", "temperature"),
    "split a model": ("splitting heads", "many devices"),
    "SSM": ("state-space model",),
    "temperature": ("From scores to a word",),
    "tensor parallel": ("splitting heads",),
    "throughput": ("serving many texts", "two speeds"),
    "tokenization": ("subword", "token"),
    "tokenizer": ("subword", "token"),
    "train a model": ("Playground",),
    "transformer block": ("The Transformer",),
    "translation": ("before transformers", "cross-attention"),
    "vanishing gradient": ("saturation", "gradient"),
    "vLLM": ("serving many texts",),
    "which word comes first": ("A set has no order",),
    "word embedding": ("embedding",),
    "word order": ("A set has no order",),
    "word2vec": ("embedding",),
}
"""A word or several that readers type, and what to look for besides, the nearest first.

A whole title leads there, if nothing else is asked.
"""
GREEK = (
    *("alpha", "beta", "gamma", "delta", "epsilon", "theta", "lambda"),
    *("mu", "pi", "rho", "sigma", "tau", "phi", "omega"),
)
ALONE = {
    "attention": "The idea in five minutes",
    **dict.fromkeys(("BERT vs GPT", "GPT vs BERT"), "What do we run?"),
    **dict.fromkeys(GREEK, "Letters of one chapter"),
}
"""Where who asks just this is led, by a whole title: of a letter, to what it stands for."""
