"""The models beside a recurrent network: equal to the equations of their papers, written as loops."""

import math

import pytest
import torch

from attnlab.recurrent import (
    BahdanauModel,
    BidirectionalEncoder,
    FixedVectorModel,
    GatedUnit,
    LuongModel,
    Translator,
)

SIZES = {"d_embed": 5, "d_hidden": 6}
ALL = {
    "fixed": lambda: FixedVectorModel(9, 7, **SIZES),
    "bahdanau": lambda: BahdanauModel(9, 7, d_align=4, **SIZES),
    "dot": lambda: LuongModel(9, 7, score="dot", **SIZES),
    "general": lambda: LuongModel(9, 7, score="general", n_layers=2, **SIZES),
    "concat": lambda: LuongModel(9, 7, score="concat", feed=True, **SIZES),
    "local-m": lambda: LuongModel(9, 7, where="local-m", radius=2, **SIZES),
    "local-p": lambda: LuongModel(9, 7, where="local-p", radius=2, feed=True, **SIZES),
}


def draw(name, seed=0):
    torch.manual_seed(seed)
    model = ALL[name]().double()
    return model, torch.randint(0, 9, (3, 8)), torch.randint(0, 7, (3, 4))


def sigmoid(x):
    return 1 / (1 + (-x).exp())


def gru_of_the_paper(unit, x, s):
    """Cho et al. 2014, equations 5 to 8: W and U of z, r and the proposal, one by one."""
    d = unit.d_hidden
    (w_z, w_r, w), (b_z, b_r, b) = unit.w.weight.split(d), unit.w.bias.split(d)
    u_z, u_r = unit.u_gates.weight.split(d)
    z = sigmoid(w_z @ x + b_z + u_z @ s)
    r = sigmoid(w_r @ x + b_r + u_r @ s)
    proposal = torch.tanh(w @ x + b + unit.u.weight @ (r * s))
    return (1 - z) * s + z * proposal


def read_both_ways(encoder, x):
    n, d = len(x), encoder.from_left.d_hidden
    left, right = [torch.zeros(d, dtype=x.dtype)], [torch.zeros(d, dtype=x.dtype)]
    for i in range(n):
        left.append(gru_of_the_paper(encoder.from_left, x[i], left[-1]))
        right.append(gru_of_the_paper(encoder.from_right, x[n - 1 - i], right[-1]))
    return [torch.cat((left[j + 1], right[n - j])) for j in range(n)]


def bahdanau_as_loops(model, source, target):
    """Appendix A of Bahdanau et al. 2015, for one text; `u_a` is missing in the model of one fixed vector."""
    h = read_both_ways(model.encoder, model.embed_source.weight[source])
    d = model.encoder.from_left.d_hidden
    s = torch.tanh(model.w_s.weight @ h[0][d:] + model.w_s.bias)
    logits, weights = [], []
    for word in target:
        y = model.embed_target.weight[word]
        if hasattr(model, "u_a"):
            e = [
                model.v.weight[0] @ torch.tanh(model.w_a.weight @ s + model.u_a.weight @ hj + model.u_a.bias)
                for hj in h
            ]
            total = sum(x.exp() for x in e)
            alpha = [x.exp() / total for x in e]
            c = sum(a * hj for a, hj in zip(alpha, h, strict=True))
        else:
            alpha, c = [s.new_ones(())], torch.cat((h[-1][:d], h[0][d:]))
        t = model.readout.weight @ torch.cat((s, y, c)) + model.readout.bias  # s is s_{t-1} here
        t = torch.stack([torch.maximum(t[2 * j], t[2 * j + 1]) for j in range(len(t) // 2)])
        logits.append(model.out.weight @ t + model.out.bias)
        weights.append(torch.stack(alpha))
        s = gru_of_the_paper(model.unit, torch.cat((y, c)), s)
    return torch.stack(logits), torch.stack(weights)


def luong_as_loops(model, source, target):
    """Section 3 of Luong et al. 2015, for one text; the LSTMs are torch's, of which each step is a call."""
    hbar, (h, c) = model.encoder(model.embed_source.weight[source])  # (n_s, d), (layers, d)
    fed, logits, weights = torch.zeros_like(hbar[0]), [], []
    for t, word in enumerate(target, 1):
        x = model.embed_target.weight[word]
        x = torch.cat((x, fed)) if model.feed else x
        top, (h, c) = model.decoder(x[None], (h, c))
        ht = top[0]
        if model.where == "local-p":
            p = len(source) * sigmoid(
                model.v_p.weight[0] @ torch.tanh(model.w_p.weight @ ht + model.w_p.bias)
            )
        else:
            p = t
        e = {}
        for s, hs in enumerate(hbar, 1):
            if model.where != "global" and not p - model.radius <= s <= p + model.radius:
                continue
            if model.score == "dot":
                e[s] = ht @ hs
            elif model.score == "general":
                e[s] = ht @ model.w_a.weight @ hs
            else:
                e[s] = model.v.weight[0] @ torch.tanh(model.w_a.weight @ torch.cat((ht, hs)) + model.w_a.bias)
        total = sum(x.exp() for x in e.values())
        row = torch.zeros(len(source), dtype=hbar.dtype)
        for s, x in e.items():
            row[s - 1] = x.exp() / total
            if model.where == "local-p":
                sigma = model.radius / 2
                row[s - 1] *= math.exp(-((s - p) ** 2) / (2 * sigma**2))
        context = sum(a * hs for a, hs in zip(row, hbar, strict=True))
        fed = torch.tanh(model.w_c.weight @ torch.cat((context, ht)) + model.w_c.bias)
        logits.append(model.out.weight @ fed + model.out.bias)
        weights.append(row)
    return torch.stack(logits), torch.stack(weights)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", ALL)
def test_a_model_is_what_its_paper_says_step_by_step(name, seed):
    model, source, target = draw(name, seed)
    loops = luong_as_loops if isinstance(model, LuongModel) else bahdanau_as_loops
    # The transpose of the general score's W_a is a matter of convention; ours has h_t on the left.
    if name in ("general", "local-m", "local-p"):
        assert model.w_a.weight.shape == (6, 6)
    with torch.no_grad():
        logits, weights = model(source, target, need_weights=True)
        for at in range(len(source)):
            wanted, looked = loops(model, source[at], target[at])
            torch.testing.assert_close(logits[at], wanted, rtol=0, atol=1e-10)
            torch.testing.assert_close(weights[at], looked, rtol=0, atol=1e-10)


@pytest.mark.parametrize("name", ALL)
def test_one_step_at_a_time_and_all_at_once_agree(name):
    model, source, target = draw(name)
    logits, weights = model(source, target, need_weights=True)
    memory = model.read(source)
    state = model.begin(memory)
    for at in range(target.shape[1]):
        step = model.step(target[:, at], state, memory)
        state = step.state
        torch.testing.assert_close(step.logits, logits[:, at], rtol=0, atol=1e-10)
        torch.testing.assert_close(step.weights, weights[:, at], rtol=0, atol=1e-10)


@pytest.mark.parametrize("name", ALL)
def test_padding_changes_nothing_forward_or_backward(name):
    model, source, target = draw(name)
    mask = torch.arange(8) < torch.tensor([8, 5, 1])[:, None]
    model(source, target, key_mask=mask).sin().sum().backward()
    padded = {key: p.grad.clone() for key, p in model.named_parameters() if p.grad is not None}
    logits, weights = model(source, target, key_mask=mask, need_weights=True)
    assert all(g.isfinite().all() for g in padded.values())
    model.zero_grad()
    for at, n in enumerate((8, 5, 1)):
        alone, looked = model(source[at : at + 1, :n], target[at : at + 1], need_weights=True)
        torch.testing.assert_close(logits[at], alone[0], rtol=0, atol=1e-10)
        if name != "fixed":
            torch.testing.assert_close(weights[at, :, :n], looked[0], rtol=0, atol=1e-10)
            assert (weights[at, :, n:] == 0).all()
        alone.sin().sum().backward()
    for key, p in model.named_parameters():
        if key in padded:
            torch.testing.assert_close(p.grad, padded[key], rtol=0, atol=1e-9)


@pytest.mark.parametrize("name", ALL)
def test_gradients_reach_every_parameter_that_takes_part(name):
    model, source, target = draw(name)
    model(source, target).square().sum().backward()
    assert not [key for key, p in model.named_parameters() if p.grad is None or not p.grad.abs().sum()]


@pytest.mark.parametrize("name", ALL)
def test_writing_is_the_likeliest_token_fed_back(name):
    model, source, _ = draw(name)
    words, weights = model.generate(source, bos_token_id=0, eos_token_id=6, max_new_tokens=5)
    target = torch.cat((torch.zeros(3, 1, dtype=torch.long), words[:, :-1]), 1)
    logits, looked = model(source, target, need_weights=True)
    ended = (target == 6).any(1)
    assert (logits.argmax(-1) == words)[~ended].all()
    torch.testing.assert_close(weights[~ended], looked[~ended], rtol=0, atol=1e-10)


def test_after_its_end_a_text_is_filled_with_ends():
    model, source, _ = draw("bahdanau")
    with torch.no_grad():
        model.out.bias[6] = 50.0  # every first word is the end
    words, _ = model.generate(source, bos_token_id=0, eos_token_id=6, max_new_tokens=9)
    assert words.tolist() == [[6]] * 3
    with torch.no_grad():
        model.out.bias[6] = -50.0
    assert model.generate(source, bos_token_id=0, eos_token_id=6, max_new_tokens=9)[0].shape == (3, 9)


def test_bahdanau_asks_before_the_step_and_luong_after_it():
    """The last word that was read moves Luong's weights of the same step; Bahdanau's only of the next."""
    for name, moved in (("bahdanau", [False, True]), ("general", [True, True])):
        model, source, target = draw(name)
        other = target.clone()
        other[:, 1] = (other[:, 1] + 1) % 7
        weights = [model(source, words, need_weights=True)[1] for words in (target, other)]
        differs = [not torch.equal(weights[0][:, at], weights[1][:, at]) for at in (1, 2)]
        assert differs == moved, name


def test_the_fixed_vector_is_all_that_passes():
    """Two texts with one vector get one answer, whatever else differs."""
    model, source, target = draw("fixed")
    memory = model.read(source)
    assert memory.annotations.shape == (3, 1, 12)
    with torch.no_grad():
        swapped = memory._replace(ends=memory.ends.flip(0), annotations=memory.annotations.flip(0))
        torch.testing.assert_close(
            model.guesses(target.flip(0), swapped)[0].flip(0), model.guesses(target, memory)[0]
        )


def test_a_gated_unit_differs_from_torchs_where_the_docstring_says():
    torch.manual_seed(0)
    unit, other = GatedUnit(3, 4).double(), torch.nn.GRUCell(3, 4).double()
    x, s = torch.randn(2, 3).double(), torch.randn(2, 4).double()
    with torch.no_grad():
        w_z, w_r, w = unit.w.weight.split(4)
        b_z, b_r, b = unit.w.bias.split(4)
        u_z, u_r = unit.u_gates.weight.split(4)
        other.weight_ih.copy_(torch.cat((w_r, -w_z, w)))  # torch's z keeps what ours replaces
        other.bias_ih.copy_(torch.cat((b_r, -b_z, b)))
        other.weight_hh.copy_(torch.cat((u_r, -u_z, torch.zeros(4, 4))))
        other.bias_hh.zero_()
        unit.u.weight.zero_()  # without U the place of r does not matter
        torch.testing.assert_close(unit(x, s), other(x, s))
        unit.u.weight.copy_(torch.randn(4, 4))
        other.weight_hh[8:] = unit.u.weight
        assert (unit(x, s) - other(x, s)).abs().max() > 0.01


def test_a_window_lies_where_it_should():
    model, source, target = draw("local-p")
    memory = model.read(source)
    queries = torch.randn(3, 4, 6).double()
    centre = model.centre(queries, memory)
    assert centre.shape == (3, 4, 1)
    assert (centre > 0).all()
    assert (centre < 8).all()
    weights = model.look(queries, memory)[1]
    away = (torch.arange(1, 9) - centre).abs()
    assert ((weights > 0) == (away <= 2)).all()
    assert (weights.sum(-1) <= 1).all()
    model, source, target = draw("local-m")
    seen = model(source, target, need_weights=True)[1] > 0
    assert seen[0].int().tolist() == [[int(abs(s - t) <= 2) for s in range(8)] for t in range(4)]
    # Past the end there is nothing left to look at; that is no NaN.
    late = model(source[:, :1], target, need_weights=True)[1]
    assert late[:, 3].tolist() == [[0.0]] * 3


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("empty", ["batch", "source", "target"])
def test_empty_dimensions_work(name, empty):
    model, source, target = draw(name)
    source = {"batch": source[:0], "source": source[:, :0], "target": source}[empty]
    target = {"batch": target[:0], "source": target, "target": target[:, :0]}[empty]
    logits, weights = model(source, target, need_weights=True)
    assert logits.shape == (*target.shape, 7)
    assert logits.isfinite().all()
    assert weights.shape[:2] == target.shape
    logits.sum().backward()


@pytest.fixture
def lstm_in_halves():
    """Let torch's own LSTM run where oneDNN has none in bfloat16: there it raises."""
    torch._C._set_mkldnn_enabled(torch.ops.mkldnn._is_mkldnn_bf16_supported())
    yield
    torch._C._set_mkldnn_enabled(True)


@pytest.mark.parametrize("name", ALL)
@pytest.mark.usefixtures("lstm_in_halves")
def test_under_autocast_states_stay_in_single_precision(name):
    torch.manual_seed(0)
    model = ALL[name]()
    source, target = torch.randint(0, 9, (3, 40)), torch.randint(0, 7, (3, 4))
    wanted = model(source, target)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = model(source, target)
    assert (found - wanted).abs().max() < 0.03
    if not isinstance(model, LuongModel):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            assert model.read(source).annotations.dtype == torch.float32


def test_a_model_survives_its_state_dict_and_the_usual_modes():
    for name in ALL:
        model, source, target = draw(name)
        wanted = model(source, target)
        torch.manual_seed(9)
        twin = ALL[name]().double()
        twin.load_state_dict(model.state_dict())
        assert torch.equal(twin(source, target), wanted)
        with torch.inference_mode():
            torch.testing.assert_close(model(source, target), wanted)


def call(source, target, **options):
    return draw("dot")[0](torch.zeros(source).long(), torch.zeros(target).long(), **options)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda: LuongModel(9, 7, score="cosine"), "score must be one of dot, general, concat, got 'cosine'"),
        (lambda: LuongModel(9, 7, where="far"), "where must be one of global, local-m, local-p, got 'far'"),
        (lambda: LuongModel(9, 7, radius=0), "radius must be at least 1, got 0"),
        (lambda: BahdanauModel(9, 7, d_align=0), "d_align must be at least 1, got 0"),
        (lambda: FixedVectorModel(0, 7), "src_vocab_size must be at least 1, got 0"),
        (lambda: GatedUnit(3, 0), "d_hidden must be at least 1, got 0"),
        (lambda: BidirectionalEncoder(3, 4)(torch.zeros(1, 2, 5)), r"x must have shape \(..., n, 3\), got"),
        (lambda: call((4,), (4, 2)), r"source must have shape \(batch, n_s\)"),
        (lambda: call((4, 3), (2, 2)), r"target must have shape \(4, n_t\), got \(2, 2\)"),
        (lambda: call((1, 3), (1, 2), key_mask=torch.ones(1, 3)), "key_mask must be a boolean tensor"),
        (lambda: call((1, 3), (1, 2), key_mask=torch.tensor([[False, True, True]])), "pad on the right"),
        (lambda: call((1, 2), (1, 2), key_mask=torch.zeros(1, 2).bool()), "must have a True in each row"),
    ],
)  # fmt: skip
def test_errors_name_the_argument(wrong, message):
    with pytest.raises((TypeError, ValueError), match=message):
        wrong()


def test_the_base_says_what_is_missing():
    with pytest.raises(NotImplementedError):
        Translator(3, 3)(torch.zeros(1, 1).long(), torch.zeros(1, 1).long())
