// The mathematics of the figure "anatomy" against torch in double precision, and the formulas in words.
import assert from "node:assert/strict";
import test from "node:test";
import { golden, near } from "./compare.mjs";
import { KINDS, brief, counted, crossings, differing, formula, held, parts, size, ticks } from "../../src/widgets/math/anatomy.js";
import { PUBLISHED } from "../../src/widgets/math/published.js";

const written = (name, what) => formula(PUBLISHED[name]).find((line) => line.what === what)?.tokens.map(({ text }) => text).join("").replaceAll("\u00a0", " ");

test("what every cache holds, to 1e-12", () => {
  const cases = golden("anatomy");
  assert.deepEqual(new Set(cases.map(({ name }) => name)), new Set(Object.keys(PUBLISHED)));
  for (const { name, n, want } of cases) near(held(PUBLISHED[name], n), want, 1e-12, `${name} ${n}`);
});

test("a window ends the growth of its layers, a state begins with all it ever holds", () => {
  const model = { label: "", year: 0, strip: "WFL", norms: "pre", cache: [[1, 0, 10, 5, 0], [1, 10, 0, 0, 0], [1, 0, 0, 0, 7]] };
  assert.deepEqual([1, 5, 6, 100].map((n) => held(model, n)), [27, 107, 117, 1057]);
});

test("two caches cross where the larger one changes, as often as it does", () => {
  const model = (...cache) => ({ label: "", year: 0, strip: "F", norms: "pre", cache });
  const state = model([1, 0, 0, 0, 1000]);
  assert.deepEqual(crossings(model([1, 10, 0, 0, 0]), state, [1, 5000]), [100]);
  assert.deepEqual(crossings(model([1, 10, 0, 0, 0]), state, [101, 5000]), []);
  assert.deepEqual(crossings(state, state, [1, 5000]), []);
  // One that first grows fast, to the end of its window.
  assert.deepEqual(crossings(model([1, 0, 100, 20, 0]), model([1, 1, 0, 0, 1000]), [1, 5000]), [11, 1000]);
  assert.deepEqual(crossings(PUBLISHED.gpt_oss, PUBLISHED.kimi_linear, [256, 2 ** 20]), [633]);
});

test("every layer is counted once", () => {
  for (const model of Object.values(PUBLISHED)) {
    assert.equal(counted(model).reduce((sum, [kind, n]) => sum + (KINDS[kind] ? n : NaN), 0), model.strip.length);
  }
});

test("formulas say what a model changed", () => {
  assert.equal(written("gpt2", "attention"), "softmax(q kᵀ / √d) v");
  assert.equal(written("llama", "attention"), "softmax(q R kᵀ / √d) v");
  assert.equal(written("gpt_oss", "attention"), "softmax(q R kᵀ / √d, sink) v");
  assert.equal(written("gpt_oss", "keys seen"), "all before, or the last 128");
  assert.equal(written("gemma2", "attention"), "softmax(50 tanh(q R kᵀ / √d)) v");
  assert.equal(written("gemma2", "stream"), "x ← x + Norm(layer(Norm(x)))");
  // Both keep several streams, so between the two of them nothing about streams differs.
  assert.equal(written("gemma3n_text", "stream"), "x ← x + Norm(layer(Norm(x))), in several streams");
  assert.equal(written("deepseek_v4", "stream"), "x ← x + layer(Norm(x)), in several streams");
  assert.equal(written("gemma3_text", "attention"), "softmax(q\u0302 R k\u0302ᵀ / √168) v");
  for (const name of ["gemma3n_text", "gemma4_text"]) {
    assert.equal(written(name, "attention"), "softmax(q\u0302 R k\u0302ᵀ) v");
    assert.equal(written(name, "scores"), "not divided by √d");
  }
  for (const name of Object.keys(PUBLISHED)) assert.equal(written(name, "scores") !== undefined, PUBLISHED[name].root === 0);
  assert.equal(written("llama4_text", "keys seen"), "all before, or its own block of 8192");
  assert.equal(written("kimi_linear", "memory"), "latent of 512 for 32 heads, key of 64; states S");
  assert.equal(written("deepseek_v4", "memory"), "1 row for 64 heads, key and value at once, an indexer's key of 128 in 21 layers");
  assert.equal(written("deepseek_v32", "memory"), "latent of 512 for 128 heads, key of 64, an indexer's key of 128");
  assert.match(written("deepseek_v3", "memory"), /^latent of 512 for 128 heads, key of 64$/);
  assert.equal(written("deepseek_v3", "attention"), "softmax((q kᵀ + qᵣ R kᵣᵀ) / √(d + dᵣ)) v");
  assert.equal(written("kimi_linear", "attention"), "softmax((q kᵀ + qᵣ kᵣᵀ) / √(d + dᵣ)) v");
  assert.equal(written("deepseek_v4", "keys seen"), "the last 128, and the best 512 pooled blocks, or all pooled blocks, or nothing else");
  assert.equal(written("gemma4_text", "memory"), "k, v of 4 or 16 heads for 32 of queries");
  assert.equal(written("mamba2", "attention"), undefined);
  assert.equal(written("mamba2", "linear"), "S ← fade · S + kᵀ v, out = q S");
  for (const name of ["kimi_linear", "qwen3_next"]) {
    assert.equal(written(name, "linear"), "S ← fade · S, then S ← S + β kᵀ(v − kS), out = q S");
  }
});

test("plain words say what is kept before the formula does", () => {
  const words = (name, what) => formula(PUBLISHED[name]).find((line) => line.what === what)?.words;
  const kept = {
    gpt2: "keeps k and v of every token",
    mistral: "keeps k and v of the last 4096 tokens",
    gpt_oss: "keeps k and v of every token, or of the last 128",
    llama4_text: "keeps k and v of every token, or of its own block of 8192",
    kimi_linear: "keeps one short row of every token",
    deepseek_v4: "keeps one row of each of the last 128 tokens, and in most layers one of each block before",
  };
  for (const [name, want] of Object.entries(kept)) assert.equal(words(name, "memory"), want);
  assert.equal(words("mamba2", "linear"), "keeps a matrix a head, which fades");
  assert.equal(words("kimi_linear", "linear"), "keeps a matrix a head, which fades and is corrected");
  assert.equal(words("gpt2", "attention"), "as in 2017");
  assert.match(words("kimi_linear", "attention"), /^a short key that is not turned/);
  assert.match(words("deepseek_v3", "attention"), /^a short key for positions/);
  assert.equal(words("deepseek_v4", "attention"), "q and k turned by position and normed, may look nowhere");
  assert.equal(words("olmo3", "stream"), "normed after each layer");
  // What is kept comes first.
  for (const model of Object.values(PUBLISHED)) assert.match(formula(model)[0].words ?? "", /^keeps /);
});

test("a scale of bytes has round ticks", () => {
  const said = (most, wanted) => { const [tick, all] = ticks(most, wanted); return all.map((k) => k && brief(k * tick)); };
  assert.deepEqual(said(36 * 2 ** 30, 5), [0, "10 GiB", "20 GiB", "30 GiB"]);
  assert.deepEqual(said(512 * 2 ** 30, 5), [0, "200 GiB", "400 GiB"]);
  assert.deepEqual(said(1.2 * 2 ** 40, 4), [0, "500 GiB", "1000 GiB"]);
  assert.deepEqual(said(4 * 2 ** 30, 5), [0, "1 GiB", "2 GiB", "3 GiB", "4 GiB"]);
  assert.deepEqual(said(82 * 2 ** 20, 5), [0, "20 MiB", "40 MiB", "60 MiB", "80 MiB"]);
});

test("a part differs where the other has none, or has it with other numbers", () => {
  const differs = (a, b) => [...differing(PUBLISHED[a], PUBLISHED[b])];
  for (const name of Object.keys(PUBLISHED)) assert.deepEqual(differs(name, name), []);
  assert.deepEqual(differs("llama", "gpt2"), ["turned"]);
  assert.deepEqual(differs("gpt2", "llama"), []);
  for (const name of ["gemma3_text", "gemma3n_text"]) assert.ok(differs(name, "qwen3").includes("root"));
  assert.ok(differs("gemma2", "gpt_oss").includes("windows"));
  for (const pair of [["gemma3n_text", "deepseek_v4"], ["deepseek_v4", "gemma3n_text"]]) assert.ok(!differs(...pair).includes("streams"));
  // The short key beside a latent is a term that the formula of 2017 has not.
  for (const name of ["deepseek_v3", "kimi_linear"]) {
    assert.equal(parts(PUBLISHED[name]).get("short"), "+ qᵣ kᵣᵀ\u00a0+\u00a0dᵣ");
    assert.ok(differs(name, "gpt_oss").includes("short"));
  }
  assert.ok(parts(PUBLISHED.gpt_oss).has("sink"));
});

test("sizes in words", () => {
  assert.deepEqual([2048, 3 * 2 ** 20, 150 * 2 ** 20, 5 * 2 ** 40].map(size), ["2.00 KiB", "3.00 MiB", "150 MiB", "5120 GiB"]);
});
