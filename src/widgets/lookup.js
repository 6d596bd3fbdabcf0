// Soft lookup: drag a query and the keys; the output is a weighted mean, and stays among the values. Where the page wants that
// and nothing else (`only`), there is the plane alone.
//
// For tests (data-part): plane (svg), handle (g, role slider; data-which "query" or 0..n-1), score, weigh (radio
// groups), temperature (range input), bars (where there is room: name, bar and number of each weight), share (tspans, beside
// the names where there are no bars), output (g; data-off "true" where it lies beyond the plane: then it is an
// arrow at the edge, on the ray to it, named with how far away it is), numbers (table: point, x, y, score, weight), status.
import { grip, labelled, temperatureSlider } from "./ui/controls.js";
import { choices, draggable, fmt, h, halo, renew, s, select, spot, standalone } from "./ui/dom.js";
import { figure } from "./ui/frame.js";
import css from "./ui/lookup.css";
import { strip, table } from "./ui/tables.js";
import { hull, inside, mix, score, weigh } from "./math/lookup.js";

/** @typedef {import("./math/lookup.js").Point} Point */

const REACH = 3; // the plane goes from -3 to 3
const SIZE = 360;
const STEP = 0.1;
const LINE = 16; // of a name
const EDGE = 30; // around the plane, for points at its limits and their names
/** Where it stands alone, words take more of the plane, and there is room to go out beyond them. */
const CLOSE = 2.4;
/** From where to where weights that are no shares are drawn, whatever they are: so one sees their size run away. */
const AXES = /** @type {Record<string, number[]>} */ ({ relu: [0, 2], none: [-8, 8] });

/** Places in a plane that goes from -reach to reach. @param {number} reach */
function plot(reach) {
  const unit = (SIZE - 2 * EDGE) / (2 * reach);
  const px = (/** @type {number} */ x) => EDGE + (x + reach) * unit;
  const py = (/** @type {number} */ y) => EDGE + (reach - y) * unit;
  const whole = Math.floor(reach);
  const each = Array.from({ length: 2 * whole + 1 }, (_, i) => i - whole);
  return {
    px, py, reach,
    /** Whole numbers across and up: they show how far the plane goes, which has no frame. */
    grid: each.flatMap((x) => each.map((y) => `M${px(x)} ${py(y)}h.01`)).join(""),
    clamp: (/** @type {number} */ x) => Math.round(Math.min(Math.max(x, -reach), reach) * 100) / 100,
    from: (/** @type {[number, number]} */ [x, y]) => /** @type {Point} */ ([(x - EDGE) / unit - reach, reach - (y - EDGE) / unit]),
  };
}

export default figure({
  name: "lookup",
  title: "Soft lookup",
  keys: ["query", "values", "names", "score", "weights", "temperature"],
  css,
  setup({ model, body, say, set, signal }) {
    const only = Boolean(model.get("only"));
    const far = [...model.get("values"), model.get("query")].flat().map(Math.abs);
    const { px, py, reach, grid, clamp, from } = plot(only ? Math.max(CLOSE, ...far) : REACH);
    const kinds = choices({
      label: "Score",
      part: "score",
      value: model.get("score"),
      options: [
        { value: "dot", text: "dot product" },
        { value: "distance", text: "closeness" },
      ],
      onChange: (value) => set({ score: value }),
    });
    const ways = choices({
      label: "Weights",
      part: "weigh",
      value: model.get("weights"),
      options: ["softmax", "sparsemax", "relu", "none"].map((value) => ({ value, text: value })),
      onChange: (value) => set({ weights: value }),
    });
    const heat = temperatureSlider((temperature) => set({ temperature }));
    const plane = s("svg", {
      viewBox: `0 0 ${SIZE} ${SIZE}`,
      role: "group",
      "aria-label": "The plane of keys and values; each point can be dragged, or moved with the arrow keys",
      "data-part": "plane",
    });
    const numbers = strip("Table of numbers");
    const bars = h("div", { class: "attnlab-shares", "data-part": "bars" });
    const settings = [labelled("Score by", kinds), labelled("Weights by", ways), heat.row];
    body.append(h("div", { class: `attnlab-lookup${only ? " is-alone" : ""}` }, plane, h("div", {}, ...(only ? [] : settings), bars)), only ? "" : h("details", {}, h("summary", {}, "The numbers as a table"), numbers));
    /** @type {SVGElement[]} */
    let handles = [];
    const area = s("polygon", { fill: "var(--fig-value)", "fill-opacity": 0.12, stroke: "var(--fig-value)", "stroke-opacity": 0.5 });
    const lines = s("g", {});
    const dot = s("circle", { r: 9, fill: "var(--fig-output)" });
    const arrow = s("path", { d: "M -10 -9 L 14 0 L -10 9 Z", fill: "var(--fig-output)" });
    const ring = s("circle", { r: 13, fill: "none", stroke: "var(--fig-output)", "stroke-width": 4 });
    const output = s("g", { "data-part": "output", "data-key": "", "pointer-events": "none" });
    const outputName = s("text", { "data-key": "", fill: "var(--fig-output)", "font-size": 14, y: 24, "text-anchor": "middle", "pointer-events": "none", ...halo() }, "output");
    /** A second line of its name, where it lies beyond the plane. */
    const away = /** @type {SVGElement} */ (outputName.cloneNode());

    /** @param {string | number} which */
    const at = (which) => /** @type {Point} */ (which === "query" ? model.get("query") : model.get("values")[which]);

    /**
     * @param {string | number} which
     * @param {number} x
     * @param {number} y
     */
    function moveTo(which, x, y) {
      const point = [clamp(x), clamp(y)];
      if (which === "query") set({ query: point });
      else set({ values: model.get("values").map((/** @type {Point} */ p, /** @type {number} */ i) => (i === which ? point : p)) });
    }

    /**
     * @param {string | number} which
     * @param {string} name
     */
    function handle(which, name) {
      const role = which === "query" ? "query" : "value";
      const shape =
        which === "query"
          ? s("path", { d: "M 0 -11 L 11 0 L 0 11 L -11 0 Z", fill: `var(--fig-${role})` })
          : s("circle", { r: 9, fill: `var(--fig-${role})` });
      const g = grip(
        { which, limits: [-reach, reach], style: "cursor: grab" },
        s("circle", { r: 20, fill: "transparent" }), // room for a thumb
        shape,
        s("text", { y: -15, "text-anchor": "middle", "font-size": 14, fill: "var(--fig-ink)", ...halo() }, name, which !== "query" ? s("tspan", { "data-part": "share", fill: "var(--fig-quiet)", style: "font-variant-numeric: tabular-nums" }) : ""),
      );
      draggable(g, signal, (event) => {
        moveTo(which, ...from(spot(plane, event)));
      });
      g.addEventListener("keydown", (event) => {
        const key = /** @type {KeyboardEvent} */ (event).key;
        const step = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[key];
        if (!step) return;
        event.preventDefault();
        const [x, y] = at(which);
        moveTo(which, x + STEP * step[0], y + STEP * step[1]);
      });
      return g;
    }

    let letter = 0; // half of its width; asked for once a drawing, before anything is moved: each question after that lays out the page
    const half = (/** @type {Element} */ text) => letter * Math.max(...[text, text === outputName ? away : text].map((line) => (line.textContent ?? "").length));
    /**
     * Where a name begins to the right of its point, so that it stays inside the drawing.
     * @param {Element} text
     * @param {number} at where its point is
     */
    const inward = (text, at) => Math.min(Math.max(at, half(text)), SIZE - half(text)) - at;

    /**
     * Put the names of what moves most where they cover no other name and no point: the output's below it, the query's above,
     * unless something is there.
     * @param {Point[]} points those of the keys, of the query, and of the output, in the drawing
     */
    function putNames(points) {
      const texts = [...handles.map((g) => /** @type {Element} */ (g.lastElementChild)), outputName];
      const box = (/** @type {number} */ i, x = inward(texts[i], points[i][0]), y = -15) => {
        const [left, base] = [points[i][0] + x - half(texts[i]), points[i][1] + y];
        const second = texts[i] === outputName && away.textContent ? LINE : 0;
        return [left, base - 12 - (y < 0 ? second : 0), left + 2 * half(texts[i]), base + 4 + (y < 0 ? 0 : second)];
      };
      const marks = points.map(([x, y]) => [x - 10, y - 10, x + 10, y + 10]);
      const shared = (/** @type {number[]} */ a, /** @type {number[]} */ b) => Math.max(Math.min(a[2], b[2]) - Math.max(a[0], b[0]), 0) * Math.max(Math.min(a[3], b[3]) - Math.max(a[1], b[1]), 0);
      // A key's name goes below its point where the query or the output stands on it.
      const heights = handles.slice(0, -1).map((_, i) => {
        const [above, below] = [-15, 24].map((y) => marks.slice(-2).reduce((sum, other) => sum + shared(box(i, undefined, y), other), 0));
        return above > 8 && below < above && points[i][1] + 28 < SIZE ? 24 : -15;
      });
      heights.forEach((y, i) => texts[i].setAttribute("y", String(y)));
      const taken = [...marks, ...heights.map((y, i) => box(i, undefined, y))];
      const places = (/** @type {number} */ i, /** @type {number[]} */ ...heights) => {
        const away = half(texts[i]) + 16;
        return [...heights.map((y) => [inward(texts[i], points[i][0]), y]), [away, 5], [-away, 5]].map(([x, y]) => {
          const at = box(i, x, y);
          const out = Math.max(-at[0], at[2] - SIZE, -at[1], at[3] - SIZE, 0);
          return { x, y, at, cost: 100 * out + taken.reduce((sum, other) => sum + Math.max(shared(at, other) - 8, 0), 0) };
        });
      };
      const last = points.length - 1;
      const pairs = places(last, 24, -15).flatMap((one) => places(last - 1, -15, 24).map((two) => ({ both: [two, one], cost: one.cost + two.cost + 5 * shared(one.at, two.at) })));
      pairs.reduce((a, b) => (b.cost < a.cost ? b : a)).both.forEach(({ x, y }, i) => {
        texts[last - 1 + i].setAttribute("x", x.toFixed(2));
        texts[last - 1 + i].setAttribute("y", String(y));
      });
      const y = Number(outputName.getAttribute("y"));
      away.setAttribute("x", outputName.getAttribute("x") ?? "");
      away.setAttribute("y", String(y < 0 ? y - LINE : y + LINE));
    }

    function build() {
      const names = /** @type {string[]} */ (model.get("names"));
      handles = [...names.map((name, i) => handle(i, name)), handle("query", "query")];
      const axes = s("path", { d: `M 0 ${SIZE / 2} H ${SIZE} M ${SIZE / 2} 0 V ${SIZE}`, stroke: "var(--fig-line)" });
      const dots = s("path", { d: grid, stroke: "var(--fig-line)", "stroke-width": 3.5, "stroke-linecap": "round" });
      plane.replaceChildren(dots, axes, area, lines, ...handles, output, outputName);
    }

    function read() {
      const values = /** @type {Point[]} */ (model.get("values"));
      const names = model.get("names");
      const good = (/** @type {any} */ p) => Array.isArray(p) && p.length === 2 && p.every(Number.isFinite);
      if (!Array.isArray(values) || !values.length || !values.every(good) || values.length !== names.length) {
        throw new Error("values must be points (x, y), one for each name.");
      }
      if (!good(model.get("query"))) throw new Error("query must be a point (x, y).");
      const temperature = Number(model.get("temperature"));
      if (!(temperature > 0)) throw new Error(`temperature must be positive, got ${model.get("temperature")}.`);
      const query = /** @type {Point} */ (model.get("query"));
      const scores = score(query, values, model.get("score"));
      const weights = weigh(scores, model.get("weights"), temperature);
      const out = mix(weights, values);
      return { query, values, names, temperature, scores, weights, out, corners: hull(values) };
    }

    function update() {
      const { query, values, names, temperature, scores, weights, out, corners } = read();
      if (handles.length !== names.length + 1) build();
      letter = 0.3 * parseFloat(getComputedStyle(outputName).fontSize);
      select(kinds, model.get("score"));
      select(ways, model.get("weights"));
      heat.show(temperature);
      handles.forEach((g, i) => {
        const which = i < names.length ? i : "query";
        const [x, y] = at(which);
        g.setAttribute("transform", `translate(${px(x)} ${py(y)})`);
        const share = g.querySelector("tspan");
        if (share) share.textContent = ` ${fmt(weights[i])}`;
        /** @type {Element} */ (g.lastElementChild).setAttribute("x", String(inward(/** @type {Element} */ (g.lastElementChild), px(x))));
        const name = which === "query" ? "query" : `key and value ${names[i]}`;
        g.setAttribute("aria-label", name);
        g.setAttribute("aria-valuenow", String(x));
        g.setAttribute("aria-valuetext", `x ${fmt(x)}, y ${fmt(y)}${share ? `, share${share.textContent}` : ""}`);
      });
      area.setAttribute("points", corners.map(([x, y]) => `${px(x)},${py(y)}`).join(" "));
      const axis = AXES[model.get("weights")];
      const [low, high] = axis ?? [0, 1];
      const seen = weights.map((weight) => Math.min(Math.max(weight, low), high));
      renew(
        lines,
        ...values.map(([x, y], i) =>
          s("line", {
            "data-key": i,
            x1: px(x), y1: py(y), x2: px(query[0]), y2: py(query[1]),
            stroke: weights[i] < 0 ? "var(--fig-quiet)" : "var(--fig-query)",
            "stroke-dasharray": weights[i] < 0 ? "3 3" : "none",
            "stroke-width": (0.5 + (8 * Math.abs(seen[i])) / high).toFixed(2),
            "stroke-opacity": Math.abs(weights[i]) < 1e-9 ? 0.08 : 0.45,
          }),
        ),
      );
      // An output beyond the plane is an arrow at its edge that points along the ray to it.
      const beyond = Math.max(Math.abs(out[0]), Math.abs(out[1])) / reach;
      const off = beyond > 1;
      const shown = off ? out.map((v) => v / beyond) : out;
      const turn = off ? (-180 / Math.PI) * Math.atan2(out[1], out[0]) : 0; // the page's y points down
      output.setAttribute("transform", `translate(${px(shown[0])} ${py(shown[1])}) rotate(${turn.toFixed(2)})`);
      output.setAttribute("data-off", String(off));
      const points = [...values, query, shown].map(([x, y]) => /** @type {Point} */ ([px(x), py(y)]));
      const [across, down] = points[points.length - 1];
      const covers = points.slice(0, -1).some(([x, y]) => Math.hypot(x - across, y - down) < 14);
      output.replaceChildren(off ? arrow : covers ? ring : dot);
      away.textContent = off ? `${fmt(Math.hypot(...out), 1)} away` : "";
      if (off) plane.append(away);
      else away.remove();
      for (const text of [outputName, away]) text.setAttribute("transform", `translate(${px(shown[0])} ${py(shown[1])})`);
      putNames(points);
      const largest = Math.max(...weights);
      const span = high - low;
      bars.style.setProperty("--zero", String(-low / span));
      renew(
        bars,
        h("div", { "data-key": "head", class: "attnlab-label" }, `Weight of each${axis ? `, from ${fmt(low, 0)} to ${high}` : ""}`),
        ...weights.map((weight, i) => {
          const from = (Math.min(seen[i], 0) - low) / span;
          const past = axis && seen[i] !== weight ? " is-past" : "";
          const bar = h("i", { class: `attnlab-mark${weight < 0 ? " is-less" : ""}${past}`, "data-key": "bar", style: `--from: ${from.toFixed(4)}; --share: ${(Math.abs(seen[i]) / span).toFixed(4)}` });
          return h("div", { "data-key": i, class: weight === largest ? "is-lead" : "" }, h("span", { "data-key": "name" }, names[i]), h("span", { "data-key": "room" }, bar, fmt(weight)));
        }),
      );
      const sum = weights.reduce((a, b) => a + b, 0);
      numbers.replaceChildren(
        table("numbers", ["point", "x", "y", "score", "weight"], [
          ["query", ...query.map((x) => x.toFixed(2)), "", ""],
          ...values.map((p, i) => [names[i], ...p.map((x) => x.toFixed(2)), scores[i].toFixed(4), weights[i].toFixed(4)]),
          ["output", ...out.map((x) => x.toFixed(4)), "", sum.toFixed(4)],
        ]),
      );
      const where = inside(out, corners) ? "inside the convex hull of the values" : "outside the convex hull of the values";
      const most = weights.indexOf(largest);
      const place = off ? `, at (${out.map((v) => fmt(v)).join(", ")}), beyond the edge of the plane` : "";
      const ends = only ? "" : ` The output is ${where}${place}.`; // who meets a mean first knows of no hull
      say(`The weights sum to ${fmt(sum)}; the largest is ${fmt(weights[most])}, of ${names[most]}.${ends}`);
    }

    /** @returns {string} */
    function pytorch() {
      const t = (/** @type {string} */ key) => `torch.tensor(${JSON.stringify(model.get(key))}, dtype=torch.float64)`;
      const temperature = model.get("temperature");
      const scores = model.get("score") === "dot" ? "values @ query" : "-(values - query).square().sum(-1) / 2";
      const ways = /** @type {Record<string, string>} */ ({
        softmax: "scores.softmax(z)", sparsemax: "scores.sparsemax(z)", relu: "scores.relu(z)", none: "z",
      });
      return `import torch

from attnlab import scores

query = ${t("query")}
values = ${t("values")}  # the keys too: ${model.get("names").join(", ")}
z = (${scores}) / ${temperature}
weights = ${ways[model.get("weights")]}
print(weights)
print(weights @ values)
`;
    }

    return { update, pytorch, svg: () => standalone(plane) };
  },
});
