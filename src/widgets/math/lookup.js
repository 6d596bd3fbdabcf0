// Soft lookup in the plane: scores, weights in four ways, the output, and the hull it should stay in. No DOM.
import { softmax } from "./attention.js";

/** @typedef {[number, number]} Point */

/**
 * Score a query against keys by their dot product, or by minus half the squared distance.
 * @param {Point} query
 * @param {Point[]} keys
 * @param {string} kind "dot" or "distance"
 */
export function score(query, keys, kind) {
  if (kind === "dot") return keys.map(([x, y]) => query[0] * x + query[1] * y);
  if (kind === "distance") return keys.map(([x, y]) => -((query[0] - x) ** 2 + (query[1] - y) ** 2) / 2);
  throw new Error(`score must be dot or distance, got “${kind}”.`);
}

/**
 * Turn scores into weights.
 * @param {number[]} scores
 * @param {string} kind "softmax", "sparsemax", "relu" or "none"
 * @param {number} temperature divides the scores
 */
export function weigh(scores, kind, temperature) {
  const z = scores.map((s) => s / temperature);
  if (kind === "softmax") return softmax(z);
  if (kind === "sparsemax") return sparsemax(z);
  if (kind === "relu") return z.map((s) => Math.max(s, 0) / z.length);
  if (kind === "none") return z;
  throw new Error(`weights must be softmax, sparsemax, relu or none, got “${kind}”.`);
}

/**
 * The nearest point of the simplex (Martins and Astudillo 2016).
 * @param {number[]} z
 */
export function sparsemax(z) {
  const ordered = z.slice().sort((a, b) => b - a);
  let [sum, threshold] = [0, 0];
  ordered.forEach((value, at) => {
    sum += value;
    if (1 + (at + 1) * value > sum) threshold = (sum - 1) / (at + 1);
  });
  return z.map((value) => Math.max(value - threshold, 0));
}

/**
 * The weighted sum of the values.
 * @param {number[]} weights
 * @param {Point[]} values
 * @returns {Point}
 */
export const mix = (weights, values) => {
  const along = (/** @type {0 | 1} */ d) => weights.reduce((sum, w, j) => sum + w * values[j][d], 0);
  return [along(0), along(1)];
};

/**
 * The convex hull, counter-clockwise (Andrew's monotone chain).
 * @param {Point[]} points
 * @returns {Point[]}
 */
export function hull(points) {
  const sorted = points.slice().sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  const half = (/** @type {Point[]} */ list) => {
    /** @type {Point[]} */
    const out = [];
    for (const p of list) {
      while (out.length > 1 && turn(out[out.length - 2], out[out.length - 1], p) <= 0) out.pop();
      out.push(p);
    }
    return out.slice(0, -1);
  };
  return sorted.length < 3 ? sorted : [...half(sorted), ...half(sorted.reverse())];
}

/**
 * Whether a point lies in the hull, its edge included.
 * @param {Point} p
 * @param {Point[]} corners what `hull` returned
 */
export function inside(p, corners) {
  const n = corners.length;
  if (n < 3) return true;
  return corners.every((a, i) => turn(a, corners[(i + 1) % n], p) >= -1e-9);
}

/**
 * Positive if a → b → c turns left.
 * @param {Point} a
 * @param {Point} b
 * @param {Point} c
 */
const turn = (a, b, c) => (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]);
