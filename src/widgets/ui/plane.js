// The plane of all designs: what it costs across, how good it can be upwards, and the edge of what is painted small. Beside it
// training climbs, step by step, to the best there can be.
import { text } from "./curves.js";
import { fmt, halo, renew, s } from "./dom.js";
import { FRONTIER } from "../math/frontier.js";
import { named } from "../math/design.js";
import { LAST } from "../math/playground.js";

/** @typedef {import("../math/board.js").Entry} Entry */

const [LEFT, RIGHT, TOP, FOOT] = [50, 16, 26, 38];
const HIGH = { wide: 230, narrow: 144 };
/** What is wrong of all, in per cent, at the axis's ends, and pairs a word: both are stretched. */
const [WORST, LEAST, CHEAP, DEAR] = [40, 0.3, 0.95, 10];
const ACROSS = [1, 2, 3, 4, 6, 9];
const UP = [60, 75, 90, 95, 98, 99, 99.6];

/** How far up an accuracy stands: what is wrong is what is stretched. @param {number} worst @param {number} bottom @param {number} high */
const upward = (worst, bottom, high) => (/** @type {number} */ accuracy) => {
  const share = Math.log(worst / Math.max(100 - accuracy, LEAST)) / Math.log(worst / LEAST);
  return bottom - high * Math.min(Math.max(share, 0), 1);
};
/** A line across, and its number. @param {number} p @param {number} y @param {number} from @param {number} to */
const tick = (p, y, from, to) => [s("path", { d: `M${from} ${y.toFixed(1)}H${to}`, stroke: "var(--fig-line)", "stroke-opacity": 0.6 }), text(`${p} %`, from - 5, y + 4, { "text-anchor": "end" })];

/** @returns {{ svg: SVGElement, show: (given: { wide: number, entries: Entry[], entry: Entry | null, right: number }) => void }} */
export function plane() {
  const [still, moving] = [s("g"), s("g")];
  const svg = s("svg", { role: "img", "data-part": "plane", "aria-label": "Designs by price and best possible accuracy", style: "display: block; width: 100%; height: auto" }, still, moving);
  let drawn = 0;
  /** @type {[number, number] | null} where the dot is: pairs a word, and the best */
  let waiting = null;
  return {
    svg,
    show({ wide, entries, entry, right }) {
      const high = wide < 400 ? HIGH.narrow : HIGH.wide;
      const bottom = TOP + high;
      const x = (/** @type {number} */ pairs) => LEFT + ((wide - LEFT - RIGHT) * Math.log(pairs / CHEAP)) / Math.log(DEAR / CHEAP);
      const y = upward(WORST, bottom, high);
      if (drawn !== wide) {
        drawn = wide;
        svg.setAttribute("viewBox", `0 0 ${wide} ${bottom + FOOT}`);
        const edge = FRONTIER.map(([, pairs, best], i) => `${i ? `H${x(pairs).toFixed(1)}V` : `M${x(pairs).toFixed(1)} `}${y(best).toFixed(1)}`).join("");
        still.replaceChildren(
          text("Best possible accuracy", 0, TOP - 11, { fill: "var(--fig-ink)", "font-weight": 600 }),
          ...UP.flatMap((p) => tick(p, y(p), LEFT, wide - RIGHT)),
          ...ACROSS.map((p) => text(String(p), x(p), bottom + 15, { "text-anchor": "middle" })),
          s("path", { d: `M${LEFT} ${TOP}V${bottom}H${wide - RIGHT}`, fill: "none", stroke: "var(--fig-quiet)" }),
          s("path", { d: `${edge}H${wide - RIGHT}`, fill: "none", stroke: "var(--fig-ink)", "stroke-width": 1.5, "stroke-dasharray": "5 3", "data-part": "frontier" }),
          text("pairs a word", wide - RIGHT, bottom + 33, { "text-anchor": "end" }),
          text("┅ best small design", 2, bottom + 33),
        );
      }
      const now = entry && named(entry.design);
      const dot = (/** @type {[number, number]} */ [pairs, best], /** @type {Record<string, any>} */ look) =>
        s("circle", { cx: x(pairs).toFixed(1), cy: y(best).toFixed(1), r: 6, fill: "var(--fig-query)", "data-key": "now", ...look });
      const others = entries.filter((one) => named(one.design) !== now).map((one) =>
        one.name
          ? s("rect", { x: (x(one.pairs) - 4).toFixed(1), y: (y(one.ceiling) - 4).toFixed(1), width: 8, height: 8, fill: "var(--fig-key)", "fill-opacity": 0.8, "data-part": "tried" })
          : s("circle", { cx: x(one.pairs).toFixed(1), cy: y(one.ceiling).toFixed(1), r: 3.5, fill: "var(--fig-quiet)", "fill-opacity": 0.7, "data-part": "tried" }),
      );
      // While a design is counted, the dot waits, pale, where it was: from there it is seen to go.
      if (!entry) return renew(moving, ...others, ...(waiting ? [dot(waiting, { "fill-opacity": 0.3 })] : []));
      waiting = [entry.pairs, entry.ceiling];
      const [px, py] = [x(entry.pairs), y(entry.ceiling)];
      const label = `${fmt(entry.ceiling, 2)} %`;
      const end = px > wide / 2;
      const aside = py > bottom - 30 ? 18 : 11; // where the edge begins there is no room below the dot: beside its first step
      const ring = [];
      if (Number.isFinite(right)) {
        const at = Math.min(y(right), bottom - 8); // a run that is lower waits at the foot, with an arrow
        ring.push(
          s("path", { d: `M${px.toFixed(1)} ${py.toFixed(1)}V${at.toFixed(1)}`, stroke: "var(--fig-output)", "stroke-width": 2, "stroke-dasharray": "2 3" }),
          s("circle", { cx: px.toFixed(1), cy: at.toFixed(1), r: 6, fill: "var(--fig-paper)", stroke: "var(--fig-output)", "stroke-width": 2.5, "data-part": "trained" }),
          ...(right < 100 - WORST ? [s("path", { d: `M${px.toFixed(1)} ${at - 3}v6m-2.5-2.5l2.5 2.5 2.5-2.5`, fill: "none", stroke: "var(--fig-output)", "stroke-width": 1.5 })] : []),
        );
      }
      renew(
        moving,
        ...others,
        ...ring,
        dot(waiting, { "data-part": "now" }),
        text(label, px + (end ? -aside : aside), Math.min(Math.max(py + 14, TOP + 8), bottom - 4), { ...halo(), "text-anchor": end ? "end" : "start", fill: "var(--fig-query)", "font-weight": 700 }),
      );
      svg.setAttribute("aria-label", `Designs by price and best possible accuracy. This one: ${fmt(entry.pairs, 2)} pairs a word, ${label}. ${others.length} others were tried. The edge of all small designs goes from 74.5 % for 1 pair to 99.6 % for 3.7.`);
    },
  };
}

/**
 * Training on its way: how much is right at each step, and the ceiling over it.
 * @returns {{ svg: SVGElement, show: (given: { wide: number, tall: number, best: number, curve: import("../math/playground.js").Reading[], step: number }) => void }}
 *   `best`: the ceiling, NaN where it is not known yet; `step`: how far training is, where its last reading may be older
 */
export function climb() {
  const svg = s("svg", { role: "img", "data-part": "climb", style: "display: block; width: 100%; height: auto" });
  return {
    svg,
    show({ wide, tall, best, curve, step }) {
      const [left, bottom, right] = [39, tall - 19, wide - 4];
      const y = upward(85, bottom, bottom - TOP);
      const x = (/** @type {number} */ at) => left + ((right - left) * Math.log1p(at)) / Math.log1p(LAST);
      const roomy = tall > 150;
      const last = curve[curve.length - 1];
      const tip = last && [x(step), y(last.accuracy)];
      const ink = { fill: "var(--fig-output)", "font-weight": 700 };
      const said = last ? `${roomy ? `step ${step.toLocaleString("en")}: ` : ""}${fmt(last.accuracy, 1)} %` : "not yet";
      const fits = tip && tip[0] + 7 * said.length + 14 < right;
      svg.setAttribute("viewBox", `0 0 ${wide} ${tall}`);
      svg.setAttribute("aria-label", `Trained, by step: ${said}`);
      svg.replaceChildren(
        text("Trained, by step", 0, 13, { fill: "var(--fig-ink)", "font-weight": 600 }),
        ...(roomy ? [50, 75, 90, 95, 99] : [50, 90, 99]).flatMap((p) => tick(p, y(p), left, right)),
        ...(right - left > 100 ? [10, 100, 1000] : [10, 1000]).map((at) => text(at.toLocaleString("en"), x(at), bottom + 15, { "text-anchor": "middle" })),
        s("path", { d: `M${left} ${TOP}V${bottom}H${right}`, fill: "none", stroke: "var(--fig-quiet)" }),
        ...(Number.isFinite(best) ? [
          s("path", { d: `M${left} ${y(best).toFixed(1)}H${right}`, stroke: "var(--fig-query)", "stroke-width": 2, "stroke-dasharray": "2 3", "data-part": "goal" }),
          text(`${fmt(best, 2)} %`, right, y(best) - 5, { ...halo(), "text-anchor": "end", fill: "var(--fig-query)", "font-weight": 700 }),
        ] : []),
        ...(tip ? [
          s("path", { d: `${curve.map(({ step, accuracy }, i) => `${i ? "L" : "M"}${x(step).toFixed(1)} ${y(accuracy).toFixed(1)}`).join("")}H${tip[0].toFixed(1)}`, fill: "none", stroke: "var(--fig-output)", "stroke-width": 2.5, "stroke-linejoin": "round", "data-part": "climbed" }),
          s("circle", { cx: tip[0].toFixed(1), cy: tip[1].toFixed(1), r: 5, fill: "var(--fig-output)" }),
          // Below, where no curve comes: those that go down again soon come back.
          text(said, fits ? tip[0] + 9 : right, Math.min(tip[1] + (fits ? 14 : 25), bottom - 5), { ...halo(), ...ink, "text-anchor": fits ? "start" : "end" }),
        ] : []),
      );
    },
  };
}
