"""What a step reads: the published numbers of parameters, and those of a model that is built."""

import pytest

from attnlab.cache import kv_cache_bytes
from attnlab.transformer import LanguageModel
from attnlab.transformer.shapes import PUBLISHED, Shape


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("SmolLM2 135M", 134_515_008),
        ("Mistral 7B", 7_241_732_096),
        ("Llama 2 7B", 6_738_415_616),
        ("Llama 3 8B", 8_030_261_248),
        ("Llama 2 70B", 68_976_648_192),
        ("Llama 3 405B", 405_853_388_800),
    ],
)
def test_published_shapes_have_the_published_numbers_of_parameters(name, parameters):
    assert PUBLISHED[name].parameters == parameters


@pytest.mark.parametrize("tied", [False, True])
def test_a_model_of_that_shape_has_so_many(tied):
    shape = Shape(
        vocab_size=11, d_model=24, n_layers=3, n_heads=4, n_kv_heads=2, d_head=6, d_ff=40, tied=tied
    )
    model = LanguageModel(
        11, 24, 4, 3, n_kv_heads=2, d_ff=40, tied=tied, bias=False, norm="rms", activation="swiglu"
    )
    assert shape.parameters == sum(p.numel() for p in model.parameters())
    embedding = 0 if tied else model.embedding.weight.numel()
    assert shape.read_each_step == shape.parameters - embedding
    cache = model.new_cache(batch=5, capacity=7)
    held = sum(layer._keys.nbytes + layer._values.nbytes for layer in cache)
    assert shape.step_bytes(7, batch=5, bytes_per_number=4) == (4 * shape.read_each_step, held)


def test_a_window_bounds_the_cache_and_sharing_shrinks_both():
    mistral, llama = PUBLISHED["Mistral 7B"], PUBLISHED["Llama 3 8B"]
    assert mistral.step_bytes(100_000)[1] == mistral.step_bytes(4096)[1] == kv_cache_bytes(32, 8, 128, 4096)
    own = llama.sharing(32)
    assert own.step_bytes(1000)[1] == 4 * llama.step_bytes(1000)[1]
    assert own.read_each_step - llama.read_each_step == 32 * 2 * 4096 * 128 * 24
    with pytest.raises(ValueError, match="n must be"):
        llama.step_bytes(-1)
    with pytest.raises(ValueError, match="bytes_per_number"):
        llama.step_bytes(1, bytes_per_number=0)
