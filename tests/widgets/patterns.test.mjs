// Sparse patterns and their reach against the package's masks and boolean powers.
import assert from "node:assert/strict";
import test from "node:test";
import { golden } from "./compare.mjs";
import { allowed, layersToReach, pairs } from "../../src/widgets/math/patterns.js";

test("every pattern equals the package's mask, and every pair is reached when its powers say", () => {
  const cases = golden("patterns");
  assert.equal(cases.length, 24);
  for (const { given, want } of cases) {
    const mask = allowed(given);
    assert.deepEqual(mask.map((row) => row.map(Number)), want.mask, JSON.stringify(given));
    const found = layersToReach(mask, 5);
    assert.deepEqual(found, want.layers, JSON.stringify(given));
    assert.equal(pairs(found, 1), want.mask.flat().filter(Boolean).length);
  }
});
