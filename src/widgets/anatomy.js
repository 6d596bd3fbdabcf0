// Two published models side by side: layers as strips, what they keep by length and as two bars on one scale, what differs.
//
// For tests (data-part): first, second (selects), strip (svg, data-side; rects with data-kind), curves (svg: curve, data-side; handle;
// crossing, data-amount), length (slider), memory (svg: bar, data-side, data-amount; size (texts, data-side); factor (text); tick (texts)),
// differs (fold of: formula (dl, data-side; b with data-name, and data-lit where the other differs), legend),
// numbers (table: model, year, layers, bytes a token, cache), status.
import folds from "./ui/folds.css";
import own from "./ui/anatomy.css";
import { grip, slider } from "./ui/controls.js";
import { draggable, fmt, h, halo, onResize, renew, s, spot, standalone } from "./ui/dom.js";
import { figure } from "./ui/frame.js";
import { LAYERS } from "./ui/layers.js";
import { strip, table } from "./ui/tables.js";
import { KINDS, brief, counted, crossings, differing, formula, held, size, ticks } from "./math/anatomy.js";
import { PUBLISHED } from "./math/published.js";

const SIDES = /** @type {const} */ (["first", "second"]);
/** As two runs have them elsewhere. */
const INK = "var(--fig-ink)";
const HUES = ["var(--fig-query)", "var(--fig-accent)"];
const [SHORT, LONG] = [8, 20];
/** Of an arrow key, in doublings of the length; the slider has a finer one, so that two caches can be made equal. */
const STEP = 1 / 16;
const grouped = (/** @type {number} */ n) => n.toLocaleString("en");
const text = (/** @type {any} */ props, /** @type {(string | Node)[]} */ ...words) => s("text", { "font-size": 12, fill: "var(--fig-quiet)", ...props }, ...words);

/**
 * A layer as a bar: its height and its look tell the kind.
 * @param {string} kind
 * @param {number} x
 * @param {number} wide
 * @param {number} high
 * @param {number} [key] its place
 */
function bar(kind, x, wide, high, key = 0) {
  const drawn = (LAYERS[kind] ?? []).map(([top, tall, hollow]) =>
    s("rect", {
      "data-key": `${top}`, x: x.toFixed(2), y: (top * high).toFixed(2), width: wide.toFixed(2), height: (tall * high).toFixed(2),
      ...(hollow ? { fill: "none", stroke: INK, "stroke-width": 1.2 } : { fill: INK }),
    }));
  return s("g", { "data-kind": kind, "data-key": key }, ...drawn);
}

/** How many layers of each kind, in words. @param {import("./math/anatomy.js").Model} model */
const layersOf = (model) => counted(model).map(([kind, many]) => `${many} ${KINDS[kind]}`).join(", ");
/** A number in the drawing. */
const BOLD = { "font-size": 13.5, "font-weight": 650, fill: INK, ...halo() };
/** A model's letter. @param {number} side @param {any} props */
const letter = (side, props) => text({ "font-size": 13, "font-weight": 700, fill: HUES[side], ...props }, "AB"[side]);

export default figure({
  name: "anatomy",
  css: folds + own,
  title: "Anatomy of a model",
  // Covered it shows what one of them holds: which holds less of a short text, too, is asked.
  answer: '.attnlab-memory :is([data-side="second"], [data-key="1"], [data-part="factor"])',
  keys: ["first", "second", "length"],
  setup({ model, body, say, set, signal }) {
    const names = Object.keys(PUBLISHED);
    const sides = SIDES.map((side, at) => {
      const options = names.map((name) => h("option", { value: name }, `${PUBLISHED[name].label} (${PUBLISHED[name].year})`));
      const pick = h("select", { "data-part": side, "aria-label": `${side} model`, on: { change: () => set({ [side]: pick.value }) } }, ...options);
      const layers = s("svg", { "data-part": "strip", "data-side": side, role: "img", viewBox: "0 0 480 34" });
      const kinds = h("div", { class: "attnlab-kinds" });
      const lines = h("dl", { class: "attnlab-anatomy", "data-part": "formula", "data-side": side });
      const name = h("b", { style: `color: ${HUES[at]}` }, "AB"[at]);
      const called = h("span");
      return { side, pick, layers, kinds, lines, called, column: h("div", {}, h("label", {}, name, pick), layers, kinds), changed: h("div", {}, name.cloneNode(true), " ", called, lines) };
    });
    const memory = s("svg", { "data-part": "memory", class: "attnlab-memory", role: "img" });
    const chart = s("svg", { "data-part": "curves", class: "attnlab-memory" });
    /** Whether the marks stay: the length is moved, or the drawing is only laid out anew. Reset takes them away. */
    let goesOn = false;
    const to = (/** @type {number} */ power) => ((goesOn = true), set({ length: Math.round(2 ** Math.min(Math.max(power, SHORT), LONG)) }));
    const length = slider({ part: "length", label: "Tokens", limits: { min: SHORT, max: LONG, step: 1 / 64 }, role: "ink", onInput: to });
    // One for good: what is dragged stays where the pointer holds it.
    const handle = grip({ which: "length", limits: [SHORT, LONG], style: "cursor: ew-resize" });
    handle.setAttribute("aria-label", "Tokens");
    const [behind, before] = [s("g"), s("g", { "pointer-events": "none" })];
    chart.append(behind, handle, before);
    const numbers = strip("Table of numbers");
    const legend = h("p", { class: "attnlab-kinds", "data-part": "legend" },
      h("span", {}, h("b", {}, "bold"), ": not as in 2017"),
      h("span", {}, h("b", { "data-lit": true }, "underlined"), ": not as in the other"));
    body.append(
      h("div", { class: "attnlab-pair" }, ...sides.map(({ column }) => column)),
      chart,
      length.row,
      memory,
      h("div", { class: "attnlab-row attnlab-folds" },
        h("details", { "data-part": "differs" }, h("summary", {}, "What differs"), h("div", { class: "attnlab-pair" }, ...sides.map(({ changed }) => changed)), legend),
        h("details", {}, h("summary", {}, "Numbers"), numbers)),
    );
    let wide = 0;
    let high = 0;
    const [left, right] = [58, 18];
    /** Of these two, between which lengths the hand has been: where they cross is marked once it has passed. */
    let been = /** @type {[string, number[]]} */ (["", []]);
    /** Of the axis of bytes, in doublings: what these two hold. Lengths move nothing on it. */
    let [least, most] = [20, 40];
    const room = () => Math.max(Math.floor(body.clientWidth) || 640, 230);
    const x = (/** @type {number} */ power) => left + ((wide - left - right) * (power - SHORT)) / (LONG - SHORT);
    const y = (/** @type {number} */ bytes) => 20 + ((high - 42) * (most - Math.log2(Math.max(bytes, 1)))) / (most - least);
    onResize(body, signal, () => wide && wide !== room() && ((goesOn = true), update()));
    const dragged = (/** @type {PointerEvent} */ event) => to(SHORT + ((spot(chart, event)[0] - left) / (wide - left - right)) * (LONG - SHORT));
    draggable(handle, signal, dragged);
    // The line comes to where one presses; a finger that moves there scrolls the page.
    draggable(chart, signal, dragged, { area: true });
    chart.addEventListener("click", (event) => event.ctrlKey || dragged(/** @type {PointerEvent} */ (event)), { signal });
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
      sides.forEach(({ pick, layers, kinds, lines, called }, at) => {
        const [own, other] = [chosen[at], chosen[1 - at]];
        pick.value = own.name;
        called.textContent = own.label;
        const step = 480 / own.strip.length;
        const gap = step > 5 ? 1.5 : 0.8;
        layers.setAttribute("aria-label", `${own.strip.length} layers: ${layersOf(own)}`);
        renew(layers, ...[...own.strip].map((kind, i) => bar(kind, i * step + gap / 2, Math.max(step - gap, 1), 34, i)));
        const swatch = (/** @type {string} */ kind) => s("svg", { viewBox: "0 0 12 12", width: 12, height: 12, "aria-hidden": true, style: "display: inline; width: 12px; margin: 0" }, bar(kind, 1, 10, 12));
        kinds.replaceChildren(
          ...counted(own).map(([kind, many]) => h("span", {}, swatch(kind), ` ${many} ${KINDS[kind]}`)),
          ...(own.table ? [h("span", {}, `reads ${grouped(own.table)} tokens at most`)] : []),
        );
        const lit = differing(own, other);
        lines.replaceChildren(
          ...formula(own).flatMap(({ what, words, tokens }) => [
            h("dt", {}, what),
            h("dd", {}, words && h("span", {}, words), ...tokens.map(({ text, part }) => (part ? h("b", { "data-name": part, "data-lit": lit.has(part) }, text) : text))),
          ]),
        );
      });
      length.show(Math.log2(n), grouped(n));
      wide = room();
      high = wide < 420 ? 200 : 240;
      const pair = chosen.map(({ name }) => name).join();
      const [those, [from, to]] = been;
      been = [pair, goesOn && those === pair ? [Math.min(from, n), Math.max(to, n)] : [n, n]];
      goesOn = false;
      draw(chosen, n);
      const rows = chosen.map((own) => [own.label, String(own.year), layersOf(own), grouped(Math.round(held(own, 2 ** LONG + 1) - held(own, 2 ** LONG))), size(held(own, n))]);
      numbers.replaceChildren(table("numbers", ["model", "year", "layers", "bytes a token, in the end", `cache for ${grouped(n)} tokens`], rows));
      const [a, b] = chosen.map((own) => held(own, n));
      const more = Number(a < b);
      const ratio = Math.max(a, b) / Math.max(Math.min(a, b), 1);
      // A model with a table of positions can't read beyond it.
      const would = chosen.map((own) => n > (own.table ?? n));
      const verbs = chosen.map((own, at) => (would[at] ? `, which has ${grouped(own.table ?? 0)} positions, would hold` : at && !would[0] ? "" : " holds"));
      const holds = would.some(Boolean) ? "would hold" : "holds";
      const times = ratio > 1.005 ? ["AB"[more], ` ${holds} `, `${fmt(ratio, ratio < 10 ? (ratio < 1.1 ? 2 : 1) : 0)} times`, ` as much as ${"AB"[1 - more]}`] : [];
      weigh(chosen, n, would, times.length ? times : [`both ${holds.replace("holds", "hold")} the same`]);
      // The bars say it.
      say(`${grouped(n)} tokens: ${chosen[0].label}${verbs[0]} ${size(a)}, ${chosen[1].label}${verbs[1]} ${size(b)}${times.length ? `: ${times.join("")}` : ", as much"}.`, false);
    }

    /**
     * What both keep, as bars on one scale: it ends with what the larger one keeps of the longest text.
     * @param {import("./math/anatomy.js").Model[]} chosen
     * @param {number} n
     * @param {boolean[]} would whether a model can't read so many
     * @param {string[]} times how much more one keeps than the other; every second word is quiet
     */
    function weigh(chosen, n, would, times) {
      const [start, across, over, tall, gap] = [22, wide - 22 - 78, 23, 16, 2];
      const most = Math.max(...chosen.map((own) => held(own, 2 ** LONG)));
      const bottom = over + 2 * tall + gap;
      const place = (/** @type {number} */ bytes) => start + (across * bytes) / most;
      const [tick, all] = ticks(most, across < 320 ? 4 : 5);
      memory.setAttribute("viewBox", `0 0 ${wide} ${bottom + 19}`);
      memory.setAttribute("aria-label", `What both hold of ${grouped(n)} tokens`);
      renew(memory,
        // What there is to fill stands there before an answer is chosen, too.
        s("rect", { "data-key": "slot", x: start, y: over, width: across, height: bottom - over, fill: "var(--fig-tint)" }),
        ...all.flatMap((k) => [
          s("path", { "data-key": `line ${k}`, d: `M${place(k * tick).toFixed(1)} ${over}V${bottom + 4}`, stroke: "var(--fig-line)" }),
          text({ "data-key": `tick ${k}`, "data-part": "tick", x: place(k * tick).toFixed(1), y: bottom + 17, "text-anchor": k ? "middle" : "start" }, k ? brief(k * tick) : "0"),
        ]),
        ...chosen.flatMap((own, side) => {
          const [bytes, top, fill] = [held(own, n), over + side * (tall + gap), HUES[side]];
          const width = Math.max(place(bytes) - start, 1.5);
          const look = would[side] ? { fill, "fill-opacity": 0.12, stroke: fill, "stroke-dasharray": "5 3" } : { fill };
          return [
            letter(side, { "data-key": `name ${side}`, x: 4, y: top + 13 }),
            s("rect", { "data-key": `bar ${side}`, x: start, y: top, width: width.toFixed(1), height: tall, ...look, "data-part": "bar", "data-side": SIDES[side], "data-amount": bytes }),
            text({ "data-key": `size ${side}`, transform: `translate(${(start + width + 7).toFixed(1)} ${top + 13})`, ...BOLD, "data-part": "size", "data-side": SIDES[side] }, size(bytes)),
          ];
        }),
        text({ "data-key": "factor", x: start, y: 15, "font-size": 15, "data-part": "factor" }, ...times.map((words, i) => s("tspan", i % 2 ? {} : { fill: INK, "font-weight": 650 }, words))),
      );
    }

    /**
     * Both over the length, on logarithmic axes: there one sees them cross.
     * @param {import("./math/anatomy.js").Model[]} chosen
     * @param {number} n
     */
    function draw(chosen, n) {
      chart.setAttribute("viewBox", `0 0 ${wide} ${high}`);
      const ends = chosen.flatMap((own) => [SHORT, LONG].map((power) => Math.log2(Math.max(held(own, 2 ** power), 1))));
      [least, most] = [Math.floor(Math.min(...ends)), Math.ceil(Math.max(...ends))];
      const shown = Array.from({ length: most - least + 1 }, (_, i) => least + i).filter((power) => power % 5 === 0);
      const drawn = shown.map((power) => s("g", { "data-key": power, transform: `translate(0 ${y(2 ** power)})` }, s("path", { d: `M${left} 0H${wide - right}`, stroke: "var(--fig-line)" }), text({ x: left - 6, y: 4, "text-anchor": "end" }, brief(2 ** power))));
      const marks = wide < 420 ? [8, 14, 20] : [8, 11, 14, 17, 20];
      drawn.push(
        text({ x: left, y: 11 }, `${wide < 420 ? "" : "cache by length of the text, "}each line 32 times the one below`),
        ...marks.map((power) => text({ x: x(power), y: high - 6, "text-anchor": power === LONG ? "end" : "middle" }, power === SHORT ? "256" : power < 20 ? `${2 ** (power - 10)}K` : "1M tokens")),
      );
      const steps = Array.from({ length: 97 }, (_, i) => SHORT + (i * (LONG - SHORT)) / 96);
      const at = Math.log2(n);
      chosen.forEach((own, side) => {
        const d = steps.map((power, i) => `${i ? "L" : "M"}${x(power).toFixed(1)} ${y(held(own, 2 ** power)).toFixed(1)}`).join("");
        drawn.push(s("path", { d, fill: "none", stroke: HUES[side], "stroke-width": 2, "stroke-dasharray": side ? "6 4" : "none", "data-part": "curve", "data-side": SIDES[side], "data-key": SIDES[side] }));
      });
      // Letters at the curves' ends, the upper one's above where there is room for one alone.
      const last = chosen.map((own) => y(held(own, 2 ** LONG)));
      const [upper, apart] = [last[0] <= last[1] ? 0 : 1, Math.max(0, 13 - Math.abs(last[0] - last[1])) / 2];
      const letters = last.map((height, side) => letter(side, { "data-key": side, transform: `translate(${wide - right + 6} ${height + 4 + (side === upper ? -apart : apart)})` }));
      const passed = crossings(chosen[0], chosen[1], been[1]).map((tokens) => {
        // Both curves rise: left of where they cross there is room above them, right of it below.
        const [cx, cy] = [x(Math.log2(tokens)), y(held(chosen[0], tokens))];
        const early = cx < wide / 2;
        const ring = s("circle", { cx, cy, r: 9, fill: "none", stroke: INK, "stroke-width": 2, "data-part": "crossing", "data-amount": tokens });
        return s("g", { "data-key": tokens }, ring, text({ x: cx + (early ? 12 : -12), y: cy + (early ? 20 : -12), "text-anchor": early ? "start" : "end", ...BOLD }, `cross at ${grouped(tokens)}`));
      });
      const dots = chosen.map((own, side) => s("circle", { "data-key": side, cx: x(at), cy: y(held(own, n)), r: 4.5, fill: HUES[side] }));
      renew(handle, s("rect", { x: x(at) - 22, y: 0, width: 44, height: high - 20, fill: "transparent" }), s("path", { d: `M${x(at)} 18V${high - 22}`, stroke: INK, "stroke-width": 2 }), s("rect", { x: x(at) - 5, y: 16, width: 10, height: 22, rx: 5, fill: INK }), ...dots);
      handle.setAttribute("aria-valuenow", at.toFixed(2));
      handle.setAttribute("aria-valuetext", `${grouped(n)} tokens`);
      renew(behind, ...drawn);
      renew(before, ...letters, ...passed);
    }

    return {
      update,
      pytorch() {
        const { chosen, n } = read();
        const written = chosen.map(({ label, cache }) => `    "${label}": [${cache.map((cost) => `[${cost.join(", ")}]`).join(", ")}],`).join("\n");
        return `import torch\n\n# kinds of layers: how many, bytes a token, bytes a token within the window, the window, bytes of state\nmodels = {\n${written}\n}\nn = ${n}\nfor name, kinds in models.items():\n    layers, grows, within, window, state = torch.tensor(kinds, dtype=torch.float64).T\n    held = layers * (grows * n + within * window.clamp(max=n) + state)\n    print(name, round(held.sum().item() / 2**20, 1), "MiB")\n`;
      },
      svg() {
        // Alone it says who A and B are.
        const { chosen, n } = read();
        const title = text({ y: 14, "font-size": 14, fill: INK }, `${chosen.map(({ label }, side) => `${"AB"[side]} ${label}`).join(", ")}: ${grouped(n)} tokens`);
        let high = 28;
        const drawn = [chart, memory].map((one) => {
          const part = s("g", { transform: `translate(0 ${high})` }, ...one.cloneNode(true).childNodes);
          high += /** @type {SVGSVGElement} */ (one).viewBox.baseVal.height + 10;
          return part;
        });
        return standalone(s("svg", { viewBox: `0 0 ${wide} ${high}` }, title, ...drawn));
      },
    };
  },
});
