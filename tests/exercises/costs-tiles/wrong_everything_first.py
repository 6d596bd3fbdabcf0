# expect: it holds in fast memory grows with the text
def causal_tiles(read, n, size):
    q, k, v = (
        torch.cat([read(name, i, i + size) for i in range(0, n, size)])
        for name in ("queries", "keys", "values")
    )
    out = torch.nn.functional.scaled_dot_product_attention(q[None], k[None], v[None], is_causal=True)
    return list(out[0].split(size))
