// Sparse patterns as boolean matrices, and what a token reaches after several layers: boolean powers. No DOM.
import { bucket } from "./words.js";

/**
 * @typedef {{ kind: string, n: number, width: number, globals: number, random: number, causal: boolean }} Pattern
 *   kind "window", "strided", "fixed" or "mixed" (window, global and random tokens together)
 */

/**
 * Say who may attend to whom in one layer.
 * @param {Pattern} pattern
 * @returns {boolean[][]} rows are queries
 */
export function allowed({ kind, n, width, globals, random, causal }) {
  const block = (/** @type {number} */ i) => Math.floor(i / width);
  const rows = Array.from({ length: n }, (_, i) => {
    const drawn = new Set(Array.from({ length: random }, (_, r) => bucket(`${i} ${r}`, 0, n)));
    return Array.from({ length: n }, (_, j) => {
      const back = i - j;
      if (causal && back < 0) return false;
      if (kind === "strided") return Math.abs(back) <= width || back % width === 0;
      if (kind === "fixed") return block(i) === block(j) || j % width === width - 1;
      const near = Math.abs(back) <= width;
      return near || (kind === "mixed" && (i < globals || j < globals || drawn.has(j)));
    });
  });
  return rows;
}

/**
 * In how many layers each query is reached by each token: 1 for what it sees itself, 0 for never within `depth`.
 * @param {boolean[][]} mask
 * @param {number} depth
 * @returns {number[][]}
 */
export function layersToReach(mask, depth) {
  const found = mask.map((row) => row.map(Number));
  const sees = mask.map((row) => row.flatMap((on, j) => (on ? [j] : [])));
  for (let layer = 2; layer <= depth; layer++) {
    const before = found.map((row) => row.slice());
    mask.forEach((_, i) => {
      for (const j of sees[i]) {
        before[j].forEach((layers, t) => {
          if (layers && !found[i][t]) found[i][t] = layer;
        });
      }
    });
  }
  return found;
}

/**
 * Count pairs whose number of layers is at most `depth`.
 * @param {number[][]} found what layersToReach returned
 * @param {number} depth
 */
export const pairs = (found, depth) => found.flat().filter((layers) => layers && layers <= depth).length;
