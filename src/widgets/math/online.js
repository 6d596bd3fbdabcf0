// A softmax-weighted mean, tile by tile: three running numbers instead of the whole row of scores. No DOM.

/**
 * @typedef {{ from: number, to: number, max: number, factor: number, sum: number, total: number, output: number }} Step
 *   after a tile: the largest score so far, what the old sums were multiplied by, the sum of exponentials, the
 *   weighted sum of values, and their quotient
 */

/**
 * Go through the scores tile by tile.
 * @param {number[]} scores
 * @param {number[]} values
 * @param {number} tile scores that are looked at together
 * @param {boolean} rescale subtract the largest score so far, and correct the sums when it grows; without it, exponentials are
 *   taken as they are, in single precision, where they overflow above 88.7
 * @returns {Step[]} one step a tile
 */
export function byTiles(scores, values, tile, rescale) {
  /** @type {Step[]} */
  const steps = [];
  // Math.fround: what a GPU's single precision would hold. With rescaling nothing large ever appears.
  const hold = rescale ? (/** @type {number} */ x) => x : Math.fround;
  let [max, sum, total] = [-Infinity, 0, 0];
  for (let from = 0; from < scores.length; from += tile) {
    const to = Math.min(from + tile, scores.length);
    const part = scores.slice(from, to);
    const grown = rescale ? Math.max(max, ...part) : 0;
    const factor = rescale ? Math.exp(max - grown) : 1; // 0 for the first tile: nothing is held before it
    const powers = part.map((score) => hold(Math.exp(score - grown)));
    sum = hold(sum * factor + powers.reduce((a, b) => a + b, 0));
    total = hold(total * factor + powers.reduce((a, b, i) => a + b * values[from + i], 0));
    max = grown;
    steps.push({ from, to, max, factor, sum, total, output: total / sum });
  }
  return steps;
}

/**
 * The same mean from the whole row at once.
 * @param {number[]} scores
 * @param {number[]} values
 */
export function atOnce(scores, values) {
  const max = Math.max(...scores);
  const powers = scores.map((score) => Math.exp(score - max));
  const sum = powers.reduce((a, b) => a + b, 0);
  return powers.reduce((a, b, i) => a + b * values[i], 0) / sum;
}

/**
 * Numbers that must be held at once for n queries and n keys: all scores, or those of one tile and three running numbers a query.
 * @param {number} n
 * @param {number} tile
 */
export const held = (n, tile) => ({ whole: n * n, tiles: n * (tile + 3) });
