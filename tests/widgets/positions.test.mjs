// The mathematics of the figure "positions" against torch in double precision.
import assert from "node:assert/strict";
import test from "node:test";
import { golden, near } from "./compare.mjs";
import { SCHEMES, attendInOrder, bias, farthest, moved, shuffled, sinusoid, swapped } from "../../src/widgets/math/positions.js";

const cases = golden("positions");

test("every scheme: weights, outputs and their change, to 1e-12", () => {
  assert.deepEqual([...new Set(cases.map(({ given }) => given.scheme))], SCHEMES);
  for (const { given, want } of cases) {
    const { weights, output } = attendInOrder(given, given.order);
    near(weights, want.weights, 1e-12, `${given.scheme} weights`);
    near(output, want.output, 1e-12, `${given.scheme} output`);
    const written = attendInOrder(given, given.order.map((_, i) => i)).output;
    near(given.order.map((token, p) => Math.hypot(...output[p].map((v, d) => v - written[token][d]))), want.change, 1e-12, `${given.scheme} change`);
  }
});

test("without positions a shuffle only shuffles the outputs, with any scheme it does more", () => {
  for (const { given, want } of cases.filter(({ given: { order } }) => order.some((token, p) => token !== p))) {
    assert.ok(given.scheme === "none" ? Math.max(...want.change) < 1e-12 : Math.max(...want.change) > 0.1, given.scheme);
  }
});

test("ALiBi alone gives the outputs back when the sentence is read backwards", () => {
  for (const { given } of cases.filter(({ given: { order } }) => order.length === 4)) {
    const back = attendInOrder(given, [3, 2, 1, 0]).output.reverse();
    const written = attendInOrder(given, [0, 1, 2, 3]).output;
    const far = Math.max(...written.map((row, i) => Math.hypot(row[0] - back[i][0], row[1] - back[i][1])));
    assert.ok(["none", "alibi"].includes(given.scheme) ? far < 1e-12 : far > 0.1, given.scheme);
  }
});

test("no order of four words leads an output beyond the edge of the drawing", () => {
  for (const { given } of cases.filter(({ given: { order } }) => order.length === 4)) {
    const edge = farthest(given);
    const all = [0, 1, 2, 3].flatMap((a) => [0, 1, 2, 3].flatMap((b) => [0, 1, 2, 3].map((c) => [a, b, c, 6 - a - b - c]))).filter((order) => new Set(order).size === 4);
    assert.equal(all.length, 24);
    const reached = Math.max(...all.flatMap((order) => attendInOrder(given, order).output.map((row) => Math.hypot(...row))));
    assert.ok(Math.abs(reached - edge) < 1e-12);
  }
});

test("a word that moves lets the others keep their order", () => {
  assert.deepEqual(moved([0, 1, 2, 3], 0, 2), [1, 2, 0, 3]);
  assert.deepEqual(moved([2, 0, 3, 1], 1, 0), [1, 2, 0, 3]);
  assert.deepEqual(moved([0, 1, 2], 1, 1), [0, 1, 2]);
  assert.deepEqual(swapped([2, 0, 3, 1], 1, 2), [1, 0, 3, 2]);
});

test("a shuffle is one that can be read: equal words alone don't change places", () => {
  const tokens = ["I", "saw", "a", "saw"];
  const read = (/** @type {number[]} */ order) => order.map((i) => tokens[i]).join(" ");
  let order = [0, 1, 2, 3];
  for (let i = 0; i < 400; i++) {
    const next = shuffled(order, tokens);
    assert.notEqual(read(next), read(order));
    assert.notDeepEqual(next, [0, 3, 2, 1]);
    assert.deepEqual([...next].sort(), [0, 1, 2, 3]);
    order = next;
  }
  assert.deepEqual([...shuffled([0, 1], ["saw", "saw"])].sort(), [0, 1]); // and ends where none can
});

test("sines and cosines take turns, and a far distance shares the last bias", () => {
  near(sinusoid(1, 4, 10000), [Math.sin(1), Math.cos(1), Math.sin(0.01), Math.cos(0.01)], 1e-15);
  const head = { scheme: "relative", relative: [1, 2, 3, 4, 5] };
  assert.deepEqual([0, 1, 3, 4, 9].map((n) => bias(head, 3, n)), [1, 1, 3, 4, 5]);
  assert.throws(() => attendInOrder({ ...cases[0].given, scheme: "clock" }, [0, 1, 2, 3]), /scheme must be one of none, .*“clock”/);
});
