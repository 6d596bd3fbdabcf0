// The board of designs: challenges that can be met, links that are pasted, what is kept, and the edge as it was computed.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { add, CHALLENGES, links, met, restored, worded } from "../../src/widgets/math/board.js";
import { ceiling, language } from "../../src/widgets/math/ceiling.js";
import { checked, pairs, reading } from "../../src/widgets/math/design.js";
import { best, FRONTIER, UNTOLD } from "../../src/widgets/math/frontier.js";

const done = (work) => {
  for (;;) {
    const { value, done } = work.next();
    if (done) return value;
  }
};
const LANGUAGE = done(language());
const entry = (given) => {
  const design = checked(given);
  return { design, ceiling: 100 * done(ceiling(design, LANGUAGE)).best, pairs: pairs(design, LANGUAGE), ...reading(design) };
};

test("each challenge is met by its solution, and by none of the usual designs", () => {
  assert.equal(CHALLENGES.length, 6);
  for (const { id, solution } of CHALLENGES) assert.ok(met(entry(solution)).includes(id), id);
  const all = Array.from({ length: 15 }, (_, i) => i - 7).filter(Boolean);
  const usual = [{}, { layers: [[-1, 1]], told: true }, { layers: [[-2, -1, 1, 2]], told: true }, { layers: [all], told: true }, { layers: [all], mix: "mean" }, { layers: [[-2, -1]], told: true }, { layers: [[-1, 1], [-1, 1]] }];
  for (const one of usual) assert.deepEqual(met(entry(one)).filter((id) => id !== "two"), [], JSON.stringify(one));
});

test("a challenge asks for all that it says", () => {
  const [few, edge, keys, mean, two, cache] = CHALLENGES.map(({ solution }) => entry(solution));
  const not = (one, id) => assert.ok(!met(one).includes(id), id);
  not({ ...few, pairs: 2.81 }, "pairs");
  not({ ...few, ceiling: 98.99 }, "pairs");
  not(few, "edge");
  not({ ...edge, ceiling: best(FRONTIER, edge.pairs) + 0.59 }, "edge");
  not(entry({ layers: [[-5]], told: true }), "edge"); // far over it, and no good
  not(entry({ layers: [[-2, -1, 1, 2, 3]], told: true, nearest: 5 }), "keys");
  not({ ...keys, ceiling: 99.6377 }, "keys");
  not({ ...mean, design: { ...mean.design, mix: "attention" } }, "mean");
  not({ ...two, design: { ...two.design, told: true } }, "two");
  not({ ...two, ceiling: best(UNTOLD, two.pairs) + 1.9 }, "two");
  not({ ...cache, wait: 1 }, "cache");
  not({ ...cache, bytes: 513 }, "cache");
});

test("no offsets that are painted in one layer reach 99 % for 2.8 pairs", () => {
  const offsets = Array.from({ length: 15 }, (_, i) => i - 7).filter(Boolean);
  const price = new Map(offsets.map((one) => [one, pairs(checked({ layers: [[one]] }), LANGUAGE) - 1]));
  const [tops, room] = [[], 1.8 + 1e-9];
  // Who sees more does no worse: it is enough to ask the choices to which nothing can be added.
  for (let choice = 0; choice < 1 << offsets.length; choice++) {
    const some = offsets.filter((_, i) => (choice >> i) & 1);
    const paid = some.reduce((sum, one) => sum + price.get(one), 0);
    if (paid > room || offsets.some((one) => !some.includes(one) && paid + price.get(one) <= room)) continue;
    tops.push(entry({ layers: [some], told: true }).ceiling);
  }
  assert.equal(tops.length, 63);
  assert.equal(Math.max(...tops).toFixed(2), "98.89");
});

test("the edge is the stored one", () => {
  const stored = JSON.parse(readFileSync(new URL("../../benchmarks/results/design.json", import.meta.url), "utf8"));
  assert.deepEqual(FRONTIER, stored.frontier.map(([[offsets], , best, price]) => [offsets, price, best]));
  assert.ok(stored.frontier.every(([layers, told]) => layers.length === 1 && (told || !layers[0].length)));
  const untold = stored.designs.filter(([layers, told]) => layers.length === 1 && !told);
  for (const [, , accuracy, price] of untold) assert.ok(best(UNTOLD, price) >= accuracy);
  for (const [offsets, price, accuracy] of UNTOLD) assert.ok(untold.some(([[one], , a, p]) => String(one) === String(offsets) && a === accuracy && p === price));
  assert.equal(best(FRONTIER, 0.5), 0);
});

test("links of others are read, with their names, and what is none is told by its line", () => {
  const link = (state) => `https://book.example/chapters/design.html?design=${encodeURIComponent(JSON.stringify(state))}#figure-design`;
  const { found, wrong } = links(`Ada: ${link({ layers: [[-1]], told: true, seed: 3 })}\n\n${link({ layers: [[2], [1]] })}\nno link\nBob ${link({ layers: [[9]] })}\nEve https://x.example/?design=%7B`);
  assert.deepEqual(found.map(({ name, design }) => [name, design.layers]), [["Ada", [[-1]]], ["link 2", [[2], [1]]]]);
  assert.equal(wrong.length, 3);
  assert.match(wrong[0], /^Line 4: there is no link to a design/);
  assert.match(wrong[1], /^Line 5: offsets must be −7 to 7/);
  assert.match(wrong[2], /^Line 6: its design can’t be read/);
});

test("a design stands on the board once, with its best training, and nonsense in the store is passed over", () => {
  const one = { design: checked({ layers: [[-1]] }), ceiling: 94.9, pairs: 1.8, bytes: 512, wait: 0 };
  let all = add([], { ...one, trained: 93 });
  all = add(all, one);
  all = add(all, { ...one, name: "Ada" });
  assert.deepEqual(all.map(({ name, trained }) => [name, trained]), [[undefined, 93], ["Ada", undefined]]);
  for (let i = 0; i < 260; i++) all = add(all, { ...one, name: `n${i}` });
  assert.equal(all.length, 200);
  assert.deepEqual(restored(JSON.parse(JSON.stringify(all))), all);
  for (const nonsense of [null, 3, "x", {}, [null], [{}], [{ ...one, ceiling: "a" }], [{ ...one, design: { layers: 3 } }]]) assert.deepEqual(restored(nonsense), []);
});

test("a design in words", () => {
  assert.equal(worded(checked({ layers: [[-1, 2]], told: true, nearest: 3 })), "−1 +2, nearest 3, told where");
  assert.equal(worded(checked({ layers: [[-7, -6, -5, -4, -2, -1, 1, 2, 3], []], told: true })), "−7…−4 −2 −1 +1 +2 +3 then itself, told where");
  assert.equal(worded(checked({})), "itself");
  assert.equal(worded(checked({ layers: [[], [1]], mix: "mean" })), "itself then +1, mean");
});
