// The figures' mathematics against torch in double precision, and their text rules against Python's.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { golden, near } from "./compare.mjs";
import { attend, softmax } from "../../src/widgets/math/attention.js";
import { hull, inside, mix, score, weigh } from "../../src/widgets/math/lookup.js";
import { readModel } from "../../src/widgets/math/packed.js";
import { parts, tagText, tagTokens } from "../../src/widgets/math/tagger.js";
import { bucket, features, split } from "../../src/widgets/math/words.js";

const here = new URL(".", import.meta.url);
const model = readModel(readFileSync(new URL("../../src/attnbook/tagging/data/tagger.safetensors", here)));

test("attention, every stage, to 1e-12", () => {
  for (const { given, want } of golden("calculator")) {
    const got = attend(given);
    for (const [name, values] of Object.entries(want)) near(got[name], values, 1e-12, name);
  }
});

test("a row with nothing allowed gives zeros, and large scores do not overflow", () => {
  assert.deepEqual(softmax([-Infinity, -Infinity]), [0, 0]);
  assert.deepEqual(softmax([1e4, -1e4]), [1, 0]);
});

test("soft lookup, both scores and all weights, to 1e-12", () => {
  const cases = golden("lookup");
  assert.ok(cases.length > 100);
  for (const { given, want } of cases) {
    const scores = score(given.query, given.values, given.score);
    const weights = weigh(scores, given.weights, given.temperature);
    near(scores, want.scores, 1e-12, "scores");
    near(weights, want.weights, 1e-12, JSON.stringify(given));
    near(mix(weights, given.values), want.output, 1e-12, "output");
    if (["softmax", "sparsemax"].includes(given.weights)) {
      assert.ok(inside(mix(weights, given.values), hull(given.values)), JSON.stringify(given));
    }
  }
});

test("the hull of a square with a point inside is the square", () => {
  const corners = hull([[0, 0], [1, 1], [0.5, 0.2], [1, 0], [0, 1]]);
  assert.deepEqual(corners, [[0, 0], [1, 0], [1, 1], [0, 1]]);
  assert.ok(inside([0.9, 0.9], corners) && !inside([1.1, 0.5], corners));
});

test("text is cut, described and hashed as in Python", () => {
  const cases = golden("words");
  assert.ok(cases.length > 100);
  for (const { text, tokens, features: described, buckets } of cases) {
    assert.deepEqual(split(text), tokens, JSON.stringify(text));
    const got = tokens.map(features);
    assert.deepEqual(got, described, JSON.stringify(text));
    assert.deepEqual(
      got.map((row) => row.flatMap((f) => [0, 0x9e3779b9].map((seed) => bucket(f, seed, 2970)))),
      buckets,
    );
  }
});

test("half a surrogate pair is replaced, not passed on", () => {
  assert.deepEqual(split("a\ud800b"), ["a", "\ufffd", "b"]);
});

test("the tagger to 1e-12 in double precision, and to 1e-5 of what Python prints", () => {
  for (const { sentence, hidden, tokens, tags, probabilities, weights, single } of golden("tagger")) {
    const got = tagTokens(model, split(sentence), new Set(), new Set(hidden));
    assert.deepEqual(got.tokens, tokens);
    assert.deepEqual(got.tags, tags);
    near(got.probabilities, probabilities, 1e-12, `${sentence} probabilities`);
    near(got.weights, weights, 1e-12, `${sentence} weights`);
    near(got.probabilities.map((row) => Math.max(...row)), single, 1e-5, `${sentence} single`);
  }
});

test("the tagger part by part, to 1e-12, whatever is switched off", () => {
  for (const { sentence, off, parts: names, on, added, probabilities } of golden("block")) {
    const { stages } = tagTokens(model, split(sentence), new Set(off));
    assert.deepEqual(stages.map(({ part }) => part), names);
    assert.deepEqual(stages.map((stage) => stage.on), on);
    near(stages.map((stage) => stage.added), added, 1e-12, `${sentence} ${off} added`);
    near(stages.map((stage) => stage.probabilities), probabilities, 1e-12, `${sentence} ${off} probabilities`);
  }
  assert.equal(parts(model.card.form).length, 2 + model.card.form.n_layers * (2 + model.card.form.n_heads));
});

test("I saw a saw", () => {
  assert.deepEqual(tagText(model, "I saw a saw").tags, ["PRON", "VERB", "DET", "NOUN"]);
  assert.deepEqual(tagText(model, "").tags, []);
});

test("the page's file holds the very same bytes", () => {
  const script = readFileSync(new URL("../../src/attnbook/static/tagger-model.js", here), "utf8");
  const scope = {};
  new Function("globalThis", script)(scope);
  const stored = readFileSync(new URL("../../src/attnbook/tagging/data/tagger.safetensors", here));
  assert.ok(Buffer.from(scope.attnlabModels.tagger, "base64").equals(stored));
  assert.ok(script.length <= 150_000 && stored.length <= 150_000);
});
