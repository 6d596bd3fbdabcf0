// Online softmax against torch in double precision, and the overflow of single precision.
import assert from "node:assert/strict";
import test from "node:test";
import { golden, near } from "./compare.mjs";
import { atOnce, between, byTiles } from "../../src/widgets/math/online.js";

test("every running number after every tile, to 1e-12", () => {
  const cases = golden("online");
  assert.equal(cases.length, 48);
  for (const { given: [scores, values, tile, shift], want } of cases) {
    const shifted = scores.map((x) => x + shift);
    const got = byTiles(shifted, values, tile, true).map((t) => [t.max, t.factor, t.sum, t.total, t.output]);
    near(got, want.steps, 1e-12, JSON.stringify([scores, tile, shift]));
    near(atOnce(shifted, values), want.output, 1e-12);
    near(got.at(-1)[4], want.output, 1e-12);
  }
});

test("without the largest score subtracted, single precision overflows above 88.7 and underflows below -104", () => {
  const last = (/** @type {number} */ score) => byTiles([score, score], [1, 3], 1, false).at(-1);
  assert.equal(Math.round(last(80).output * 1e6) / 1e6, 2);
  assert.ok(Number.isNaN(last(89).output) && last(89).sum === Infinity);
  assert.ok(Number.isNaN(last(-104).output) && last(-104).sum === 0);
  assert.equal(byTiles([1e4, 1e4], [1, 3], 1, true).at(-1).output, 2);
});

test("single precision holds the sums too: two powers that fit may have a sum that does not", () => {
  const step = (/** @type {number[]} */ values) => byTiles([88.5, 88.5], values, 2, false)[0];
  assert.equal(step([1, 1]).sum, Infinity);
  assert.equal(byTiles([88, 80], [5, 0], 2, false)[0].total, Infinity);
  assert.ok(Number.isFinite(byTiles([88, 80], [1, 0], 2, false)[0].total));
});

test("the last tile ends where the row ends", () => {
  const ends = (/** @type {number} */ tile) => byTiles([0, 1, 2, 3, 4], [0, 0, 0, 0, 0], tile, true).map((t) => [t.from, t.to]);
  assert.deepEqual(ends(2), [[0, 2], [2, 4], [4, 5]]);
  assert.deepEqual(ends(12), [[0, 5]]);
});

test("on the way into a tile the sums shrink as the largest score rises, and their quotient stays until the tile's part comes", () => {
  const [scores, values] = [[1.5, 0.5, 2, -1, 1, 3.5, 2.5, 3], [6, 3, 8, 1, 4, 2, 5, 7]];
  const steps = byTiles(scores, values, 3, true);
  steps.forEach((now, t) => {
    const [before, mine] = [steps[t - 1], values.slice(now.from, now.to)];
    const there = between(before, now, 1, 1, mine);
    assert.deepEqual([there.max, there.factor, there.sum, there.total, there.output], [now.max, now.factor, now.sum, now.total, now.output]);
    if (!before) return assert.deepEqual([there.kept, there.keptTotal], [0, 0]);
    assert.deepEqual(between(before, now, 0, 0, mine), { max: before.max, factor: 1, kept: before.sum, keptTotal: before.total, sum: before.sum, total: before.total, output: before.output });
    for (const risen of [0.25, 0.5, 1]) {
      const on = between(before, now, risen, 0, mine);
      const by = Math.exp(before.max - on.max);
      assert.equal(on.max, before.max + risen * (now.max - before.max));
      near([on.factor, on.sum, on.total, on.output], [by, by * before.sum, by * before.total, before.output], 1e-12);
    }
    near(there.kept + now.powers.reduce((a, b) => a + b), now.sum, 1e-12);
  });
  near(between(steps[0], steps[1], 1, 1, values.slice(3, 6)).factor, Math.exp(-1.5), 1e-15);
  assert.equal(between(steps[1], steps[2], 0.5, 0, values.slice(6)).factor, 1);
});
