// Packed weights of a real model come back as they were, whole or below the diagonal.
import assert from "node:assert/strict";
import test from "node:test";
import { unpack, weightsOf } from "../../src/widgets/math/inside.js";

const packed = (/** @type {number[]} */ bytes) => btoa(String.fromCharCode(...bytes));

test("a head of an encoder is a square", () => {
  const text = { model: "m", pieces: ["a", "b"], layers: 2, heads: 2, causal: false, weights: packed([...Array(16).keys()].map((i) => i * 17)) };
  const bytes = unpack(text);
  assert.deepEqual(weightsOf(text, bytes, 0, 0), [[0, 17 / 255], [34 / 255, 51 / 255]]);
  assert.deepEqual(weightsOf(text, bytes, 1, 0), [[8 / 15, 9 / 15], [10 / 15, 11 / 15]]);
  assert.deepEqual(weightsOf(text, bytes, 1, 1)[1], [14 / 15, 1]);
});

test("a head of a decoder ends each row at its own place", () => {
  const text = { model: "m", pieces: ["a", "b", "c"], layers: 1, heads: 2, causal: true, weights: packed([255, 51, 204, 0, 102, 153, 255, 255, 0, 85, 85, 85]) };
  const bytes = unpack(text);
  assert.deepEqual(weightsOf(text, bytes, 0, 0), [[1, 0, 0], [0.2, 0.8, 0], [0, 0.4, 0.6]]);
  assert.deepEqual(weightsOf(text, bytes, 0, 1), [[1, 0, 0], [1, 0, 0], [1 / 3, 1 / 3, 1 / 3]]);
});

test("weights that don't fit the pieces are named", () => {
  const text = { model: "m", pieces: ["a", "b"], layers: 1, heads: 1, causal: false, weights: packed([1, 2, 3]) };
  assert.throws(() => unpack(text), /weights must hold 4 numbers for 2 pieces, they hold 3/);
});
