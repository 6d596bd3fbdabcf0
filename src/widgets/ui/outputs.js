// Outputs of width 2 as points in a plane, each with its name; points that coincide share a label.
import { fmt, s } from "./dom.js";

/** Side of the plane in its own units. */
export const PLANE = 240;

/**
 * Draw outputs of width 2 as points with names, each with a ring where it was before.
 * @param {SVGElement} plane
 * @param {{ name: string, at: number[], from: number[] }[]} tokens
 * @param {number[]} box the ends of both axes
 */
export function drawOutputs(plane, tokens, [left, right, bottom, top]) {
  const span = 1.3 * Math.max(right - left, top - bottom, 1e-6);
  const to = (/** @type {number[]} */ [x, y]) => [((x - (left + right) / 2) / span + 0.5) * PLANE, (0.5 - (y - (bottom + top) / 2) / span) * PLANE];
  /** @type {{ name: string, at: number[], spot: number[] }[]} */
  const labels = [];
  for (const { name, at } of tokens) {
    const twin = labels.find((other) => Math.hypot(other.at[0] - at[0], other.at[1] - at[1]) < 1e-9);
    if (twin) twin.name = [...twin.name.split(" = "), name].sort().join(" = ");
    else labels.push({ name, at, spot: to(at) });
  }
  plane.replaceChildren(
    s("rect", { x: 0.5, y: 0.5, width: PLANE - 1, height: PLANE - 1, rx: 8, fill: "none", stroke: "var(--fig-line)" }),
    ...tokens.map(({ at, from }) => s("path", { d: `M ${to(from).join(" ")} L ${to(at).join(" ")}`, stroke: "var(--fig-output)", "stroke-opacity": 0.5 })),
    ...tokens.map(({ from }) => s("circle", { cx: to(from)[0], cy: to(from)[1], r: 9, fill: "none", stroke: "var(--fig-output)" })),
    ...tokens.map(({ at }) => s("circle", { cx: to(at)[0], cy: to(at)[1], r: 6, fill: "var(--fig-output)" })),
    ...labels.map((label) => {
      const [x, y] = label.spot;
      const half = 5 + 4 * label.name.length;
      // Above, below, right or left: wherever the nearest point is farthest.
      const room = [[0, -13], [0, 24], [half + 10, 5], [-half - 10, 5]].map(([right, down]) => {
        const [cx, cy] = [Math.min(Math.max(x + right, half), PLANE - half), y + down - 5];
        const gaps = labels.map(({ spot, name }) => (name === label.name ? 99 : Math.hypot((spot[0] - cx) / (half + 8), (spot[1] - cy) / 16)));
        return { cx, cy: cy + 5, gap: Math.min(1.5, ...gaps) };
      });
      const best = room.reduce((a, b) => (b.gap > a.gap ? b : a));
      return s("text", { x: best.cx.toFixed(1), y: best.cy.toFixed(1), "text-anchor": "middle", "font-size": 14, fill: "var(--fig-ink)" }, label.name);
    }),
  );
  plane.setAttribute("aria-label", `The outputs in a plane: ${labels.map(({ name, at }) => `${name} at ${fmt(at[0])}, ${fmt(at[1])}`).join("; ")}`);
}
