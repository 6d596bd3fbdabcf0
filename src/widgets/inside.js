// Heads of a real model: pick a sentence, a head and a piece, and see where it looks.
//
// For tests (data-part): sentence (radio group), layer, head (sliders), token (radio group), map (svg, all heads),
// lines (svg), status, numbers (table: piece, weight), reset, link, pytorch, svg.
import { labelled, slider } from "./ui/controls.js";
import { choices, fmt, h, s, select, shade, spot, standalone } from "./ui/dom.js";
import { figure } from "./ui/frame.js";
import { strip, table } from "./ui/tables.js";
import { unpack, weightsOf } from "./math/inside.js";

/** @typedef {import("./math/inside.js").Text} Text */

const CELL = 28; // of the map: one head
const ROW = 24;
const [WIDE, LEFT, RIGHT] = [340, 100, 200]; // of the lines: the drawing, and where they begin and end
/** Shades of the map: a weight of at least this gets this much ink. */
const SHADES = [[0.6, 1], [0.3, 0.6], [0.1, 0.28]];

export default figure({
  name: "inside",
  title: "Heads of a real model",
  keys: ["sentence", "layer", "head", "token"],
  async setup({ model, body, say, set, signal }) {
    const [picker, tokens] = [h("span", { style: "font-size: .875rem" }), h("span")];
    const layer = slider({ part: "layer", label: "Layer", limits: { min: 1, max: 6, step: 1 }, onInput: (x) => set({ layer: x }) });
    const head = slider({ part: "head", label: "Head", limits: { min: 1, max: 12, step: 1 }, onInput: (x) => set({ head: x }) });
    const map = s("svg", { role: "img", "data-part": "map", style: "display: block; cursor: pointer" });
    const lines = s("svg", { role: "img", "data-part": "lines", style: "flex: 1 1 17rem; min-width: 0; max-width: 24rem; height: auto; cursor: pointer" });
    const numbers = strip("Where the piece looks");
    const overview = strip("All heads");
    overview.append(map);
    overview.style.margin = "0";
    const legend = h("p", { "data-part": "legend", style: "margin: .2rem 0 0; font-size: .85rem; color: var(--fig-quiet)" });
    for (const { row } of [layer, head]) row.style.flex = "1 1 17rem";
    body.append(
      h("div", { class: "attnlab-row" }, picker),
      h("div", { style: "display: flex; flex-wrap: wrap; gap: .5rem 1rem; align-items: flex-start; margin: .5rem 0" }, h("div", { style: "max-width: 100%" }, overview, legend), lines),
      h("div", { style: "display: flex; flex-wrap: wrap; gap: 0 1.5rem" }, layer.row, head.row),
      labelled("Look from", tokens),
      h("details", {}, h("summary", {}, "Weights as a table"), numbers),
    );
    /** @type {{ texts: string, bytes: Uint8Array[] }} */
    let unpacked = { texts: "", bytes: [] };
    let drawn = "";
    map.addEventListener("click", (event) => {
      const { text } = read();
      const [x, y] = spot(map, /** @type {MouseEvent} */ (event)).map((u) => Math.floor(u / CELL));
      const [l, k] = text.layers > text.heads ? [x, y] : [y, x];
      if (l >= 0 && l < text.layers && k >= 0 && k < text.heads) set({ layer: l + 1, head: k + 1 });
    }, { signal });
    lines.addEventListener("click", (event) => {
      const { text } = read();
      const token = Math.floor(spot(lines, /** @type {MouseEvent} */ (event))[1] / ROW);
      if (token >= 0 && token < text.pieces.length) set({ token });
    }, { signal });
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
        const options = texts.map(({ pieces, causal }, i) => ({ value: String(i), text: titled(pieces, causal) }));
        picker.replaceChildren(choices({ label: "Text", part: "sentence", value: String(sentence), options, onChange: (value) => set({ sentence: Number(value) }) }));
      }
      select(/** @type {HTMLElement} */ (picker.firstElementChild), String(sentence));
      if (tokens.dataset.names !== JSON.stringify(text.pieces)) {
        tokens.dataset.names = JSON.stringify(text.pieces);
        const options = text.pieces.map((piece, i) => ({ value: String(i), text: piece }));
        tokens.replaceChildren(choices({ label: "Look from", part: "token", value: String(token), options, onChange: (value) => set({ token: Number(value) }) }));
      }
      select(/** @type {HTMLElement} */ (tokens.firstElementChild), String(token));
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

    /** @param {ReturnType<typeof read>} state */
    function drawMap({ sentence, text, bytes, layer: l, head: k }) {
      const { layers, heads, pieces } = text;
      const across = layers > heads;
      const place = (/** @type {number} */ a, /** @type {number} */ b) => (across ? [a * CELL, b * CELL] : [b * CELL, a * CELL]);
      const [wide, tall] = place(layers, heads);
      const key = `${sentence} ${unpacked.texts}`;
      if (drawn !== key) {
        drawn = key;
        const size = (CELL - 4) / pieces.length;
        const all = [];
        for (let a = 0; a < layers; a++) {
          for (let b = 0; b < heads; b++) {
            const [x, y] = place(a, b);
            const inked = SHADES.map(() => "");
            weightsOf(text, bytes, a, b).forEach((row, i) =>
              row.forEach((w, j) => {
                const shade = SHADES.findIndex(([least]) => w >= least);
                if (shade >= 0) inked[shade] += `M${(x + 2 + j * size).toFixed(1)} ${(y + 2 + i * size).toFixed(1)}h${size.toFixed(2)}v${size.toFixed(2)}h-${size.toFixed(2)}z`;
              }),
            );
            all.push(
              s("rect", { x: x + 1, y: y + 1, width: CELL - 2, height: CELL - 2, fill: "var(--fig-tint)" }),
              ...inked.map((d, shade) => s("path", { d, fill: "var(--fig-query)", "fill-opacity": SHADES[shade][1] })),
            );
          }
        }
        map.replaceChildren(...all, s("rect", { "data-chosen": "", width: CELL - 1, height: CELL - 1, fill: "none", stroke: "var(--fig-key)", "stroke-width": 3, rx: 3 }));
        map.setAttribute("viewBox", `0 0 ${wide} ${tall}`);
        map.setAttribute("width", String(wide));
        map.removeAttribute("height");
        // Twelve columns shrink to fit a phone; thirty scroll, or no finger could meet one.
        map.style.height = "auto";
        map.style.maxWidth = across ? "none" : "100%";
        legend.textContent = `A square is a head, a ${across ? "column" : "row"} of squares a layer.`;
      }
      const [x, y] = place(l, k);
      const chosen = /** @type {SVGElement} */ (map.querySelector("[data-chosen]"));
      chosen.setAttribute("x", String(x + 0.5));
      chosen.setAttribute("y", String(y + 0.5));
      // By slider or key, the choice can leave a narrow strip: bring it back.
      const scale = map.clientWidth / wide;
      if (x * scale < overview.scrollLeft || (x + CELL) * scale > overview.scrollLeft + overview.clientWidth) overview.scrollLeft = (x + CELL / 2) * scale - overview.clientWidth / 2;
      map.setAttribute("aria-label", `${layers} layers of ${heads} heads, each a small square of its weights; head ${l + 1}.${k + 1} is chosen`);
    }

    /** @param {ReturnType<typeof read>} state */
    function drawLines({ text: { pieces }, token, weights }) {
      const y = (/** @type {number} */ i) => ROW * i + 17;
      const short = (/** @type {string} */ name) => (name.length > 14 ? `${name.slice(0, 13)}…` : name);
      const word = (/** @type {string} */ name, /** @type {number} */ i, /** @type {boolean} */ asks) =>
        s("text", {
          x: asks ? LEFT - 8 : RIGHT + 8, y: y(i), "text-anchor": asks ? "end" : "start", "font-size": 14, fill: "var(--fig-ink)",
          "font-weight": asks && i === token ? 700 : 400,
        }, short(name));
      const rays = weights.flatMap((row, i) =>
        row.flatMap((w, j) => {
          const on = i === token;
          if (w < (on ? 0.02 : 0.1)) return [];
          return [s("path", {
            d: `M${LEFT} ${y(i) - 5}C${(LEFT + RIGHT) / 2} ${y(i) - 5} ${(LEFT + RIGHT) / 2} ${y(j) - 5} ${RIGHT} ${y(j) - 5}`,
            fill: "none", stroke: on ? "var(--fig-query)" : "var(--fig-quiet)",
            "stroke-width": (0.5 + 5 * w).toFixed(2), "stroke-opacity": (on ? 0.25 + 0.75 * w : 0.25 * w).toFixed(3),
            ...(on ? { "data-weight": w.toFixed(2) } : {}),
          })];
        }),
      );
      const shown = weights[token].flatMap((w, j) =>
        w < 0.02 ? [] : [s("text", { x: WIDE - 4, y: y(j), "text-anchor": "end", "font-size": 13, fill: "var(--fig-ink)" }, fmt(w))],
      );
      lines.replaceChildren(...rays, ...pieces.flatMap((name, i) => [word(name, i, true), word(name, i, false)]), ...shown);
      lines.setAttribute("viewBox", `0 0 ${WIDE} ${ROW * pieces.length + 4}`);
      const looks = weights[token].flatMap((w, j) => (w >= 0.02 ? [`${fmt(w)} to ${pieces[j]}`] : []));
      lines.setAttribute("aria-label", `From “${pieces[token]}”: ${looks.join(", ")}`);
    }

    /** @returns {string} */
    function pytorch() {
      const { text, layer: l, head: k, token } = read();
      const reads = !text.causal;
      return `from attnlab import pretrained
from attnlab.pretrained import tour

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
