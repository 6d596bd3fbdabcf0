// Online softmax against torch in double precision, and the overflow of single precision.
import assert from "node:assert/strict";
import test from "node:test";
import { golden, near } from "./compare.mjs";
import { atOnce, byTiles, held } from "../../src/widgets/math/online.js";

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

test("tiles hold a row of three numbers a query and one tile, the whole matrix n squared", () => {
  assert.deepEqual(held(4096, 4), { whole: 16777216, tiles: 28672 });
  assert.deepEqual(held(10, 2), { whole: 100, tiles: 50 });
});
