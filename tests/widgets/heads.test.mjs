// The mathematics of the heads workshop against torch in double precision.
import assert from "node:assert/strict";
import test from "node:test";
import { golden, near } from "./compare.mjs";
import { overlap, pool, reach, shared, sum } from "../../src/widgets/math/heads.js";

test("every way to share keys and values, to 1e-12", () => {
  const cases = golden("heads");
  assert.equal(cases.length, 14);
  for (const { given, want } of cases) {
    const layer = { x: given.x, wq: given.w_q, wk: given.w_k, wv: given.w_v, wo: given.w_o };
    const made = shared(layer, given.heads, given.kv_heads);
    const got = { ...made, output: sum(made.parts, given.off) };
    for (const [name, values] of Object.entries(want)) near(got[name], values, 1e-12, `${given.heads}/${given.kv_heads} ${name}`);
    if (given.heads === given.kv_heads) assert.equal(got.error, 0);
    else assert.ok(got.error > 0.01);
  }
});

test("neighbouring slices are averaged, in order", () => {
  assert.deepEqual(pool([[[1]], [[3]], [[10]], [[20]]], 2), [[[2]], [[15]]]);
  assert.deepEqual(pool([[[1]], [[3]], [[10]], [[20]]], 4), [[[1]], [[3]], [[10]], [[20]]]);
});

test("heads that look alike overlap wholly, heads that look elsewhere not at all", () => {
  assert.equal(overlap([[[1, 0]], [[1, 0]]]), 1);
  assert.equal(overlap([[[1, 0]], [[0, 1]]]), 0);
  assert.equal(overlap([[[0.5, 0.5]]]), 1);
});

test("heads that are off are missing from the sum, and parts of like sign reach as far as they do together", () => {
  const parts = [[[1, -2], [0, 0]], [[3, 1], [0, -4]], [[-5, 1], [2, 0]]];
  assert.deepEqual(sum(parts, []), [[-1, 0], [2, -4]]);
  assert.deepEqual(sum(parts, [3]), [[4, -1], [0, -4]]);
  assert.deepEqual(sum(parts, [1, 2, 3]), [[0, 0], [0, 0]]);
  assert.deepEqual(reach(parts), { above: 4, below: 5 });
});
