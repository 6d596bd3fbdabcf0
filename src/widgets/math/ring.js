// Attention on several devices: who holds which tokens, what each computes and sends in each step, and who waits. No DOM.

/** The shape for which bytes are counted; as in `attnbook.widgets.ring`. */
export const SHAPE = { heads: 8, kvHeads: 2, width: 64, bytes: 2 };

/** @typedef {"contiguous" | "zigzag" | "all-to-all"} Scheme */
/**
 * @typedef {{ from: number, heads: number, pairs: number, scores: number, waits: number, sent: number }} Turn
 *   of one device in one step: whose keys it has (its own rank where it has those of all), in how many heads it computes
 *   how many pairs, both multiplied; how many scores the slowest device makes beyond these; bytes that leave it
 * @typedef {{ does: "ring" | "give" | "attend" | "return", turns: Turn[], long: number }} Step `long`: scores of its slowest device
 */

const range = (/** @type {number} */ from, /** @type {number} */ to) => Array.from({ length: Math.max(to - from, 0) }, (_, i) => from + i);

/**
 * The tokens of a device, ascending: `Split.positions`.
 * @param {number} n
 * @param {number} devices
 * @param {Scheme} scheme
 * @param {number} rank
 */
export function positions(n, devices, scheme, rank) {
  const pieces = scheme === "zigzag" ? 2 * devices : devices;
  const mine = scheme === "zigzag" ? [rank, pieces - 1 - rank] : [rank];
  return mine.flatMap((piece) => range(Math.floor((piece * n) / pieces), Math.floor(((piece + 1) * n) / pieces)));
}

/**
 * The query heads of a device, and the key-value heads that they read, each once.
 * @param {number} devices
 * @param {number} rank
 */
export function headsOf(devices, rank) {
  const { heads, kvHeads } = SHAPE;
  const own = range(Math.floor((rank * heads) / devices), Math.floor(((rank + 1) * heads) / devices));
  return { own, read: [...new Set(own.map((head) => Math.floor((head * kvHeads) / heads)))] };
}

/**
 * Numbers as runs: "0–1, 14–15".
 * @param {number[]} numbers ascending
 */
export function spans(numbers) {
  /** @type {[number, number][]} */
  const runs = [];
  for (const x of numbers) {
    const last = runs.at(-1);
    if (last && last[1] === x - 1) last[1] = x;
    else runs.push([x, x]);
  }
  return runs.map(([a, b]) => (a === b ? `${a}` : `${a}–${b}`)).join(", ") || "none";
}

/**
 * In which step each pair of a query and a key is computed, from 0; -1 where the key is hidden.
 * @param {{ tokens: number, devices: number, scheme: Scheme, causal: boolean }} given
 * @returns {number[][]}
 */
export function when({ tokens, devices, scheme, causal }) {
  /** @type {number[]} */
  const owner = [];
  for (let rank = 0; rank < devices; rank++) for (const at of positions(tokens, devices, scheme, rank)) owner[at] = rank;
  return owner.map((mine, i) => owner.map((its, j) => (causal && j > i ? -1 : scheme === "all-to-all" ? 1 : (mine - its + devices) % devices)));
}

/**
 * All steps of all devices. A step ends when its slowest device is done; sending takes no time here.
 * @param {{ tokens: number, devices: number, scheme: Scheme, causal: boolean }} given
 * @returns {Step[]}
 */
export function schedule(given) {
  const { tokens, devices, scheme } = given;
  const { heads, kvHeads, width, bytes } = SHAPE;
  const ranks = range(0, devices);
  const held = ranks.map((rank) => positions(tokens, devices, scheme, rank));
  const table = when(given);
  const step = (/** @type {Step["does"]} */ does, /** @type {(rank: number) => Omit<Turn, "scores" | "waits">} */ turn) => {
    const turns = ranks.map(turn).map((one) => ({ ...one, scores: one.pairs * one.heads }));
    const long = Math.max(...turns.map(({ scores }) => scores));
    return { does, long, turns: turns.map((one) => ({ ...one, waits: long - one.scores })) };
  };
  if (scheme !== "all-to-all") {
    return ranks.map((t) =>
      step("ring", (rank) => {
        const from = (rank - t + devices) % devices;
        const pairs = held[rank].reduce((sum, i) => sum + held[from].filter((j) => table[i][j] === t).length, 0);
        return { from, heads, pairs, sent: t < devices - 1 ? held[from].length * kvHeads * 2 * width * bytes : 0 };
      }),
    );
  }
  const apart = ranks.map((rank) => headsOf(devices, rank));
  const pairs = table.flat().filter((t) => t === 1).length;
  const toOthers = (/** @type {number} */ rank, /** @type {(other: number) => number} */ numbers) =>
    ranks.reduce((sum, other) => sum + (other === rank ? 0 : numbers(other)), 0) * width * bytes;
  return [
    step("give", (rank) => ({ from: rank, heads: 0, pairs: 0, sent: toOthers(rank, (other) => held[rank].length * (apart[other].own.length + 2 * apart[other].read.length)) })),
    step("attend", (rank) => ({ from: rank, heads: apart[rank].own.length, pairs, sent: 0 })),
    step("return", (rank) => ({ from: rank, heads: 0, pairs: 0, sent: toOthers(rank, (other) => held[other].length * apart[rank].own.length) })),
  ];
}

/**
 * What each device has computed, waited and sent by the end of a step.
 * @param {Step[]} steps
 * @returns {{ scores: number, waits: number, sent: number }[]}
 */
export const totals = (steps) =>
  steps[0].turns.map((_, rank) => {
    const sum = (/** @type {"scores" | "waits" | "sent"} */ what) => steps.reduce((all, { turns }) => all + turns[rank][what], 0);
    return { scores: sum("scores"), waits: sum("waits"), sent: sum("sent") };
  });

/**
 * A share in whole per cent, halves up: of whole numbers, so that every language writes the same.
 * @param {number} part
 * @param {number} whole
 */
export const percent = (part, whole) => (whole ? Math.floor((200 * part + whole) / (2 * whole)) : 0);
