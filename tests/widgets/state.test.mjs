// A state that fills, held to the package's linear forms in double precision.
import assert from "node:assert/strict";
import test from "node:test";
import { golden, near } from "./compare.mjs";
import { fill, keysOf, write } from "../../src/widgets/math/state.js";

test("the state, what it answers, and what softmax answers, by every rule, to 1e-12", () => {
  const cases = golden("state");
  assert.equal(cases.length, 80);
  for (const { given, want, today } of cases) {
    const got = fill(given);
    for (const [name, value] of Object.entries(want)) near(got[name], value, 1e-12, `${name} of ${JSON.stringify(given)}`);
    assert.equal(got.today, today, JSON.stringify(given));
  }
});

test("an order fades the state, then takes out what its key holds, then writes", () => {
  const [key] = keysOf(0);
  const stages = write([[4, 0, 0], [0, 2, 0], [0, 0, 0], [0, 0, 0]], { key, value: [0, 1, 0], kept: 0.5, corrects: true });
  assert.deepEqual(stages.map((state) => state[0]), [[4, 0, 0], [2, 0, 0], [0, 0, 0], [0, 1, 0]]);
  assert.deepEqual(stages.map((state) => state[1]), [[0, 2, 0], [0, 1, 0], [0, 1, 0], [0, 1, 0]]);
});
