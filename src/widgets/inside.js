// Heads of a real model: pick a sentence, a head and a piece, and see where it looks.
//
// For tests (data-part): sentence (select), layer, head (sliders), map (svg, all heads), lines (svg, a slider: the piece
// that looks; where there is room, its square: large, with its cells and asks, the row of that piece), status, numbers (table: piece, weight), reset, link, pytorch, svg.
import css from "./ui/inside.css";
import { labelled, slider } from "./ui/controls.js";
import { draggable, fmt, h, onResize, renew, s, shade, spot, standalone } from "./ui/dom.js";
import { figure } from "./ui/frame.js";
import { strip, table } from "./ui/tables.js";
import { unpack, weightsOf } from "./math/inside.js";

/** @typedef {import("./math/inside.js").Text} Text */

const CELL = 32; // of the map: one head
const LARGE = 176; // the picked head, where there is room
const FAN = 56; // of the lines: how far they go
/** Shades of the map: a weight of at least this gets this much ink. */
const SHADES = [[0.6, 1], [0.3, 0.6], [0.1, 0.28]];

export default figure({
  name: "inside",
  css,
  title: "Heads of a real model",
  // Covered it shows what a square is by one that looks back by a piece.
  answer: '[data-part="map"] path:not([data-head="1.3"]), [data-part="lines"] path:not([data-weight])',
  keys: ["sentence", "layer", "head", "token"],
  async setup({ model, body, say, set, signal }) {
    const picker = h("select", { "data-part": "sentence", "aria-label": "Text", on: { change: () => set({ sentence: Number(picker.value) }) } });
    const asked = labelled("Text", picker);
    asked.classList.add("attnlab-text");
    const layer = slider({ part: "layer", label: "Layer", limits: { min: 1, max: 6, step: 1 }, onInput: (x) => set({ layer: x }) });
    const head = slider({ part: "head", label: "Head", limits: { min: 1, max: 12, step: 1 }, onInput: (x) => set({ head: x }) });
    const map = s("svg", { role: "img", "data-part": "map" });
    const lines = s("svg", { role: "slider", tabindex: 0, "aria-label": "The piece that looks", "aria-orientation": "vertical", "data-part": "lines" });
    const numbers = strip("Where the piece looks");
    const overview = strip("All heads");
    const [columns, sides] = ["is-columns", "is-rows"].map((name) => h("div", { class: name, "aria-hidden": "true" }));
    const board = h("div", { class: "attnlab-map" }, columns, sides, map);
    overview.append(board);
    overview.style.margin = "0";
    const legend = h("p", { class: "attnlab-note", "data-part": "legend", style: "margin: .2rem 0 0" });
    body.append(
      asked,
      h("div", { class: "attnlab-inside" }, h("div", { class: "attnlab-all" }, overview, legend, h("div", { class: "attnlab-where" }, layer.row, head.row)), lines),
      h("details", {}, h("summary", {}, "Weights as a table"), numbers),
    );
    /** @type {{ texts: string, bytes: Uint8Array[] }} */
    let unpacked = { texts: "", bytes: [] };
    let drawn = "";
    // A click picks a head, or the piece that looks; with the button down the choice goes along.
    const pick = (/** @type {Event} */ event) => {
      const { text, layer: a, head: b } = read();
      const [x, y] = spot(map, /** @type {MouseEvent} */ (event)).map((u) => Math.floor(u / CELL));
      const [l, k] = text.layers > text.heads ? [x, y] : [y, x];
      if (l >= 0 && l < text.layers && k >= 0 && k < text.heads && (l !== a || k !== b)) set({ layer: l + 1, head: k + 1 });
    };
    const look = (/** @type {Event} */ event) => {
      const { text, token: now } = read();
      const { row, top, cell } = places(text.pieces.length);
      const y = spot(lines, /** @type {MouseEvent} */ (event))[1];
      const token = Math.floor(y < top ? y / row : (y - top) / cell);
      if (token >= 0 && token < text.pieces.length && token !== now) set({ token });
    };
    const aims = /** @type {[SVGElement, (event: Event) => void][]} */ ([[map, pick], [lines, look]]);
    for (const [drawing, aim] of aims) {
      drawing.addEventListener("click", aim, { signal });
      draggable(drawing, signal, aim, { area: true });
    }
    lines.addEventListener("keydown", (event) => {
      const { text, token } = read();
      const end = text.pieces.length - 1;
      const by = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1, Home: -end, End: end }[/** @type {KeyboardEvent} */ (event).key];
      if (!by) return;
      event.preventDefault();
      set({ token: Math.min(Math.max(token + by, 0), end) });
    }, { signal });
    onResize(overview, signal, follow);
    let was = false;
    onResize(body, signal, () => drawn && was !== roomy() && update());
    const redraw = () => set({ sentence: 0, layer: 1, head: 1, token: 0 });
    model.on("change:texts", redraw);
    signal.addEventListener("abort", () => model.off?.("change:texts", redraw));

    function read() {
      const texts = /** @type {Text[]} */ (model.get("texts"));
      const key = JSON.stringify(texts.map(({ pieces, weights }) => [pieces, weights.length]));
      if (unpacked.texts !== key) unpacked = { texts: key, bytes: texts.map(unpack) };
      const sentence = whole("sentence", 0, texts.length - 1);
      const text = texts[sentence];
      // Another text may have fewer layers, heads or pieces.
      const at = {
        layer: Math.min(whole("layer", 1, Infinity), text.layers) - 1,
        head: Math.min(whole("head", 1, Infinity), text.heads) - 1,
        token: Math.min(whole("token", 0, Infinity), text.pieces.length - 1),
      };
      const bytes = unpacked.bytes[sentence];
      return { texts, sentence, text, bytes, ...at, weights: weightsOf(text, bytes, at.layer, at.head) };
    }

    /**
     * @param {string} key
     * @param {number} low
     * @param {number} high
     */
    function whole(key, low, high) {
      const value = Number(model.get(key));
      if (!(Number.isInteger(value) && value >= low && value <= high)) throw new Error(`${key} must be from ${low} to ${high}, got ${model.get(key)}.`);
      return value;
    }

    function update() {
      const state = read();
      const { texts, sentence, text, token, weights } = state;
      const names = JSON.stringify(texts.map(({ pieces }) => pieces));
      if (picker.dataset.names !== names) {
        picker.dataset.names = names;
        asked.hidden = texts.length < 2;
        // The texts of a model stand together, below its name.
        const models = [...new Set(texts.map(({ model }) => model))];
        picker.replaceChildren(...models.map((model) =>
          h("optgroup", { label: model }, ...texts.flatMap((one, i) => (one.model === model ? [h("option", { value: i }, titled(one.pieces, one.causal))] : [])))));
      }
      picker.value = String(sentence);
      layer.input.max = String(text.layers);
      head.input.max = String(text.heads);
      layer.show(state.layer + 1, `${state.layer + 1} of ${text.layers}`);
      head.show(state.head + 1, `${state.head + 1} of ${text.heads}`);
      drawMap(state);
      drawLines(state);
      const row = weights[token];
      const most = row.indexOf(Math.max(...row));
      const cells = row.map((w, j) => {
        const td = h("td", {}, w.toFixed(2));
        shade(td, w);
        return [`${j + 1} ${text.pieces[j]}`, td];
      });
      numbers.replaceChildren(table("numbers", ["piece", "weight"], cells, { caption: `Head ${state.layer + 1}.${state.head + 1}, from “${text.pieces[token]}” (piece ${token + 1})`, bold: most }));
      say(`${text.model}, head ${state.layer + 1}.${state.head + 1}: “${text.pieces[token]}” gives most, ${fmt(row[most])}, to “${text.pieces[most]}” (piece ${most + 1}).`);
    }

    /** Whether the picked head is drawn large: where the lines stand beside the map. */
    const roomy = () => body.clientWidth >= 640;

    /**
     * How far the lines' rows are apart, and where the square below them begins; on a phone a row is for a thumb.
     * @param {number} n
     */
    const places = (n) => {
      const row = roomy() ? Math.min(20, 240 / n) : 24;
      return { row, top: roomy() ? row * n + 22 : Infinity, cell: LARGE / n };
    };

    /** @param {ReturnType<typeof read>} state */
    function drawMap({ sentence, text, bytes, layer: l, head: k }) {
      const { layers, heads, pieces } = text;
      const across = layers > heads;
      const place = (/** @type {number} */ a, /** @type {number} */ b) => (across ? [a * CELL, b * CELL] : [b * CELL, a * CELL]);
      const [wide, tall] = place(layers, heads);
      const key = `${sentence} ${unpacked.texts}`;
      if (drawn !== key) {
        drawn = key;
        const size = (CELL - 3) / pieces.length;
        const all = [];
        for (let a = 0; a < layers; a++) {
          for (let b = 0; b < heads; b++) {
            const [x, y] = place(a, b);
            all.push(...square(weightsOf(text, bytes, a, b), x + 1.5, y + 1.5, size, { "data-head": `${a + 1}.${b + 1}` }));
          }
        }
        map.replaceChildren(...all, s("rect", { "data-chosen": "", "data-key": "", width: CELL - 1, height: CELL - 1, fill: "none", stroke: "var(--fig-ink)", "stroke-width": 2.2, rx: 3 }));
        map.setAttribute("viewBox", `0 0 ${wide} ${tall}`);
        // Twelve columns share what room there is; thirty scroll, or no finger could meet one.
        board.style.width = across ? `${wide + 22}px` : "auto";
        legend.textContent = `A square is a head, a ${across ? "column" : "row"} a layer.`;
        const numbered = (/** @type {number} */ n) => Array.from({ length: n }, (_, i) => h("span", {}, String(i + 1)));
        columns.replaceChildren(...numbered(across ? layers : heads));
        sides.replaceChildren(...numbered(across ? heads : layers));
      }
      const [x, y] = place(l, k);
      const chosen = /** @type {SVGElement} */ (map.querySelector("[data-chosen]"));
      chosen.setAttribute("x", String(x + 0.5));
      chosen.setAttribute("y", String(y + 0.5));
      follow();
      for (const [list, at] of /** @type {[HTMLElement, number][]} */ ([[columns, across ? l : k], [sides, across ? k : l]])) {
        [...list.children].forEach((one, i) => one.classList.toggle("is-now", i === at));
      }
      map.setAttribute("aria-label", `${layers} layers of ${heads} heads, each a small square of its weights; head ${l + 1}.${k + 1} is chosen`);
    }

    /** A narrow strip shows a part: by slider or key the choice can leave it, and where it was is lost with its place in a page. */
    function follow() {
      const x = Number(map.querySelector("[data-chosen]")?.getAttribute("x"));
      const [left, wide] = [overview.scrollLeft, overview.clientWidth];
      if (x < left || x + CELL + 22 > left + wide) overview.scrollLeft = x + CELL / 2 - wide / 2;
    }

    /** @param {ReturnType<typeof read>} state */
    function drawLines({ text: { pieces }, layer: l, head: k, token, weights }) {
      const { row, top, cell } = places(pieces.length);
      const y = (/** @type {number} */ i) => row * i + row / 2 + 5;
      const short = (/** @type {string} */ name) => (name.length > 12 ? `${name.slice(0, 11)}…` : name);
      const left = 14 + 7.4 * Math.max(4, ...pieces.map((name) => short(name).length));
      was = roomy();
      const wide = left + Math.max(FAN + left + 36, was ? LARGE + 2 : 0);
      const right = wide - left - 36;
      const word = (/** @type {string} */ name, /** @type {number} */ i, /** @type {boolean} */ asks) =>
        s("text", {
          x: asks ? left - 8 : right + 8, y: y(i), "text-anchor": asks ? "end" : "start", "font-size": 13,
          fill: `var(--fig-${asks && i === token ? "paper" : "ink"})`,
        }, short(name));
      // The one that looks is chosen: as a button that is.
      const broad = 7.4 * short(pieces[token]).length + 10;
      const chosen = s("rect", { "data-key": "chosen", x: left - 3 - broad, y: y(token) - 5 - Math.min(row, 22) / 2, width: broad, height: Math.min(row, 22), rx: 6, fill: "var(--fig-query)" });
      const rays = weights.flatMap((row, i) =>
        row.flatMap((w, j) => {
          const on = i === token;
          if (w < (on ? 0.02 : 0.1)) return [];
          return [s("path", {
            "data-key": `${i} ${j}`,
            d: `M${left} ${y(i) - 5}C${(left + right) / 2} ${y(i) - 5} ${(left + right) / 2} ${y(j) - 5} ${right} ${y(j) - 5}`,
            fill: "none", stroke: on ? "var(--fig-query)" : "var(--fig-quiet)",
            "stroke-width": (0.5 + 5 * w).toFixed(2), "stroke-opacity": (on ? 0.25 + 0.75 * w : 0.25 * w).toFixed(3),
            ...(on ? { "data-weight": w.toFixed(2) } : {}),
          })];
        }),
      );
      const shown = weights[token].flatMap((w, j) =>
        w < 0.02 ? [] : [s("text", { "data-share": "", x: wide - 2, y: y(j), "text-anchor": "end", "font-size": 13, fill: "var(--fig-ink)" }, fmt(w))],
      );
      const from = wide - LARGE - 2;
      const large = was ? [
        s("text", { x: from, y: top - 6, "font-size": 13, "font-weight": 700, fill: "var(--fig-ink)" }, `Head ${l + 1}.${k + 1}`),
        ...square(weights, from, top, cell, { "data-cells": "" }),
        s("rect", { "data-key": "asks", "data-asks": "", x: from - 1, y: top + token * cell, width: LARGE + 2, height: cell, fill: "none", stroke: "var(--fig-ink)", "stroke-width": 1.5, rx: 2 }),
        s("text", { "data-key": "asking", x: from - 6, y: top + (token + 0.5) * cell + 4, "text-anchor": "end", "font-size": 12, fill: "var(--fig-query)" }, short(pieces[token])),
      ] : [];
      renew(lines, ...rays, chosen, ...pieces.flatMap((name, i) => [word(name, i, true), word(name, i, false)]), ...shown, ...large);
      const looks = weights[token].flatMap((w, j) => (w >= 0.02 ? [`${fmt(w)} to ${pieces[j]}`] : []));
      const tall = (was ? top + LARGE : row * pieces.length) + 4;
      const now = { viewBox: `0 0 ${wide} ${tall}`, width: wide, height: tall, "aria-valuemin": 1, "aria-valuemax": pieces.length, "aria-valuenow": token + 1, "aria-valuetext": `${pieces[token]}: ${looks.join(", ")}` };
      for (const [key, value] of Object.entries(now)) lines.setAttribute(key, String(value));
    }

    /** @returns {string} */
    function pytorch() {
      const { text, layer: l, head: k, token } = read();
      const reads = !text.causal;
      return `from attnlab import pretrained
from attnbook import tour

model = pretrained.load_${reads ? "minilm" : "smollm2"}()
text = ${JSON.stringify(plain(text.pieces, text.causal))}
weights = tour.weights_of(model, text)  # (layers, heads, n, n)
for piece, weight in zip(model.pieces(text), weights[${l}, ${k}, ${token}].tolist()):
    print(f"{weight:.2f} {piece}")
`;
    }

    return { update, pytorch, svg: () => standalone(lines) };
  },
});

/**
 * A head: rows look, columns are looked at.
 * @param {number[][]} weights
 * @param {number} x
 * @param {number} y
 * @param {number} size of a cell
 * @param {Record<string, string>} names
 */
function square(weights, x, y, size, names) {
  const inked = SHADES.map(() => "");
  weights.forEach((row, i) =>
    row.forEach((w, j) => {
      const shade = SHADES.findIndex(([least]) => w >= least);
      if (shade >= 0) inked[shade] += `M${(x + j * size).toFixed(2)} ${(y + i * size).toFixed(2)}h${size.toFixed(2)}v${size.toFixed(2)}h-${size.toFixed(2)}z`;
    }),
  );
  const side = size * weights.length;
  return [
    s("rect", { x, y, width: side, height: side, fill: "var(--fig-tint)" }),
    ...inked.map((d, shade) => s("path", { d, fill: "var(--fig-query)", "fill-opacity": SHADES[shade][1], ...names })),
  ];
}

/**
 * The text that these pieces came from.
 * @param {string[]} pieces
 * @param {boolean} causal whether they carry their spaces with them
 */
const plain = (pieces, causal) => (causal ? pieces.join("") : pieces.slice(1, -1).join(" ").replaceAll(" ##", ""));

/**
 * A short name for a text.
 * @param {string[]} pieces
 * @param {boolean} causal
 */
function titled(pieces, causal) {
  const words = plain(pieces, causal).trim();
  return words.length > 44 ? `${words.slice(0, 43)}…` : words;
}
