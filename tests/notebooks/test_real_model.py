"""Numbers that the chapter on real models types in its prose are those that are stored."""

from pathlib import Path

import nbformat
import pytest

from attnbook import results
from attnbook.widgets import HeadsViewer

CHAPTERS = Path(__file__).resolve().parents[2] / "chapters"


@pytest.fixture(scope="module")
def prose():
    (path,) = CHAPTERS.glob("*_real_model.ipynb")
    cells = nbformat.read(path, as_version=4).cells
    return " ".join(cell.source for cell in cells if cell.cell_type == "markdown")


def percent(x):
    return f"{100 * x:.0f} %"


def of_tour():
    stored = results.load("real-model-tour")
    found, layers, sinks = stored["found"], stored["by layer"], stored["sinks"]
    it = found["it"]
    later = [*layers["previous"][1:], layers["next"][0], *layers["next"][2:]]
    lean, near = it["fits both"]["gain"], it["it nearer to what it means, by layer"]
    one, both = ("{:.3f} ± {:.3f}".format(*near[kind][-1]) for kind in ("fits one", "fits both"))
    left = {word: f"{it['words'][word]['CLS'][0]:.2f}" for word in ("it", "rain")}
    most = it["largest lean of all heads"]["fits both"]
    yield f"*it* gives *sushi* {percent(it['words']['it']['sushi'])} of its weight"
    yield f"Head 4.2 gave *sushi* {it['words']['it']['sushi']:.2f}"
    yield f"2.9 gives the next piece {found['next']['shuffled'][0]:.2f}"
    yield f"in {it['items']} pairs of sentences that did not choose the head"
    yield f"doesn't lean at all: {lean[0]:.2f} ± {lean[1]:.2f}".replace("-", "−")
    yield f"chosen on these very pairs, leans by {most:.2f}"
    yield f"by {one} (cosine) where the last word fits one noun alone, but by {both} where it fits both"
    yield f"leaves {left['it']} there, and *rain* {left['rain']}"
    yield f"{stored['sentences']} sentences the piece before gets {percent(layers['previous'][0])} in layer 1"
    yield f"the piece after {percent(layers['next'][1])} in layer 2"
    yield f"later each gets {100 * min(later):.0f} to {percent(max(later))}"
    yield f"an even look would give ({percent(stored['everywhere']['even'])})"
    yield f"`[CLS]`, with {percent(stored['everywhere']['CLS'])} of all weight"
    yield f"it gets {percent(stored['everywhere']['CLS'])} of all weight"
    yield f"There are {sinks['heads']} heads"
    yield f"{sinks['weight']:.2f} on average. Only {percent(sinks['share of what they give'])}"


def of_the_figure():
    hungry, tasty = (HeadsViewer(text, layer=4, head=2, token=7) for text in (1, 2))
    assert [
        figure.texts[figure.sentence]["pieces"][at] for figure in (hungry, tasty) for at in (2, 5, 7)
    ] == [
        *("dog", "bone", "it"),
        *("dog", "bone", "it"),
    ]
    assert all(figure.weights[7].argmax() == 5 for figure in (hungry, tasty))
    yield f"with *hungry* it gives the dog {hungry.weights[7, 2]:.2f}, with *tasty* {tasty.weights[7, 2]:.2f}"
    notice = []
    for layer in (18, 19):
        for head in range(1, 10):
            w = HeadsViewer(5, layer=layer, head=head).weights
            back = [sum(w[at, at - 4 - 5 * k] for k in (0, 1) if at >= 5 + 5 * k) for at in range(5, 15)]
            notice += [f"{layer}.{head}"] * bool(sum(back) > 5)
    yield f"{', '.join(notice[:-1])} and {notice[-1]} look from each piece"


def of_ablation():
    removed = results.load("real-model-ablation")
    clear = [m for row in removed["lost"]["mean"] for m, e in row if abs(m) > 2 * e]
    assert sum(m < 0 for m in clear) == 12
    yield f"By their means, {len(clear)} of the 72 bars stay clear of zero"
    yield "in twelve of these the loss is *lower*"
    yield f"finds {removed['right']} of them"


def of_induction():
    removed = results.load("real-model-induction")["removed"]
    whole, without = (removed[name]["mean"] for name in ("none", "the eight"))
    gain, left = (x["first round"][0] - x["second round"][0] for x in (whole, without))
    assert 0.72 < 1 - left / gain < 0.78
    right = [percent(x["guessed right"][0]) for x in (without, whole)]
    yield "three quarters of what the second round gains"
    yield f"over the eight texts, {right[0]} of its pieces are guessed right, and {right[1]} with them"
    others = [x["mean"]["second round"][0] for name, x in removed.items() if name.startswith("eight others")]
    yield f"costs {max(others) - whole['second round'][0]:.1f} at worst"
    early = results.load("real-model-zero")
    first = early["weight on the first place, by layer"]
    yield f"it gets {percent(first[1])} of the weight in layer 2, and {percent(first[3])} in layer 4"


def of_explanation():
    stored = results.load("real-model-explanation")
    turn, drop = (
        {k: f"{x[0]:.2f}".replace("-", "−") for k, x in stored[kind].items()}
        for kind in ("rank, turn", "rank")
    )
    assert round(5 * stored["drops below zero"], 1) == 2
    yield "two pieces in five bring the definition *nearer*"
    yield f"weights tell well, {turn['weight, last layer']}"
    yield f"already gives {turn['how rare the piece is']}"
    yield f"they say little, {drop['weight, last layer']}"
    yield f"known exactly, says only {drop['how far, known exactly']}"
    yield f"reach {drop['gradients, integrated']}"
    yield f"through the layers: {turn['weight, rolled out']} and {drop['weight, rolled out']}"
    yield f"Gradient times vector: {turn['gradient · vector']} and {drop['gradient · vector']}"


@pytest.mark.parametrize("part", [of_tour, of_the_figure, of_ablation, of_induction, of_explanation])
def test_typed_numbers_are_the_stored_ones(prose, part):
    assert [said for said in part() if said not in prose] == []
