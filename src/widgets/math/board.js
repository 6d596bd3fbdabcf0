// The designs that were tried: what was found out with them, what is kept of them, and those that come in others' links.
import { checked, most, named } from "./design.js";
import { best, FRONTIER, UNTOLD } from "./frontier.js";

/** @typedef {import("./design.js").Design} Design */
/**
 * @typedef {{ design: Design, ceiling: number, pairs: number, bytes: number, wait: number, trained?: number, name?: string }} Entry
 *   `ceiling` and `trained`, the best exact accuracy, in per cent; `name`: whose it is, where it came in a link
 */

/** What nobody passes who sees the whole sentence, in per cent; and all that comes before. */
const [WHOLE, PAST] = [99.638261, 95.173101];
const NEARLY = 1e-4;
const KEPT = 200;

/** By so many points one is over the edge, and so good at least. */
const [OVER, GOOD] = [0.6, 99];

/** @type {{ id: string, text: string, met: (entry: Entry) => boolean, solution: any }[]} each with a design that meets it */
export const CHALLENGES = [
  {
    id: "pairs", text: "A ceiling of 99 % or more, from at most 2.8 pairs a word.", solution: { layers: [[-1, 1, 2]], told: true, nearest: 3 },
    met: ({ ceiling, pairs }) => ceiling >= 99 && pairs <= 2.8,
  },
  {
    id: "edge", text: "Over the dashed edge by 0.6 points or more, with a ceiling of 99 % or more.", solution: { layers: [[-2, -1, 1, 2]], told: true, nearest: 3 },
    met: ({ ceiling, pairs }) => ceiling >= GOOD && ceiling >= best(FRONTIER, pairs) + OVER,
  },
  {
    id: "keys", text: "All that the whole sentence gives, 99.64 %, though no word sees more than four, itself counted, in all layers together.", solution: { layers: [[-2, -1, 1, 2, 3]], told: true, nearest: 4 },
    met: ({ design, ceiling }) => most(design) <= 4 && ceiling > WHOLE - NEARLY,
  },
  {
    id: "mean", text: "Without a softmax: mix by the mean, and reach 99.6 %.", solution: { layers: [[-1], [-1, 1, 2]], mix: "mean" },
    met: ({ design, ceiling }) => design.mix === "mean" && ceiling >= 99.6,
  },
  {
    id: "two", text: "Not told where: two layers that beat every single layer of their price (within four words) by two points or more.", solution: { layers: [[-1], [1, 2]] },
    met: ({ design, ceiling, pairs }) => !design.told && design.layers.length > 1 && ceiling >= best(UNTOLD, pairs) + 2,
  },
  {
    id: "cache", text: "Reading from left to right: all that the past gives, 95.17 %, without waiting for a word, from a cache of 512 bytes or less.", solution: { layers: [[-1], [-1]], mix: "mean" },
    met: ({ ceiling, bytes, wait }) => ceiling > PAST - NEARLY && wait === 0 && bytes <= 512,
  },
];

/** Which challenges an entry meets. @param {Entry} entry */
export const met = (entry) => CHALLENGES.filter((one) => one.met(entry)).map(({ id }) => id);

/**
 * Put an entry among others: one of each design and name, the last one last, and not too many.
 * @param {Entry[]} entries
 * @param {Entry} entry
 */
export function add(entries, entry) {
  const alike = (/** @type {Entry} */ one) => named(one.design) === named(entry.design) && one.name === entry.name;
  const trained = Math.max(entry.trained ?? 0, entries.find(alike)?.trained ?? 0);
  return [...entries.filter((one) => !alike(one)), trained ? { ...entry, trained } : entry].slice(-KEPT);
}

/**
 * Read what was kept: what is no entry is left out.
 * @param {any} given
 * @returns {Entry[]}
 */
export function restored(given) {
  return (Array.isArray(given) ? given : []).flatMap((one) => {
    try {
      const numbers = ["ceiling", "pairs", "bytes", "wait"].map((key) => one[key]);
      return numbers.every(Number.isFinite) ? [{ ...one, design: checked(one.design) }] : [];
    } catch {
      return [];
    }
  });
}

/**
 * Read the designs of several links, one a line; what stands before a link is whose it is.
 * @param {string} text
 * @returns {{ found: { name: string, design: Design }[], wrong: string[] }} `wrong`: what is the matter, line by line
 */
export function links(text) {
  const found = /** @type {{ name: string, design: Design }[]} */ ([]);
  const wrong = /** @type {string[]} */ ([]);
  for (const [at, line] of text.split("\n").entries()) {
    const link = line.match(/(?:https?|file):\/\/\S+/)?.[0];
    if (!line.trim()) continue;
    try {
      const state = link && new URL(link).searchParams.get("design");
      if (!state) throw new Error("there is no link to a design.");
      const name = line.slice(0, line.indexOf(link)).replace(/[\s:,–-]+$/, "").trim().slice(0, 30);
      found.push({ name: name || `link ${found.length + 1}`, design: checked(JSON.parse(state)) });
    } catch (error) {
      wrong.push(`Line ${at + 1}: ${error instanceof SyntaxError ? "its design can’t be read." : /** @type {Error} */ (error).message}`);
    }
  }
  return { found, wrong };
}

/** An offset, with a real minus sign. @param {number} offset */
export const signed = (offset) => (offset > 0 ? `+${offset}` : `−${-offset}`);

/** Offsets, four and more in a row as from one to the other. @param {number[]} offsets in their order */
function listed(offsets) {
  const words = [];
  for (let from = 0, to = 0; from < offsets.length; from = ++to) {
    while (offsets[to + 1] === offsets[to] + 1) to++;
    if (to - from < 3) to = from;
    words.push(to > from ? `${signed(offsets[from])}…${signed(offsets[to])}` : signed(offsets[from]));
  }
  return words.join(" ");
}

/** A design in words. @param {Design} design */
export function worded({ layers, told, nearest, mix }) {
  const each = layers.map((offsets) => listed(offsets) || "itself");
  const where = mix === "mean" ? "mean" : !layers.some((offsets) => offsets.length) ? "" : told ? "told where" : "not told where";
  return [each.join(" then "), ...(nearest ? [`nearest ${nearest}`] : []), ...(where ? [where] : [])].join(", ");
}
