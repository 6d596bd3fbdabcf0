// The mask painter: open and close the cells of a mask, choose the order of mask and softmax, nudge a token (by its row's name, too).
//
// For tests (data-part): nudged (radio group, values -1..n-1), nudge (range), late (radio group: before, after), presets
// (fold of: preset, buttons with data-value; how, radio group "=", "&"; smaller, larger, size; recipe), mask (table of
// buttons with data-row and data-column), outputs (table: what each row sums to, how far its output moved), figures (fold
// of: counters, numbers (table: weights, sum, outputs, moved)), status.
import asked from "./ui/asked.css";
import cells from "./ui/cells.css";
import paint from "./ui/paint.css";
import own from "./ui/masks.css";
import { labelled, slider } from "./ui/controls.js";
import { choices, fmt, h, renew, select, shade } from "./ui/dom.js";
import { figure } from "./ui/frame.js";
import { picture, strip, table } from "./ui/tables.js";
import { toggles } from "./ui/toggles.js";
import * as math from "./math/masks.js";

/** @typedef {import("./math/masks.js").Matrix} Matrix */

const MOST = 12;
const FAR = 1.5; // an output that moves so far, or farther, fills its gauge

/** A cell's weight: what the sum beside its row counts. @param {boolean | number} open @param {number} weight */
const cellText = (open, weight) => (open ? fmt(weight) : "0");

/** A number as a length. @param {number} share of the whole @param {string} text @param {string} kind */
const gauge = (share, text, kind) =>
  h("span", { class: `attnlab-gauge ${kind}`, "data-key": "gauge" }, share > 0 ? h("i", { class: "attnlab-mark", "data-key": "bar", style: `width: ${Math.min(100 * share, 100)}%` }) : null, h("b", {}, h("span", {}, text), kind === "is-leak" ? " leak" : null));

export default figure({
  name: "masks",
  css: cells + paint + asked + own,
  title: "Mask painter",
  undo: "steps",
  keys: ["mask", "x", "tokens", "late", "nudged", "nudge", "size"],
  setup({ model, body, say, set, keep, signal }) {
    let how = "=";
    /** How the mask came about, as Python writes it, and the mask that it describes. */
    let recipe = { text: "", mask: "" };
    let drawn = "";
    const n = () => /** @type {string[]} */ (model.get("tokens")).length;
    const size = () => Math.min(Math.max(Math.round(Number(model.get("size"))) || 1, 1), n());
    const mask = () => /** @type {Matrix} */ (model.get("mask"));

    const presets = h("div", { class: "attnlab-choices", role: "group", "aria-label": "Presets" });
    for (const name of Object.keys(math.PRESETS)) {
      presets.append(h("button", { type: "button", "data-part": "preset", "data-value": name, on: { click: () => apply(name) } }));
    }
    const ways = choices({
      label: "How a preset is applied",
      part: "how",
      value: how,
      options: [{ value: "=", text: "alone" }, { value: "&", text: "& what is there" }],
      onChange: (value) => {
        how = value;
        select(ways, how);
      },
    });
    const sized = h("span", { "data-part": "size", style: "min-width: 1.2rem; text-align: center" });
    const step = (/** @type {string} */ part, /** @type {string} */ text, /** @type {number} */ by) =>
      h("button", { type: "button", "data-part": part, "aria-label": `${by < 0 ? "Smaller" : "Larger"} size`, on: { click: () => set({ size: Math.min(Math.max(size() + by, 1), n()) }) } }, text);
    const order = choices({
      label: "Close cells before or after the softmax",
      part: "late",
      value: "before",
      options: [{ value: "before", text: "before the softmax" }, { value: "after", text: "after the softmax" }],
      onChange: (value) => set({ late: value === "after" }),
    });
    const after = order.children[1];
    after.classList.add("is-asked"); // where a figure begins
    const nudgePlace = h("span");
    const amounts = slider({ part: "nudge", label: "Nudge by", role: "value", limits: { min: -3, max: 3, step: 0.1 }, onInput: (nudge) => set({ nudge }) });
    const origin = h("p", { class: "attnlab-formula", "data-part": "recipe" });
    const grid = h("div", { class: "attnlab-scroll" });
    const outputs = h("div");
    const counters = h("p", { class: "attnlab-counters", "data-part": "counters" });
    const numbers = strip("Weights and outputs");
    const made = h(
      "details",
      { "data-part": "presets" },
      h("summary", {}, "Presets"),
      h("div", { class: "attnlab-row" }, presets),
      labelled("Apply a preset", ways, h("span", { class: "attnlab-stepper" }, h("span", { class: "attnlab-label" }, "Size"), step("smaller", "−", -1), sized, step("larger", "+", 1))),
      origin,
    );
    body.append(
      h(
        "div",
        { class: "attnlab-painting" },
        h("div", { class: "attnlab-canvas" }, grid, outputs),
        h("div", { class: "attnlab-tools" }, labelled("Nudge a token", nudgePlace), amounts.row, labelled("Close cells", order), made),
      ),
      h("details", { "data-part": "figures" }, h("summary", {}, "Numbers as a table"), counters, numbers),
    );
    /** @type {HTMLElement} */
    let nudges;

    /** @param {string} name */
    function apply(name) {
      const [fresh, code] = [math.preset(name, n(), size()), math.PRESETS[name].code(n(), size())];
      const known = recipeOf(mask());
      const to = how === "=" ? fresh : math.both(mask(), fresh);
      keep(["mask"]);
      recipe = { text: how === "=" ? code : known && `${known} & ${code}`, mask: JSON.stringify(to) };
      set({ mask: to });
    }

    /** @param {Matrix} m */
    function recipeOf(m) {
      const text = JSON.stringify(m);
      if (recipe.text && recipe.mask === text) return recipe.text;
      const name = Object.keys(math.PRESETS).find((key) => JSON.stringify(math.preset(key, n(), size())) === text);
      return name ? math.PRESETS[name].code(n(), size()) : "";
    }

    /**
     * @param {number} i
     * @param {number} j
     * @param {number} value
     */
    function paint(i, j, value) {
      if (mask()[i][j] === value) return;
      set({ mask: mask().map((row, a) => (a === i ? row.map((x, b) => (b === j ? value : x)) : row)) });
    }

    function build() {
      const tokens = /** @type {string[]} */ (model.get("tokens"));
      nudges = choices({
        label: "Nudged token",
        part: "nudged",
        value: String(model.get("nudged")),
        options: [{ value: "-1", text: "none" }, ...tokens.map((text, i) => ({ value: String(i), text }))],
        onChange: (value) => set({ nudged: Number(value) }),
      });
      nudgePlace.replaceChildren(nudges);
      const cells = toggles({
        names: tokens,
        caption: "Rows ask, columns are asked",
        part: "mask",
        signal,
        value: (i, j) => mask()[i][j],
        begin: () => keep(["mask"]),
        paint,
      });
      // A row's name nudges its token, too: a prediction is about a row.
      cells.querySelectorAll("tbody th").forEach((name, i) => {
        name.setAttribute("title", "Nudge this token");
        name.addEventListener("pointerdown", (event) => event.stopPropagation()); // no stroke of the brush begins here
        name.addEventListener("click", () => set({ nudged: Number(model.get("nudged")) === i ? -1 : i }));
      });
      grid.replaceChildren(cells);
    }

    function read() {
      const tokens = model.get("tokens");
      const x = /** @type {Matrix} */ (model.get("x"));
      const square = (/** @type {any} */ m, /** @type {(v: any) => boolean} */ good, /** @type {number} */ width) =>
        Array.isArray(m) && m.length === tokens.length && m.every((row) => Array.isArray(row) && row.length === width && row.every(good));
      if (!Array.isArray(tokens) || !tokens.length || tokens.length > MOST) throw new Error(`tokens must be 1 to ${MOST} names.`);
      if (!Array.isArray(x?.[0]) || !x[0].length || !square(x, Number.isFinite, x[0].length)) throw new Error("x must be rows of numbers, one for each token.");
      if (!square(model.get("mask"), (v) => v === 0 || v === 1, tokens.length)) {
        throw new Error(`mask must be ${tokens.length} rows of ${tokens.length} zeros and ones.`);
      }
      const which = Number(model.get("nudged"));
      if (!Number.isInteger(which) || which < -1 || which >= tokens.length) throw new Error(`nudged must be from -1 to ${tokens.length - 1}.`);
      const amount = Number(model.get("nudge"));
      if (!(Math.abs(amount) <= 3)) throw new Error("nudge must be from -3 to 3.");
      const isLate = Boolean(model.get("late"));
      const before = math.attend(x, mask(), isLate);
      const { weights, output } = math.attend(math.nudge(x, which, amount), mask(), isLate);
      return { tokens: tokens.map(String), which, amount, isLate, weights, output, moved: math.moved(before.output, output) };
    }

    function update() {
      const state = read();
      const { tokens, which, amount, isLate, weights } = state;
      if (drawn !== JSON.stringify(tokens)) {
        drawn = JSON.stringify(tokens);
        build();
      }
      for (const el of presets.querySelectorAll("[data-value]")) el.textContent = math.PRESETS[/** @type {HTMLElement} */ (el).dataset.value ?? ""].label(size());
      sized.textContent = String(size());
      select(order, isLate ? "after" : "before");
      if (isLate) after.classList.remove("is-asked");
      select(nudges, String(which));
      amounts.input.disabled = which < 0; // and keeps its place, so that what stands below keeps its own
      amounts.show(amount, `${amount < 0 ? "" : "+"}${fmt(amount, 1)}`);
      const text = recipeOf(mask());
      origin.textContent = text ? `mask = ${text}` : "mask: painted by hand";
      for (const el of grid.querySelectorAll("[data-row]")) {
        const at = /** @type {HTMLElement} */ (el);
        const [i, j] = [Number(at.dataset.row), Number(at.dataset.column)];
        const open = mask()[i][j] === 1;
        at.textContent = cellText(open, weights[i][j]);
        at.title = open ? "" : isLate ? "closed after the softmax: weight × 0" : "closed before the softmax: score −∞, so weight 0";
        at.setAttribute("aria-pressed", String(open));
        at.setAttribute("aria-label", `${at.textContent}, ${open ? "weight" : "hidden"}, row ${i + 1} ${tokens[i]}, column ${j + 1} ${tokens[j]}`);
        const td = /** @type {HTMLElement} */ (at.parentElement);
        td.classList.toggle("is-closed", !open);
        shade(td, open ? weights[i][j] : 0);
      }
      drawOutputs(state);
      summarise(state);
      tell(state);
    }

    /** @param {ReturnType<typeof read>} state */
    function drawOutputs({ tokens, which, weights, moved }) {
      const rows = tokens.map((_, i) => {
        const sum = weights[i].reduce((a, b) => a + b, 0);
        const far = moved[i] < 1e-9 ? 0 : moved[i];
        const leak = far && i !== which && !mask()[i][which];
        return h(
          "tr",
          { "data-key": i },
          h("td", { "data-key": "sum" }, gauge(sum, fmt(sum), "is-sum")),
          h("td", { "data-key": "moved" }, gauge(far / FAR, far ? fmt(far) : "", leak ? "is-leak" : "")),
        );
      });
      const heads = ["sum", "moved"].map((text) => h("th", { scope: "col" }, text));
      const made = h("table", { "data-key": "outputs", "data-part": "outputs", class: "attnlab-paint" }, h("caption", {}, "Each row"), h("thead", {}, h("tr", {}, ...heads)), h("tbody", { "data-key": "rows" }, ...rows));
      renew(outputs, made);
    }

    /** @param {ReturnType<typeof read>} state */
    function summarise({ tokens, isLate, weights, output, moved }) {
      const short = weights.filter((row) => Math.abs(row.reduce((a, b) => a + b, 0) - 1) > 1e-9).length;
      const counted = [
        `rows with nothing to see: ${math.emptyRows(mask()).length}`,
        `rows not summing to 1: ${short}`,
        `pairs that look ahead: ${math.ahead(mask(), isLate).length}`,
        `leaking pairs: ${math.leaks(mask(), isLate).length}`,
      ];
      counters.replaceChildren(...counted.map((text) => h("span", {}, text)));
      const head = ["token", ...tokens.map((t) => `takes of ${t}`), "sum", ...output[0].map((_, d) => `output ${d + 1}`), "moved by"];
      const rows = tokens.map((token, i) => [
        token,
        ...weights[i].map((w, j) => (mask()[i][j] ? w.toFixed(4) : "hidden")),
        ...[weights[i].reduce((a, b) => a + b, 0), ...output[i], moved[i]].map((v) => v.toFixed(4)),
      ]);
      numbers.replaceChildren(table("numbers", head, rows));
    }

    /** @param {ReturnType<typeof read>} state */
    function tell({ tokens, which, amount, isLate, moved }) {
      const words = [`${math.allowed(mask())} of ${n() ** 2} cells open, the others closed ${isLate ? "after the softmax: weight × 0" : "before the softmax: score −∞"}.`];
      if (which >= 0) {
        const far = moved.flatMap((m, i) => (m > 1e-9 ? [i + 1] : []));
        words.push(`Token ${which + 1} (${tokens[which]}) nudged by ${fmt(amount, 1)}: ${far.length ? `output${far.length > 1 ? "s" : ""} ${far.join(", ")}` : "no output"} moved.`);
      }
      say(words.join(" "));
    }

    /** @returns {string} */
    function pytorch() {
      const { tokens, which, amount, isLate } = read();
      return math.snippet({ x: model.get("x"), mask: mask(), late: isLate, nudged: which, name: tokens[which], nudge: amount });
    }

    /** @returns {string} the mask and its weights as a drawing */
    function svg() {
      const { tokens, weights } = read();
      const cells = mask().map((row, i) => row.map((open, j) => ({ text: cellText(open, weights[i][j]), weight: weights[i][j], closed: !open })));
      return picture([{ names: tokens, cells }]);
    }

    return { update, pytorch, svg };
  },
});
