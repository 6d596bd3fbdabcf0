// From scores to one word: what is done to the probabilities, and the draw. Mirrors transformer/samplers.py.
import { softmax } from "./attention.js";

/**
 * @typedef {{ temperature: number, top_k?: number | null, top_p?: number | null, min_p?: number | null }} Rules
 */

const normed = (/** @type {number[]} */ p) => {
  const sum = p.reduce((a, b) => a + b, 0);
  return p.map((x) => x / sum);
};

/**
 * Keep the words for which `stays` says so, asked from the most probable down.
 * @param {number[]} p
 * @param {(rank: number, before: number) => boolean} stays `before`: what the better ones have together
 */
function keep(p, stays) {
  const kept = p.map(() => 0);
  let before = 0;
  ranked(p).forEach((i, rank) => {
    if (stays(rank, before)) kept[i] = p[i];
    before += p[i];
  });
  return normed(kept);
}

/**
 * The numbers of the words, the most probable first; equals stand as in the vocabulary.
 * @param {number[]} p
 */
export const ranked = (p) => p.map((_, i) => i).sort((a, b) => p[b] - p[a]);

/**
 * Apply the rules that are given: temperature, top-k, top-p, min-p.
 * @param {number[]} scores
 * @param {Rules} rules
 * @returns {number[]} probabilities of which the next word is drawn
 */
export function distribution(scores, { temperature, top_k, top_p, min_p }) {
  const best = scores.indexOf(Math.max(...scores));
  let p = temperature ? softmax(scores.map((s) => (s - scores[best]) / temperature)) : scores.map((_, i) => Number(i === best));
  if (top_k) p = keep(p, (rank) => rank < top_k);
  if (top_p && top_p < 1) p = keep(p, (_, before) => before < top_p);
  if (min_p) {
    const least = min_p * Math.max(...p);
    p = normed(p.map((x) => (x >= least ? x : 0)));
  }
  return p;
}

/**
 * The word on which a number between 0 and 1 falls, if the words lie side by side, as wide as they are probable.
 * @param {number[]} p
 * @param {number} u
 */
export function drawn(p, u) {
  let [reach, last] = [0, 0];
  for (let i = 0; i < p.length; i++) {
    reach += p[i];
    if (p[i] > 0) last = i;
    if (u < reach) return i;
  }
  return last; // rounded sums may end before 1
}

/**
 * What a draft gave too little to.
 * @param {number[]} p
 * @param {number[]} q
 */
export function missing(p, q) {
  const rest = p.map((x, i) => Math.max(x - q[i], 0));
  return rest.some((x) => x > 0) ? normed(rest) : p;
}
