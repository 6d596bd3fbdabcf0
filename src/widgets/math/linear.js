// Softmax attention beside linear attention with two feature maps, and what each order of brackets costs. No DOM.
import { matmul, softmax, transpose } from "./attention.js";
import { normals } from "./saturation.js";

/** @typedef {number[][]} Matrix */

export const [TOKENS, WIDTH] = [64, 8];
const TURNS = [1, 3, 7, 13]; // how often each pair of a key's numbers turns round along the tokens
const DRAWN = 11; // the seed of the values

/**
 * Cut a list into rows.
 * @param {ArrayLike<number>} list
 * @param {number} rows
 * @param {number} width
 * @returns {Matrix}
 */
const rowsOf = (list, rows, width) => Array.from({ length: rows }, (_, i) => Array.from({ length: width }, (_, j) => list[i * width + j]));

/**
 * Queries, keys and values of the tokens. A token's query is its key: cosines and sines of its place.
 * @param {number} sharpness factor on queries and keys
 */
export function drawn(sharpness) {
  const size = sharpness * Math.SQRT2;
  const k = Array.from({ length: TOKENS }, (_, j) => TURNS.flatMap((turns) => [Math.cos, Math.sin].map((of) => size * of((2 * Math.PI * j * turns) / TOKENS))));
  return { q: k, k, v: rowsOf(normals(DRAWN, TOKENS * WIDTH), TOKENS, WIDTH) };
}

/**
 * Feature maps: elu(x) + 1, or positive random features exp(w·x' - |x'|²/2) / √m with x' = x / d^¼.
 * @param {Matrix} x
 * @param {string} map "elu" or "random"
 * @param {number} features how many random ones
 * @param {number} seed of the random ones
 */
export function phi(x, map, features, seed) {
  if (map === "elu") return x.map((row) => row.map((a) => (a > 0 ? a + 1 : Math.exp(a))));
  const w = rowsOf(normals(seed, features * WIDTH), features, WIDTH);
  return x.map((row) => {
    const small = row.map((a) => a * WIDTH ** -0.25);
    const half = small.reduce((sum, a) => sum + a * a, 0) / 2;
    return w.map((direction) => Math.exp(direction.reduce((sum, b, i) => sum + b * small[i], 0) - half) / Math.sqrt(features));
  });
}

/**
 * Both kinds of attention on the same tokens.
 * @param {{ sharpness: number, map: string, features: number, seed: number }} given
 */
export function compare({ sharpness, map, features, seed }) {
  const { q, k, v } = drawn(sharpness);
  const exact = matmul(q, transpose(k)).map((row) => softmax(row.map((x) => x / Math.sqrt(WIDTH))));
  const [fq, fk] = [phi(q, map, features, seed), phi(k, map, features, seed)];
  const weights = matmul(fq, transpose(fk)).map((row) => {
    const sum = row.reduce((a, b) => a + b, 0);
    return row.map((x) => x / sum);
  });
  const scoresFirst = matmul(weights, v);
  // The other bracket: a matrix of features by values, and a vector of sums, whatever the number of tokens.
  const state = matmul(transpose(fk), v);
  const sums = transpose(fk).map((row) => row.reduce((a, b) => a + b, 0));
  const valuesFirst = matmul(fq, state).map((row, i) => {
    const norm = fq[i].reduce((a, f, j) => a + f * sums[j], 0);
    return row.map((x) => x / norm);
  });
  const softmaxOut = matmul(exact, v);
  const mean = transpose(v).map((column) => column.reduce((a, b) => a + b, 0) / TOKENS);
  return {
    exact, weights, softmaxOut, scoresFirst, valuesFirst,
    error: distance(scoresFirst, softmaxOut),
    errorOfMean: distance(softmaxOut.map(() => mean), softmaxOut),
    orders: Math.max(...scoresFirst.flatMap((row, i) => row.map((x, j) => Math.abs(x - valuesFirst[i][j])))),
  };
}

/**
 * The size of a difference, as a share of the size of b.
 * @param {Matrix} a
 * @param {Matrix} b
 */
function distance(a, b) {
  const size = (/** @type {Matrix} */ m) => Math.sqrt(m.flat().reduce((sum, x) => sum + x * x, 0));
  return size(a.map((row, i) => row.map((x, j) => x - b[i][j]))) / size(b);
}

/**
 * Multiplications for one head: softmax, and both orders of brackets.
 * @param {number} n tokens
 * @param {number} m features
 * @param {number} d width
 */
export const cost = (n, m, d) => ({ softmax: 2 * n * n * d, scoresFirst: n * n * (m + d), valuesFirst: 2 * n * m * d });
