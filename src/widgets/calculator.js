// The calculator: every number of single-head attention, six stages, one formula for the cell in focus.
//
// For tests (data-part): stages (radio group, values 1-6), previous, next, undo, causal (checkbox),
// matrix-X, matrix-Wq, -Wk, -Wv (tables of inputs), matrix-Q, -K, -V, -S, -scaled, -A, -O (tables of buttons; each
// cell has data-row and data-column), formula, numbers (table: weights and output of every token), status.
import css from "./ui/cells.css";
import { choices, fmt, h, select, shade } from "./ui/dom.js";
import { EDITABLE, explain, feeds } from "./ui/formulas.js";
import { figure } from "./ui/frame.js";
import { neighbour, picture, strip, table } from "./ui/tables.js";
import { attend, matrix } from "./math/attention.js";

/** @typedef {import("./math/attention.js").Matrix} Matrix */

const STAGES = ["Input", "Q, K, V", "Scores", "Scaled", "Weights", "Output"];
const SAYS = [
  "one row of numbers for each token.",
  "three views of every token: what it looks for, offers and passes on.",
  "every query against every key.",
  "the scores, made smaller so that their spread does not grow with the width.",
  "each row becomes shares that sum to one.",
  "each row is a weighted mean of the values.",
];
/** The matrix whose cells carry the formula, by stage. */
const MAIN = ["X", "Q", "S", "scaled", "A", "O"];
const NAMES = /** @type {Record<string, string>} */ ({
  X: "X", Wq: "W_q", Wk: "W_k", Wv: "W_v", Q: "Q = X W_q", K: "K = X W_k", V: "V = X W_v",
  S: "scores = Q Kᵀ", scaled: "scaled", A: "weights", O: "output = weights · V",
});
const ROLE = /** @type {Record<string, string>} */ ({
  Wq: "query", Q: "query", Wk: "key", K: "key", Wv: "value", V: "value", O: "output",
});
const MOST = 1e6;

export default figure({
  name: "calculator",
  css,
  title: "Attention calculator",
  keys: ["X", "W_q", "W_k", "W_v", "tokens", "stage", "focus", "scale", "causal"],
  setup({ model, body, say, set }) {
    /** @type {Record<string, any>[]} */
    const history = [];
    /** @type {ReturnType<typeof attend>} */
    let result;
    let drawn = "";

    const go = (/** @type {number} */ stage) => set({ stage: Math.min(Math.max(stage, 1), 6), focus: [0, 0] });
    const stages = choices({
      label: "Stage",
      part: "stages",
      value: String(model.get("stage")),
      options: STAGES.map((text, at) => ({ value: String(at + 1), text: `${at + 1} ${text}` })),
      onChange: (value) => go(Number(value)),
    });
    const previous = h("button", { type: "button", "data-part": "previous", on: { click: () => go(model.get("stage") - 1) } }, "← Back");
    const next = h("button", { type: "button", "data-part": "next", on: { click: () => go(model.get("stage") + 1) } }, "Next →");
    const undo = h("button", { type: "button", "data-part": "undo", on: { click: takeBack } }, "Undo");
    const causal = h("input", { type: "checkbox", "data-part": "causal", on: { change: () => change({ causal: causal.checked }) } });
    const formula = h("p", { class: "attnlab-formula", "data-part": "formula", "aria-live": "polite" });
    const mats = h("div", { class: "attnlab-mats" });
    const numbers = strip("Weights and output");
    body.append(
      stages,
      h(
        "div",
        { class: "attnlab-row" },
        previous,
        next,
        undo,
        h("label", { style: "display: inline-flex; gap: .4rem; align-items: center; min-height: 32px" }, causal, "hide later tokens"),
      ),
      mats,
      formula,
      h("details", { open: true }, h("summary", {}, "Weights and output as a table"), numbers),
    );

    function takeBack() {
      const last = history.pop();
      if (last) set(last);
      else say("There is nothing to undo.");
    }

    /** @param {Record<string, any>} changes an edit that Undo can take back */
    function change(changes) {
      history.push(Object.fromEntries(Object.keys(changes).map((key) => [key, structuredClone(model.get(key))])));
      set(changes);
    }

    function read() {
      const [x, wq, wk, wv] = Object.values(EDITABLE).map((key) => matrix(key, model.get(key)));
      for (const [key, w] of [["W_q", wq], ["W_k", wk], ["W_v", wv]]) {
        if (/** @type {Matrix} */ (w).length !== x[0].length) {
          throw new Error(`${key} must have as many rows as X has columns (${x[0].length}), it has ${w.length}.`);
        }
      }
      if (wq[0].length !== wk[0].length) {
        throw new Error(`W_q and W_k must have as many columns as each other, they have ${wq[0].length} and ${wk[0].length}.`);
      }
      result = attend({ x, wq, wk, wv, scale: model.get("scale"), causal: Boolean(model.get("causal")) });
      return { X: x, Wq: wq, Wk: wk, Wv: wv, Q: result.q, K: result.k, V: result.v, S: result.scores, scaled: result.scaled, A: result.weights, O: result.output };
    }

    function update() {
      const all = /** @type {Record<string, Matrix>} */ (read());
      const stage = Number(model.get("stage"));
      const tokens = /** @type {string[]} */ (model.get("tokens"));
      if (tokens.length !== all.X.length) {
        throw new Error(`tokens must name the ${all.X.length} rows of X, it names ${tokens.length}.`);
      }
      select(stages, String(stage));
      previous.disabled = stage <= 1;
      next.disabled = stage >= 6;
      causal.checked = Boolean(model.get("causal"));
      const shown = [["X"], ["X", "Wq", "Wk", "Wv", "Q", "K", "V"], ["Q", "K", "S"], ["S", "scaled"], ["scaled", "A"], ["A", "V", "O"]][stage - 1];
      const main = MAIN[stage - 1];
      const target = focusOf(all, main);
      // Typing must not lose its place: the tables are made again when the stage or a shape changes, not else.
      const layout = JSON.stringify([stage, tokens, shown.map((name) => [all[name].length, all[name][0].length])]);
      if (layout !== drawn) {
        drawn = layout;
        mats.replaceChildren(...shown.map((name) => cells(name, all[name], tokens)));
      }
      const sources = feeds(target);
      for (const name of shown) fill(name, all[name], target, sources);
      formula.textContent = explain(all, target, tokens, model.get("scale"));
      const head = ["token", ...tokens.map((t) => `takes of ${t}`), ...all.O[0].map((_, j) => `output ${j + 1}`)];
      numbers.replaceChildren(table("numbers", head, tokens.map((token, i) => [token, ...[...all.A[i], ...all.O[i]].map((value) => value.toFixed(4))])));
      say(`Stage ${stage} of 6: ${SAYS[stage - 1]}`);
    }

    /**
     * @param {Record<string, Matrix>} all
     * @param {string} main
     */
    function focusOf(all, main) {
      const given = model.get("focus");
      const name = given.length > 2 && all[given[2]] ? given[2] : main;
      return {
        name,
        row: Math.min(Number(given[0]) || 0, all[name].length - 1),
        column: Math.min(Number(given[1]) || 0, all[name][0].length - 1),
      };
    }

    /**
     * @param {string} name
     * @param {Matrix} values
     * @param {string[]} tokens
     */
    function cells(name, values, tokens) {
      const byToken = !name.startsWith("W");
      const square = ["S", "scaled", "A"].includes(name);
      const body = values.map((row, i) =>
        h(
          "tr",
          {},
          h("th", { scope: "row" }, byToken ? tokens[i] : String(i + 1)),
          ...row.map((_, j) => {
            const at = { "data-row": i, "data-column": j, "aria-label": `${name} row ${i + 1} column ${j + 1}` };
            const inside = name in EDITABLE ? editor(name, i, j, at) : reader(name, i, j, at);
            return h("td", { class: "attnlab-cell" }, inside);
          }),
        ),
      );
      const heads = values[0].map((_, j) => h("th", { scope: "col" }, square ? tokens[j] : String(j + 1)));
      return h(
        "div",
        { class: "attnlab-scroll" },
        h(
          "table",
          { "data-part": `matrix-${name}`, on: { keydown: move } },
          h("caption", { class: ROLE[name] ? `is-${ROLE[name]}` : "" }, NAMES[name] + (name === "scaled" ? ` = scores × ${fmt(result.factor, 3)}` : "")),
          h("thead", {}, h("tr", {}, h("td", { style: "border: 0" }), ...heads)),
          h("tbody", {}, ...body),
        ),
      );
    }

    /**
     * @param {string} name
     * @param {number} i
     * @param {number} j
     * @param {Record<string, any>} at
     */
    function editor(name, i, j, at) {
      const input = h("input", { ...at, type: "text", inputmode: "decimal" });
      const key = EDITABLE[/** @type {keyof typeof EDITABLE} */ (name)];
      input.addEventListener("focus", () => set({ focus: [i, j, name] }));
      input.addEventListener("change", () => {
        const value = number(input.value);
        input.setAttribute("aria-invalid", String(value === null));
        if (value === null) {
          say(`“${input.value}” is not a number from −${MOST} to ${MOST}. ${key} row ${i + 1}, column ${j + 1} stays ${fmt(model.get(key)[i][j])}.`);
          return;
        }
        if (input.value === written(model.get(key)[i][j])) return;
        const edited = structuredClone(model.get(key));
        edited[i][j] = value;
        change({ [key]: edited });
      });
      return input;
    }

    /**
     * @param {string} name
     * @param {number} i
     * @param {number} j
     * @param {Record<string, any>} at
     */
    function reader(name, i, j, at) {
      return h("button", { ...at, type: "button", on: { click: () => set({ focus: [i, j, name] }) } });
    }

    /** Arrow keys go from cell to cell. @param {KeyboardEvent} event */
    function move(event) {
      const cell = /** @type {HTMLElement} */ (event.target);
      if (event.key === "Enter") cell.dispatchEvent(new Event("change"));
      if (cell instanceof HTMLInputElement && cell.selectionStart !== cell.selectionEnd) return;
      const to = neighbour(event);
      to?.focus();
      if (to instanceof HTMLButtonElement) to.click();
    }

    /**
     * @param {string} name
     * @param {Matrix} values
     * @param {{ name: string, row: number, column: number }} target
     * @param {(name: string, row: number, column: number) => boolean} sources
     */
    function fill(name, values, target, sources) {
      for (const el of mats.querySelectorAll(`[data-part="matrix-${name}"] [data-row]`)) {
        const cell = /** @type {HTMLInputElement} */ (el);
        const [i, j] = [Number(cell.dataset.row), Number(cell.dataset.column)];
        const value = values[i][j];
        if (cell.tagName !== "INPUT") {
          cell.textContent = fmt(value, name === "A" ? 3 : 2);
          // The name replaces the text for a screen reader, so it has the number too.
          cell.setAttribute("aria-label", `${cell.textContent}, ${name} row ${i + 1} column ${j + 1}`);
        } else if (!cell.matches(":focus") || number(cell.value) !== null) cell.value = written(value);
        const td = /** @type {HTMLElement} */ (cell.parentElement);
        td.classList.toggle("is-focus", target.name === name && target.row === i && target.column === j);
        td.classList.toggle("is-source", sources(name, i, j));
        if (name === "A") shade(td, value);
      }
    }

    /** @returns {string} the state as a snippet that runs */
    function pytorch() {
      const t = (/** @type {string} */ key) => `torch.tensor(${JSON.stringify(model.get(key))}, dtype=torch.float64)`;
      const scale = model.get("scale");
      return `import torch

from attnlab import attention

x = ${t("X")}  # one row a token: ${model.get("tokens").join(", ")}
w_q = ${t("W_q")}
w_k = ${t("W_k")}
w_v = ${t("W_v")}
output, weights = attention(
    x @ w_q, x @ w_k, x @ w_v, scale=${scale ?? "None"}, is_causal=${model.get("causal") ? "True" : "False"}, need_weights=True
)
print(weights)
print(output)
`;
    }

    /** @returns {string} the weights as a drawing */
    function svg() {
      const { A } = /** @type {Record<string, Matrix>} */ (read());
      return picture([{ names: model.get("tokens"), cells: A.map((row) => row.map((weight) => ({ text: fmt(weight, 3), weight }))) }]);
    }

    return { update, pytorch, svg };
  },
});

/**
 * Write a number to edit, without the digits that single precision leaves behind 3.55.
 * @param {number} value
 */
const written = (value) => String(Number(value.toPrecision(7)));

/**
 * Read a number as people type it: comma or point, any minus sign.
 * @param {string} text
 */
function number(text) {
  const clean = text.trim().replace("−", "-").replace(",", ".");
  const value = clean === "" ? NaN : Number(clean);
  return Number.isFinite(value) && Math.abs(value) <= MOST ? value : null;
}
