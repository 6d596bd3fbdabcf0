// What there is to find out in the playground. A challenge is met by runs that are paused: their accuracy is exact then.
import { CEILINGS, DEFAULTS, view } from "./playground.js";

/** @typedef {import("./playground.js").Run} Run */
/**
 * @typedef {{ id: string, text: string, met: (run: Run, accuracy: number) => boolean }} Challenge
 */

/** Stopped at a ceiling: at most so many points below it. @param {string} name @param {number} [points] */
const at = (name, points = 1) => (/** @type {Run} */ { choices }, /** @type {number} */ accuracy) =>
  view(choices) === name && accuracy > CEILINGS[name].accuracy - points;

/** @type {Challenge[]} */
export const CHALLENGES = [
  { id: "word", text: "Come within two points of 74.5 % and stay under it, however long you train.", met: at("word", 2) },
  { id: "bag", text: "Come within a point of 86.4 % and stay under it.", met: at("bag of words") },
  { id: "before", text: "Come within a point of 95.2 % and stay under it, though it knows every place.", met: (run, accuracy) => run.choices.positions !== "none" && at("everything before")(run, accuracy) },
  { id: "whole", text: "Come over 99 %.", met: (_, accuracy) => accuracy > 99 },
  { id: "apart", text: "Two runs that differ in one choice only, and in ten points or more.", met: () => false },
  {
    id: "nothing",
    text: "Make it learn next to nothing: under 35 % after 300 steps, at the rate it came with.",
    met: ({ choices, rates, model }, accuracy) => model.steps >= 300 && accuracy < 35 && rates === 1 && choices.rate === DEFAULTS.rate,
  },
  {
    id: "dead",
    text: "Kill the queries: a gradient under one in a million, while one word in ten or more is still wrong.",
    met: ({ choices, gradient, model }, accuracy) => choices.context.endsWith("attention") && model.steps > 0 && gradient < 1e-6 && accuracy < 90,
  },
  { id: "last", text: "Of a tagger above 98 %, find a sentence in which it is still wrong.", met: () => false },
];

/** Rate and batch are choices too, but two runs may differ in how they were trained and still be compared. */
const COMPARED = Object.keys(DEFAULTS);

/**
 * Say which challenges some paused runs have met.
 * @param {Run[]} runs
 * @param {boolean[]} wrong for each run, whether it gives a word of the sentence shown a tag that is not the most probable
 * @returns {string[]} their ids
 */
export function met(runs, wrong) {
  const counted = runs.filter(({ exact, model }) => exact && exact.step === model.steps);
  const found = CHALLENGES.filter((challenge) => counted.some((run) => challenge.met(run, run.exact?.accuracy ?? 0))).map(({ id }) => id);
  const [a, b] = counted;
  // Who is still catching up is no match yet.
  if (b && (a.model.steps === b.model.steps || a.diverged || b.diverged)) {
    const differ = COMPARED.filter((key) => /** @type {any} */ (a.choices)[key] !== /** @type {any} */ (b.choices)[key]);
    if (differ.length === 1 && a.rates + b.rates === 2 && Math.abs((a.exact?.accuracy ?? 0) - (b.exact?.accuracy ?? 0)) >= 10) found.push("apart");
  }
  if (runs.some((run, i) => wrong[i] && counted.includes(run) && (run.exact?.accuracy ?? 0) > 98)) found.push("last");
  return found;
}
