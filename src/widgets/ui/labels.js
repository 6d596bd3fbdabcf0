// Where names stand in a drawing, so that none covers another. No DOM: a name's size is reckoned, on the safe side.

/** @typedef {{ left: number, top: number, right: number, bottom: number }} Box */
/** @typedef {{ box: Box, cost: number }} Place `cost`: how far it is from the best place */

/**
 * How wide and high some words are at most, in the fonts that figures meet.
 * @param {string} words
 * @param {number} size of the font
 * @param {boolean} [bold]
 */
export const sized = (words, size, bold = false) => ({ wide: (words.length + 0.25) * size * (bold ? 0.64 : 0.58), up: 0.9 * size, down: 0.25 * size });

/** How far the ink of a text may reach beyond its anchor. */
const BEARING = 1;

/**
 * The box of a text.
 * @param {number} x of its anchor
 * @param {number} y of its baseline
 * @param {ReturnType<typeof sized>} size
 * @param {boolean} [end] anchored at its end
 * @returns {Box}
 */
export const boxed = (x, y, { wide, up, down }, end = false) => ({ left: (end ? x - wide : x) - BEARING, right: (end ? x : x + wide) + BEARING, top: y - up, bottom: y + down });

/** Whether two boxes share more than an edge. @param {Box} a @param {Box} b */
export const meet = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;

/** Whether a box lies in another. @param {Box} a @param {Box} room */
export const inside = (a, room) => a.left >= room.left && a.right <= room.right && a.top >= room.top && a.bottom <= room.bottom;

/**
 * Give each name one of its places, so that none meets another and the costs together are the least.
 * @template {Place} P
 * @param {P[][]} names the places of each
 * @param {Box} room where all must stand
 * @param {Box[]} [taken] what none may meet
 * @returns {(P | undefined)[]} undefined for all, if there is no such way
 */
export function arrange(names, room, taken = []) {
  const offered = names.map((places) => places.filter(({ box }) => inside(box, room) && !taken.some((one) => meet(one, box))).sort((a, b) => a.cost - b.cost));
  /** The least that all from a name on must cost. */
  const least = offered.map((_, i) => offered.slice(i).reduce((sum, places) => sum + (places[0]?.cost ?? 0), 0)).concat(0);
  /** @type {P[]} */
  const chosen = [];
  let best = Infinity;
  /** @type {(P | undefined)[]} */
  let found = names.map(() => undefined);
  const next = (/** @type {number} */ i, /** @type {number} */ cost) => {
    if (i === offered.length) [best, found] = [cost, [...chosen]];
    else {
      for (const place of offered[i]) {
        if (cost + place.cost + least[i + 1] >= best) return;
        if (chosen.slice(0, i).some(({ box }) => meet(box, place.box))) continue;
        chosen[i] = place;
        next(i + 1, cost + place.cost);
      }
    }
  };
  next(0, 0);
  return found;
}
