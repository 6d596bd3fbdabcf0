// The playground's runs: what they may be made of, how good they are found to be, and what there is to find out.
import assert from "node:assert/strict";
import test from "node:test";
import { near } from "./compare.mjs";
import { CHALLENGES, met } from "../../src/widgets/math/challenges.js";
import { everySentence, posterior, TAGS, WORDS } from "../../src/widgets/math/grammar.js";
import { made } from "./stored_runs.mjs";
import { STORED } from "../../src/widgets/math/stored.js";
import { CEILINGS, checked, choose, DEFAULTS, exactly, look, numbered, OFFERED, seen, sentAt, start, view } from "../../src/widgets/math/playground.js";

const SMALL = { ...DEFAULTS, d_model: 8 };
const train = (run, steps) => {
  while (run.model.steps < steps && !run.work.next().done);
  return run;
};
const count = (run) => {
  const shares = [...exactly(run)];
  assert.ok(shares.every((share, i) => share > (shares[i - 1] ?? 0) && share <= 1));
  return run.exact;
};

test("the sample agrees with the whole grammar to within three of its standard errors", () => {
  const runs = [{}, { positions: "rotary" }, { context: "alone" }, { context: "causal attention", positions: "learned" }].map((over) => start({ ...SMALL, ...over }, 1));
  for (const run of runs) {
    for (const steps of [1, 60]) {
      train(run, steps);
      assert.ok(!seen(run), "it has not looked since the step");
      for (const _ of look(run));
      const sampled = run.curve.at(-1);
      const exact = count(run);
      assert.deepEqual([sampled.step, exact.step], [steps, steps]);
      assert.ok(sampled.error > 0.1 && sampled.error < 2, `${sampled.error}`);
      assert.ok(Math.abs(sampled.accuracy - exact.accuracy) < 3 * sampled.error, `${sampled.accuracy} ± ${sampled.error}, exactly ${exact.accuracy}`);
      assert.ok(exact.accuracy < CEILINGS[view(run.choices)].accuracy && exact.loss > CEILINGS[view(run.choices)].loss);
    }
  }
});

test("at first one looks every five steps: a look costs as much as six of them", () => {
  const steps = train(start(SMALL, 1), 101).curve.map(({ step }) => step);
  assert.deepEqual(steps.slice(0, 5), [0, 5, 10, 15, 20]);
  assert.ok(steps.length <= 21, `${steps}`);
});

test("samples stray about the exact accuracy, by less than a standard error says", () => {
  const all = [...everySentence()];
  // A tagger that gives each word its most frequent tag needs no network: counts will do.
  const counts = new Map();
  for (const { words, tags, probability } of all) words.forEach((word, i) => counts.set(word, (counts.get(word) ?? TAGS.map(() => 0)).map((n, tag) => n + (tag === tags[i] ? probability : 0))));
  const given = new Map([...counts].map(([word, row]) => [word, row.indexOf(Math.max(...row))]));
  const exact = CEILINGS.word.accuracy / 100;
  let [error, strayed, most, samples] = [0, 0, 0, 40];
  for (let seed = 0; seed < samples; seed++) {
    const work = choose(all, seed);
    let next = work.next();
    while (!next.done) next = work.next();
    assert.equal(next.value.length, 600);
    const right = next.value.map(({ words, tags }) => words.filter((word, i) => given.get(word) === tags[i]).length);
    const among = next.value.reduce((n, { words }) => n + words.length, 0);
    const p = right.reduce((a, b) => a + b) / among;
    // The standard error of a share whose words come in sentences, if these were drawn from the whole.
    error += Math.sqrt(next.value.reduce((n, { words }, i) => n + (right[i] - p * words.length) ** 2, 0)) / among / samples;
    strayed += (p - exact) ** 2 / samples;
    most += (p - exact) / samples;
  }
  const ratio = Math.sqrt(strayed) / error;
  assert.ok(ratio > 0.4 && ratio < 0.9, `${ratio}`);
  assert.ok(Math.abs(most) < (3 * error) / Math.sqrt(samples), "to no side");
});

test("a tagger that knows the most frequent tags has the ceiling of a single word", () => {
  const run = start({ ...SMALL, context: "alone", positions: "none" }, 0);
  // Scores that are the words' tag counts, read through an embedding of no other use: the layers add nothing.
  for (const { value } of run.model.parameters.values()) value.fill(0);
  const counts = new Map();
  for (const { words, tags, probability } of everySentence()) words.forEach((word, i) => counts.set(word, (counts.get(word) ?? TAGS.map(() => 0)).map((n, tag) => n + (tag === tags[i] ? probability : 0))));
  run.model.parameters.get("norm.weight").value.fill(1);
  for (const [word, row] of counts) run.model.parameters.get("embedding.weight").value[(word + 2) * 8 + row.indexOf(Math.max(...row))] = 1;
  TAGS.forEach((_, tag) => (run.model.parameters.get("out.weight").value[tag * 8 + tag] = 1));
  near(count(run).accuracy, CEILINGS.word.accuracy, 1e-6);
  const [, right] = [...run.exact.guesses].find(([key]) => key === "saw/VERB");
  assert.equal(right.indexOf(Math.max(...right)), TAGS.indexOf("VERB"));
});

test("two runs of one seed are the same, and go on from where they were", () => {
  const [a, b] = [start(SMALL, 5), start(SMALL, 5)];
  train(a, 20);
  train(b, 7);
  count(b); // counting between two pieces of work disturbs nothing
  train(b, 20);
  assert.deepEqual(b.curve.filter(({ step }) => step === 7), [b.curve.find(({ error, step }) => step && !error)], "what is counted is not looked at again");
  assert.deepEqual(a.model.values, b.model.values);
  assert.notDeepEqual(train(start(SMALL, 6), 20).model.values, a.model.values);
});

test("the stored curves are what the engine draws", () => {
  const [got, want] = [made(), STORED];
  assert.deepEqual(got.map(({ choices }) => choices), want.map(({ choices }) => choices));
  got.forEach(({ curve }, at) => {
    assert.deepEqual(curve.map(([step]) => step), want[at].curve.map(([step]) => step));
    // Another edition of the language may round an exponential in another way.
    curve.forEach(([step, accuracy], i) => near(accuracy, want[at].curve[i][1], 0.02, `step ${step}`));
  });
});

test("a step in pieces is a step", () => {
  const wide = { ...DEFAULTS, d_model: 64, n_layers: 2, batch: 32 };
  const run = start(wide, 0);
  let pieces = 0;
  while (run.model.steps < 1) pieces += Number(!run.work.next().done);
  assert.ok(pieces > 8, "several pieces");
});

test("a rate that is too large is said to be, and stops the run", () => {
  const run = train(start({ ...DEFAULTS, rate: 1 }, 0), 500);
  assert.match(run.diverged, /^diverged at step \d+: its loss is .* A learning rate of 1 is too large for it\.$/);
  assert.ok(run.model.steps < 500);
  assert.ok(run.work.next().done);
});

test("what can't be chosen is refused by name", () => {
  assert.deepEqual(checked({ positions: "rotary" }, "A"), { ...DEFAULTS, positions: "rotary" });
  for (const [given, message] of [
    [{ d_model: 7 }, "d_model of run A must be 8, 16, 32, 64; it is 7."],
    [{ heads: 2 }, "run A has no choice called heads;"],
    [{ rate: 2 }, "rate of run A must be"],
    [{ rate: "0.01" }, "rate of run A must be"],
    [{ residual: 1 }, "residual of run A must be"],
    [{ context: "mean", positions: "alibi" }, "positions of run A are alibi, which act inside attention; its context is mean."],
  ]) {
    assert.throws(() => checked(given, "A"), (error) => error.message.startsWith(message), JSON.stringify(given));
  }
  assert.equal(checked({ rate: 0.005 }, "A").rate, 0.005);
  for (const [key, values] of Object.entries(OFFERED)) for (const value of values) if (!(key === "positions" && values.indexOf(value) > 2)) checked({ [key]: value }, "B");
});

test("sentences are read, and what the grammar lacks is named", () => {
  assert.deepEqual(numbered(" i  SAW a saw ", 8).map((i) => WORDS[i]), ["I", "saw", "a", "saw"]);
  assert.deepEqual(numbered("They left. ", 8).map((i) => WORDS[i]), ["they", "left"]);
  assert.throws(() => numbered("I saw a zebra", 8), /no word “zebra”. It knows I, you,/);
  for (const nothing of ["  ", "."]) assert.throws(() => numbered(nothing, 8), /Type a sentence/);
  assert.throws(() => numbered("a a a a a a a a a", 8), /at most 8 words; this has 9/);
  const best = posterior(numbered("I saw a saw", 8)).map((row) => TAGS[row.indexOf(Math.max(...row))]);
  assert.deepEqual(best, ["PRON", "VERB", "DET", "NOUN"]);
  for (const row of posterior(numbered("that can can", 8))) near(row.reduce((a, b) => a + b), 1, 1e-12);
  assert.equal(posterior(numbered("a a", 8)), null);
});

test("each challenge is met by what it asks for, and by nothing less", () => {
  const paused = (choices, accuracy, more = {}) => ({ choices: { ...DEFAULTS, ...choices }, model: { steps: 500 }, exact: { step: 500, accuracy }, gradient: 0.1, rates: 1, ...more });
  const found = (runs, wrong = []) => met(runs, wrong);
  assert.equal(CHALLENGES.length, 8);
  assert.deepEqual(found([paused({ context: "alone" }, 74.3)]), ["word"]);
  assert.deepEqual(found([paused({ context: "alone" }, 72.5)]), []);
  assert.deepEqual(found([paused({}, 86)]), ["bag"]);
  assert.deepEqual(found([paused({ context: "mean" }, 86)]), ["bag"]);
  assert.deepEqual(found([paused({ positions: "rotary" }, 86)]), []);
  assert.deepEqual(found([paused({ context: "causal attention", positions: "rotary" }, 94.8)]), ["before"]);
  assert.deepEqual(found([paused({ context: "causal attention" }, 94.8)]), []);
  assert.deepEqual(found([paused({ positions: "rotary" }, 99.1)]), ["whole"]);
  assert.deepEqual(found([paused({ context: "mean", residual: false }, 31)]), ["nothing"]);
  assert.deepEqual(found([paused({ context: "mean", residual: false, rate: 0.0003 }, 31)]), []);
  assert.deepEqual(found([paused({ context: "mean", residual: false }, 31, { rates: 2 })]), []);
  assert.deepEqual(found([paused({ divide: "nothing" }, 75, { gradient: 1e-9 })]), ["dead"]);
  assert.deepEqual(found([paused({ context: "mean" }, 75, { gradient: 0 })]), [], "no queries, none to kill");
  assert.deepEqual(found([paused({ positions: "rotary" }, 97), paused({}, 84)]), ["apart"]);
  const behind = { model: { steps: 300 }, exact: { step: 300, accuracy: 84 } };
  assert.deepEqual(found([paused({ positions: "rotary" }, 97), paused({}, 84, behind)]), [], "still catching up");
  assert.deepEqual(found([paused({ positions: "rotary" }, 97), paused({ d_model: 8 }, 84)]), []);
  assert.deepEqual(found([paused({ positions: "rotary" }, 93), paused({}, 84)]), []);
  assert.deepEqual(found([paused({ positions: "rotary" }, 98.5)], [true]), ["last"]);
  assert.deepEqual(found([paused({ positions: "rotary" }, 98.5)], [false]), []);
  assert.deepEqual(found([paused({}, 86, { exact: { step: 499, accuracy: 86 } })]), [], "counted before the last step");
});

test("the quick challenges are met by runs that were trained", () => {
  const trained = (choices, steps) => {
    const run = train(start({ ...SMALL, ...choices }, 0), steps);
    count(run);
    return run;
  };
  assert.deepEqual(met([trained({ context: "alone", rate: 0.003 }, 150)], [false]), ["word"]);
  assert.deepEqual(met([trained({ context: "mean", residual: false }, 300)], [false]), ["nothing"]);
  const two = [{ positions: "rotary" }, {}].map((choices) => trained({ ...choices, d_model: 16 }, 150));
  assert.ok(met(two, [false, false]).includes("apart"));
});

test("what a link says of where its run stood is whole, within bounds and of these settings, or passed over", () => {
  const now = { a: { d_model: 8 }, b: null, seed: 3 };
  const link = (sent, more = {}) => sentAt(JSON.stringify({ ...now, ...more, panel: "", sent }), now);
  assert.deepEqual(link([490, 98]), { step: 490, right: 98 });
  assert.deepEqual(link([20000, 0]), { step: 20000, right: 0 });
  for (const sent of [undefined, null, 7, [], [490], [0, 98], [1.5, 98], [20001, 98], ["490", 98], [490, 101], [490, -1], [490, "98"], { step: 490 }]) assert.equal(link(sent), null, JSON.stringify(sent));
  assert.equal(link([490, 98], { seed: 4 }), null);
  for (const text of [null, "", "{", "3", "null"]) assert.equal(sentAt(text, now), null);
});
