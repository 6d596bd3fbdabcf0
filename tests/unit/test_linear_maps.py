"""Feature maps that learn, that draw, that have no slope, as modules; and the rules that every form keeps."""

import copy
import functools
import io
import pickle
import threading

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch._subclasses import FakeTensorMode

from attnlab import linear
from attnlab.linear import (
    FourierFeatures,
    PositiveFeatures,
    elu_plus_one,
    gated_linear_attention,
    linear_attention,
    linear_step,
)

MAPS = {
    "favor": PositiveFeatures.draw(4, 8, generator=torch.Generator().manual_seed(0)),
    "rfa": FourierFeatures.draw(4, 8, sigma=2.0, unit=False, generator=torch.Generator().manual_seed(1)),
}


def draw(seed, *shapes, dtype=torch.float64):
    g = torch.Generator().manual_seed(seed)
    return [torch.randn(shape, generator=g, dtype=torch.float64).to(dtype) for shape in shapes]


def delta(q, k, v, **how):
    return linear.delta_rule(q, F.normalize(k, dim=-1), v, k[..., :1].sigmoid(), **how)


def gated(q, k, v, **how):
    return linear.gated_linear_attention(q, k, v, -k.square(), **how)


def faded(q, k, v, **how):
    gate = k[..., :1].sigmoid()
    return linear_attention(q, k, v, features=MAPS["rfa"], gate=gate, is_causal=True, **how)


def linformer(q, k, v, **how):
    return linear.linformer_attention(q, k, v, torch.ones(3, k.shape[-2]).tril().to(k), **how)


def linformer_in_torchs_words(q, k, v):
    mix = torch.ones(3, k.shape[-2]).tril().to(k)
    return F.scaled_dot_product_attention(q, mix @ k, mix @ v)


CAUSAL = {
    "elu": functools.partial(linear_attention, is_causal=True),
    "favor": functools.partial(linear_attention, features=MAPS["favor"], is_causal=True),
    "rfa, gated": faded,
    "gated": gated,
    "delta": delta,
}
WHOLE = {
    "elu, whole": linear_attention,
    "favor, whole": functools.partial(linear_attention, features=MAPS["favor"]),
    "linformer": linformer,
}
CALLS = [(name, {"form": form, "block_size": 4}) for name in CAUSAL for form in ("chunked", "recurrent")]
CALLS += [
    (name, {"form": "parallel"}) for name in ("elu", "favor", "rfa, gated", "elu, whole", "favor, whole")
]
CALLS += [("elu, whole", {"block_size": 4}), ("favor, whole", {"block_size": 4}), ("linformer", {})]
NAMES = [", ".join([name, *map(str, how.values())]) for name, how in CALLS]
every_form = pytest.mark.parametrize(("name", "how"), CALLS, ids=NAMES)


def call(name, how):
    return functools.partial({**CAUSAL, **WHOLE}[name], **how)


# Maps that draw random numbers, that have no slope, that are modules


def dropped(x):
    return F.dropout(elu_plus_one(x), 0.5)


@pytest.mark.parametrize("is_causal", [False, True])
def test_a_map_that_draws_random_numbers_has_the_gradient_of_what_it_drew(is_causal):
    inputs = [x.requires_grad_() for x in draw(0, (2, 9, 4), (2, 9, 4), (2, 9, 2))]

    def run(*inputs):
        torch.manual_seed(0)
        return linear_attention(*inputs, features=dropped, is_causal=is_causal, block_size=4)

    assert torch.autograd.gradcheck(run, inputs)


def test_asking_whether_a_map_draws_takes_no_random_number_from_the_caller():
    q, k, v = draw(1, (5, 4), (5, 4), (5, 2))
    seen = []

    def spy(x):
        seen.append(torch.rand(2))
        return elu_plus_one(x)

    torch.manual_seed(0)
    linear_attention(q, k, v, features=spy, is_causal=True)
    torch.manual_seed(0)
    for got in seen[1:]:  # the first call asked
        assert torch.equal(got, torch.rand(2))
    torch.manual_seed(0)
    linear_attention(q, k, v, is_causal=True)
    assert torch.rand(1) == torch.rand(1, generator=torch.Generator().manual_seed(0))


def test_a_map_with_a_generator_of_its_own_is_known_to_draw():
    inputs = [x.requires_grad_() for x in draw(1, (5, 4), (5, 4), (5, 2))]
    draws = torch.Generator()

    def noisy(x):
        return elu_plus_one(x) * torch.rand(x.shape, generator=draws, dtype=x.dtype).add(0.5)

    def run(*inputs):
        draws.manual_seed(0)
        return linear_attention(*inputs, features=noisy, is_causal=True, block_size=2)

    assert torch.autograd.gradcheck(run, inputs)


@pytest.mark.parametrize("is_causal", [False, True])
def test_what_another_thread_draws_meanwhile_does_not_come_again(is_causal):
    inputs, drawn = [x.requires_grad_() for x in draw(1, (5, 4), (5, 4), (5, 2))], []

    def beside(x):
        thread = threading.Thread(target=lambda: drawn.append(torch.rand(3)))
        thread.start()
        thread.join()
        return elu_plus_one(x)

    torch.manual_seed(0)
    linear_attention(*inputs, features=beside, is_causal=is_causal).sum().backward()
    got = torch.cat([*drawn, torch.rand(3)])
    assert len(drawn) > 1
    assert torch.equal(got, torch.rand(len(got), generator=torch.Generator().manual_seed(0)))
    want = [x.grad for x in inputs]
    for x in inputs:
        x.grad = None
    linear_attention(*inputs, is_causal=is_causal).sum().backward()
    assert all(torch.allclose(x.grad, grad) for x, grad in zip(inputs, want, strict=True))


@pytest.mark.parametrize("form", ["chunked", "recurrent"])
def test_a_gate_out_of_its_range_counts_as_its_end(form):
    q, k, v = draw(2, (2, 6, 4), (2, 6, 4), (2, 6, 3))
    gate = torch.tensor([0.5, 1.0001, 0.3, 30.0, -0.5, 0.9])[:, None].double()
    inside = linear_attention(q, k, v, gate=gate.clamp(0, 1), is_causal=True, form="recurrent")
    got = linear_attention(q, k, v, gate=gate, is_causal=True, form=form, block_size=4)
    assert torch.allclose(got, inside, atol=1e-10)


def test_a_steps_gate_out_of_its_range_counts_as_its_end():
    q, k, v = draw(2, (2, 2, 4), (2, 2, 4), (2, 2, 3))
    half = torch.full((2, 1), 0.5).double()
    _, state = linear_step(q[0], k[0], v[0], gate=half)
    for gate in (1.5 * torch.ones_like(half), -half):
        got = linear_step(q[1], k[1], v[1], state, gate=gate)
        want = linear_step(q[1], k[1], v[1], state, gate=gate.clamp(0, 1))
        assert torch.equal(got[0], want[0])
        assert all(torch.equal(a, b) for a, b in zip(got[1], want[1], strict=True))


@pytest.mark.parametrize("width", [1, 4])
@pytest.mark.parametrize("form", ["chunked", "recurrent"])
def test_a_decay_that_would_grow_counts_as_none(form, width):
    q, k, v = draw(2, (2, 6, 4), (2, 6, 4), (2, 6, 3))
    log_decay = torch.tensor([-0.5, 30.0, -0.1, 800.0, 1e-6, -3.0])[:, None].double().expand(6, width)
    got = gated_linear_attention(q, k, v, log_decay, form=form, block_size=4)
    want = gated_linear_attention(q, k, v, log_decay.clamp(max=0), form="recurrent")
    assert torch.allclose(got, want, atol=1e-10)
    if width == 1:
        k, beta = F.normalize(k, dim=-1), torch.full((6, 1), 0.5).double()
        want = linear.delta_rule(q, k, v, beta, log_decay=log_decay.clamp(max=0), form="recurrent")
        got = linear.delta_rule(q, k, v, beta, log_decay=log_decay, form=form, block_size=4)
        assert torch.allclose(got, want, atol=1e-10)


@pytest.mark.parametrize("form", ["chunked", "recurrent"])
@pytest.mark.usefixtures("whatever_a_clamp_passes_back")
def test_no_decay_at_all_has_the_slope_of_a_little(form):
    q, k, v = draw(2, (6, 4), (6, 4), (6, 3))
    k, beta = F.normalize(k, dim=-1), torch.full((6, 1), 0.5).double()
    for attend in (
        lambda decay: gated_linear_attention(q, k, v, decay, form=form, block_size=4),
        lambda decay: linear.delta_rule(q, k, v, beta, log_decay=decay, form=form, block_size=4),
    ):
        none = torch.zeros(6, 1).double().requires_grad_()
        (slope,) = torch.autograd.grad(attend(none).square().sum(), none)
        little = 1e-6 * torch.eye(6)[..., None].double()
        risen = torch.stack(
            [attend(none).square().sum() - attend(none - step).square().sum() for step in little]
        )
        assert torch.allclose(slope[:, 0], risen.detach() / 1e-6, rtol=1e-3, atol=1e-3)
        assert slope[1:].abs().amin() > 0.01  # before the first token there is nothing to fade


def test_a_step_that_would_grow_keeps_the_state_as_it_is():
    q, k, v, state = draw(2, (2, 4), (2, 4), (2, 3), (2, 4, 3))
    none, grows, beta = (torch.full((1,), x).double() for x in (0.0, 30.0, 0.5))
    one, other = (linear.gated_step(q, k, v, decay, state)[1] for decay in (none, grows))
    assert torch.equal(one, other)
    one, other = (linear.delta_step(q, k, v, beta, state, log_decay=decay)[1] for decay in (none, grows))
    assert torch.equal(one, other)


def one_hot(x):
    return F.one_hot(x.argmax(-1), x.shape[-1]).to(x)


@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize("features", [one_hot, torch.sign, torch.ones_like])
def test_a_map_without_a_slope_works(features, is_causal):
    results = []
    for form in ("parallel", "chunked"):
        inputs = [x.requires_grad_() for x in draw(2, (2, 9, 4), (2, 9, 4), (2, 9, 3))]
        out = linear_attention(*inputs, features=features, is_causal=is_causal, form=form, block_size=4)
        results.append([out, *torch.autograd.grad(out.square().sum(), inputs, materialize_grads=True)])
    for a, b in zip(*results, strict=True):
        torch.testing.assert_close(a, b)


@pytest.mark.parametrize("name", MAPS)
def test_a_layer_that_holds_a_map_saves_it_and_moves_it(name):
    class Layer(nn.Module):
        def __init__(self, seed):
            super().__init__()
            g = torch.Generator().manual_seed(seed)
            self.features = type(MAPS[name]).draw(4, 8, generator=g)
            self.out = nn.Linear(2, 2)

        def forward(self, q, k, v):
            return self.out(linear_attention(q, k, v, features=self.features, is_causal=True))

    inputs = draw(3, (5, 4), (5, 4), (5, 2), dtype=torch.float32)
    layer, other = Layer(0), Layer(1)
    assert not torch.equal(layer(*inputs), other(*inputs))
    other.load_state_dict(layer.state_dict())
    assert torch.equal(layer(*inputs), other(*inputs))
    assert torch.equal(copy.deepcopy(layer)(*inputs), layer(*inputs))
    assert torch.equal(
        pickle.loads(pickle.dumps(layer.features)).projection,
        layer.features.projection,
    )
    stored = io.BytesIO()
    torch.save(layer.state_dict(), stored)
    stored.seek(0)
    assert "features.projection" in torch.load(stored, weights_only=True)
    assert [*dict(layer.named_parameters())] == ["out.weight", "out.bias"]  # nothing that an optimizer moves
    assert layer.double().features.projection.dtype == torch.float64
    assert layer(*(x.double() for x in inputs)).dtype == torch.float64
    assert layer.to("meta").features.projection.device.type == "meta"


@pytest.mark.parametrize("name", MAPS)
@pytest.mark.usefixtures("whatever_a_clamp_passes_back")
def test_a_matrix_that_is_a_parameter_learns(name):
    features = type(MAPS[name])(nn.Parameter(MAPS[name].projection.clone()))
    q, k, v = draw(4, (7, 4), (7, 4), (7, 2), dtype=torch.float32)
    assert [*dict(features.named_parameters())] == ["projection"]
    grads = []
    for form in ("chunked", "parallel"):
        out = linear_attention(q, k, v, features=features, is_causal=True, form=form, block_size=4)
        grads.append(torch.autograd.grad(out.square().sum(), features.projection)[0])
    torch.testing.assert_close(*grads, rtol=1e-4, atol=1e-5)


@pytest.mark.usefixtures("whatever_a_clamp_passes_back")
def test_the_gate_of_a_map_that_learns_has_the_slope_of_its_definition():
    """Autograd records this loop: the state must take what the gate's gradient owes it."""
    q, k, v, gate, w = draw(5, (2, 9, 4), (2, 9, 4), (2, 9, 3), (2, 9, 1), (5, 4))
    w.requires_grad_()
    grads = []
    for form in ("parallel", "chunked", "recurrent"):
        rate = gate.sigmoid().requires_grad_()
        out = linear_attention(
            q, k, v, features=lambda x: (x @ w.T).exp(), gate=rate, is_causal=True, form=form, block_size=4
        )
        grads.append(torch.autograd.grad(out.square().sum(), (rate, w)))
    for other in grads[1:]:
        for a, b in zip(other, grads[0], strict=True):
            torch.testing.assert_close(a, b)


@pytest.mark.usefixtures("whatever_a_clamp_passes_back")
def test_a_gate_of_one_has_its_slope_in_the_definition():
    q, k, v, gate = draw(12, (2, 5, 4), (2, 5, 4), (2, 5, 3), (2, 5, 1))
    rate = gate.sigmoid().masked_fill(torch.arange(5)[:, None] % 3 == 1, 1.0).requires_grad_()

    def run(rate):
        return linear_attention(q, k, v, gate=rate, is_causal=True, form="parallel")

    assert torch.autograd.gradcheck(run, rate)


def test_orthogonal_rows_lower_the_variance_of_fourier_features():
    x, y = draw(6, (1, 4), (1, 4), dtype=torch.float32)
    g = torch.Generator().manual_seed(7)
    spread = []
    for orthogonal in (False, True):
        maps = (
            FourierFeatures.draw(4, 8, unit=False, orthogonal=orthogonal, generator=g) for _ in range(2000)
        )
        spread.append(torch.stack([(phi(x / 2) @ phi(y / 2).T) for phi in maps]).var())
    assert spread[1] < 0.8 * spread[0]
    projection = FourierFeatures.draw(4, 4, sigma=0.5, orthogonal=True, generator=g).projection
    gram = projection @ projection.T
    assert (gram - gram.diag().diag()).abs().max() < 1e-4


# Rules that hold for every form


@every_form
@pytest.mark.parametrize("lead", [(0, 2, 5), (2, 0, 5), (2, 2, 0)])
def test_any_dimension_may_be_empty(name, how, lead):
    inputs = [torch.randn(*lead, d).requires_grad_() for d in (4, 4, 2)]
    out = call(name, how)(*inputs)
    assert out.shape == (*lead, 2)
    for grad, x in zip(torch.autograd.grad(out.sum(), inputs, materialize_grads=True), inputs, strict=True):
        assert grad.shape == x.shape


@pytest.mark.parametrize("name", WHOLE)
@pytest.mark.parametrize(("n_q", "n_k"), [(0, 3), (3, 0), (0, 0)])
def test_without_keys_the_answer_is_zero(name, n_q, n_k):
    inputs = [torch.randn(2, n, d).requires_grad_() for n, d in ((n_q, 4), (n_k, 4), (n_k, 2))]
    out = WHOLE[name](*inputs)
    assert out.shape == (2, n_q, 2)
    assert (out == 0).all() or n_k
    assert all(g.isfinite().all() for g in torch.autograd.grad(out.sum(), inputs, materialize_grads=True))


@every_form
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_autocast_changes_nothing_but_the_products_of_linformer(name, how, dtype):
    inputs = draw(8, (2, 60, 4), (2, 60, 4), (2, 60, 4), dtype=dtype)

    def results(function, autocast):
        leaves = [x.clone().requires_grad_() for x in inputs]
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=autocast):
            loss = (out := function(*leaves)).float().square().sum()
            if how.get("form") == "chunked":  # its backward keeps its own dtypes wherever it is called
                return [out.detach(), *torch.autograd.grad(loss, leaves)]
        return [out.detach(), *torch.autograd.grad(loss, leaves)]

    def harm(function):
        pairs = zip(results(function, True), results(function, False), strict=True)
        return max(float((a.float() - b.float()).norm() / b.float().norm()) for a, b in pairs)

    got = harm(call(name, how))
    limit = 2 * harm(linformer_in_torchs_words) if name == "linformer" else 0.0
    assert got <= limit + 1e-6


@every_form
def test_what_is_in_a_hidden_token_reaches_nothing(name, how):
    inputs = draw(9, (2, 9, 4), (2, 9, 4), (2, 9, 3))
    seen = torch.tensor([1, 0, 1, 1, 0, 0, 1, 1, 1], dtype=torch.bool)
    results = []
    for garbage in (0.0, torch.nan, torch.inf):
        leaves = [inputs[0].clone(), *(x.masked_fill(~seen[:, None], garbage) for x in inputs[1:])]
        leaves = [x.requires_grad_() for x in leaves]
        if name in ("rfa, gated", "gated", "delta"):  # what is made of the keys outside is the caller's
            leaves[1] = leaves[1].detach().masked_fill(~seen[:, None], 1.0).requires_grad_()
        out = call(name, how)(*leaves, key_mask=seen.expand(2, 9))
        results.append([out, *torch.autograd.grad(out.square().sum(), leaves)])
    for other in results[1:]:
        for a, b in zip(other, results[0], strict=True):
            torch.testing.assert_close(a, b)


@every_form
@pytest.mark.usefixtures("whatever_a_clamp_passes_back")
def test_the_transformations_of_torch_func_work(name, how):
    function, inputs = call(name, how), draw(10, (3, 6, 4), (3, 6, 4), (3, 6, 4))

    def loss(*inputs):
        return function(*inputs).square().sum()

    leaves = [x.clone().requires_grad_() for x in inputs]
    want = torch.autograd.grad(loss(*leaves), leaves)
    got = torch.func.grad(loss, argnums=(0, 1, 2))(*inputs)
    apart = torch.func.vmap(torch.func.grad(loss, argnums=(0, 1, 2)))(*inputs)
    for a, b, c in zip(want, got, apart, strict=True):
        torch.testing.assert_close(a, b)
        torch.testing.assert_close(a, c)
    torch.testing.assert_close(torch.func.vmap(function)(*inputs), function(*inputs))
    for at in range(3):  # one of them is mapped over, the others serve all
        alike = [x if i == at else x[:1].expand_as(x) for i, x in enumerate(inputs)]
        given = [x if i == at else x[0] for i, x in enumerate(inputs)]
        dims = tuple(0 if i == at else None for i in range(3))
        torch.testing.assert_close(torch.func.vmap(function, dims)(*given), function(*alike))


@every_form
def test_a_fake_tensor_leaves_nothing_behind(name, how):
    with FakeTensorMode(allow_non_fake_inputs=True):
        inputs = [torch.randn(3, 6, 4).requires_grad_() for _ in range(3)]
        out = call(name, how)(*inputs)
        assert torch.autograd.grad(out.sum(), inputs[0])[0].shape == (3, 6, 4)
    with torch.inference_mode():
        assert call(name, how)(*(torch.randn(3, 6, 4) for _ in range(3))).isfinite().all()


@pytest.mark.filterwarnings("ignore")  # the compiler's own
def test_torch_compile_leaves_the_chunked_form_out_and_takes_the_others_whole():
    leaves = [x.requires_grad_() for x in draw(11, (2, 6, 4), (2, 6, 4), (2, 6, 4))]
    for form, whole in (("chunked", False), ("recurrent", True)):
        function = call("elu", {"form": form, "block_size": 4})
        torch._dynamo.reset()
        results = []
        for run in (torch.compile(function, backend="eager", fullgraph=whole), function):
            out = run(*leaves)
            results.append([out, *torch.autograd.grad(out.sum(), leaves)])
        for a, b in zip(*results, strict=True):
            torch.testing.assert_close(a, b)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_fourier_features_of_zeros_are_those_of_a_vector_without_direction(dtype):
    features = FourierFeatures.draw(4, 8, generator=torch.Generator().manual_seed(0))
    found = features(torch.zeros(1, 4, dtype=dtype))
    assert found.dtype == dtype
    assert torch.allclose(found.float(), torch.tensor([0.0, 8**-0.5]).repeat_interleave(8)[None], atol=1e-3)


def test_orthogonal_rows_point_anywhere():
    """A decomposition has signs of its own: left in, the first number of a first row is always negative."""
    generator = torch.Generator().manual_seed(0)
    rows = torch.stack([linear.orthogonal_gaussian(3, 3, generator=generator) for _ in range(2000)])
    assert rows.mean(0).abs().max() < 0.12  # a standard error of 0.022
    assert (rows.sign().mean(0)).abs().max() < 0.12
