// Sparse patterns: who sees whom in one layer, and whom a token hears of after several.
//
// For tests (data-part): kind, causal (radio groups), width, globals, random, depth, query (range inputs), plane (svg),
// numbers (table: layers, tokens that reach the query, pairs, share), counters, status.
import css from "./ui/cells.css";
import { labelled, slider } from "./ui/controls.js";
import { choices, draggable, fmt, h, s, select, spot, standalone } from "./ui/dom.js";
import { figure } from "./ui/frame.js";
import { strip, table } from "./ui/tables.js";
import { allowed, layersToReach, pairs } from "./math/patterns.js";

const KINDS = { window: "window", strided: "strided", fixed: "fixed", mixed: "window + global + random" };
const DEEPEST = 8;
const CELL = 9;
const LIMITS = /** @type {const} */ ({ width: [1, 12], globals: [0, 4], random: [0, 4], depth: [1, DEEPEST] });
const LABELS = { width: "Window or stride", globals: "Global tokens", random: "Random keys", depth: "Layers" };

export default figure({
  name: "patterns",
  css,
  title: "Sparse patterns",
  keys: ["kind", "n", "width", "globals", "random", "causal", "depth", "query"],
  setup({ model, body, say, set, signal }) {
    const kinds = choices({
      label: "Pattern", part: "kind", value: "window",
      options: Object.entries(KINDS).map(([value, text]) => ({ value, text })),
      onChange: (kind) => set({ kind }),
    });
    const causal = choices({
      label: "Causal", part: "causal", value: "yes",
      options: [{ value: "yes", text: "yes" }, { value: "no", text: "no" }],
      onChange: (on) => set({ causal: on === "yes" }),
    });
    const ranges = Object.fromEntries(
      [...Object.entries(LABELS), ["query", "Token that looks"]].map(([part, label]) => [
        part,
        slider({ part, label, limits: { min: 0, max: 1, step: 1 }, onInput: (value) => set({ [part]: value }) }),
      ]),
    );
    const plane = s("svg", {
      role: "img", "data-part": "plane",
      style: "flex: 1 1 18rem; min-width: 0; width: 100%; max-width: 26rem; height: auto; display: block; cursor: pointer",
    });
    const pick = (/** @type {PointerEvent} */ event) => {
      const row = Math.floor((spot(plane, event)[1] - 1) / CELL);
      set({ query: Math.min(Math.max(row, 0), model.get("n") - 1) });
    };
    plane.addEventListener("click", (event) => pick(/** @type {PointerEvent} */ (event)), { signal });
    draggable(plane, signal, pick, { area: true });
    const numbers = strip("Reach after each number of layers");
    const counters = h("div", { class: "attnlab-counters", "data-part": "counters", style: "margin: .6rem 0" });
    body.append(
      labelled("Pattern", kinds),
      labelled("Causal", causal),
      ...Object.values(ranges).map(({ row }) => row),
      h(
        "div",
        { style: "display: flex; flex-wrap: wrap; gap: .4rem 1.6rem; align-items: flex-start; margin-top: .8rem" },
        plane,
        h("div", { style: "flex: 1 1 17rem; min-width: 0" }, counters, numbers),
      ),
    );

    function read() {
      /** @type {any} */
      const state = Object.fromEntries(["kind", "n", "width", "globals", "random", "depth", "query"].map((key) => [key, model.get(key)]));
      if (!(state.kind in KINDS)) throw new Error(`kind must be one of ${Object.keys(KINDS).join(", ")}, got ${state.kind}.`);
      if (!Number.isInteger(state.n) || state.n < 4 || state.n > 48) throw new Error(`n must be a whole number from 4 to 48, got ${state.n}.`);
      for (const [key, [low, high]] of Object.entries({ ...LIMITS, query: [0, state.n - 1] })) {
        if (!Number.isInteger(state[key]) || state[key] < low || state[key] > high) {
          throw new Error(`${key} must be a whole number from ${low} to ${high}, got ${state[key]}.`);
        }
      }
      const causal = Boolean(model.get("causal"));
      const mask = allowed({ ...state, causal });
      return { ...state, causal, mask, found: layersToReach(mask, DEEPEST) };
    }

    /**
     * All cells of one kind as one path: thousands of elements would not answer within a frame.
     * @param {number[][]} found
     * @param {(layers: number) => boolean} which
     * @param {Record<string, any>} props
     */
    const cells = (found, which, props) =>
      s("path", {
        d: found.flatMap((row, i) => row.flatMap((layers, j) => (which(layers) ? [`M${j * CELL + 0.5} ${(i + 1) * CELL + 0.5}h8v8h-8z`] : []))).join(""),
        ...props,
      });

    function draw(/** @type {ReturnType<typeof read>} */ { n, found, depth, query }) {
      const side = n * CELL;
      plane.setAttribute("viewBox", `-1 ${CELL - 1} ${side + 2} ${side + 2}`);
      plane.replaceChildren(
        s("rect", { x: 0, y: CELL, width: side, height: side, fill: "none", stroke: "var(--fig-line)" }),
        cells(found, (layers) => layers > 1 && layers <= depth, { fill: "var(--fig-query)", "fill-opacity": 0.25 }),
        cells(found, (layers) => layers === 1, { fill: "var(--fig-query)" }),
        s("rect", { x: -0.5, y: (query + 1) * CELL - 0.5, width: side + 1, height: CELL + 1, fill: "none", stroke: "var(--fig-output)", "stroke-width": 2 }),
      );
    }

    function update() {
      const state = read();
      const { kind, n, width, depth, query, found, causal: isCausal } = state;
      select(kinds, kind);
      select(causal, isCausal ? "yes" : "no");
      for (const [key, { row, input, show }] of Object.entries(ranges)) {
        const [low, high] = key === "query" ? [0, n - 1] : LIMITS[/** @type {keyof typeof LIMITS} */ (key)];
        input.min = String(low);
        input.max = String(high);
        show(state[key], String(key === "query" ? query + 1 : state[key]));
        row.hidden = (key === "globals" || key === "random") && kind !== "mixed";
      }
      draw(state);
      const all = isCausal ? (n * (n + 1)) / 2 : n * n;
      const hears = (/** @type {number} */ layers) => found[query].filter((/** @type {number} */ k) => k && k <= layers).length;
      const row = (/** @type {number} */ layers) => {
        const reached = pairs(found, layers);
        return [String(layers), String(hears(layers)), String(reached), `${fmt((100 * reached) / all, 1)} %`];
      };
      const rows = Array.from({ length: DEEPEST }, (_, i) => row(i + 1));
      numbers.replaceChildren(table("numbers", ["layers", "tokens reaching it", "pairs reached", "of all"], rows, { bold: depth - 1 }));
      const one = pairs(found, 1);
      const enough = Array.from({ length: DEEPEST }, (_, i) => i + 1).find((layers) => pairs(found, layers) === all);
      counters.replaceChildren(
        ...[`${one} scores in a layer`, `dense: ${all}`, `2n√n = ${fmt(2 * n * Math.sqrt(n), 0)}`].map((t) => h("span", {}, t)),
      );
      const could = isCausal ? query + 1 : n;
      plane.setAttribute("aria-label", `The pattern of ${n} queries and keys, ${KINDS[/** @type {keyof typeof KINDS} */ (kind)]}; solid: seen in one layer, pale: reached after ${depth}`);
      say(
        `One layer computes ${one} of ${all} scores (${fmt((100 * one) / all, 0)} %). After ${depth} ${depth === 1 ? "layer" : "layers"} token ${query + 1} ` +
          `hears of ${hears(depth)} of the ${could} tokens it could. ` +
          (enough ? `Everyone is reached after ${enough}.` : `Not everyone is reached after ${DEEPEST}.`),
      );
    }

    /** @returns {string} */
    function pytorch() {
      const { kind, n, width, globals, random, causal: isCausal, depth, query } = read();
      const pattern = {
        window: `masks.window(n, ${width})`,
        strided: `masks.strided(n, ${width}, is_causal=False)`,
        fixed: `masks.fixed(n, ${width}, is_causal=False)`,
        mixed: `masks.window(n, ${width}) | masks.global_tokens(n, range(${globals})) | drawn`,
      }[/** @type {keyof typeof KINDS} */ (kind)];
      const drawn = `from attnlab.tagging.words import bucket

drawn = torch.zeros(n, n, dtype=torch.bool)  # ${random} random keys a query, by a hash, so that pages agree
for i in range(n):
    drawn[i, [bucket(f"{i} {r}", 0, n) for r in range(${random})]] = True
`;
      return `import torch

from attnlab import masks

n = ${n}
${kind === "mixed" ? drawn : ""}mask = ${pattern}
${isCausal ? "mask = mask & masks.causal(n)\n" : ""}reach = mask
for layer in range(1, ${depth + 1}):
    if layer > 1:
        reach = (mask.float() @ reach.float()) > 0
    print(layer, reach[${query}].sum().item(), reach.sum().item())
`;
    }

    return { update, pytorch, svg: () => standalone(plane) };
  },
});
