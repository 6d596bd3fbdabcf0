// The calculator's formulas, with numbers small enough to check by hand, and the cells that feed each.
import assert from "node:assert/strict";
import test from "node:test";
import { attend } from "../../src/widgets/math/attention.js";
import { explain, feeds, plain } from "../../src/widgets/ui/formulas.js";

const given = { x: [[1, 0], [0, 2]], wq: [[1], [-1]], wk: [[1], [1]], wv: [[3], [0.5]] };
const made = attend({ ...given, causal: true });
const all = {
  X: given.x, Wq: given.wq, Wk: given.wk, Wv: given.wv, Q: made.q, K: made.k, V: made.v,
  S: made.scores, scaled: made.scaled, A: made.weights, O: made.output,
};
const say = (name, row, column, scale) => plain(explain(all, { name, row, column }, ["I", "saw"], scale));

test("each kind of cell says how it came about", () => {
  assert.equal(say("X", 1, 1), "X[2, 2] = 2: the vector of “saw”. Type to change it.");
  assert.equal(say("Wq", 1, 0), "W_q[2, 1] = −1: what input 2 adds to entry 1. Type to change it.");
  assert.equal(say("Q", 1, 0), "q[2, 1] = 0 × 1 + 2 × (−1) = −2");
  assert.equal(say("S", 1, 0), "s[2, 1] = −2 × 1 = −2: what “saw” asks, by what “I” offers");
  assert.equal(say("scaled", 1, 0), "s′[2, 1] = −2 / √1 = −2");
  assert.equal(say("scaled", 1, 0, 0.5), "s′[2, 1] = −2 × 0.500 = −2");
  assert.equal(say("scaled", 0, 1), "s′[1, 2] = −∞: “saw” comes later and is hidden.");
  assert.equal(say("A", 0, 0), "a[1, 1] = e^1 / (e^1 + 0) = 1.00: “I” takes 100.0 % of “I”");
  assert.equal(say("O", 0, 0), "o[1, 1] = 1.00 × 3 + 0.00 × 1 = 3.00");
  // Of values that are a one in a word's own column, an output is what is taken of that word.
  const own = (V) => plain(explain({ ...all, V, A: [[0.25, 0.75]], O: [[0.25]] }, { name: "O", row: 0, column: 0 }, ["I", "saw"]));
  assert.equal(own([[1], [0]]), "o[1, 1] = 0.25 × 1 + 0.75 × 0 = 0.25: what “I” takes of “I”");
  assert.equal(own([[0], [0]]), "o[1, 1] = 0.25 × 0 + 0.75 × 0 = 0.25");
});

test("a row of the first matrix and a column of the second feed a cell", () => {
  const fed = (name) =>
    Object.entries(all).flatMap(([n, m]) => m.flatMap((line, i) => line.flatMap((_, j) => (feeds({ name, row: 1, column: 0 })(n, i, j) ? [`${n}${i}${j}`] : [])))).sort();
  assert.deepEqual(fed("X"), []);
  assert.deepEqual(fed("Q"), ["Wq00", "Wq10", "X10", "X11"]);
  assert.deepEqual(fed("S"), ["K00", "Q10"]);
  assert.deepEqual(fed("scaled"), ["S10"]);
  assert.deepEqual(fed("A"), ["scaled10", "scaled11"]);
  assert.deepEqual(fed("O"), ["A10", "A11", "V00", "V10"]);
});

test("each term of a sum names the pair of numbers that it comes of", () => {
  const terms = (name) => explain(all, { name, row: 1, column: 0 }, ["I", "saw"]).flatMap((piece) => (piece.under ?? [piece]).flatMap(({ term, of }) => (of ? [[term, plain(of)]] : [])));
  assert.deepEqual(terms("Q"), [[0, "0 × 1"], [1, "2 × (−1)"]]);
  assert.deepEqual(terms("S"), [[0, "−2 × 1"]]);
  assert.deepEqual(terms("A"), [[0, "e^−2"], [1, "e^−4"]]);
  assert.deepEqual(terms("scaled"), []);
});
