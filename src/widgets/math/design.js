// Attention as one designs it: who sees whom, and what it costs. The package's attnbook.tagging.views says the same, and the tests
// compare them.
import { LONGEST } from "./grammar.js";

/**
 * `layers`: offsets of each; `told`: whether a word knows where those stand that it sees; `nearest`: how many a word sees at most in a layer, the nearest, itself among them, 0 for all; `mix`: attention or mean
 * @typedef {{ layers: number[][], told: boolean, nearest: number, mix: string }} Design
 */

export const FARTHEST = LONGEST - 1;
export const MIXES = ["attention", "mean"];
/** Numbers of a word's vector, and bytes of a number. */
export const [D_MODEL, BYTES] = [32, 4];

/**
 * Say what is wrong with a design, and write it in one way.
 * @param {any} given
 * @returns {Design}
 */
export function checked(given) {
  const { layers = [[]], told = false, nearest = 0, mix = "attention" } = given ?? {};
  const whole = (/** @type {any} */ x, /** @type {number} */ low, /** @type {number} */ high) => Number.isInteger(x) && x >= low && x <= high;
  if (!Array.isArray(layers) || !whole(layers.length, 1, 2) || !layers.every(Array.isArray)) throw new Error("layers must be one or two lists of offsets.");
  for (const offset of layers.flat()) if (!whole(offset, -FARTHEST, FARTHEST) || !offset) throw new Error(`offsets must be −${FARTHEST} to ${FARTHEST} without 0; one is ${JSON.stringify(offset)}.`);
  if (typeof told !== "boolean") throw new Error(`told must be true or false; it is ${JSON.stringify(told)}.`);
  if (!whole(nearest, 0, LONGEST)) throw new Error(`nearest must be 0 to ${LONGEST}; it is ${JSON.stringify(nearest)}.`);
  if (!MIXES.includes(mix)) throw new Error(`mix must be ${MIXES.join(" or ")}; it is ${JSON.stringify(mix)}.`);
  if (told && mix === "mean") throw new Error("a mean takes the same share of all that it sees: it can’t be told where they stand.");
  return { layers: layers.map((offsets) => [...new Set(offsets)].sort((a, b) => a - b)), told, nearest, mix };
}

/** What tells a design from others. @param {Design} design */
export const named = ({ layers, told, nearest, mix }) => `${layers.map((offsets) => offsets.join(",")).join("/")} ${told ? "told" : "untold"} ${nearest} ${mix}`;

/**
 * The places that a word sees, in their order, its own among them.
 * @param {Design} design
 * @param {number} n words of the sentence
 * @param {number} place
 * @param {number} layer
 */
export function sees({ layers, nearest }, n, place, layer) {
  const all = new Set([place, ...layers[layer].map((offset) => place + offset)]);
  const near = [...all].filter((j) => j >= 0 && j < n).sort((a, b) => Math.abs(a - place) - Math.abs(b - place) || a - b);
  return near.slice(0, nearest || n).sort((a, b) => a - b);
}

/**
 * What the words of sentences of each length see: by layer, length and place.
 * @param {Design} design
 * @returns {number[][][][]}
 */
export const masks = (design) =>
  design.layers.map((_, layer) => Array.from({ length: LONGEST + 1 }, (_, n) => Array.from({ length: n }, (_, place) => sees(design, n, place, layer))));

/**
 * Read a sentence from left to right, each word tagged as soon as all that it needs is there.
 * @param {Design} design
 * @param {number} [n]
 * @returns {{ bytes: number, wait: number }} what is held at most, keys and values (of a mean values), and for how many words a tag
 *   waits at most
 */
export function reading(design, n = LONGEST) {
  let made = Array.from({ length: n }, (_, i) => i); // when what a layer takes in is there
  const held = made.map(() => 0);
  design.layers.forEach((_, layer) => {
    const seen = made.map((_, i) => sees(design, n, i, layer));
    const done = seen.map((places) => Math.max(...places.map((j) => made[j])));
    for (let j = 0; j < n; j++) {
      const last = Math.max(...done.filter((_, i) => seen[i].includes(j)));
      for (let now = made[j]; now <= last; now++) held[now] += 1;
    }
    made = done;
  });
  const each = D_MODEL * BYTES * (design.mix === "mean" ? 1 : 2);
  return { bytes: Math.max(...held) * each, wait: Math.max(...made.map((done, i) => done - i)) };
}

/** The most that one word sees, in all layers together. @param {Design} design */
export const most = (design) => masks(design).reduce((sum, layer) => sum + Math.max(...layer[LONGEST].map((places) => places.length)), 0);

/** Pairs of a word and one that it sees, in all layers, over words. @param {Design} design @param {{ lengths: number[], all: number }} language */
export function pairs(design, { lengths, all }) {
  const counts = masks(design).flatMap((layer) => layer.map((places, n) => lengths[n] * places.reduce((sum, seen) => sum + seen.length, 0)));
  return counts.reduce((a, b) => a + b) / all;
}
