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
    layers, sinks = stored["by layer"], stored["sinks"]
    it = stored["found"]["it"]
    lean = it["fits both"]["gain"]
    left = {word: f"{it['words'][word]['CLS'][0]:.2f}" for word in ("it", "rain")}
    most = it["largest lean of all heads"]["fits both"]
    assert round(3 * it["words"]["it"]["both nouns"][0]) == 2
    yield f"*it* gives *sushi* {percent(it['words']['it']['sushi'])} of its weight"
    yield f"*It* gave *sushi* {it['words']['it']['sushi']:.2f} in head 4.2"
    yield f"and *sushi* gets {it['words']['that']['sushi']:.2f}"
    yield f"and *sushi* gets {it['words']['rain']['sushi']:.2f}"
    yield f"None of our {it['items']} pairs chose the head"
    yield f"no difference: {lean[0]:.2f} ± {lean[1]:.2f}, and {most:.2f} in the best".replace("-", "−")
    yield f"leaves {left['it']} to `[CLS]`; *rain* in its place finds hardly any and leaves {left['rain']}"
    cls = percent(stored["everywhere"]["CLS"])
    yield f"`[CLS]`, {cls} over all heads and {stored['sentences']} sentences"
    yield f"the piece before gets {percent(layers['previous'][0])} in layer 1"
    yield f"the piece after {percent(layers['next'][1])} in layer 2"
    yield f"`[CLS]` gets {cls} of all weight"
    yield f"In {sinks['heads']} heads `[CLS]` gets more than half of the weight, {sinks['weight']:.2f} on"
    yield f"{percent(sinks['share of what they give'])} comes from `[CLS]`."
    yield f"In {sinks['heads']} heads, `[CLS]` gets {sinks['weight']:.2f} of the weight and makes"


def of_the_figure():
    hungry, tasty = (HeadsViewer(text, layer=4, head=2, token=7) for text in (1, 2))
    assert [
        figure.texts[figure.sentence]["pieces"][at] for figure in (hungry, tasty) for at in (2, 5, 7)
    ] == [
        *("dog", "bone", "it"),
        *("dog", "bone", "it"),
    ]
    assert all(figure.weights[7].argmax() == 5 for figure in (hungry, tasty))
    assert tasty.weights[7, 2] < 0.09
    yield f"with *hungry* it gives the dog {hungry.weights[7, 2]:.1f}, with *tasty* less than 0.1"
    notice, half = [], {}
    for layer in (18, 19):
        for head in range(1, 10):
            w = HeadsViewer(5, layer=layer, head=head).weights
            back = [sum(w[at, at - 4 - 5 * k] for k in (0, 1) if at >= 5 + 5 * k) for at in range(5, 15)]
            notice += [f"{layer}.{head}"] * bool(sum(back) > 5)
            half[f"{layer}.{head}"] = 0.45 < sum(back) / 10 < 0.55
    assert [name for name in notice if half[name]] == ["18.4"]
    names = f"{', '.join(notice[:-1])} and {notice[-1]}"
    yield f"{names} look mostly at what followed the same piece before, 18.4 with"


def of_ablation():
    stored = results.load("real-model-ablation")
    for how in ("zero", "mean"):
        lost, error = stored["lost"][how][3][1]
        assert abs(lost) < 2 * error
    yield f"finds {stored['right']} of them"
    every = ("{:.2f} ± {:.2f}".format(*stored["together"]["all"][how]) for how in ("zero", "mean"))
    yield "{} by zero, and {} with means over the treebank.".format(*every)


def of_induction():
    stored = results.load("real-model-induction")
    removed = results.load("real-model-copying")["removed"]
    right = {
        (name, kind): 100 * x["second"][0] for name, kinds in removed.items() for kind, x in kinds.items()
    }
    assert 45 < right["the eight", "sentences"] < 55  # half
    assert [f"{right[name, 'random pieces']:.0f}" for name in ("none", "the eight")] == ["59", "1"]
    yield "hardly a guess is right for random pieces, where fifty-nine of a hundred were"
    cost = right["none", "random pieces"] - right["eight others", "random pieces"]
    assert 7 < cost < 8.5
    yield "eight others of the same layers, the control, cost eight"
    yield f"For real sentences, {right['the eight', 'sentences']:.0f} are still right"
    yield f"the first round's {100 * removed['none']['sentences']['first'][0]:.0f}"
    yield f"for their pieces shuffled, {right['the eight', 'shuffled']:.0f}"
    only = right["17.1", "random pieces"]
    assert 0.18 < only / right["none", "random pieces"] < 0.22
    yield f"Without it {only:.0f} of a hundred random pieces are right, a fifth"
    yield f"of sentences, {right['17.1', 'sentences']:.0f}."
    assert round(right["12.2", "random pieces"]) == round(right["none", "random pieces"])
    assert right["18.5", "random pieces"] > right["none", "random pieces"]
    looks = {tuple(row["head"]): row["score"][0] for row in (*stored["heads"], *stored["behind"])}
    yield f"Head 18.5 looks at what came next with {looks[17, 4]:.2f}"
    yield f"Head 12.2 looks at the piece before with {looks[11, 1]:.2f}, 17.1 with {looks[16, 0]:.2f}"
    stored = results.load("real-model-paths")
    paths = {tuple(row["head"]): row for row in stored["heads"]}
    keys, queries = (f"{paths[17, 4][part][0]:.2f}" for part in ("keys", "queries"))
    yield f"hidden from the keys, {keys} is left of that; hidden from the queries, {queries}"
    yield f"none keeps more than {max(row['keys'][0] for row in paths.values()):.2f} when"
    lost = {at: looks[at] - row["queries"][0] for at, row in paths.items()}
    assert lost.pop((18, 7)) > 0.2
    yield f"19.8 loses much, the others at most {max(lost.values()):.2f}"
    copied = {name: round(100 * x[0]) for name, x in stored["copied"].items()}
    assert copied["nothing hidden"] == round(right["none", "random pieces"])
    assert (copied["keys"], copied["everything"]) == (0, round(only))
    yield f"from the queries, {copied['queries']} of a hundred."
    one, two = (copied[f"keys of the first {count} above"] for count in (1, 2))
    yield f"it leaves {one}; from those of layers 18 and 19, {two}."


def of_explanation():
    stored = results.load("real-model-explanation")
    turn, drop = (
        {name: round(100 * x[0]) for name, x in stored[kind].items()} for kind in ("top, turn", "top")
    )
    assert round(5 * stored["drops below zero"], 1) == 2
    yield "Two pieces in five bring the definition *nearer*"
    weight, rare, chance = "weight, last layer", "how rare the piece is", "drawn at random"
    assert round(turn[weight] / turn[rare]) == 2
    assert round(drop[weight] / drop[chance]) == 4
    yield f"changes the vector most in {turn[weight]} % of the definitions"
    yield f"it is the right one in {drop[weight]} %: far"
    yield f"In {drop[weight]} % of the definitions"
    others = [drop[f"weight, layer {layer}"] for layer in range(1, 6)]
    alone = drop["its vector, read alone"]
    assert max(others) < drop[weight] < alone + 5  # as well
    yield f"right in {min(others)} to {max(others)} %, the mean of all in {drop['weight, all layers']} %."
    yield f"nearest to the text's is right in {alone} %."
    size = drop["its size, known exactly"]
    yield f"with its sign hidden, is right in {size} %, the weight in {drop[weight]}."
    turns = drop["how far, known exactly"]
    assert turns < drop[weight]
    yield f"How far the vector turns is right in {turns} %"
    yield f"of pieces drawn at random, in {drop[chance]} %"
    for kind, name in (("moved, values zero", "silent"), ("moved", "hidden")):
        cls, word = (f"{stored['forbidden'][piece][kind][0]:.3f}" for piece in ("[CLS]", "a word"))
        end = f"by {cls}; with a word {name}, by {word}"
        yield end


@pytest.mark.parametrize("part", [of_tour, of_the_figure, of_ablation, of_induction, of_explanation])
def test_typed_numbers_are_the_stored_ones(prose, part):
    assert [said for said in part() if said not in prose] == []
