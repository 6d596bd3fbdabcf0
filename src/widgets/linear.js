// Linear attention against softmax: two feature maps, two orders of brackets; what is blurred, and where the cost goes.
//
// For tests (data-part): map, order (radio groups), features, sharpness, length, query (range inputs), draw (button),
// exact, approximate (tables: token, one weight a token), numbers (table: measure, softmax, linear, mean of all values),
// cost (table: computed, multiplications), status.
import css from "./ui/cells.css";
import { labelled, slider } from "./ui/controls.js";
import { choices, fmt, h, select, shade } from "./ui/dom.js";
import { figure } from "./ui/frame.js";
import { picture, strip, table } from "./ui/tables.js";
import { WIDTH, compare, cost } from "./math/linear.js";

const FEATURES = Array.from({ length: 10 }, (_, p) => 2 ** p);
const LENGTHS = Array.from({ length: 11 }, (_, p) => 64 * 2 ** p);
const SHARPEST = 3;
const HEAD = 64; // the width of a head in the counts

/** @param {number} x */
const big = (x) => x.toLocaleString("en");

export default figure({
  name: "linear",
  css,
  title: "Linear attention against softmax",
  keys: ["tokens", "map", "features", "sharpness", "seed", "order", "length", "query"],
  setup({ model, body, say, set }) {
    const maps = choices({
      label: "Feature map", part: "map", value: "elu",
      options: [{ value: "elu", text: "elu + 1" }, { value: "random", text: "positive random" }],
      onChange: (map) => set({ map }),
    });
    const orders = choices({
      label: "Brackets", part: "order", value: "scores",
      options: [{ value: "scores", text: "(φ(Q) φ(K)ᵀ) V" }, { value: "values", text: "φ(Q) (φ(K)ᵀ V)" }],
      onChange: (order) => set({ order }),
    });
    const draw = h("button", { type: "button", "data-part": "draw", on: { click: () => set({ seed: model.get("seed") + 1 }) } }, "New features");
    const range = (/** @type {string} */ part, /** @type {string} */ label, /** @type {any} */ limits, /** @type {(value: number) => Record<string, any>} */ change) =>
      slider({ part, label, limits, onInput: (value) => set(change(value)) });
    const features = range("features", "Random features", { min: 0, max: FEATURES.length - 1, step: 1 }, (p) => ({ features: FEATURES[p] }));
    const sharpness = range("sharpness", "Size of q and k", { min: 0.1, max: SHARPEST, step: 0.1 }, (x) => ({ sharpness: Math.round(x * 10) / 10 }));
    const length = range("length", "Tokens to count", { min: 0, max: LENGTHS.length - 1, step: 1 }, (p) => ({ length: LENGTHS[p] }));
    const query = range("query", "Token that looks", { min: 0, max: 1, step: 1 }, (i) => ({ query: i }));
    const [exact, approximate, numbers, costs] = ["softmax", "linear", "How sharp, and how far off", "Multiplications"].map(strip);
    body.append(
      labelled("Feature map", maps, draw),
      features.row,
      sharpness.row,
      query.row,
      h("div", { class: "attnlab-mats" }, exact, approximate),
      numbers,
      labelled("Brackets", orders),
      length.row,
      costs,
    );

    function read() {
      /** @type {any} */
      const state = Object.fromEntries(["tokens", "map", "features", "sharpness", "seed", "order", "length", "query"].map((key) => [key, model.get(key)]));
      const n = state.tokens?.length;
      if (!Array.isArray(state.tokens) || n < 2 || n > 8) throw new Error("tokens must be 2 to 8 words.");
      if (!["elu", "random"].includes(state.map)) throw new Error(`map must be elu or random, got ${state.map}.`);
      if (!["scores", "values"].includes(state.order)) throw new Error(`order must be scores or values, got ${state.order}.`);
      if (!FEATURES.includes(state.features)) throw new Error(`features must be a power of two from 1 to 512, got ${state.features}.`);
      if (!LENGTHS.includes(state.length)) throw new Error(`length must be 64 times a power of two, up to 65536, got ${state.length}.`);
      if (!(state.sharpness > 0 && state.sharpness <= SHARPEST)) throw new Error(`sharpness must be above 0 and at most ${SHARPEST}, got ${state.sharpness}.`);
      if (!Number.isInteger(state.seed) || state.seed < 0) throw new Error(`seed must be a whole number, 0 or larger, got ${state.seed}.`);
      if (!Number.isInteger(state.query) || state.query < 0 || state.query >= n) throw new Error(`query must be a whole number from 0 to ${n - 1}, got ${state.query}.`);
      return { ...state, n, got: compare({ ...state, n }) };
    }

    /**
     * A table of weights, the row of the chosen token marked.
     * @param {string} part
     * @param {string} caption
     * @param {number[][]} weights
     * @param {string[]} tokens
     * @param {number} chosen
     */
    function weightTable(part, caption, weights, tokens, chosen) {
      const cell = (/** @type {number} */ weight, /** @type {number} */ i) => {
        const td = h("td", { style: i === chosen && "box-shadow: inset 0 2px 0 var(--fig-output), inset 0 -2px 0 var(--fig-output)" }, fmt(weight));
        shade(td, weight);
        return td;
      };
      const rows = weights.map((row, i) => [tokens[i], ...row.map((weight) => cell(weight, i))]);
      return table(part, ["token", ...tokens], rows, { caption });
    }

    function update() {
      const { tokens, map, features: count, sharpness: size, order, length: many, query: chosen, n, got } = read();
      select(maps, map);
      select(orders, order);
      features.show(FEATURES.indexOf(count), String(count));
      sharpness.show(size, fmt(size, 1));
      length.show(LENGTHS.indexOf(many), big(many));
      query.input.max = String(n - 1);
      query.show(chosen, tokens[chosen]);
      features.row.hidden = draw.hidden = map === "elu";
      const most = (/** @type {number[][]} */ weights) => Math.max(...weights[chosen]);
      exact.replaceChildren(weightTable("exact", "softmax", got.exact, tokens, chosen));
      approximate.replaceChildren(weightTable("approximate", map === "elu" ? "elu + 1" : `${count} random features`, got.weights, tokens, chosen));
      const uniform = got.exact.map((/** @type {number[]} */ row) => row.map(() => 1 / n));
      numbers.replaceChildren(
        table(
          "numbers",
          ["measure", "softmax", "linear", "mean of all"],
          [
            [`largest weight of “${tokens[chosen]}”`, most(got.exact).toFixed(4), most(got.weights).toFixed(4), most(uniform).toFixed(4)],
            ["error of the output", "0.0000", got.error.toFixed(4), got.errorOfMean.toFixed(4)],
          ],
          { caption: "How sharp, and how far off" },
        ),
      );
      const m = map === "elu" ? HEAD : count;
      const counted = cost(many, m, HEAD);
      const mark = (/** @type {string} */ which) => (order === which ? " ←" : "");
      const dearest = Math.max(...Object.values(counted));
      // Behind each number a bar of its size, from the left edge of a cell that takes all the room there is.
      const bar = (/** @type {number} */ count) =>
        h("td", { style: `width: 99%; background: linear-gradient(color-mix(in srgb, var(--fig-query) 30%, transparent) 0 0) 0 / ${((100 * count) / dearest).toFixed(2)}% 100% no-repeat` }, big(count));
      const costTable = table(
        "cost",
        ["computed", "multiplications"],
        [
          ["softmax(Q Kᵀ) V", bar(counted.softmax)],
          [`(φ(Q) φ(K)ᵀ) V${mark("scores")}`, bar(counted.scoresFirst)],
          [`φ(Q) (φ(K)ᵀ V)${mark("values")}`, bar(counted.valuesFirst)],
        ],
        { caption: `Multiplications of one head of ${HEAD}, ${m} features, ${big(many)} tokens` },
      );
      costTable.style.width = "100%";
      costs.replaceChildren(costTable);
      const chosenCost = order === "scores" ? counted.scoresFirst : counted.valuesFirst;
      const times = (/** @type {number} */ ratio) => big(Math.round(ratio * 10) / 10);
      const saved = counted.softmax / chosenCost;
      const against = saved === 1 ? "as many multiplications as" : saved > 1 ? `${times(saved)} times fewer multiplications than` : `${times(1 / saved)} times more multiplications than`;
      say(
        `Error ${fmt(got.error)} of the output${got.error >= got.errorOfMean ? ", no better than the mean of all values" : ` (the mean of all values: ${fmt(got.errorOfMean)})`}. ` +
          `Both brackets agree to ${got.orders < 1e-12 ? "1e-12" : got.orders.toExponential(0)}. ` +
          `The chosen one does ${against} softmax.`,
      );
    }

    /** @returns {string} */
    function pytorch() {
      const { tokens, map, features: count, sharpness: size, seed, n } = read();
      return `import torch

from attnlab.widgets.linear import drawn, phi

q, k, v = drawn(${n}, ${size})  # ${tokens.join(", ")}
fq, fk = (phi(x, ${JSON.stringify(map)}, ${count}, ${seed}) for x in (q, k))
softmax = (q @ k.T / ${WIDTH} ** 0.5).softmax(-1) @ v
scores_first = fq @ fk.T
scores_first = scores_first / scores_first.sum(-1, keepdim=True) @ v
values_first = fq @ (fk.T @ v) / (fq @ fk.sum(0))[:, None]
print("orders", (scores_first - values_first).abs().max().item())
print("error", ((values_first - softmax).norm() / softmax.norm()).item())
`;
    }

    /** @returns {string} both tables of weights as a drawing */
    function svg() {
      const { tokens, got } = read();
      const block = (/** @type {string} */ title, /** @type {number[][]} */ weights) =>
        ({ title, names: tokens, cells: weights.map((row) => row.map((weight) => ({ text: fmt(weight), weight }))) });
      return picture([block("softmax", got.exact), block("linear", got.weights)]);
    }

    return { update, pytorch, svg };
  },
});
