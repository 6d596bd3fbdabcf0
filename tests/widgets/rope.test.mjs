// The mathematics of the figure "rope" against torch in double precision.
import assert from "node:assert/strict";
import test from "node:test";
import { golden, near } from "./compare.mjs";
import { LAST, SCHEMES, ends, pairsOf, placed, speeds } from "../../src/widgets/math/rope.js";

const cases = golden("rope");
const all = Array.from({ length: LAST + 1 }, (_, i) => i);

test("both schemes: vectors at all places, angles, parts, score and curve, to 1e-12", () => {
  assert.deepEqual([...new Set(cases.map(({ given }) => given.scheme))], SCHEMES);
  for (const { given, want } of cases) {
    near([given.q, given.k].map((v) => [0, 9, 31].map((p) => placed(given, v, p))), want.placed, 1e-12, "placed");
    const { pairs, score } = pairsOf(given, given.m, given.n);
    near(pairs.map(({ angle }) => angle), want.angles, 1e-12, "angles");
    near(pairs.map(({ part }) => part), want.parts, 1e-12, "parts");
    near(score, want.score, 1e-12, "score");
    near(all.map((n) => pairsOf(given, given.m, n).score), want.curve, 1e-12, "curve");
    assert.equal(speeds(given)[1], given.base ** (-2 / given.q.length));
  }
});

test("RoPE: the pair moves and every angle and the score stay; sinusoids: they do not", () => {
  for (const { given } of cases) {
    const [first, ...others] = all.slice(3).map((m) => pairsOf(given, m, m - 3));
    const far = Math.max(...others.map(({ score }) => Math.abs(score - first.score)));
    const turn = Math.max(...others.flatMap(({ pairs }) => pairs.map(({ angle }, i) => Math.abs(angle - first.pairs[i].angle))));
    if (given.scheme === "rotary") assert.ok(far < 1e-12 && turn < 1e-12);
    else assert.ok(far > 0.3 && turn > 0.3);
  }
});

test("one scale holds every score and every part, turned or added", () => {
  for (const { given } of cases) {
    const [low, high] = ends(given);
    for (const scheme of SCHEMES) assert.deepEqual(ends({ ...given, scheme }), [low, high]); // one, to compare them by eye
    for (const m of all) {
      for (const n of all) {
        const { pairs, score } = pairsOf(given, m, n);
        for (const value of [score, ...pairs.map(({ part }) => part)]) assert.ok(low <= value && value <= high);
      }
    }
  }
});
