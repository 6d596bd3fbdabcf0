"""What readers call things, and what the book calls them: the search looks for the one under the other.

A word of the reader is looked for as it is, too, so only what the book says otherwise, or hardly says, stands
here. Short forms that the glossary gives, such as GQA, come from there.
"""

from __future__ import annotations

SIZES = (1, 3, 7, 8, 13, 14, 30, 32, 70, 72)
"""Billions of parameters that readers call a model by."""
ASKED = {
    **{f"{size}B": ("read a configuration",) for size in SIZES},
    "attn": ("attention",),
    "autograd": ("gradient",),
    "bandwidth": ("what a step reads", "bytes"),
    "chatbot": ("language model",),
    "complexity": ("cost", "all pairs"),
    "context length": ("longer than", "stretching"),
    "data parallel": ("many devices",),
    "derivative": ("Jacobian", "gradient"),
    "dk": ("sqrt d",),
    "encoder decoder": ("cross-attention", "Bahdanau"),
    "expensive": ("cost",),
    "explainability": ("explanation",),
    "FFN": ("feed-forward network",),
    "fp16": ("half precision",),
    "future": ("causal mask",),
    "generate": ("decoding", "sample"),
    "gradient of softmax": ("Jacobian",),
    "heatmap": ("weights",),
    "inference": ("decoding", "step reads"),
    "interpretability": ("inside a real model", "explanation"),
    "kernel trick": ("feature map", "moving the brackets"),
    "key value cache": ("KV cache",),
    "long context": ("longer than", "stretching"),
    "memory": ("cost", "cache"),
    "MHA": ("multi-head attention",),
    "MLA": ("latent attention",),
    "MoE": ("mixture of experts",),
    "multi-GPU": ("many devices", "ring"),
    "normalization": ("a common size", "layer norm", "RMSNorm"),
    "nucleus sampling": ("top-p",),
    "numerical stability": ("largest", "half precision"),
    "O(n^2)": ("all pairs",),
    "paged attention": ("serving many texts",),
    "parallel": ("many devices",),
    "position embedding": ("positional encoding", "learned positions"),
    "quadratic": ("all pairs", "cost"),
    "quantization": ("half precision",),
    "RNN": ("recurrent network", "before transformers"),
    "root": ("sqrt",),
    "scaled dot product attention": ("scaling", "dot product"),
    "SDPA": ("dot product attention",),
    "seq2seq": ("before transformers", "Bahdanau"),
    "skip connection": ("residual stream",),
    "sliding window": ("window",),
    "softmax gradient": ("Jacobian",),
    "SSM": ("state-space model",),
    "tensor parallel": ("splitting heads",),
    "throughput": ("serving many texts", "two speeds"),
    "tokenizer": ("subword", "token"),
    "transformer block": ("The Transformer",),
    "translation": ("before transformers", "cross-attention"),
    "vanishing gradient": ("saturation", "gradient"),
    "vLLM": ("serving many texts",),
}
"""A word or several that readers type, and what to look for besides, the nearest first."""
