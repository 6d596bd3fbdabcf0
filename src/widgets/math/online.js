// A softmax-weighted mean, tile by tile: three running numbers instead of the whole row of scores. No DOM.

/**
 * @typedef {{ from: number, to: number, max: number, factor: number, powers: number[], sum: number, total: number, output: number }} Step
 *   after a tile: the largest score so far, what the old sums were multiplied by, the tile's own exponentials, the sum of
 *   all so far, the weighted sum of values, and their quotient
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
    steps.push({ from, to, max, factor, powers, sum, total, output: total / sum });
  }
  return steps;
}

/**
 * What is held on the way into a tile: first the largest score rises and both sums shrink with it, then the tile's own
 * part is added.
 * @param {Step | undefined} before the tile before, if there is one
 * @param {Step} now
 * @param {number} risen how far the largest score has come from the old one to the new, 0 to 1
 * @param {number} added the share of the tile's part that has been added, 0 to 1
 * @param {number[]} values those of the tile
 * @returns {{ max: number, factor: number, kept: number, keptTotal: number, sum: number, total: number, output: number }}
 *   kept: what is left of the old sum of powers, keptTotal: of the old weighted sum
 */
export function between(before, now, risen, added, values) {
  const old = before ?? { max: -Infinity, sum: 0, total: 0 };
  const max = before && risen < 1 ? before.max + risen * (now.max - before.max) : now.max;
  const factor = before ? Math.exp(before.max - max) : now.factor;
  const [kept, keptTotal] = [old.sum * factor, old.total * factor];
  if (added === 1) return { max, factor, kept, keptTotal, sum: now.sum, total: now.total, output: now.output };
  const sum = kept + added * now.powers.reduce((a, b) => a + b, 0);
  const total = keptTotal + added * now.powers.reduce((a, b, i) => a + b * values[i], 0);
  return { max, factor, kept, keptTotal, sum, total, output: total / sum };
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
