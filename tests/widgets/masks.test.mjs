// The mask painter's mathematics: presets against FlexAttention's masks, attention in both orders against torch.
import assert from "node:assert/strict";
import test from "node:test";
import { golden, near } from "./compare.mjs";
import * as math from "../../src/widgets/math/masks.js";

const { presets, attended } = golden("masks");

test("every preset is FlexAttention's mask", () => {
  assert.deepEqual(new Set(presets.map(({ name }) => name)), new Set(Object.keys(math.PRESETS)));
  for (const { name, n, size, mask } of presets) assert.deepEqual(math.preset(name, n, size), mask, `${name} ${n} ${size}`);
});

test("weights, outputs and what a nudge moves, early and late, to 1e-12", () => {
  assert.ok(attended.length > 70);
  for (const { given, want } of attended) {
    const { x, mask, late, nudged, nudge } = given;
    const got = math.attend(math.nudge(x, nudged, nudge), mask, late);
    near(got.weights, want.weights, 1e-12, "weights");
    near(got.output, want.output, 1e-12, "output");
    near(math.moved(math.attend(x, mask, late).output, got.output), want.moved, 1e-12, "moved");
  }
});

test("the first leak is the one that autograd finds", () => {
  assert.ok(attended.some(({ want }) => want.leak) && attended.some(({ want }) => !want.leak));
  for (const { given, want } of attended) {
    assert.deepEqual(math.leaks(given.mask, given.late)[0] ?? null, want.leak, JSON.stringify(given));
  }
});

test("two masks allow what both allow", () => {
  const [causal, packed] = [math.preset("causal", 3, 1), math.preset("packed", 3, 2)];
  assert.deepEqual(math.both(causal, packed), [[1, 0, 0], [1, 1, 0], [0, 0, 1]]);
});

test("looks ahead, empty rows and the share of a mask, counted by hand", () => {
  const mask = [[1, 0, 1], [0, 0, 0], [1, 1, 0]];
  assert.deepEqual(math.ahead(mask, false), [[0, 2]]);
  assert.deepEqual(math.ahead(mask, true), [[0, 1], [0, 2]]);
  assert.deepEqual(math.leaks(mask, true), [[0, 1]]);
  assert.deepEqual(math.emptyRows(mask), [1]);
  assert.equal(math.allowed(mask), 4);
});
