// A layer of one width cut into heads that share keys and values, against the same heads with their own. No DOM.
import { matmul, softmax } from "./attention.js";

/** @typedef {number[][]} Matrix */
/** @typedef {{ x: Matrix, wq: Matrix, wk: Matrix, wv: Matrix, wo: Matrix }} Layer */

/**
 * Cut the columns of a matrix into equal slices.
 * @param {Matrix} m
 * @param {number} parts
 */
const cut = (m, parts) => {
  const width = m[0].length / parts;
  return Array.from({ length: parts }, (_, p) => m.map((row) => row.slice(p * width, (p + 1) * width)));
};

/**
 * Average neighbouring slices until `parts` are left.
 * @param {Matrix[]} slices
 * @param {number} parts
 */
export function pool(slices, parts) {
  const share = slices.length / parts;
  return Array.from({ length: parts }, (_, p) =>
    slices[p * share].map((row, i) =>
      row.map((_, d) => slices.slice(p * share, (p + 1) * share).reduce((sum, slice) => sum + slice[i][d], 0) / share),
    ),
  );
}

/**
 * The weights and the output of every head.
 * @param {Layer} layer
 * @param {number} heads
 * @param {number} kvHeads
 */
function attend({ x, wq, wk, wv }, heads, kvHeads) {
  const [q, k, v] = [wq, wk, wv].map((w) => cut(matmul(x, w), heads));
  const [keys, values] = [pool(k, kvHeads), pool(v, kvHeads)];
  const share = heads / kvHeads;
  const scale = 1 / Math.sqrt(q[0][0].length);
  const weights = q.map((rows, head) => {
    const own = keys[Math.floor(head / share)];
    return rows.map((row) => softmax(own.map((key) => scale * row.reduce((sum, a, d) => sum + a * key[d], 0))));
  });
  return { weights, outputs: weights.map((w, head) => matmul(w, values[Math.floor(head / share)])) };
}

/**
 * The share of weight that two heads have in common, mean over tokens and pairs of heads; 1 for a single head.
 * @param {Matrix[]} weights
 */
export function overlap(weights) {
  let [sum, count] = [0, 0];
  weights.forEach((a, g) =>
    weights.slice(g + 1).forEach((b) =>
      a.forEach((row, i) => {
        sum += row.reduce((total, w, j) => total + Math.min(w, b[i][j]), 0);
        count += 1;
      }),
    ),
  );
  return count ? sum / count : 1;
}

/**
 * Heads that share, what each adds to the layer's output, and how far they are from the same heads with keys and
 * values of their own.
 * @param {Layer} layer
 * @param {number} heads
 * @param {number} kvHeads
 */
export function shared(layer, heads, kvHeads) {
  const [got, own] = [attend(layer, heads, kvHeads), attend(layer, heads, heads)];
  const square = (/** @type {Matrix} */ m) => m.reduce((sum, row) => sum + row.reduce((s, a) => s + a * a, 0), 0);
  const gaps = got.outputs.map((m, head) => square(m.map((row, i) => row.map((a, d) => a - own.outputs[head][i][d]))));
  const sizes = own.outputs.map(square);
  const total = (/** @type {number[]} */ list) => list.reduce((a, b) => a + b, 0);
  const rows = layer.wo.length / heads; // of the output projection, for each head
  return {
    ...got,
    parts: got.outputs.map((m, head) => matmul(m, layer.wo.slice(head * rows, (head + 1) * rows))),
    errors: gaps.map((gap, head) => Math.sqrt(gap / sizes[head])),
    error: Math.sqrt(total(gaps) / total(sizes)),
    overlap: overlap(got.weights),
    ownOverlap: overlap(own.weights),
  };
}

/**
 * The sum of the parts of those heads that are on.
 * @param {Matrix[]} parts
 * @param {number[]} off numbers of heads, from 1
 * @returns {Matrix}
 */
export const sum = (parts, off) =>
  parts[0].map((row, i) => row.map((_, c) => parts.reduce((all, part, head) => all + (off.includes(head + 1) ? 0 : part[i][c]), 0)));

/**
 * How far the parts reach above and below zero when like signs are laid end to end, for any token and number.
 * @param {Matrix[]} parts
 * @returns {{ above: number, below: number }}
 */
export function reach(parts) {
  let [above, below] = [0, 0];
  parts[0].forEach((row, i) =>
    row.forEach((_, c) => {
      const mine = parts.map((part) => part[i][c]);
      above = Math.max(above, mine.reduce((all, a) => all + Math.max(a, 0), 0));
      below = Math.max(below, mine.reduce((all, a) => all + Math.max(-a, 0), 0));
    }),
  );
  return { above, below };
}
