// A query and a key at two positions, pair by pair: turned by RoPE, or with sinusoids added. No DOM.
import { rotary } from "./attention.js";
import { dot, sinusoid } from "./positions.js";

/**
 * @typedef {{ q: number[], k: number[], base: number, scheme: string, added?: number }} Given the vectors before any position;
 *   `added` is how far they are on the way from one scheme (0, turned) to the other (1, added), while the figure goes over
 * @typedef {{ q: number[], k: number[], angle: number, part: number }} Pair two entries of each, the angle from the query
 *   to the key, counter-clockwise, and what the pair adds to the score
 */

export const SCHEMES = ["rotary", "sinusoidal"];
export const LAST = 31; // positions go from 0 to this

/**
 * A vector at its position.
 * @param {Given} given
 * @param {number[]} vector
 * @param {number} position
 */
export function placed({ base, scheme, added = scheme === "rotary" ? 0 : 1 }, vector, position) {
  const turned = rotary(vector, position, base);
  if (!added) return turned;
  return sinusoid(position, vector.length, base).map((value, i) => added * (value + vector[i]) + (1 - added) * turned[i]);
}

/**
 * @param {Given} given
 * @param {number} m position of the query
 * @param {number} n position of the key
 * @returns {{ pairs: Pair[], score: number }} the score is the sum of the parts
 */
export function pairsOf(given, m, n) {
  const [q, k] = [placed(given, given.q, m), placed(given, given.k, n)];
  const pairs = Array.from({ length: q.length / 2 }, (_, i) => {
    const [a, b] = [q, k].map((v) => v.slice(2 * i, 2 * i + 2));
    const inner = dot(a, b);
    return { q: a, k: b, angle: Math.atan2(a[0] * b[1] - a[1] * b[0], inner), part: inner / Math.sqrt(q.length) };
  });
  return { pairs, score: pairs.reduce((sum, { part }) => sum + part, 0) };
}

/**
 * How fast each pair turns, in radians a token.
 * @param {Given} given
 */
export const speeds = ({ q, base }) => Array.from({ length: q.length / 2 }, (_, i) => base ** ((-2 * i) / q.length));

/**
 * The lowest and the highest of all scores and parts, wherever query and key stand, turned or added: both are drawn on one scale.
 * @param {Given} given
 */
export function ends(given) {
  const all = [0];
  const places = Array.from({ length: (LAST + 1) ** 2 }, (_, i) => [Math.floor(i / (LAST + 1)), i % (LAST + 1)]);
  for (const scheme of SCHEMES) {
    for (const [m, n] of places) {
      const { pairs, score } = pairsOf({ ...given, scheme }, m, n);
      all.push(score, ...pairs.map(({ part }) => part));
    }
  }
  return [all.reduce((a, b) => Math.min(a, b)), all.reduce((a, b) => Math.max(a, b))];
}

/**
 * The figure's state as PyTorch that runs and prints the same numbers.
 * @param {(key: string) => any} get reads the state
 * @returns {string}
 */
export function snippet(get) {
  const t = (/** @type {string} */ key) => `torch.tensor(${JSON.stringify(get(key))}, dtype=torch.float64)`;
  const placed = get("scheme") === "rotary"
    ? "    return positions.rotary(vector.expand(32, d), base=base)  # (32, d), turned"
    : "    return vector + positions.sinusoidal(32, d, base=base, dtype=vector.dtype)  # (32, d)";
  return `import torch

from attnlab import positions

q, k = ${t("q")}, ${t("k")}
base, d, m, n = ${get("base")}, len(q), ${get("m")}, ${get("n")}


def placed(vector):
${placed}


parts = (placed(q)[m] * placed(k)[n] / d**0.5).view(-1, 2).sum(-1)  # a number for each pair
curve = placed(k) @ placed(q)[m] / d**0.5  # the key at each place
print("parts", parts.tolist(), "score", parts.sum().item())
`;
}
