// The plane of all designs: what it costs across, how good it can be upwards, and the edge of what is painted small.
import { text } from "./curves.js";
import { fmt, renew, s } from "./dom.js";
import { FRONTIER } from "../math/frontier.js";
import { named } from "../math/design.js";

/** @typedef {import("../math/board.js").Entry} Entry */

const [LEFT, RIGHT, TOP, FOOT] = [50, 16, 26, 38];
const HIGH = { wide: 230, narrow: 160 };
/** What is wrong of all, in per cent, at the axis's ends, and pairs a word: both are stretched. */
const [WORST, LEAST, CHEAP, DEAR] = [40, 0.3, 0.95, 10];
const ACROSS = [1, 2, 3, 4, 6, 9];
const UP = [60, 75, 90, 95, 98, 99, 99.6];

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
      const y = (/** @type {number} */ accuracy) => {
        const share = Math.log(WORST / Math.max(100 - accuracy, LEAST)) / Math.log(WORST / LEAST);
        return bottom - high * Math.min(Math.max(share, 0), 1);
      };
      if (drawn !== wide) {
        drawn = wide;
        svg.setAttribute("viewBox", `0 0 ${wide} ${bottom + FOOT}`);
        const edge = FRONTIER.map(([, pairs, best], i) => `${i ? `H${x(pairs).toFixed(1)}V` : `M${x(pairs).toFixed(1)} `}${y(best).toFixed(1)}`).join("");
        still.replaceChildren(
          text("Best possible accuracy", 0, TOP - 11, { fill: "var(--fig-ink)", "font-weight": 600 }),
          ...UP.flatMap((p) => [s("path", { d: `M${LEFT} ${y(p).toFixed(1)}H${wide - RIGHT}`, stroke: "var(--fig-line)", "stroke-opacity": 0.6 }), text(`${p} %`, LEFT - 5, y(p) + 4, { "text-anchor": "end" })]),
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
      const low = py > bottom - 30; // where the edge begins: there above it, else below
      const ring = [];
      if (Number.isFinite(right)) {
        const at = Math.min(y(right), bottom - 8); // a run that is lower waits at the foot, with an arrow
        ring.push(
          s("path", { d: `M${px.toFixed(1)} ${py.toFixed(1)}V${at.toFixed(1)}`, stroke: "var(--fig-output)", "stroke-width": 2, "stroke-dasharray": "2 3" }),
          s("circle", { cx: px.toFixed(1), cy: at.toFixed(1), r: 6, fill: "var(--fig-paper)", stroke: "var(--fig-output)", "stroke-width": 2.5, "data-part": "trained" }),
          ...(right < 100 - WORST ? [s("path", { d: `M${px.toFixed(1)} ${at - 3}v6m-2.5-2.5l2.5 2.5 2.5-2.5`, fill: "none", stroke: "var(--fig-output)", "stroke-width": 1.5 })] : []),
        );
      }
      const halo = { stroke: "var(--fig-paper)", "stroke-width": 4, "paint-order": "stroke", "stroke-linejoin": "round" };
      renew(
        moving,
        ...others,
        ...ring,
        dot(waiting, { "data-part": "now" }),
        text(label, px + (end ? -11 : low ? -2 : 11), Math.max(py + (low ? (wide < 400 ? -40 : -21) : 14), TOP + 8), { ...halo, "text-anchor": end ? "end" : "start", fill: "var(--fig-query)", "font-weight": 700 }),
      );
      svg.setAttribute("aria-label", `Designs by price and best possible accuracy. This one: ${fmt(entry.pairs, 2)} pairs a word, ${label}. ${others.length} others were tried. The edge of all small designs goes from 74.5 % for 1 pair to 99.6 % for 3.7.`);
    },
  };
}
