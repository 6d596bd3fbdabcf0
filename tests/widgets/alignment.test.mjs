// The mathematics of the alignment figure against torch in double precision, with the weights that the page loads.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { golden, near } from "./compare.mjs";
import { readable, write } from "../../src/widgets/math/alignment.js";
import { readModel } from "../../src/widgets/math/packed.js";

const script = readFileSync(new URL("../../src/attnbook/static/alignment-model.js", import.meta.url), "utf8");
const scope = {};
new Function("globalThis", script)(scope);
const models = readModel(new Uint8Array(Buffer.from(scope.attnlabModels.alignment, "base64")));

test("all four models write what torch writes, to 1e-12", () => {
  const cases = golden("alignment");
  assert.equal(cases.length, 32);
  for (const { score, text, answer, probabilities, weights } of cases) {
    const got = write(models, score, text);
    const where = `${score}: ${text}`;
    assert.equal(got.map((one) => one.text).join(""), answer, where);
    near(got.map((one) => one.probability), probabilities, 1e-12, where);
    near(got.map((one) => one.weights), weights, 1e-12, where);
  }
});

test("what the models don't know is left out", () => {
  assert.equal(readable(models.card, "3 MAY\t1984!\0"), "3 may1984");
  assert.deepEqual(write(models, "dot", ""), []);
});

test("the page loads at most 100 KB for it", () => {
  assert.ok(script.length <= 100_000, `${script.length}`);
});
