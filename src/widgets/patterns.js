// Sparse patterns: layer by layer, of whom a token hears.
//
// For tests (data-part): kind, causal (radio groups), width, globals, random (range inputs), back, next, play (buttons),
// plane (svg; in it handle (g, role slider) and for each layer paths "new" and "old" with data-layer), figures (fold of:
// mask (svg), counters, numbers (table: layers, tokens heard of, pairs, share)), status.
import own from "./ui/patterns.css";
import paint from "./ui/paint.css";
import pill from "./ui/play.css";
import { grip, labelled, slider } from "./ui/controls.js";
import { calm, choices, draggable, fmt, h, onResize, renew, s, select, spot, standalone } from "./ui/dom.js";
import { figure } from "./ui/frame.js";
import { player } from "./ui/play.js";
import { inTime } from "./ui/said.js";
import { strip, table } from "./ui/tables.js";
import { allowed, layersToReach, pairs } from "./math/patterns.js";

const KINDS = { window: "window", strided: "strided", fixed: "fixed", mixed: "window + global + random" };
const DEEPEST = 8;
const LIMITS = /** @type {const} */ ({ width: [1, 12], globals: [0, 4], random: [0, 4], depth: [1, DEEPEST] });
const LABELS = { width: "Window or stride", globals: "Global tokens", random: "Random keys" };
const CELL = 9; // of the mask
const BANDS = 12; // in which tokens fade

export default figure({
  name: "patterns",
  css: paint + pill + own,
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
      Object.entries(LABELS).map(([part, label]) => {
        const [min, max] = LIMITS[/** @type {keyof typeof LABELS} */ (part)];
        return [part, slider({ part, label, limits: { min, max, step: 1 }, onInput: (value) => set({ [part]: value }) })];
      }),
    );
    const button = (/** @type {string} */ part, /** @type {string} */ text, /** @type {() => void} */ click) =>
      h("button", { type: "button", "data-part": part, on: { click } }, text);
    const back = button("back", "Back", () => go(depth() - 1));
    const next = button("next", "Next layer", () => go(depth() < DEEPEST ? depth() + 1 : 1));
    next.classList.add("attnlab-act");
    const { play, going } = player(() => (timer ? stop() : run()));
    const plane = s("svg", { role: "group", "data-part": "plane", class: "attnlab-reach" });
    const asker = grip({ which: "query", limits: [1, 1], style: "" });
    asker.setAttribute("aria-label", "Token that asks");
    const drawn = s("g", {});
    plane.append(drawn, asker);
    const mask = s("svg", { role: "img", "data-part": "mask" });
    const numbers = strip("Reach after each number of layers");
    const counters = h("p", { class: "attnlab-counters", "data-part": "counters" });
    body.append(
      plane,
      h("div", { class: "attnlab-row attnlab-steps" }, h("div", {}, next, play, back), h("div", {}, h("span", { class: "attnlab-label" }, "Causal"), causal)),
      labelled("Pattern", kinds),
      h("div", { class: "attnlab-sliders" }, ...Object.values(ranges).map(({ row }) => row)),
      h("details", { "data-part": "figures" }, h("summary", {}, "The mask, and the counts so far"), h("div", { class: "attnlab-masked" }, mask, h("div", {}, counters, numbers))),
    );

    const depth = () => Number(model.get("depth"));
    const go = (/** @type {number} */ to) => {
      stop();
      set({ depth: to });
    };
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    let timer;
    function stop() {
      clearTimeout(timer);
      timer = undefined;
      going(false);
    }
    /** A layer now, and one after the other until there is nobody left to hear of. */
    function run() {
      const done = () => {
        const { n, query, found, causal: only, depth: deep } = read();
        return deep === DEEPEST || found[query].filter((/** @type {number} */ layers) => layers && layers <= deep).length === (only ? query + 1 : n);
      };
      set({ depth: done() ? 1 : depth() + 1 });
      if (done()) return stop();
      timer = setTimeout(run, 900);
      going(true);
    }
    signal.addEventListener("abort", stop);

    const told = inTime(say);
    let wide = 0;
    let shown = ""; // what stands: only a layer more of the same is seen to grow
    let [turn, heard] = [0, ""]; // another pattern, or asker, is seen to take the place of the one before
    const fit = () => Math.max(Math.floor(body.clientWidth) || 640, 240);
    onResize(body, signal, () => fit() !== wide && wide && update());
    const phone = () => wide < 420;
    // The row of the token that asks, room for a layer's number, and for counts at the right; on a phone their heads stand above.
    const top = () => (phone() ? 52 : 34);
    const left = () => (phone() ? 16 : 38);
    const edge = () => wide - (phone() ? 21 : 62);
    const step = () => (edge() - left()) / model.get("n");
    const pick = (/** @type {MouseEvent} */ event) => ask(Math.floor((spot(plane, event)[0] - left()) / step()));
    const ask = (/** @type {number} */ token) => set({ query: Math.min(Math.max(token, 0), model.get("n") - 1) });
    plane.addEventListener("click", (event) => pick(/** @type {PointerEvent} */ (event)), { signal });
    draggable(plane, signal, pick, { area: true });
    draggable(asker, signal, pick);
    asker.addEventListener("keydown", (event) => {
      const by = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, PageUp: 4, PageDown: -4, Home: -99, End: 99 }[/** @type {KeyboardEvent} */ (event).key];
      if (!by) return;
      event.preventDefault();
      ask(model.get("query") + by);
    });

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

    const text = (/** @type {number} */ x, /** @type {number} */ y, /** @type {string} */ words, /** @type {Record<string, any>} */ props = {}, /** @type {(string | Node)[]} */ ...more) =>
      s("text", { x, y, "font-size": 13, fill: "var(--fig-quiet)", "text-anchor": "middle", ...props }, words, ...more);

    /**
     * The token that asks above; below it, a row a layer, whom it has heard of by then, and through whom. What it gives is the motion in
     * which a layer grows.
     */
    function drawReach(/** @type {ReturnType<typeof read>} */ { n, found, mask: sees, depth: deep, query, causal: only }) {
      wide = fit();
      const cell = step();
      const side = Math.min(cell - 1, 18);
      const gap = Math.max(20, side + 10); // a layer
      const middle = (/** @type {number} */ j) => left() + (j + 0.5) * cell;
      const place = (/** @type {number} */ layer) => top() + layer * gap;
      const one = (/** @type {number} */ j, /** @type {number} */ layer) => `M${(middle(j) - side / 2).toFixed(1)} ${place(layer) - side / 2}h${side.toFixed(1)}v${side.toFixed(1)}h${(-side).toFixed(1)}z`;
      const all = Array.from({ length: n }, (_, j) => j);
      const squares = (/** @type {number[]} */ tokens, /** @type {number} */ layer, /** @type {Record<string, any>} */ props) =>
        s("path", { d: tokens.map((j) => one(j, layer)).join(""), ...props });
      // The asker itself is known from the start, whatever its row of the mask says.
      const by = (/** @type {number} */ layer) => all.filter((j) => j === query || (found[query][j] && found[query][j] <= layer));
      const whose = JSON.stringify([sees, query]);
      if (heard !== whose) turn++;
      heard = whose;
      const parts = [squares(all.filter((j) => j !== query), 0, { fill: "var(--fig-line)" })];
      for (let layer = 1; layer <= deep; layer++) {
        const [before, after] = [by(layer - 1), by(layer)];
        const fresh = after.filter((j) => !before.includes(j));
        const line = (/** @type {number} */ i, /** @type {number} */ j) => `M${middle(i).toFixed(1)} ${place(layer - 1)}L${middle(j).toFixed(1)} ${place(layer)}`;
        const kept = before.map((j) => line(j, j)).join("");
        const through = before.flatMap((i) => fresh.filter((j) => sees[i][j]).map((j) => line(i, j))).join("");
        const grown = s(
          "g",
          { style: `transform-origin: 0 ${place(layer - 1)}px`, "data-key": `${layer} ${turn}` },
          s("path", { d: kept, fill: "none", stroke: "var(--fig-key)", "stroke-opacity": 0.3 }),
          s("path", { d: through, fill: "none", stroke: "var(--fig-key)", "stroke-opacity": 0.6 }),
          squares(all.filter((j) => !after.includes(j)), layer, { fill: "var(--fig-line)", "fill-opacity": 0.6 }),
          squares(before, layer, { fill: "var(--fig-key)", "fill-opacity": 0.5, "data-part": "old", "data-layer": layer }),
          squares(fresh, layer, { fill: "var(--fig-key)", "data-part": "new", "data-layer": layer }),
        );
        const heard = found[query].filter((/** @type {number} */ k) => k && k <= layer).length;
        const counted = text(edge() + 6, place(layer) + 4, phone() ? `${heard}` : `${heard} of ${only ? query + 1 : n}`, { "text-anchor": "start", fill: "var(--fig-ink)", "data-part": "heard" });
        parts.push(grown, text(left() - 8, place(layer) + 4, String(layer), { "text-anchor": "end" }), counted);
      }
      // Layers to come have their place, and no number: how many it takes is the question. So the tokens fade, in no rows.
      if (deep < DEEPEST) {
        const from = place(deep + 1) - side / 2;
        const band = (place(DEEPEST) + side / 2 - from) / BANDS;
        const columns = { fill: "none", stroke: "var(--fig-line)", "stroke-width": band, "stroke-dasharray": `${side} ${cell - side}`, "shape-rendering": "crispEdges" };
        const across = `H${middle(n - 1) + side / 2}`;
        for (let i = 0; i < BANDS; i++) parts.push(s("path", { d: `M${middle(0) - side / 2} ${from + (i + 0.5) * band}${across}`, ...columns, "stroke-opacity": 0.5 * (1 - i / BANDS), "data-part": "open" }));
      }
      plane.setAttribute("viewBox", `0 0 ${wide} ${place(DEEPEST) + 26}`);
      const floor = place(DEEPEST) + 22;
      renew(
        drawn,
        text(0, phone() ? 12 : top() + 4, "layer", { "text-anchor": "start" }),
        phone() ? text(wide, 12, "heard", { "text-anchor": "end" }) : text(edge() + 6, top() + 4, "heard of", { "text-anchor": "start" }),
        ...parts,
        text(middle(0), floor, "1"),
        text(middle(n - 1), floor, String(n)),
        text(middle((n - 1) / 2), floor, phone() ? "" : "tokens: ", { "data-part": "legend" }, ...[[1, "heard now"], [0.5, "heard before"]].flatMap(([look, words]) => [s("tspan", { fill: "var(--fig-key)", "fill-opacity": look }, "■"), ` ${words}  `])),
      );
      const x = middle(query);
      asker.replaceChildren(
        s("rect", { x: x - 14, y: top() - 34, width: 28, height: 42, fill: "transparent" }),
        s("path", { d: `M${x - 6} ${top() - 17}h12l-6 8z`, fill: "var(--fig-query)" }),
        squares([query], 0, { fill: "var(--fig-query)" }),
        text(Math.min(Math.max(x, 50), wide - 50), top() - 22, `token ${query + 1} asks`, { fill: "var(--fig-query)", "font-weight": 600 }),
      );
      const values = { "aria-valuemax": n, "aria-valuenow": query + 1, "aria-valuetext": `token ${query + 1}` };
      for (const [key, value] of Object.entries(values)) asker.setAttribute(key, String(value));
      const [was, now] = [shown, JSON.stringify([deep, sees, query])];
      shown = now;
      const last = /** @type {any} */ (drawn.querySelector(`g:not([data-gone]) > [data-layer="${deep}"]`)?.parentNode);
      if (was !== JSON.stringify([deep - 1, sees, query]) || calm()) return;
      // The row's number comes with its squares.
      [...drawn.querySelectorAll('[data-part="heard"]')].at(-1)?.animate([{ opacity: 0 }, { opacity: 0, offset: 0.6 }, { opacity: 1 }], 450);
      return last.animate([{ transform: "scaleY(0)", opacity: 0.2 }, { transform: "none", opacity: 1 }], { duration: 450, easing: "ease-out" });
    }

    function drawMask(/** @type {ReturnType<typeof read>} */ { n, mask: sees, query }) {
      const [side, edge] = [n * CELL, 18];
      const d = sees.flatMap((/** @type {boolean[]} */ row, /** @type {number} */ i) => row.flatMap((on, j) => (on ? [`M${edge + j * CELL + 0.5} ${edge + i * CELL + 0.5}h8v8h-8z`] : [])));
      mask.setAttribute("viewBox", `0 0 ${edge + side + 2} ${edge + side + 2}`);
      mask.replaceChildren(
        text(edge + side / 2, 12, "keys"),
        text(0, 0, "queries", { transform: `translate(12 ${edge + side / 2}) rotate(-90)` }),
        s("rect", { x: edge, y: edge, width: side, height: side, fill: "none", stroke: "var(--fig-quiet)" }),
        s("path", { d: d.join(""), fill: "var(--fig-key)" }),
        s("rect", { x: edge - 0.5, y: edge + query * CELL - 0.5, width: side + 1, height: CELL + 1, fill: "none", stroke: "var(--fig-query)", "stroke-width": 2 }),
      );
    }

    function update() {
      const state = read();
      const { kind, n, width, depth: deep, query, found, causal: isCausal } = state;
      select(kinds, kind);
      select(causal, isCausal ? "yes" : "no");
      for (const [key, { row, show }] of Object.entries(ranges)) {
        show(state[key], String(state[key]));
        row.hidden = key !== "width" && kind !== "mixed";
      }
      back.disabled = deep === 1;
      const grows = drawReach(state);
      next.textContent = deep === DEEPEST ? "Restart" : wide < 300 ? "Next" : "Next layer";
      drawMask(state);
      const all = isCausal ? (n * (n + 1)) / 2 : n * n;
      const hears = (/** @type {number} */ layers) => found[query].filter((/** @type {number} */ k) => k && k <= layers).length;
      const rows = Array.from({ length: deep }, (_, i) => {
        const reached = pairs(found, i + 1);
        return [String(i + 1), String(hears(i + 1)), String(reached), `${fmt((100 * reached) / all, 1)} %`];
      });
      numbers.replaceChildren(table("numbers", ["layers", "tokens heard of", "pairs reached", "of all"], rows, { bold: deep - 1 }));
      const made = pairs(found, 1);
      counters.replaceChildren(...[`${made} scores in a layer`, `dense: ${all}`, `2n√n = ${fmt(2 * n * Math.sqrt(n), 0)}`].map((t) => h("span", {}, t)));
      const named = KINDS[/** @type {keyof typeof KINDS} */ (kind)];
      plane.setAttribute("aria-label", `${named}, ${width}: of whom token ${query + 1} of ${n} has heard after ${deep} ${deep === 1 ? "layer" : "layers"}`);
      mask.setAttribute("aria-label", `The mask of ${n} queries and keys; the row of token ${query + 1} is framed`);
      told(
        `${made} of ${all} scores a layer. After ${deep} ${deep === 1 ? "layer" : "layers"} token ${query + 1} ` +
          `has heard of ${hears(deep)} of ${isCausal ? query + 1 : n}.`,
        grows,
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
      const drawn = `from attnbook.tagging.words import bucket

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
