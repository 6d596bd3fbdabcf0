// Two published models side by side: layers as strips, the formula with what each changes, and the cache by length.
//
// For tests (data-part): first, second (selects), strip (svg, data-side; rects with data-kind), formula (dl, data-side;
// b with data-name, and data-lit where the other differs), length (slider), curves (svg: curve, data-side; handle),
// numbers (table: model, year, layers, bytes a token, cache), status.
import css from "./ui/anatomy.css";
import { grip, slider } from "./ui/controls.js";
import { draggable, fmt, h, onResize, renew, s, spot, standalone } from "./ui/dom.js";
import { figure } from "./ui/frame.js";
import { strip, table } from "./ui/tables.js";
import { KINDS, counted, differing, formula, held, size } from "./math/anatomy.js";
import { PUBLISHED } from "./math/published.js";

const SIDES = /** @type {const} */ (["first", "second"]);
const [SHORT, LONG] = [8, 20];
/** Of an arrow key, in doublings of the length; the slider has a finer one, so that two caches can be made equal. */
const STEP = 1 / 16;
const grouped = (/** @type {number} */ n) => String(n).replace(/\B(?=(\d{3})+$)/g, ",");
const text = (/** @type {any} */ props, /** @type {string} */ words) => s("text", { "font-size": 12, fill: "var(--fig-quiet)", ...props }, words);

/**
 * A layer as a bar: its height and its look tell the kind.
 * @param {string} kind
 * @param {number} x
 * @param {number} wide
 * @param {number} high
 * @param {number} [key] its place
 */
function bar(kind, x, wide, high, key = 0) {
  const at = (/** @type {number} */ top, /** @type {number} */ tall, /** @type {any} */ look = { fill: "var(--fig-ink)" }) =>
    s("rect", { "data-key": `${top}`, x: x.toFixed(2), y: (top * high).toFixed(2), width: wide.toFixed(2), height: (tall * high).toFixed(2), ...look });
  const line = { fill: "none", stroke: "var(--fig-ink)", "stroke-width": 1.2 };
  const drawn = {
    F: [at(0, 1)],
    W: [at(0.55, 0.45)],
    B: [at(0.55, 0.45, line)],
    S: [0, 0.38, 0.76].map((top) => at(top, 0.24)),
    P: [at(0, 0.24), at(0.38, 0.62)],
    L: [at(0.04, 0.92, line)],
    H: [at(0.04, 0.92, line), at(0.5, 0.46)],
    C: [at(0.8, 0.2)],
    X: [at(0.3, 0.4, line)],
    N: [at(0.94, 0.06)],
  }[kind] ?? [];
  return s("g", { "data-kind": kind, "data-key": key }, ...drawn);
}

export default figure({
  name: "anatomy",
  css,
  title: "Anatomy of a model",
  answer: '[data-part="curve"], [data-part="curves"] > g:not(:first-child)',
  keys: ["first", "second", "length"],
  setup({ model, body, say, set, signal }) {
    const names = Object.keys(PUBLISHED);
    const sides = SIDES.map((side) => {
      const options = names.map((name) => h("option", { value: name }, `${PUBLISHED[name].label} (${PUBLISHED[name].year})`));
      const pick = h("select", { "data-part": side, "aria-label": `${side} model`, on: { change: () => set({ [side]: pick.value }) } }, ...options);
      const layers = s("svg", { "data-part": "strip", "data-side": side, role: "img" });
      const kinds = h("div", { class: "attnlab-kinds" });
      const lines = h("dl", { class: "attnlab-anatomy", "data-part": "formula", "data-side": side });
      return { side, pick, layers, kinds, lines, column: h("div", {}, h("label", {}, side === "first" ? "A" : "B", pick), layers, kinds, lines) };
    });
    const chart = s("svg", { "data-part": "curves", style: "display: block; width: 100%; height: auto; margin-top: 0.2rem" });
    const to = (/** @type {number} */ power) => set({ length: Math.round(2 ** Math.min(Math.max(power, SHORT), LONG)) });
    const length = slider({ part: "length", label: "Tokens", limits: { min: SHORT, max: LONG, step: 1 / 64 }, onInput: to });
    // One for good: what is dragged stays where the pointer holds it.
    const handle = grip({ which: "length", limits: [SHORT, LONG], style: "cursor: ew-resize" });
    handle.setAttribute("aria-label", "Tokens");
    const [behind, before] = [s("g"), s("g", { "pointer-events": "none" })];
    chart.append(behind, handle, before);
    const numbers = strip("Table of numbers");
    const legend = h("p", { class: "attnlab-kinds", "data-part": "legend", style: "margin: 0.25rem 0 0" },
      h("span", {}, h("b", {}, "coloured"), ": not as in 2017"),
      h("span", {}, h("b", { "data-lit": true }, "underlined"), ": not as in the other model"));
    body.append(
      h("div", { class: "attnlab-pair" }, ...sides.map(({ column }) => column)),
      legend,
      chart,
      h("div", { class: "attnlab-row" }, length.row),
      h("details", {}, h("summary", {}, "The numbers as a table"), numbers),
    );
    length.row.style.cssText = "flex: 1; margin: 0";
    let wide = 0;
    const [left, right, high] = [62, 12, 160];
    /** Of the axis of bytes, in doublings: what these two hold. Lengths move nothing on it. */
    let [least, most] = [20, 40];
    const room = () => Math.max(Math.floor(body.clientWidth) || 640, 230);
    const x = (/** @type {number} */ power) => left + ((wide - left - right) * (power - SHORT)) / (LONG - SHORT);
    const y = (/** @type {number} */ bytes) => 8 + ((high - 30) * (most - Math.log2(Math.max(bytes, 1)))) / (most - least);
    onResize(body, signal, () => wide && wide !== room() && update());
    const dragged = (/** @type {PointerEvent} */ event) => to(SHORT + ((spot(chart, event)[0] - left) / (wide - left - right)) * (LONG - SHORT));
    draggable(handle, signal, dragged);
    handle.addEventListener("keydown", (event) => {
      const by = { ArrowRight: STEP, ArrowUp: STEP, ArrowLeft: -STEP, ArrowDown: -STEP, PageUp: 1, PageDown: -1, Home: -LONG, End: LONG }[/** @type {KeyboardEvent} */ (event).key];
      if (!by) return;
      event.preventDefault();
      to(Math.log2(Number(model.get("length"))) + by);
    });

    function read() {
      const chosen = SIDES.map((side) => {
        const name = String(model.get(side));
        if (!(name in PUBLISHED)) throw new Error(`${side} must be one of ${names.join(", ")}, got ${name}.`);
        return { name, ...PUBLISHED[name] };
      });
      const n = Number(model.get("length"));
      if (!(n >= 2 ** SHORT && n <= 2 ** LONG)) throw new Error(`length must be from ${2 ** SHORT} to ${2 ** LONG}, got ${n}.`);
      return { chosen, n };
    }

    function update() {
      const { chosen, n } = read();
      sides.forEach(({ pick, layers, kinds, lines }, at) => {
        const [own, other] = [chosen[at], chosen[1 - at]];
        pick.value = own.name;
        const [step, gap] = [480 / own.strip.length, 480 / own.strip.length > 5 ? 1.5 : 0.8];
        layers.setAttribute("viewBox", "0 0 480 34");
        layers.setAttribute("aria-label", `${own.strip.length} layers: ${counted(own).map(([kind, many]) => `${many} ${KINDS[kind]}`).join(", ")}`);
        renew(layers, ...[...own.strip].map((kind, i) => bar(kind, i * step + gap / 2, Math.max(step - gap, 1), 34, i)));
        const swatch = (/** @type {string} */ kind) => s("svg", { viewBox: "0 0 12 12", width: 12, height: 12, "aria-hidden": true, style: "display: inline; width: 12px; margin: 0" }, bar(kind, 1, 10, 12));
        kinds.replaceChildren(...counted(own).map(([kind, many]) => h("span", {}, swatch(kind), ` ${many} ${KINDS[kind]}`)));
        const lit = differing(own, other);
        lines.replaceChildren(
          ...formula(own).flatMap(({ what, tokens }) => [
            h("dt", {}, what),
            h("dd", {}, ...tokens.map(({ text, part }) => (part ? h("b", { "data-name": part, "data-lit": lit.has(part) }, text) : text))),
          ]),
        );
      });
      length.show(Math.log2(n), grouped(n));
      wide = room();
      draw(chosen, n);
      const rows = chosen.map((own) => [own.label, String(own.year), counted(own).map(([kind, many]) => `${many} ${KINDS[kind]}`).join(", "), grouped(Math.round(held(own, 2 ** LONG + 1) - held(own, 2 ** LONG))), size(held(own, n))]);
      numbers.replaceChildren(table("numbers", ["checkpoint", "year", "layers", "bytes a token, in the end", `cache for ${grouped(n)} tokens`], rows));
      const [a, b] = chosen.map((own) => held(own, n));
      const [more, less] = a >= b ? [0, 1] : [1, 0];
      const ratio = Math.max(a, b) / Math.max(Math.min(a, b), 1);
      // A model with a table of positions can't read beyond it.
      const would = chosen.map((own) => n > (own.table ?? n));
      const verbs = chosen.map((own, at) => (would[at] ? `, which has ${grouped(own.table ?? 0)} positions, would hold` : at && !would[0] ? "" : " holds"));
      say(`${grouped(n)} tokens: ${chosen[0].label}${verbs[0]} ${size(a)}, ${chosen[1].label}${verbs[1]} ${size(b)}${ratio > 1.005 ? `: ${"AB"[more]} ${would.some(Boolean) ? "would have" : "has"} ${fmt(ratio, ratio < 10 ? (ratio < 1.1 ? 2 : 1) : 0)} times as much as ${"AB"[less]}` : ", as much"}.`);
    }

    /**
     * Both caches over the length.
     * @param {import("./math/anatomy.js").Model[]} chosen
     * @param {number} n
     */
    function draw(chosen, n) {
      chart.setAttribute("viewBox", `0 0 ${wide} ${high}`);
      const ends = chosen.flatMap((own) => [SHORT, LONG].map((power) => Math.log2(Math.max(held(own, 2 ** power), 1))));
      [least, most] = [Math.floor(Math.min(...ends)), Math.ceil(Math.max(...ends))];
      const shown = Array.from({ length: most - least + 1 }, (_, i) => least + i).filter((power) => power % 5 === 0);
      const drawn = shown.map((power) => s("g", { "data-key": power, transform: `translate(0 ${y(2 ** power)})` }, s("path", { d: `M${left} 0H${wide - right}`, stroke: "var(--fig-line)" }), text({ x: left - 6, y: 4, "text-anchor": "end" }, `${2 ** (power % 10)} ${["B", "KiB", "MiB", "GiB", "TiB"][Math.floor(power / 10)]}`)));
      const marks = wide < 420 ? [8, 14, 20] : [8, 11, 14, 17, 20];
      drawn.push(...marks.map((power) => text({ x: x(power), y: high - 6, "text-anchor": power === LONG ? "end" : "middle" }, power < 10 ? String(2 ** power) : power < 20 ? `${2 ** (power - 10)}K` : "1M tokens")));
      const steps = Array.from({ length: 97 }, (_, i) => SHORT + (i * (LONG - SHORT)) / 96);
      const at = Math.log2(n);
      const stem = s("path", { d: `M${x(at)} 8V${high - 22}`, stroke: "var(--fig-query)", "stroke-width": 2 });
      const [a, b] = chosen.map((own) => y(held(own, n)));
      chosen.forEach((own, side) => {
        const d = steps.map((power, i) => `${i ? "L" : "M"}${x(power).toFixed(1)} ${y(held(own, 2 ** power)).toFixed(1)}`).join("");
        drawn.push(s("path", { d, fill: "none", stroke: "var(--fig-ink)", "stroke-width": 2, "stroke-dasharray": side ? "6 4" : "none", "data-part": "curve", "data-side": SIDES[side], "data-key": SIDES[side] }));
      });
      const label = (/** @type {number} */ side) => {
        const [own, other] = side ? [b, a] : [a, b];
        const above = own < other || (own === other && !side);
        // Curves only rise: above to the left of its dot, or below to the right, a label is clear of its own curve.
        // Where there is no room for that, it clears it at its other end.
        const flip = above ? x(at) > left + 76 : x(at) > wide - 100;
        const end = y(held(chosen[side], 2 ** (at + ((flip ? -74 : 74) * (LONG - SHORT)) / (wide - left - right))));
        const away = above ? Math.min(0, end - own) - 7 : Math.max(0, end - own) + 17;
        const height = Math.min(Math.max(own + away, 12), high - 26);
        return text({ "data-key": side, transform: `translate(${x(at) + (flip ? -9 : 9)} ${height})`, "text-anchor": flip ? "end" : "start", "font-size": 13, fill: "var(--fig-ink)", stroke: "var(--fig-paper)", "stroke-width": 4, "paint-order": "stroke" }, `${"AB"[side]} ${size(held(chosen[side], n))}`);
      };
      const dots = [a, b].map((height, side) => s("circle", { "data-key": side, cx: x(at), cy: height, r: 4.5, fill: "var(--fig-query)" }));
      renew(handle, s("rect", { x: x(at) - 14, y: 0, width: 28, height: high - 20, fill: "transparent" }), stem, ...dots);
      for (const [key, value] of Object.entries({ "aria-valuenow": at.toFixed(2), "aria-valuetext": `${grouped(n)} tokens` })) handle.setAttribute(key, value);
      renew(behind, ...drawn);
      renew(before, label(0), label(1));
    }

    return {
      update,
      pytorch() {
        const { chosen, n } = read();
        const written = chosen.map(({ label, cache }) => `    "${label}": [${cache.map((cost) => `[${cost.join(", ")}]`).join(", ")}],`).join("\n");
        return `import torch\n\n# kinds of layers: how many, bytes a token, bytes a token within the window, the window, bytes of state\nmodels = {\n${written}\n}\nn = ${n}\nfor name, kinds in models.items():\n    layers, grows, within, window, state = torch.tensor(kinds, dtype=torch.float64).T\n    held = layers * (grows * n + within * window.clamp(max=n) + state)\n    print(name, round(held.sum().item() / 2**20, 1), "MiB")\n`;
      },
      svg: () => standalone(chart),
    };
  },
});
