// The mathematics of the decoder against torch in double precision, with the weights that the page loads.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { golden, near } from "./compare.mjs";
import { MOST, bytes, pass, reader } from "../../src/widgets/math/decoder.js";
import { uniforms } from "../../src/widgets/math/random.js";
import { distribution, drawn, missing } from "../../src/widgets/math/samplers.js";
import { readModel } from "../../src/widgets/math/packed.js";

const script = readFileSync(new URL("../../src/attnbook/static/decoder-model.js", import.meta.url), "utf8");
const scope = {};
new Function("globalThis", script)(scope);
const models = readModel(new Uint8Array(Buffer.from(scope.attnlabModels.decoder, "base64")));
const cases = golden("decoder");

test("word by word with a cache both models score what torch scores in one pass, to 1e-12", () => {
  assert.equal(cases.reads.length, 12);
  for (const { name, heads, ids, scores, kept } of cases.reads) {
    const { rows, read } = reader(models, name, heads);
    near(ids.map(read), scores, 1e-12, `${name}, ${heads} heads`);
    kept.forEach(([keys, values], layer) => {
      near(rows.map((row) => row.keys[layer]), keys, 1e-12, `keys of ${name}, ${heads} heads`);
      near(rows.map((row) => row.values[layer]), values, 1e-12, `values of ${name}, ${heads} heads`);
    });
  }
});

test("every rule cuts what torch cuts", () => {
  assert.equal(cases.cut.length, 28);
  for (const { scores, rules, want } of cases.cut) near(distribution(scores, rules), want, 1e-12, JSON.stringify(rules));
});

test("a pass drafts, keeps, writes and reads what Python says", () => {
  assert.equal(cases.passes.length, 162);
  for (const { given, want } of cases.passes) {
    const where = JSON.stringify(given);
    const step = pass(models, given.ids, given);
    assert.deepEqual([step.drafted, step.kept, step.words], [want.drafted, want.kept, want.words], where);
    near(step.keep, want.keep, 1e-10, where);
    near(step.p.map((row) => Math.max(...row)), want.best, 1e-11, where);
    assert.equal(step.rows.length, given.ids.length + 1 + step.drafted.length, where);
    assert.ok(given.ids.length + step.words.length <= MOST + 1, where);
    const counts = { rows: step.rows.length, read: step.rows.length, drafted: step.drafted.length, heads: given.heads };
    near(Object.values(bytes(models, counts)), [want.reads.cache, want.reads.weights, want.reads.draft], 0, where);
  }
});

test("a number falls on a word as often as the word is probable", () => {
  const p = [0.2, 0, 0.5, 0.3, 0];
  assert.deepEqual([0, 0.19, 0.2, 0.69, 0.71, 1].map((u) => drawn(p, u)), [0, 0, 2, 2, 3, 3]);
  near(missing([0.5, 0.5, 0], [0.2, 0.7, 0.1]), [1, 0, 0], 1e-15);
  near(missing([0.5, 0.5], [0.5, 0.5]), [0.5, 0.5], 0);
});

test("with a draft the first word has the model's probabilities still", () => {
  const [ids, rules] = [[12, 4], { temperature: 1 }];
  const { p, q } = pass(models, ids, { rules, draft: 1, seed: 0 });
  // Exactly: what both give is kept, the rest is drawn from what the draft gave too little to.
  const both = p[0].map((x, i) => Math.min(x, q[0][i]));
  const rest = 1 - both.reduce((a, b) => a + b, 0);
  near(missing(p[0], q[0]).map((x, i) => both[i] + rest * x), p[0], 1e-12);
  assert.ok(rest > 0.05, `${rest}`);
  // And as the page draws, over many seeds; 4.5 standard deviations.
  const [count, seeds] = [p[0].map(() => 0), 500];
  for (let seed = 0; seed < seeds; seed++) count[pass(models, ids, { rules, draft: 1, seed }).words[0]] += 1 / seeds;
  count.forEach((share, i) => assert.ok(Math.abs(share - p[0][i]) <= 4.5 * Math.sqrt((p[0][i] * (1 - p[0][i])) / seeds), `${i}: ${share} for ${p[0][i]}`));
});

test("dice are even and differ from seed to seed", () => {
  const [a, b] = [uniforms(0), uniforms(1)];
  const mean = Array.from({ length: 10000 }, (_, i) => a(i)).reduce((x, y) => x + y) / 10000;
  assert.ok(Math.abs(mean - 0.5) < 0.01);
  assert.notEqual(a(0), b(0));
});

test("the page loads at most 100 KB for it", () => {
  assert.ok(script.length <= 100_000, `${script.length}`);
});
