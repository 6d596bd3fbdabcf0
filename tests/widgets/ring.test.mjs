// The mathematics of the figure "ring" against the package's own split, counts by hand and formulas of bytes.
import assert from "node:assert/strict";
import test from "node:test";
import { golden } from "./compare.mjs";
import { SHAPE, headsOf, percent, positions, schedule, spans, totals, when } from "../../src/widgets/math/ring.js";

const { heads } = SHAPE;
const of = (scheme, tokens = 16, devices = 4, causal = true) => schedule({ tokens, devices, scheme, causal });
const waited = (scheme, ...more) => totals(of(scheme, ...more)).map(({ waits }) => waits / heads);
const long = (scheme, ...more) => of(scheme, ...more).reduce((sum, step) => sum + step.long, 0) / heads;

test("who holds what, pairs, heads and bytes are those of Python", () => {
  const cases = golden("ring");
  assert.equal(cases.length, 72);
  for (const { given, want } of cases) {
    const steps = schedule(given);
    const each = (what) => steps.map(({ turns }) => turns.map((turn) => turn[what]));
    const ranks = want.held.map((_, rank) => rank);
    assert.deepEqual(ranks.map((rank) => positions(given.tokens, given.devices, given.scheme, rank)), want.held, JSON.stringify(given));
    assert.deepEqual([each("pairs"), each("heads")], [want.pairs, want.heads], JSON.stringify(given));
    assert.deepEqual(totals(steps).map(({ sent }) => sent), want.sent, JSON.stringify(given));
  }
});

test("every pair that is seen is computed once in all heads, and time is computing and waiting", () => {
  for (const { given } of golden("ring")) {
    const steps = schedule(given);
    const sums = totals(steps);
    const seen = when(given).flat().filter((turn) => turn >= 0).length;
    assert.equal(seen, given.causal ? (given.tokens * (given.tokens + 1)) / 2 : given.tokens ** 2);
    assert.equal(sums.reduce((sum, { scores }) => sum + scores, 0), seen * heads);
    const time = steps.reduce((sum, step) => sum + step.long, 0);
    for (const { scores, waits } of sums) assert.equal(scores + waits, time);
    assert.equal(Math.max(...when(given).flat()) + (given.scheme === "all-to-all" ? 2 : 1), steps.length);
  }
});

test("sixteen tokens on four devices, by pencil", () => {
  assert.deepEqual(waited("contiguous"), [48, 32, 16, 0]);
  assert.deepEqual([long("contiguous"), long("zigzag"), long("all-to-all")], [58, 34, 34]);
  for (const scheme of ["zigzag", "all-to-all"]) assert.deepEqual(waited(scheme), [0, 0, 0, 0]);
  for (const scheme of ["contiguous", "zigzag", "all-to-all"]) assert.equal(long(scheme, 16, 4, false), 64);
  assert.deepEqual(of("contiguous").map(({ turns }) => turns.map(({ from, pairs }) => [from, pairs]))[1], [[3, 0], [0, 16], [1, 16], [2, 16]]);
});

test("in a contiguous causal ring device r has nothing to compute in all but r + 1 steps; in zigzag runs of equal length nobody waits", () => {
  for (const devices of [2, 3, 4, 8]) {
    const steps = of("contiguous", 32, devices);
    for (let rank = 0; rank < devices; rank++) assert.equal(steps.filter(({ turns }) => turns[rank].pairs).length, rank + 1);
  }
  for (const devices of [2, 4, 8]) {
    assert.ok(waited("zigzag", 32, devices).every((waits) => waits === 0));
    const h = 32 / (2 * devices);
    // Two runs h long: three blocks at first, two of them cut in half by the diagonal, then always two.
    assert.deepEqual(of("zigzag", 32, devices).map((step) => step.long / heads), [h * (h + 1) + h * h, ...Array(devices - 1).fill(2 * h * h)]);
  }
});

test("bytes of a ring do not fall with devices, those of all-to-all do, and a copied key-value head is sent to each that reads it", () => {
  const sent = (scheme, devices) => totals(of(scheme, 32, devices))[0].sent;
  assert.deepEqual([2, 4, 8].map((p) => sent("contiguous", p)), [2, 4, 8].map((p) => ((p - 1) / p) * 32 * 2 * 2 * 64 * 2));
  assert.deepEqual([2, 4, 8].map((p) => sent("all-to-all", p)), [2, 4, 8].map((p) => ((p - 1) / p ** 2) * 32 * (2 * 8 + 2 * Math.max(2, p)) * 64 * 2));
  assert.deepEqual([headsOf(3, 1), headsOf(8, 5)], [{ own: [2, 3, 4], read: [0, 1] }, { own: [5], read: [1] }]);
});

test("runs in words, and whole per cent", () => {
  assert.deepEqual([[], [4], [0, 1, 14, 15], [6, 7, 8, 9], [0, 27, 28]].map(spans), ["none", "4", "0–1, 14–15", "6–9", "0, 27–28"]);
  assert.deepEqual([percent(1, 8), percent(1, 3), percent(48, 58), percent(0, 0)], [13, 33, 83, 0]);
});
