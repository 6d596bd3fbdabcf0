// Heads workshop: one layer cut into 1, 2, 4 or 8 heads, which may share keys and values.
//
// For tests (data-part): heads, kv, token (radio groups), wires (svg: a column of weights above each query head, wires
// below), numbers (table: head, K/V head, one weight a token, error), sums (table: this layer now, and with K/V of each
// head's own), status.
import { labelled } from "./ui/controls.js";
import { choices, fmt, h, s, select, shade, standalone } from "./ui/dom.js";
import { figure } from "./ui/frame.js";
import { strip, table } from "./ui/tables.js";
import { matrix } from "./math/attention.js";
import { shared } from "./math/heads.js";

/** @typedef {import("./math/heads.js").Matrix} Matrix */

const COUNTS = ["1", "2", "4", "8"];
const WIDE = 360;
const LEFT = 52; // room for the words
const ROW = 24;

export default figure({
  name: "heads",
  title: "Heads workshop",
  keys: ["heads", "kv_heads", "token"],
  setup({ model, body, say, set, signal }) {
    const counted = (/** @type {string} */ label, /** @type {string} */ part, /** @type {(n: number) => void} */ pick) =>
      choices({ label, part, value: "8", options: COUNTS.map((value) => ({ value, text: value })), onChange: (value) => pick(Number(value)) });
    // Whichever is chosen, the other gives way: there are never more K/V heads than query heads.
    const heads = counted("Query heads", "heads", (n) => set({ heads: n, kv_heads: Math.min(n, model.get("kv_heads")) }));
    const kv = counted("Key-value heads", "kv", (n) => set({ kv_heads: n, heads: Math.max(n, model.get("heads")) }));
    /** @type {HTMLElement} */
    let picker;
    const pickerPlace = h("span");
    const note = h("p", { class: "attnlab-label" });
    const wires = s("svg", {
      role: "img",
      "data-part": "wires",
      style: "width: 100%; max-width: 32rem; height: auto; display: block; margin: .4rem 0 0",
    });
    const [numbers, sums] = ["Where the heads look", "This layer and the same with nothing shared"].map(strip);
    body.append(
      h("div", { style: "display: flex; flex-wrap: wrap; column-gap: 2rem" }, labelled("Query heads", heads), labelled("Key-value heads", kv)),
      labelled("Look from", pickerPlace),
      note,
      wires,
      h("details", {}, h("summary", {}, "The numbers as tables"), numbers, sums),
    );
    // The matrices are no part of a link or a reset, but in a live kernel they can change.
    for (const key of ["x", "w_q", "w_k", "w_v", "tokens"]) {
      const redraw = () => set({});
      model.on(`change:${key}`, redraw);
      signal.addEventListener("abort", () => model.off?.(`change:${key}`, redraw));
    }

    function read() {
      const [x, wq, wk, wv] = ["x", "w_q", "w_k", "w_v"].map((key) => matrix(key, model.get(key)));
      const tokens = /** @type {string[]} */ (model.get("tokens"));
      const [n, m] = [Number(model.get("heads")), Number(model.get("kv_heads"))];
      if (!COUNTS.includes(String(n)) || !COUNTS.includes(String(m)) || m > n) {
        throw new Error(`heads and kv_heads must be 1, 2, 4 or 8, and kv_heads at most heads; got ${n} and ${m}.`);
      }
      if (tokens.length !== x.length) throw new Error(`tokens must name the ${x.length} rows of x, it names ${tokens.length}.`);
      for (const [key, w] of [["w_q", wq], ["w_k", wk], ["w_v", wv]]) {
        if (w.length !== x[0].length || /** @type {Matrix} */ (w)[0].length % 8 || /** @type {Matrix} */ (w)[0].length !== wq[0].length) {
          throw new Error(`${key} must have ${x[0].length} rows and a width that 8 divides, the same for all three.`);
        }
      }
      const token = Number(model.get("token"));
      if (!(token >= 0 && token < tokens.length)) throw new Error(`token must be from 0 to ${tokens.length - 1}, got ${token}.`);
      return { n, m, tokens, token, width: wk[0].length, ...shared({ x, wq, wk, wv }, n, m) };
    }

    function update() {
      const state = read();
      const { n, m, tokens, token } = state;
      select(heads, String(n));
      select(kv, String(m));
      if (picker?.dataset.names !== JSON.stringify(tokens)) {
        picker = choices({
          label: "Look from",
          part: "token",
          value: String(token),
          options: tokens.map((text, i) => ({ value: String(i), text })),
          onChange: (value) => set({ token: Number(value) }),
        });
        picker.dataset.names = JSON.stringify(tokens);
        pickerPlace.replaceChildren(picker);
      }
      select(picker, String(token));
      note.textContent = `One column for each query head: how much it takes of every word, seen from “${tokens[token]}”.`;
      draw(state);
      fill(state);
      const kind = m === n ? (n === 1 ? "One head" : "Multi-head") : m === 1 ? "Multi-query" : "Grouped-query";
      const off = m === n ? "" : ` The output is off by ${fmt(100 * state.error, 0)} % of that with nothing shared.`;
      say(`${kind}: ${n} query ${n === 1 ? "head" : "heads"}, ${m} of keys and values.${off}`);
    }

    /**
     * A column of weights for each query head, and below it the wire to the key-value head that it shares.
     * @param {ReturnType<typeof read>} state
     */
    function draw({ n, m, tokens, token, weights }) {
      const foot = ROW * tokens.length + 8; // where the weights end
      const [top, low] = [foot + 16, foot + 76]; // of query heads, of keys and values
      const at = (/** @type {number} */ i, /** @type {number} */ count) => LEFT + ((i + 0.5) * (WIDE - LEFT)) / count;
      const cell = Math.min((WIDE - LEFT) / n, 76) - 2;
      const text = (/** @type {string} */ words, /** @type {Record<string, any>} */ where) =>
        s("text", { "font-size": 14, fill: "var(--fig-ink)", "text-anchor": "middle", ...where }, words);
      const words = tokens.map((name, j) =>
        text(name.length > 7 ? `${name.slice(0, 6)}…` : name, {
          x: LEFT - 6, y: ROW * j + 17, "text-anchor": "end", "font-weight": j === token ? 700 : 400,
        }),
      );
      const queries = weights.map((rows, i) => [
        ...rows[token].flatMap((w, j) => [
          s("rect", {
            x: at(i, n) - cell / 2, y: ROW * j, width: cell, height: ROW - 2, rx: 3,
            fill: "var(--fig-query)", "fill-opacity": (0.52 * w).toFixed(3), stroke: "var(--fig-line)", "data-weight": "",
          }),
          text(fmt(w), { x: at(i, n), y: ROW * j + 16 }),
        ]),
        s("line", { x1: at(i, n), y1: top + 12, x2: at(Math.floor((i * m) / n), m), y2: low, stroke: "var(--fig-ink)", "stroke-opacity": 0.45 }),
        s("circle", { cx: at(i, n), cy: top, r: 12, fill: "var(--fig-paper)", stroke: "var(--fig-query)", "stroke-width": 2.5 }),
        text(String(i + 1), { x: at(i, n), y: top + 5 }),
      ]);
      const caches = Array.from({ length: m }, (_, i) => [
        s("rect", { x: at(i, m) - 16, y: low, width: 16, height: 16, fill: "var(--fig-key)", "data-cache": "" }),
        s("rect", { x: at(i, m), y: low, width: 16, height: 16, fill: "var(--fig-value)", "data-cache": "" }),
        text(String(i + 1), { x: at(i, m), y: low + 32 }),
      ]);
      const sides = [["Q", 18, top + 5, "query"], ["K", 12, low + 13, "key"], ["V", 26, low + 13, "value"]].map(([name, x, y, role]) =>
        text(String(name), { x, y, fill: `var(--fig-${role})`, "font-weight": 700 }),
      );
      wires.replaceChildren(...words, ...queries.flat(), ...caches.flat(), ...sides);
      wires.setAttribute("viewBox", `0 0 ${WIDE} ${low + 38}`);
      const heads = (/** @type {number} */ count, /** @type {string} */ kind) => `${count} ${kind} ${count === 1 ? "head" : "heads"}`;
      wires.setAttribute(
        "aria-label",
        `${heads(n, "query")}, each with its weights from “${tokens[token]}” to every word, wired to ${heads(m, "key and value")}`,
      );
    }

    /** @param {ReturnType<typeof read>} state */
    function fill({ n, m, tokens, token, width, weights, errors, error, overlap, ownOverlap }) {
      const looks = weights.map((rows, head) => {
        const cells = rows[token].map((w) => {
          const td = h("td", {}, w.toFixed(4));
          shade(td, w);
          return td;
        });
        return [`head ${head + 1}`, String(Math.floor((head * m) / n) + 1), ...cells, errors[head].toFixed(4)];
      });
      numbers.replaceChildren(table("numbers", ["head", "K/V head", ...tokens, "error"], looks, { caption: `Where “${tokens[token]}” (word ${token + 1}) looks` }));
      sums.replaceChildren(
        table(
          "sums",
          ["this layer", "now", "unshared"],
          [
            ["output error", error.toFixed(4), "0.0000"],
            ["heads look alike", overlap.toFixed(4), ownOverlap.toFixed(4)],
            ["keys, values a token", String((2 * width * m) / n), String(2 * width)],
          ],
          { caption: "What sharing loses, and what it saves" },
        ),
      );
    }

    /** @returns {string} */
    function pytorch() {
      const t = (/** @type {string} */ key) => `torch.tensor(${JSON.stringify(model.get(key))}, dtype=torch.float64)`;
      const [n, m] = [model.get("heads"), model.get("kv_heads")];
      return `import torch

from attnlab import attention

x = ${t("x")}  # ${model.get("tokens").join(", ")}
w_q = ${t("w_q")}
w_k = ${t("w_k")}
w_v = ${t("w_v")}
heads, kv_heads, token = ${n}, ${m}, ${model.get("token")}
q, k, v = ((x @ w).unflatten(-1, (heads, -1)).transpose(0, 1) for w in (w_q, w_k, w_v))


def share(t):
    return t.unflatten(0, (kv_heads, -1)).mean(1).repeat_interleave(heads // kv_heads, 0)


full = attention(q, k, v)
output, weights = attention(q, share(k), share(v), need_weights=True)
print(weights[:, token])
print("error", ((output - full).norm() / full.norm()).item())
`;
    }

    return { update, pytorch, svg: () => standalone(wires) };
  },
});
