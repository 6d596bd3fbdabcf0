# expect: Keys and values have n_kv_heads heads
def parameters(d_model, n_heads, n_kv_heads, d_head, d_ff, gated, n_layers, n_words, tied):
    layer = 4 * d_model * d_head * n_heads + (2 + gated) * d_model * d_ff + 2 * d_model
    return n_layers * layer + d_model + n_words * d_model * (2 - tied)
