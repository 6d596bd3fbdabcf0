// The playground's grammar and its steps: what torch has no part in (test_train.py compares the rest with it).
import assert from "node:assert/strict";
import test from "node:test";
import { near } from "./compare.mjs";
import { begins, draw, everySentence, LEXICON, LONGEST, TAGS, WORDS } from "../../src/widgets/math/grammar.js";
import { addProduct } from "../../src/widgets/math/matrices.js";
import { uniforms } from "../../src/widgets/math/random.js";
import { adam, backward, build, forward, stream } from "../../src/widgets/math/train.js";

const CHOICES = { context: "attention", positions: "rotary", n_heads: 2, d_model: 16, n_layers: 1, divide: "root", residual: true };
const batches = (seed) => {
  const uniform = uniforms(stream(seed, "batches"));
  let at = 0;
  return (count) => Array.from({ length: count }, () => draw(() => uniform(at++)));
};

test("every sentence of the grammar, and its probabilities", () => {
  let [count, total, words, longest] = [0, 0, 0, 0];
  const different = new Set();
  for (const sentence of everySentence()) {
    count += 1;
    total += sentence.probability;
    words += sentence.probability * sentence.words.length;
    longest = Math.max(longest, sentence.words.length);
    different.add(sentence.words.join(" "));
  }
  // grammar.sentences() of the package: 61,596 of 61,242 word sequences, 4.3125 words on average.
  assert.equal(count, 61596);
  assert.equal(different.size, 61242);
  near([total, words], [1, 4.3125], 1e-11);
  assert.equal(longest, LONGEST);
});

test("what begins a sentence, and where one may end", () => {
  const next = new Map();
  for (const { words } of everySentence()) {
    const text = [...words.map((i) => WORDS[i]), "<end>"];
    for (let n = 0; n < Math.min(text.length, 4); n++) {
      const before = text.slice(0, n).join(" ");
      next.set(before, (next.get(before) ?? new Set()).add(text[n]));
    }
  }
  for (const [before, known] of next) {
    const text = before ? before.split(" ") : [];
    assert.deepEqual(["<start>", "<end>", ...WORDS].filter((word) => begins([...text, word])), ["<end>", ...WORDS].filter((word) => known.has(word)), before);
  }
  assert.equal(next.get("I").size, 7);
  assert.ok(!begins(["I", "saw", "<end>", "<end>"]));
});

test("what is drawn has the grammar's probabilities, by chi-square", () => {
  const drawn = batches(15)(50_000);
  const shape = ({ tags }) => tags.map((i) => TAGS[i]).join(" ");
  const short = ({ words }) => (words.length <= 3 ? words.map((i) => WORDS[i]).join(" ") : "longer");
  for (const key of [shape, short]) {
    const expected = new Map();
    for (const sentence of everySentence()) expected.set(key(sentence), (expected.get(key(sentence)) ?? 0) + sentence.probability);
    const seen = new Map();
    for (const sentence of drawn) seen.set(key(sentence), (seen.get(key(sentence)) ?? 0) + 1);
    // Cells of fewer than ten are counted together.
    let [square, cells, fewExpected, fewSeen] = [0, 0, 0, 0];
    for (const [name, p] of expected) {
      const want = p * drawn.length;
      const got = seen.get(name) ?? 0;
      seen.delete(name);
      if (want < 10) [fewExpected, fewSeen] = [fewExpected + want, fewSeen + got];
      else [square, cells] = [square + (got - want) ** 2 / want, cells + 1];
    }
    if (fewExpected) [square, cells] = [square + (fewSeen - fewExpected) ** 2 / fewExpected, cells + 1];
    assert.equal(seen.size, 0, "nothing is drawn that the grammar lacks");
    // Chi-square with f degrees of freedom has mean f and variance 2 f; three deviations either way.
    const freedom = cells - 1;
    assert.ok(freedom > 20, `${freedom} cells`);
    assert.ok(Math.abs(square - freedom) < 3 * Math.sqrt(2 * freedom), `${square} for ${freedom}`);
  }
  for (const [symbol, words] of Object.entries(LEXICON)) near(words.reduce((sum, [, share]) => sum + share, 0), 100, 0, symbol);
});

test("a seed draws the same sentences again, another seed others", () => {
  assert.deepEqual(batches(3)(20), batches(3)(20));
  assert.notDeepEqual(batches(3)(20), batches(4)(20));
});

test("the product of matrices, of all sizes, straight and transposed", () => {
  const uniform = uniforms(1);
  for (const [n, k, m] of [[1, 1, 1], [4, 3, 4], [5, 7, 6], [9, 2, 3], [8, 8, 13]]) {
    const a = Float64Array.from({ length: n * k }, (_, i) => uniform(i) - 0.5);
    const b = Float64Array.from({ length: k * m }, (_, i) => uniform(1000 + i) - 0.5);
    const flip = (x, rows, columns) => Float64Array.from(x, (_, at) => x[(at % rows) * columns + Math.floor(at / rows)]);
    const want = Array.from({ length: n * m }, (_, at) => {
      let sum = 1;
      for (let l = 0; l < k; l++) sum += a[Math.floor(at / m) * k + l] * b[l * m + (at % m)];
      return sum;
    });
    for (const [left, lr, lc] of [[a, k, 1], [flip(a, n, k), 1, n]]) {
      for (const [right, rr, rc] of [[b, m, 1], [flip(b, k, m), 1, k]]) {
        const c = new Float64Array(n * m).fill(1); // what is there is added to
        addProduct(c, left, right, n, k, m, lr, lc, rr, rc);
        near([...c], want, 1e-14, `${n} ${k} ${m}`);
      }
    }
  }
});

test("a gradient is that of finite differences", () => {
  const model = build({ ...CHOICES, d_model: 8 }, 2);
  const sentences = batches(2)(3);
  const loss = () => backward(forward(model, sentences.map(({ words }) => words)), sentences.map(({ tags }) => tags), 10);
  loss();
  const slopes = model.slopes.slice();
  for (let at = 20; at < model.values.length; at += 61) {
    const was = model.values[at];
    const [up, down] = [1e-5, -1e-5].map((step) => {
      model.values[at] = was + step;
      return loss();
    });
    model.values[at] = was;
    near(slopes[at], (up - down) / 2e-5, 1e-8, `${at}`);
  }
});

test("weights are shares: each row sums to one, and a causal one sees nothing ahead", () => {
  for (const context of ["attention", "causal attention"]) {
    const model = build({ ...CHOICES, context }, 0);
    const [weights] = forward(model, [[0, 12, 6, 12], [1, 8]]).weights;
    for (let row = 0; row < 6; row++) {
      for (let head = 0; head < 2; head++) {
        const shares = [...weights.subarray((row * 2 + head) * LONGEST, (row * 2 + head + 1) * LONGEST)];
        near(shares.reduce((a, b) => a + b), 1, 1e-12);
        const place = row < 4 ? row : row - 4;
        const last = context === "attention" ? (row < 4 ? 4 : 2) : place + 1;
        assert.ok(shares.slice(last).every((share) => share === 0) && shares.slice(0, last).every((share) => share > 0));
      }
    }
  }
});

test("two taggers of one seed begin alike wherever they have the same parts", () => {
  const [none, learned] = ["none", "learned"].map((positions) => build({ ...CHOICES, positions }, 7));
  for (const [name, { value }] of none.parameters) assert.deepEqual(value, learned.parameters.get(name).value, name);
  assert.ok(learned.parameters.has("learned.weight") && !none.parameters.has("learned.weight"));
});

test("it learns: from random weights to the ceiling of a single word", () => {
  const model = build({ ...CHOICES, context: "alone", positions: "none" }, 0);
  const next = batches(0);
  for (let step = 0; step < 150; step++) {
    const sentences = next(32);
    backward(forward(model, sentences.map(({ words }) => words)), sentences.map(({ tags }) => tags), sentences.reduce((n, { words }) => n + words.length, 0));
    adam(model, 0.01);
  }
  const tags = [...forward(model, [[WORDS.indexOf("dog"), WORDS.indexOf("the"), WORDS.indexOf("they")]]).scores.value];
  const best = [0, 1, 2].map((row) => TAGS[tags.slice(row * 6, row * 6 + 6).indexOf(Math.max(...tags.slice(row * 6, row * 6 + 6)))]);
  assert.deepEqual(best, ["NOUN", "DET", "PRON"]);
});
