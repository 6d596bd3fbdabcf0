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
  assert.equal(say("Q", 1, 0), "saw asks: 0 × 1 + 2 × (−1) = −2");
  assert.equal(say("S", 1, 0), "saw asks, I offers: −2 × 1 = −2");
  assert.equal(say("scaled", 1, 0), "saw asks, I offers: −2 / √1 = −2");
  assert.equal(say("scaled", 1, 0, 0.5), "saw asks, I offers: −2 × 0.500 = −2");
  assert.equal(say("scaled", 1, 0, 1), "saw asks, I offers: −2, not divided here");
  assert.equal(say("scaled", 0, 1), "I asks, saw offers: −∞, for it comes later and is hidden.");
  assert.equal(say("A", 0, 0), "I takes from I: e^1 / (e^1 + 0) = 1.00");
  assert.equal(say("O", 0, 0), "I gets: 1.00 × 3 + 0.00 × 1 = 3.00");
  // Told in words first: who gives most comes first, and words that are alike are told as one.
  const A = [[0.1, 0.6, 0.3]];
  const told = (tokens) => plain(explain({ ...all, V: [[1], [2], [3]], A, O: [[2.2]] }, { name: "O", row: 0, column: 0 }, tokens, null, true));
  assert.equal(told(["saw", "I", "a"]), "saw takes 60 % from I, 30 % from a, 10 % from saw: 0.10 × 1 + 0.60 × 2 + 0.30 × 3 = 2.20");
  assert.equal(told(["saw", "a", "saw"]), "saw takes 60 % from a, 40 % from both saw: 0.10 × 1 + 0.60 × 2 + 0.30 × 3 = 2.20");
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
