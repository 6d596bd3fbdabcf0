// The mask painter: open and close the cells of a mask, choose the order of mask and softmax, nudge a token.
//
// For tests (data-part): preset (buttons, data-value), how (radio group: "=", "&", "|"), smaller, larger, size,
// invert, undo, late (checkbox), nudged (radio group, values -1..n-1), nudge (range), mask (table of buttons with
// data-row and data-column), recipe, outputs (table), counters, numbers (table: weights, sum, outputs, moved), status.
import css from "./ui/cells.css";
import { labelled, slider } from "./ui/controls.js";
import { choices, fmt, h, select, shade } from "./ui/dom.js";
import { figure } from "./ui/frame.js";
import { picture, strip, table } from "./ui/tables.js";
import { toggles } from "./ui/toggles.js";
import * as math from "./math/masks.js";

/** @typedef {import("./math/masks.js").Matrix} Matrix */

const MOST = 12;

/** @param {boolean | number} open @param {number} weight @param {boolean} late */
const cellText = (open, weight, late) => (open ? fmt(weight) : late ? "×0" : "−∞");

export default figure({
  name: "masks",
  css,
  title: "Mask painter",
  keys: ["mask", "x", "tokens", "late", "nudged", "nudge", "size"],
  setup({ model, body, say, set, signal }) {
    /** @type {Matrix[]} */
    const history = [];
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
      options: [
        { value: "=", text: "alone" },
        { value: "&", text: "& both" },
        { value: "|", text: "| either" },
      ],
      onChange: (value) => {
        how = value;
        select(ways, how);
      },
    });
    const sized = h("span", { "data-part": "size", style: "min-width: 1.2rem; text-align: center" });
    const resize = (/** @type {number} */ by) => () => set({ size: Math.min(Math.max(size() + by, 1), n()) });
    const button = (/** @type {string} */ part, /** @type {string} */ text, /** @type {() => void} */ click, /** @type {string} */ label = text) =>
      h("button", { type: "button", "data-part": part, "aria-label": label === text ? null : label, on: { click } }, text);
    presets.append(button("invert", "~ invert", () => change(math.invert(mask()), recipe.mask === JSON.stringify(mask()) ? `~(${recipe.text})` : "")));
    const late = h("input", { type: "checkbox", "data-part": "late", on: { change: () => set({ late: late.checked }) } });
    const nudgePlace = h("span");
    const amounts = slider({ part: "nudge", label: "Nudge by", role: "value", limits: { min: -3, max: 3, step: 0.1 }, onInput: (nudge) => set({ nudge }) });
    const origin = h("p", { class: "attnlab-formula", "data-part": "recipe" });
    const grid = h("div", { class: "attnlab-scroll" });
    const outputs = h("div", { class: "attnlab-scroll" });
    const counters = h("p", { class: "attnlab-counters", "data-part": "counters" });
    const numbers = strip("Weights and outputs");
    body.append(
      h("div", { class: "attnlab-mats" }, grid, outputs),
      labelled("Nudge a token", nudgePlace),
      amounts.row,
      h("label", { class: "attnlab-row", style: "min-height: 32px; flex-wrap: nowrap" }, late, "mask after the softmax (the wrong order)"),
      labelled("Preset", presets),
      labelled(
        "applied",
        ways,
        h("span", { class: "attnlab-stepper" }, h("span", { class: "attnlab-label" }, "size"), button("smaller", "−", resize(-1), "Smaller size"), sized, button("larger", "+", resize(1), "Larger size")),
        button("undo", "Undo", undo),
      ),
      origin, // below the presets: it changes its height while cells are painted
      counters,
      h("details", {}, h("summary", {}, "Weights and outputs as a table"), numbers),
    );
    /** @type {HTMLElement} */
    let nudges;

    /**
     * Change the mask in a way that Undo takes back.
     * @param {Matrix} to
     * @param {string} [text] how it came about; nothing if it was painted
     */
    function change(to, text = "") {
      history.push(mask());
      recipe = { text, mask: JSON.stringify(to) };
      set({ mask: to });
    }

    function undo() {
      const last = history.pop();
      if (last) set({ mask: last });
      else say("There is nothing to undo.");
    }

    /** @param {string} name */
    function apply(name) {
      const [fresh, code] = [math.preset(name, n(), size()), math.PRESETS[name].code(n(), size())];
      const known = recipeOf(mask());
      if (how === "=") change(fresh, code);
      else change(math.combine(mask(), fresh, how), known ? math.written(known, code, how) : "");
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
        caption: "Mask, with the weights that it leaves",
        part: "mask",
        signal,
        value: (i, j) => mask()[i][j],
        begin: () => history.push(mask()),
        paint,
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
      late.checked = isLate;
      select(nudges, String(which));
      amounts.input.disabled = which < 0;
      amounts.show(amount, which < 0 ? "" : `${amount < 0 ? "" : "+"}${fmt(amount, 1)}`);
      const text = recipeOf(mask());
      origin.textContent = text ? `mask = ${text}` : "mask: painted by hand";
      for (const el of grid.querySelectorAll("[data-row]")) {
        const at = /** @type {HTMLElement} */ (el);
        const [i, j] = [Number(at.dataset.row), Number(at.dataset.column)];
        const open = mask()[i][j] === 1;
        at.textContent = cellText(open, weights[i][j], isLate);
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
    function drawOutputs({ tokens, which, weights, output, moved }) {
      const note = (/** @type {number} */ i) => {
        if (!mask()[i].includes(1)) return "empty row";
        if (moved[i] < 1e-9) return "";
        const hidden = i !== which && !mask()[i][which];
        return `${fmt(moved[i])}${hidden ? " leak" : i < which ? " ahead" : ""}`;
      };
      const rows = tokens.map((token, i) => {
        const sum = weights[i].reduce((a, b) => a + b, 0);
        const total = h("td", { style: Math.abs(sum - 1) > 1e-9 && "font-weight: 700" }, fmt(sum));
        return [token, total, ...output[i].map((v) => fmt(v)), h("td", { class: note(i).endsWith("leak") && "is-leak" }, note(i))];
      });
      const made = table("outputs", ["token", "sum", ...output[0].map((_, d) => `out ${d + 1}`), "moved"], rows, { caption: "Outputs" });
      made.classList.add("attnlab-paint");
      made.caption?.classList.add("is-output");
      outputs.replaceChildren(made);
    }

    /** @param {ReturnType<typeof read>} state */
    function summarise({ tokens, weights, output, moved }) {
      const head = ["token", ...tokens.map((t) => `takes of ${t}`), "sum", ...output[0].map((_, d) => `output ${d + 1}`), "moved by"];
      const rows = tokens.map((token, i) => [
        token,
        ...weights[i].map((w, j) => (mask()[i][j] ? w.toFixed(4) : "hidden")),
        ...[weights[i].reduce((a, b) => a + b, 0), ...output[i], moved[i]].map((v) => v.toFixed(4)),
      ]);
      numbers.replaceChildren(table("numbers", head, rows));
    }

    /** @param {ReturnType<typeof read>} state */
    function tell({ tokens, which, isLate, weights, moved }) {
      const [leaking, early, empty] = [math.leaks(mask(), isLate), math.ahead(mask(), isLate), math.emptyRows(mask())];
      const open = math.allowed(mask());
      const short = weights.filter((row) => Math.abs(row.reduce((a, b) => a + b, 0) - 1) > 1e-9).length;
      const counted = [
        `allowed ${open} of ${n() ** 2} (${Math.round((100 * open) / n() ** 2)} %)`,
        `empty rows ${empty.length}`,
        `rows not summing to 1: ${short}`,
        `pairs that look ahead ${early.length}`,
        `leaking pairs ${leaking.length}`,
      ];
      counters.replaceChildren(...counted.map((text) => h("span", {}, text)));
      const name = (/** @type {number} */ i) => `${i + 1} (${tokens[i]})`;
      const words = [];
      if (leaking.length) {
        const [i, j] = leaking[0];
        words.push(`Leak: output ${name(i)} depends on token ${name(j)}, which its row hides.`);
      } else words.push("No output depends on a token that its row hides.");
      if (early.length) words.push(`The first to look ahead is output ${name(early[0][0])}, at token ${name(early[0][1])}.`);
      else words.push("No output looks ahead.");
      if (empty.length) words.push(`Empty: row ${empty.map(name).join(", ")}; the output is zeros.`);
      if (which >= 0) {
        const far = moved.flatMap((m, i) => (m > 1e-9 ? [i] : []));
        words.push(`Nudging token ${name(which)} moves ${far.length ? `output${far.length > 1 ? "s" : ""} ${far.map((i) => i + 1).join(", ")}` : "no output"}.`);
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
      const { tokens, weights, isLate } = read();
      const cells = mask().map((row, i) => row.map((open, j) => ({ text: cellText(open, weights[i][j], isLate), weight: weights[i][j], closed: !open })));
      return picture([{ names: tokens, cells }]);
    }

    return { update, pytorch, svg };
  },
});
