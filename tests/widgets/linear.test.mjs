// Linear attention against softmax, held to torch in double precision.
import assert from "node:assert/strict";
import test from "node:test";
import { golden, near } from "./compare.mjs";
import { compare, cost } from "../../src/widgets/math/linear.js";

test("both kinds of weights, both brackets and the errors, to 1e-12", () => {
  const cases = golden("linear");
  assert.equal(cases.length, 9);
  for (const { given, rows, want, numbers } of cases) {
    const got = compare(given);
    for (const [name, table] of Object.entries(want)) near(rows.map((i) => got[name][i]), table, 1e-12, `${name} of ${JSON.stringify(given)}`);
    for (const [name, value] of Object.entries(numbers)) near(got[name], value, 1e-12, `${name} of ${JSON.stringify(given)}`);
    assert.ok(got.orders < 1e-12, JSON.stringify(given));
  }
});

test("the bracket decides whether the length is squared", () => {
  const [short, long] = [cost(1000, 64, 64), cost(2000, 64, 64)];
  assert.deepEqual(short, { softmax: 128e6, scoresFirst: 128e6, valuesFirst: 8192e3 });
  assert.deepEqual([long.softmax / short.softmax, long.scoresFirst / short.scoresFirst, long.valuesFirst / short.valuesFirst], [4, 4, 2]);
});
