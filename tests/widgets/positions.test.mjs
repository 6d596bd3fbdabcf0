// The mathematics of the figure "positions" against torch in double precision.
import assert from "node:assert/strict";
import test from "node:test";
import { golden, near } from "./compare.mjs";
import { SCHEMES, attendInOrder, bias, score, sinusoid } from "../../src/widgets/math/positions.js";

const cases = golden("positions");
const all = Array.from({ length: 32 }, (_, i) => i);

test("every scheme: scores at many pairs of positions, weights and outputs, to 1e-12", () => {
  assert.deepEqual([...new Set(cases.map(({ given }) => given.scheme))], SCHEMES);
  for (const { given, want } of cases) {
    const [asks, answers] = [given.x[given.asks], given.x[given.answers]];
    near([0, 7, 31].map((m) => all.map((n) => score(given, asks, answers, m, n))), want.scores, 1e-12, given.scheme);
    const { weights, output } = attendInOrder(given, given.order);
    near(weights, want.weights, 1e-12, `${given.scheme} weights`);
    near(output, want.output, 1e-12, `${given.scheme} output`);
  }
});

test("only the distance matters to RoPE, ALiBi and the relative bias; to added positions more does", () => {
  for (const { given } of cases) {
    const [asks, answers] = [given.x[given.asks], given.x[given.answers]];
    const here = all.slice(2).map((m) => score(given, asks, answers, m, m - 2));
    const gap = Math.max(...here) - Math.min(...here);
    if (["sinusoidal", "learned"].includes(given.scheme)) assert.ok(gap > 0.5, given.scheme);
    else assert.ok(gap < 1e-12, given.scheme);
  }
});

test("without positions a shuffle only shuffles the outputs, with any scheme it does more", () => {
  for (const { given } of cases.filter(({ given: { order } }) => order.length === 5)) {
    const written = attendInOrder(given, [0, 1, 2, 3, 4]).output;
    const { output } = attendInOrder(given, given.order);
    const gap = Math.max(...given.order.map((token, p) => Math.abs(output[p][0] - written[token][0])));
    assert.ok(given.scheme === "none" ? gap < 1e-12 : gap > 1e-3, given.scheme);
  }
});

test("sines and cosines take turns, and a far distance shares the last bias", () => {
  near(sinusoid(1, 4, 10000), [Math.sin(1), Math.cos(1), Math.sin(0.01), Math.cos(0.01)], 1e-15);
  const head = { scheme: "relative", relative: [1, 2, 3, 4, 5] };
  assert.deepEqual([0, 1, 3, 4, 9].map((n) => bias(head, 3, n)), [1, 1, 3, 4, 5]);
  assert.throws(() => score({ ...cases[0].given, scheme: "clock" }, [1, 0, 0, 0], [1, 0, 0, 0], 0, 0), /scheme must be one of none, .*“clock”/);
});
