"""What readers call things, and what the book calls them: the search looks for the one under the other.

A word of the reader is looked for as it is, too, so only what the book says otherwise, or hardly says, stands
here. Short forms that the glossary gives, such as GQA, come from there.
"""

from __future__ import annotations

SIZES = (1, 3, 7, 8, 13, 14, 30, 32, 70, 72)
"""Billions of parameters that readers call a model by."""
ROOTS = [f"{root} {of}" for root in ("sqrt", "root") for of in ("d", "dk", "d_k")]
"""Of what attention divides its scores by."""
HISTORY = ("before transformers", "Bahdanau: look, then move")
LENGTH = ("A measurement: longer than anything seen", "longer than", "stretching")
ASKED = {
    **{f"{size}B": ("read a configuration",) for size in SIZES},
    **dict.fromkeys(("W_q", "W_k", "W_v"), ("Three views of a token",)),
    **{root: ("Scaling by √d",) for root in ROOTS},
    **dict.fromkeys(("history", "invented", "inventor", "origin"), HISTORY),
    **dict.fromkeys(
        ("history of attention", "who invented attention", "who came up with attention"), HISTORY
    ),
    **dict.fromkeys(("origin of attention", "where does attention come from"), HISTORY),
    **dict.fromkeys(("first paper on attention", "first attention paper"), HISTORY),
    **dict.fromkeys(("who invented the transformer", "who made the transformer"), ("The Transformer",)),
    "attention is all you need": ("The Transformer",),
    "answers": ("solution",),
    "attn": ("attention",),
    "autograd": ("gradient",),
    "backprop": ("What passes back", "gradient"),
    "backpropagation": ("What passes back", "gradient"),
    "backward pass": ("What passes back", "gradient"),
    **dict.fromkeys(("bmm", "matmul"), ("In loops, then in matrices",)),
    "bandwidth": ("what a step reads", "bytes"),
    "chat GPT": ("The loop", "language model", "The Transformer"),
    "chatbot": ("The loop", "language model"),
    "ChatGPT": ("The loop", "language model", "The Transformer"),
    "complexity": ("cost", "all pairs"),
    "context length": LENGTH,
    "context window": LENGTH,
    "data parallel": ("many devices",),
    "derivative": ("Jacobian", "gradient"),
    "d_k": ("In loops, then in matrices",),
    "dk": ("sqrt d",),
    "encoder decoder": ("Bahdanau: look, then move", "cross-attention"),
    "expensive": ("cost",),
    "explainability": ("explanation",),
    "feed forward": ("Work on each token",),
    "FFN": ("feed-forward network",),
    "FlashAttention": ("never sees its row",),
    "fp16": ("half precision",),
    "everything masked": ("The row with nothing to see",),
    "first token": ("Where does weight go when there is nothing to say?", "sink"),
    **dict.fromkeys(("cheat", "future", "look ahead", "peek"), ("Who may see whom", "causal mask")),
    "hide the future": ("causal mask", "Who may see whom", "Masking"),
    "generate": ("decoding", "sample"),
    "GPT": ("The Transformer", "language model", "The loop"),
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
    "long sentences": ("One vector for everything",),
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
    "no module named": ("install",),
    "nucleus sampling": ("top-p",),
    "numerical stability": ("largest", "half precision"),
    "O(n^2)": ("all pairs",),
    "paged attention": ("serving many texts",),
    "order": ("positional encoding",),
    "order lost": ("A set has no order",),
    "parallel": ("many devices",),
    "pip": ("install",),
    "place": ("A set has no order",),
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
    "see the future": ("Before the softmax, not after",),
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
    **dict.fromkeys(("tril", "triu"), ("Who may see whom", "causal mask")),
    "throughput": ("serving many texts", "two speeds"),
    "tokenization": ("subword", "token"),
    "tokenizer": ("subword", "token"),
    "three matrices": ("Three views of a token",),
    "train": ("Playground",),
    "train a model": ("Playground",),
    "transformer block": ("The Transformer",),
    "translation": ("before transformers", "cross-attention"),
    "vanishing gradient": ("saturation", "gradient"),
    "Vaswani": ("The Transformer",),
    "vLLM": ("serving many texts",),
    "which word comes first": ("A set has no order",),
    "word embedding": ("embedding",),
    "word order": ("A set has no order",),
    "word2vec": ("embedding",),
}
"""A word or several that readers type, and what to look for besides, the nearest first.

A whole title leads there, if nothing else is asked.
"""
INSIDE = "What is in a chapter"
GREEK = (
    *("alpha", "beta", "gamma", "delta", "epsilon", "theta", "lambda"),
    *("mu", "pi", "rho", "sigma", "tau", "phi", "omega"),
)
FORMULA = (
    *("formula", "attention formula", "formula of attention", "QK", "Q K", "QK^T", "Q K^T"),
    *(f"softmax(QK^T/{root})V" for root in ("sqrt(d_k)", "sqrt(d)", "√d")),
)
"""The formula of attention, as readers write it."""
MEANT = ("mask true false", "mask true false pytorch", "attention mask true false", "true or false")
"""Who asks what True means in a mask."""
SOLVED = ("answers", "exercise answers", "exercise solutions", "solutions", "solutions to exercises")
NOTEBOOKS = (
    *("download", "download notebook", "jupyter", "jupyter notebook", "notebook", "notebooks"),
    *(
        "jupyter notebook download",
        "open in colab",
        "run it locally",
        "run locally",
        "run the code",
        "run the notebooks",
    ),
)
TERMS = {
    "FFN": "feed-forward network",
    "MHA": "multi-head attention",
    "MLA": "latent attention",
    "MoE": "mixture of experts",
    "SSM": "state-space model",
}
"""Short names of which the glossary has the long one alone."""
SCALED = ("In loops, then in matrices", "Scaling by √d")
STABLE = (
    *("np.exp(x - x.max())", "stable softmax", "numerically stable softmax", "softmax overflow"),
    *("subtract max", "subtract max softmax overflow"),
)
"""How to compute a softmax of large scores."""
LEARNED = ("attention weights", "matrices", "parameters", "weights")
"""What training sets, as readers call it."""
ALONE = {
    "attention": "The idea in five minutes",
    **dict.fromkeys(("BERT vs GPT", "GPT vs BERT"), "What do we run?"),
    **dict.fromkeys([*ROOTS, *(f"divide by {root}" for root in ROOTS)], "By hand: coins"),
    **dict.fromkeys(("chat GPT", "ChatGPT"), ("The idea in five minutes", "The Transformer")),
    "class": "For teachers",
    "d_model": "Shapes",
    **dict.fromkeys(("need a gpu", "no gpu", "without a gpu"), "What you will be able to do"),
    **dict.fromkeys(MEANT, "Masks"),
    "why not rnn": "Before Transformers",
    **dict.fromkeys(("install", "pip", "pip install", "install attnlab", "set up"), INSIDE),
    **dict.fromkeys((*SOLVED, *NOTEBOOKS, "exercises", "quiz", "quiz answers"), INSIDE),
    **dict.fromkeys(("book free", "licence", "license"), "Licences"),
    **dict.fromkeys(("context length", "context size", "context window"), "extrapolation"),
    **dict.fromkeys(FORMULA, ("In loops, then in matrices", "Each word asks, and each word offers")),
    "GPT": ("language model", "A layer, and torch’s"),
    "cross entropy loss": "cross-entropy",
    "model.generate": "The loop",
    **TERMS,
    **dict.fromkeys(("scaled dot product attention", "scaled_dot_product_attention"), SCALED),
    "attention weights": ("weights", "From relevance to shares"),
    "scale attention": "Scaling by √d",
    "memory long context": "What it costs",
    **dict.fromkeys(STABLE, "Computing it"),
    **dict.fromkeys(
        ("query key value", "queries keys values", "query key value mean"), "Three views of a token"
    ),
    **dict.fromkeys(("more than one head", "need several heads", "several heads"), "Multi-head attention"),
    **dict.fromkeys(("hidden_size", "num_attention_heads", "num_hidden_layers"), "Read a configuration"),
    **dict.fromkeys(("long text", "handle long text"), LENGTH[0]),
    **dict.fromkeys(("many layers", "several layers", "more than one layer"), "The Transformer"),
    "open in colab": "Running it",
    **dict.fromkeys(
        ("author", "authors", "who wrote this", "who wrote this book"), "What we hold ourselves to"
    ),
    **dict.fromkeys(("cheat sheet", "cheatsheet", "summary of the letters"), "Letters of every chapter"),
    **dict.fromkeys(
        ("how long does it take", "how long does this book take", "how long"), "Three ways through"
    ),
    **dict.fromkeys(("nan softmax", "softmax nan"), "The row with nothing to see"),
    "rotary": "rotary positions",
    "sliding window": "window",
    "scale scores": "Scaling by √d",
    **dict.fromkeys(GREEK, "Letters of one chapter"),
    **{term[0]: (term, "Shapes") for term in ("query", "key", "value")},
    "temperature": "temperature",
    **dict.fromkeys(("tokenize", "tokenizer"), "subword"),
    "vanishing gradient": ("saturation", "Softmax saturation"),
    **dict.fromkeys(("why average", "why not average"), "Relevance and averaging"),
    **{f"{which} {how}": "Train it" for which in LEARNED for how in ("learned", "trained")},
}
"""Where who asks just this is led, by a whole title or several, or by a term of the glossary: of a letter, to
what it stands for."""
ERRORS = {
    "no module named|cannot import name": (INSIDE,),
    "out of memory": ("The softmax that never sees its row", "What a step reads"),
    "divisible by": ("Several heads, side by side",),
    "dtype|scalar type|half": ("Numbers that are almost −∞, and half precision", "Masks"),
    "mask": ("Masks", "Who may see whom"),
    "shape|size|multiplied|dimension|broadcast": ("Shapes",),
    "": ("Shapes", "Masks"),
}
"""Parts of messages of errors, and titles of what these are about: the first that fits, the last any."""
