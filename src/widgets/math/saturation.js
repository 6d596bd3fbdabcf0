// Saturation: sampled scores q·k for any width, and what a softmax makes of a row of scores. No DOM.
import { softmax } from "./attention.js";
import { uniforms } from "./random.js";

export const ROWS = 64; // sampled queries, each with keys of its own
export const KEYS = 8;
export const WIDTHS = Array.from({ length: 11 }, (_, p) => 2 ** p); // 1, 2, 4 ... 1024
const WIDEST = 1024;

/**
 * Standard normal numbers that Python draws too: a mixed counter, then Box and Muller.
 * @param {number} seed
 * @param {number} count even
 */
export function normals(seed, count) {
  const uniform = uniforms(seed);
  const out = new Float64Array(count);
  for (let i = 0; i < count; i += 2) {
    const radius = Math.sqrt(-2 * Math.log(uniform(i)));
    const angle = 2 * Math.PI * uniform(i + 1);
    out[i] = radius * Math.cos(angle);
    out[i + 1] = radius * Math.sin(angle);
  }
  return out;
}

/**
 * q·k for every sampled query, key and width: a wider query is a narrower one with more entries.
 * @param {number} seed
 * @returns {number[][][]} for each of WIDTHS, 64 rows of 8 scores
 */
export function sample(seed) {
  const z = normals(seed, ROWS * (1 + KEYS) * WIDEST);
  const out = WIDTHS.map(() => Array.from({ length: ROWS }, () => new Array(KEYS).fill(0)));
  for (let row = 0; row < ROWS; row++) {
    const query = row * (1 + KEYS) * WIDEST;
    for (let j = 0; j < KEYS; j++) {
      const key = query + (1 + j) * WIDEST;
      let [sum, next] = [0, 0];
      for (let d = 0; d < WIDEST; d++) {
        sum += z[query + d] * z[key + d];
        if (d + 1 === WIDTHS[next]) out[next++][row][j] = sum;
      }
    }
  }
  return out;
}

/**
 * What a softmax makes of a row, and how much of a gradient it lets through.
 *
 * Every number is a sum of products of weights, with no 1 − p: it stays exact when a weight is nearly 1.
 * @param {number[]} z the row, as the softmax gets it
 */
export function measure(z) {
  const weights = softmax(z);
  const entropy = weights.reduce((sum, p) => (p > 0 ? sum - p * Math.log(p) : sum), 0);
  // Row i of the Jacobian: p_i (1 − p_i) on the diagonal, −p_i p_j beside it.
  const slopes = weights.map((p, i) => weights.reduce((sum, other, j) => (j === i ? sum : sum + p * other), 0));
  let squares = 0;
  weights.forEach((p, i) => weights.forEach((other, j) => (squares += (i === j ? slopes[i] : p * other) ** 2)));
  const norm = Math.sqrt(squares);
  return {
    weights,
    slopes,
    entropy,
    share: entropy / Math.log(z.length),
    largest: Math.max(...slopes),
    norm,
    left: norm / Math.sqrt(z.length),
  };
}

/**
 * The middle of some numbers.
 * @param {number[]} numbers
 */
export function median(numbers) {
  const sorted = numbers.slice().sort((a, b) => a - b);
  const half = sorted.length >> 1;
  return sorted.length % 2 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
}

/**
 * The standard deviation, about the numbers' own mean.
 * @param {number[]} numbers
 */
export function deviation(numbers) {
  const mean = numbers.reduce((a, b) => a + b, 0) / numbers.length;
  return Math.sqrt(numbers.reduce((sum, x) => sum + (x - mean) ** 2, 0) / numbers.length);
}
