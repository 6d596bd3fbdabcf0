// Attention on several devices, step by step: who holds what, who computes, who waits, what is sent.
//
// For tests (data-part): back, next (buttons), step, tokens, devices (sliders), more (their fold), scheme (radio group), causal (checkbox),
// holds (fold, on a phone of what devices hold), legend;
// plane (svg; in it edge (path), slot (rects, data-device), cells (paths, data-state now | done | open, data-pairs), nothing (rects: what a waiting device holds,
// data-device), chip (g, data-device, data-what), carried (g, on a phone, data-device, data-from), arrow (paths, data-from, data-to), busy, idle (rects of the bars,
// data-device, data-step, data-amount), share (texts, data-device)), numbers (table), status.
import folds from "./ui/folds.css";
import own from "./ui/ring.css";
import { slider } from "./ui/controls.js";
import { calm, choices, h, halo, onResize, s, select, standalone } from "./ui/dom.js";
import { figure } from "./ui/frame.js";
import { inTime } from "./ui/said.js";
import { strip, table } from "./ui/tables.js";
import { SHAPE, headsOf, percent, positions, schedule, spans, totals, when } from "./math/ring.js";

/** @typedef {import("./math/ring.js").Scheme} Scheme */

const SCHEMES = /** @type {Record<Scheme, string>} */ ({ contiguous: "contiguous", zigzag: "zigzag", "all-to-all": "all-to-all" });
const LIMITS = /** @type {const} */ ({ tokens: [8, 32], devices: [2, 8] });
const many = (/** @type {number} */ n, /** @type {string} */ what) => `${n.toLocaleString("en")} ${what}${n === 1 ? "" : "s"}`;
const bytes = (/** @type {number} */ n) => `${n.toLocaleString("en")} B`;
/** Scores as time: pairs in all heads. */
const units = (/** @type {number} */ scores) => String(scores / SHAPE.heads);
const listed = (/** @type {number[]} */ ranks) => `device${ranks.length > 1 ? "s" : ""} ${ranks.join(", ").replace(/, (\d)$/, " and $1")}`;
const [blue, orange, ink, quiet, paper] = ["query", "key", "ink", "quiet", "paper"].map((role) => `var(--fig-${role})`);
const text = (/** @type {number} */ x, /** @type {number} */ y, /** @type {string} */ words, /** @type {any} */ props = {}) =>
  s("text", { x, y, "font-size": 12, fill: quiet, ...props }, words);
const middle = { "text-anchor": "middle" };
const atEnd = { "text-anchor": "end" };
const mark = (/** @type {string} */ part, /** @type {number | string} */ device) => ({ "data-part": part, "data-device": device });
const DEAL = { duration: 400, easing: "ease-in-out" };
const strong = { fill: ink, "font-weight": 600 };
const dashed = { fill: "none", stroke: quiet, "stroke-dasharray": "4 3", "stroke-width": 1.2 };
const LOOKS = {
  now: { fill: blue, "fill-opacity": 0.75 },
  done: { fill: blue, "fill-opacity": 0.25 },
  open: { fill: "none", stroke: quiet, "stroke-opacity": 0.45 },
};

export default figure({
  name: "ring",
  css: folds + own,
  title: "Attention on several devices",
  keys: ["tokens", "devices", "scheme", "causal", "step"],
  setup({ model, body, say, set, signal }) {
    const count = () => (model.get("scheme") === "all-to-all" ? 3 : Number(model.get("devices")));
    const to = (/** @type {number} */ step) => set({ step: Math.min(Math.max(step, 1), count()) });
    const button = (/** @type {string} */ name, /** @type {string} */ words, /** @type {() => void} */ click) =>
      h("button", { type: "button", "data-part": name, on: { click } }, words);
    const back = button("back", "←", () => to(model.get("step") - 1));
    back.setAttribute("aria-label", "Back by a step");
    const next = button("next", "Next step", () => to(model.get("step") < count() ? model.get("step") + 1 : 1));
    next.classList.add("attnlab-act");
    const step = slider({ part: "step", label: "Step", limits: { min: 1, max: 8, step: 1 }, onInput: to });
    const steps = h("div", { class: "attnlab-rsteps", role: "group", "aria-label": "Steps; arrow keys go back and on" }, back, next, step.row);
    steps.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => {
      const by = { ArrowRight: 1, ArrowLeft: -1, Home: -Infinity, End: Infinity }[event.key];
      if (!by || event.target === step.input) return;
      event.preventDefault();
      to(model.get("step") + by);
    });
    /** @param {Record<string, any>} changes */
    const change = (changes) => {
      const { scheme, devices } = { scheme: model.get("scheme"), devices: model.get("devices"), ...changes };
      set({ ...changes, step: Math.min(model.get("step"), scheme === "all-to-all" ? 3 : devices) });
    };
    const schemes = choices({
      label: "Scheme", part: "scheme", value: "contiguous",
      options: Object.entries(SCHEMES).map(([value, text]) => ({ value, text })),
      onChange: (scheme) => change({ scheme }),
    });
    const causal = h("input", { type: "checkbox", "data-part": "causal", on: { change: () => set({ causal: causal.checked }) } });
    const [tokens, devices] = /** @type {const} */ (["tokens", "devices"]).map((part) => {
      const [min, max] = LIMITS[part];
      return slider({ part, label: part === "tokens" ? "Tokens" : "Devices", limits: { min, max, step: 1 }, onInput: (x) => change({ [part]: x }) });
    });
    const plane = s("svg", { role: "img", class: "attnlab-rplane", "data-part": "plane" });
    const swatch = (/** @type {any} */ look, /** @type {string} */ words) =>
      h("span", {}, s("svg", { width: 14, height: 14, "aria-hidden": true }, s("rect", { x: 1, y: 1, width: 12, height: 12, ...look })), words);
    const legend = h("div", { class: "attnlab-rlegend", "data-part": "legend" },
      swatch(LOOKS.now, "now"), swatch(LOOKS.done, "before"), swatch(LOOKS.open, "to come"), swatch(dashed, "nothing to do"));
    const numbers = strip("All devices, step by step");
    // On a phone a fold has the devices, and what is said of a step stands under its button: the plane's name tells of both.
    const lower = s("svg", { class: "attnlab-rplane", "aria-hidden": "true" });
    const holds = /** @type {HTMLDetailsElement} */ (h("details", { "data-part": "holds" }, h("summary", {}, "Who holds what"), lower));
    body.append(
      plane,
      h("div", { class: "attnlab-rset" }, steps, h("div", { class: "attnlab-rkinds" }, schemes, h("label", {}, causal, "causal"))),
      h("div", { class: "attnlab-row attnlab-folds attnlab-rset" }, legend,
        h("details", { "data-part": "more" }, h("summary", {}, "Size"), h("div", { class: "attnlab-rtwo" }, tokens.row, devices.row)),
        h("details", {}, h("summary", {}, "Numbers"), numbers)),
    );

    let [wide, shown] = [0, ""];
    /** @type {State | undefined} */
    let stands;
    const tell = inTime(say);
    /** How the keys that stand go on to the next device. @type {() => Animation | undefined} */
    let fly = () => undefined;
    /** Shows at once what is on its way. @type {(() => void) | undefined} */
    let land;
    const named = (/** @type {State} */ { p, n, scheme }, /** @type {number} */ at) => JSON.stringify([wide, p, n, scheme, at]);
    const room = () => Math.max(Math.floor(body.clientWidth) || 640, 236);
    onResize(body, signal, () => wide && wide !== room() && update());

    function read() {
      const [n, p, scheme, at] = ["tokens", "devices", "scheme", "step"].map((key) => model.get(key));
      if (!(scheme in SCHEMES)) throw new Error(`scheme must be one of ${Object.keys(SCHEMES).join(", ")}, got ${scheme}.`);
      for (const [key, value, [low, high]] of /** @type {[string, number, readonly number[]][]} */ ([["tokens", n, LIMITS.tokens], ["devices", p, LIMITS.devices], ["step", at, [1, count()]]])) {
        if (!Number.isInteger(value) || value < low || value > high) throw new Error(`${key} must be a whole number from ${low} to ${high}, got ${value}.`);
      }
      const given = { tokens: n, devices: p, scheme: /** @type {Scheme} */ (scheme), causal: Boolean(model.get("causal")) };
      const all = schedule(given);
      const held = Array.from({ length: p }, (_, rank) => positions(n, p, scheme, rank));
      return { ...given, n, p, t: at - 1, all, now: all[at - 1], held, last: at === all.length, long: all.reduce((sum, one) => sum + one.long, 0) };
    }
    /** @typedef {ReturnType<typeof read>} State */

    /** The table of relevance: what is computed now, was before, is still to come. @param {State} state @param {State} [was] from which tokens are dealt anew */
    function square({ n, p, t, scheme, causal: only, held, now }, /** @type {number} */ left, /** @type {number} */ top, /** @type {number} */ side, was) {
      const cell = side / n;
      const gap = cell > 12 ? 0.8 : 0.5;
      const at = when({ tokens: n, devices: p, scheme, causal: only });
      /** Which token a device had where it now has this one. */
      const before = held.reduce((/** @type {number[]} */ all, list, rank) => (list.forEach((x, k) => (all[x] = was?.held[rank][k] ?? x)), all), []);
      const slide = (/** @type {SVGElement} */ el, /** @type {boolean} */ rows, /** @type {number} */ x) => {
        if (was) el.animate([{ transform: `translate${rows ? "Y" : "X"}(${(before[x] - x) * cell}px)` }, {}], DEAL);
        return el;
      };
      const spot = (/** @type {number} */ i, /** @type {number} */ j) => `M${(left + j * cell + gap).toFixed(1)} ${(top + i * cell + gap).toFixed(1)}h${(cell - 2 * gap).toFixed(1)}v${(cell - 2 * gap).toFixed(1)}h${(2 * gap - cell).toFixed(1)}z`;
      let old = "";
      const d = { now: "", done: "", open: "" };
      const pairs = { now: 0, done: 0, open: 0 };
      at.forEach((row, i) => row.forEach((turn, j) => {
        if (turn < 0) return;
        const state = turn === t ? "now" : turn < t ? "done" : "open";
        pairs[state]++;
        d[state] += spot(i, j);
        if (turn === t) old += spot(before[i], before[j]);
      }));
      /** @param {number[]} list @returns {[number, number][]} */
      const runs = (list) => list.reduce((/** @type {[number, number][]} */ all, x) => (all.at(-1)?.[1] === x ? ((all.at(-1) ?? [0, 0])[1] = x + 1, all) : [...all, [x, x + 1]]), []);
      const whole = scheme === "all-to-all" && now.does === "attend";
      const size = Math.min(13, Math.max(9, cell * 0.95));
      const bands = (/** @type {boolean} */ rows) => {
        const names = whole ? [[Array.from({ length: n }, (_, i) => i), ""]] : held.map((list, rank) => [list, String(rank)]);
        return /** @type {[number[], string][]} */ (names).flatMap(([list, name]) => runs(list).flatMap(([from, end]) => {
          const role = rows ? blue : orange;
          const mid = ((from + end) / 2) * cell;
          // In pieces, each of tokens that stood side by side before.
          const cuts = [from, ...list.filter((x) => x > from && x < end && before[x] !== before[x - 1] + 1), end];
          const bars = cuts.slice(1).map((stop, k) => {
            const [a, b] = [cuts[k] * cell + (k ? 0 : 1.5), stop * cell - (stop === end ? 1.5 : 0)];
            return slide(s("rect", { x: rows ? left - 6 : left + a, y: rows ? top + a : top - 6, width: rows ? 3 : b - a, height: rows ? b - a : 3, fill: role, ...(rows ? mark("band", name) : {}) }), rows, cuts[k]);
          });
          const word = rows ? text(left - 10, top + mid + size * 0.36, name, { ...strong, fill: role, ...atEnd, "font-size": size }) : text(left + mid, top - 10, name, { ...strong, ...middle, fill: role, "font-size": size });
          return [...bars, slide(word, rows, from)];
        }));
      };
      const blocks = whole || now.does !== "ring" ? [] : now.turns.flatMap(({ from, pairs: busy }, rank) =>
        runs(held[rank]).flatMap(([i, i2]) => runs(held[from]).flatMap(([j, j2]) => {
          const [w, tall] = [(j2 - j) * cell, (i2 - i) * cell];
          const lit = at.slice(i, i2).some((row) => row.slice(j, j2).some((turn) => turn === t));
          // The name of the block stands where pairs are: below the diagonal of a block that lies on it.
          const high = Math.min(13, w * 0.8, tall * 0.8);
          const low = only && lit && j2 > i + 1 && i2 - i > 1;
          const word = high < 8.5 ? [] : [text(left + j * cell + w * (low ? 0.34 : 0.5), top + i * cell + tall * (low ? 0.68 : 0.5) + high * 0.36, String(rank), { ...middle, ...strong, ...halo(3), "font-size": high })];
          if (lit) return word;
          if (busy) return [];
          const box = s("rect", { x: left + j * cell + 2, y: top + i * cell + 2, width: w - 4, height: tall - 4, rx: 2, ...dashed, ...mark("nothing", rank) });
          return [box, ...(w > 54 && tall > 34 ? [...word.map((one) => (one.setAttribute("y", String(top + i * cell + tall / 2 - 4)), one)), text(left + j * cell + w / 2, top + i * cell + tall / 2 + 12, "waits", { ...middle })] : word)];
        })),
      );
      const cells = Object.entries(d).map(([state, path]) => s("path", { d: path, ...LOOKS[/** @type {keyof typeof LOOKS} */ (state)], "data-part": "cells", "data-state": state, "data-pairs": pairs[/** @type {keyof typeof pairs} */ (state)] }));
      if (was) {
        cells[0].animate({ d: [old, d.now].map((one) => `path("${one}")`) }, DEAL);
        for (const one of [...cells.slice(1), ...blocks]) one.animate({ opacity: [0, 1] }, DEAL);
      }
      // What there is to compute at all.
      const edge = only ? `M${left} ${top}${at.map(() => `h${cell}v${cell}`).join("")}H${left}z` : `M${left} ${top}h${side}v${side}h${-side}z`;
      return [
        s("path", { d: edge, fill: "none", stroke: quiet, "stroke-opacity": 0.45, "data-part": "edge" }),
        text(left + side / 2, top - 26, whole ? "all keys" : "keys of device", { ...middle }),
        text(0, 0, whole ? "all queries" : "queries of device", { ...middle, transform: `translate(${left - 26} ${top + side / 2}) rotate(-90)` }),
        ...bands(true), ...bands(false),
        ...cells,
        ...blocks,
      ];
    }

    /** A row for each device: what it holds, what it does, what it sends. @param {State} state */
    function lanes({ n, p, t, held, now, causal: only }, /** @type {number} */ x, /** @type {number} */ y, /** @type {number} */ across, /** @type {number} */ high) {
      const roomy = across >= 420; // for the word "device" in front of its number
      const size = roomy ? 13.5 : across > 340 ? 12.5 : 11.5;
      const [first, chip, tall] = [x + (roomy ? 70 : 15), Math.min(94, (across - 107) / 2), 24];
      const moves = now.does === "give" || now.does === "return";
      const second = first + chip + (moves ? (across > 340 ? 42 : 26) : 8);
      const state = second + chip + (now.does === "ring" ? 18 : 8);
      const mid = (/** @type {number} */ rank) => y + (rank + 0.5) * high;
      const tokensOf = (/** @type {number} */ rank) => spans(held[rank]);
      const heads = (/** @type {number[]} */ list) => `head${list.length > 1 ? "s" : ""} ${spans(list)}`;
      const names = {
        ring: /** @type {const} */ (["queries", chip > 90 ? "keys and values" : "keys, values"]),
        give: /** @type {const} */ (["has tokens", "gets heads"]),
        attend: /** @type {const} */ (["queries", chip > 90 ? "keys and values" : "keys, values"]),
        return: /** @type {const} */ (["has heads", "gets tokens"]),
      }[now.does];
      /** @param {number} rank @returns {[string, string]} */
      const holds = (rank) => {
        const { own, read: its } = headsOf(p, rank);
        if (now.does === "ring") return [tokensOf(rank), tokensOf(now.turns[rank].from)];
        if (now.does === "give") return [tokensOf(rank), heads(own)];
        if (now.does === "attend") return [heads(own), heads(its)];
        return [heads(own), tokensOf(rank)];
      };
      const colours = { ring: [blue, orange], give: [ink, ink], attend: [blue, orange], return: ["var(--fig-output)", "var(--fig-output)"] }[now.does];
      const held2 = now.turns.map((_, rank) => holds(rank).map((words, side) =>
        s("g", { ...mark("chip", rank), "data-what": names[side] },
          s("rect", { x: side ? second : first, y: mid(rank) - tall / 2, width: chip, height: tall, rx: 6, fill: paper }),
          s("rect", { x: side ? second : first, y: mid(rank) - tall / 2, width: chip, height: tall, rx: 6, fill: colours[side], "fill-opacity": 0.13, stroke: colours[side] }),
          text((side ? second : first) + chip / 2, mid(rank) + 4.5, words, { ...middle, fill: ink, "font-size": Math.min(size, (chip - 6) / (0.56 * words.length)).toFixed(1) }))));
      const line = { fill: "none", stroke: orange, "stroke-width": 1.6 };
      const link = (/** @type {number} */ from, /** @type {number} */ end, /** @type {string} */ d, /** @type {any} */ props = {}) => s("path", { d, ...line, "data-part": "arrow", "data-from": from, "data-to": end, ...props });
      /** @type {SVGElement[]} */
      let arrows = [];
      if (now.does === "ring" && t < p - 1) {
        const [k, side] = [second + chip / 2, second + chip];
        arrows = now.turns.map((_, rank) => {
          const end = (rank + 1) % p;
          const [a, b] = [mid(rank) + tall / 2, mid(end) - tall / 2];
          return end
            ? link(rank, end, `M${k} ${a + 1}V${b - 2}m-4-5l4 5l4-5`)
            : link(rank, end, `M${side + 1} ${mid(rank)}h4q4 0 4-4V${mid(0) + 4}q0-4-4-4h-3m5-4l-5 4l5 4`);
        });
      } else if (moves) {
        const [a, b] = [first + chip + 1, second - 1];
        const stroke = now.does === "give" ? ink : "var(--fig-output)";
        arrows = held.flatMap((_, from) => held.map((_, end) => link(from, end, `M${a} ${mid(from)}L${b} ${mid(end)}`, { stroke, "stroke-width": 1.1, "stroke-opacity": 0.75, ...(from === end ? { "stroke-dasharray": "2 3", "data-part": "stays" } : {}) })));
      }
      const busiest = now.long;
      const [each] = now.turns.map(({ sent }) => sent);
      // What all send alike is said once, above.
      const alike = !moves && each > 0 && now.turns.every(({ sent }) => sent === each) && across > 340;
      const done = now.turns.map(({ pairs, heads: of, scores, waits, sent }, rank) => {
        const sends = sent ? `${moves && !roomy ? "" : across > 340 ? "sends " : "→ "}${bytes(sent)}` : "";
        const words = moves ? sends : pairs ? `${x + across - state > 146 ? "computes " : ""}${many(pairs, "pair")}` : "waits";
        const rest = waits && scores && x + across - state > 210 ? `then waits ${units(waits)}` : "";
        const below = moves ? "" : [now.does === "attend" ? `in ${many(of, "head")}` : alike ? "" : sends, rest].filter(Boolean).join(", ");
        return s("g", { ...mark("does", rank) },
          text(state, mid(rank) + (below ? -2 : 4.5), words, { ...strong, "font-size": size }),
          ...(below ? [text(state, mid(rank) + 12.5, below, { "font-size": 11.5 })] : []));
      });
      const ground = now.turns.map(({ scores }, rank) =>
        s("rect", { x, y: mid(rank) - high / 2 + 1.5, width: across, height: high - 3, rx: 6, ...(moves || !busiest || scores ? { fill: blue, "fill-opacity": scores ? 0.07 : 0 } : { ...dashed }) }));
      const head = (/** @type {number} */ at, /** @type {string} */ words, /** @type {any} */ props) => text(at, y - 7, words, props);
      return {
        chips: held2.map(([, k]) => k),
        drawn: [
          head(first + chip / 2, names[0], middle), head(second + chip / 2, names[1], middle), ...(moves && !roomy ? [head(state, "sends", {})] : alike ? [head(state, `each sends ${bytes(each)}`, {})] : []),
          ...ground,
          ...held.map((_, rank) => text(x + (roomy ? 6 : 3), mid(rank) + 4.5, roomy ? `device ${rank}` : String(rank), { ...strong, "font-size": size })),
          ...arrows, ...held2.flat(), ...done,
        ],
      };
    }

    /** On a phone, where a fold has the devices: whose keys each holds. @param {State} state */
    function carried({ p, now }, /** @type {number} */ y) {
      const cell = wide / p;
      const chip = Math.min(cell - 18, 60);
      const label = text(3, y, "each device, and whose keys it holds");
      const chips = now.turns.map(({ from }, rank) => {
        const x = rank * cell + 14;
        return s("g", { ...mark("carried", rank), "data-from": from },
          s("rect", { x, y: y + 8, width: chip, height: 20, rx: 6, fill: orange, "fill-opacity": 0.13, stroke: orange }),
          text(x + chip / 2, y + 22, chip > 40 ? `keys ${from}` : String(from), { ...middle, fill: ink }));
      });
      return { chips, drawn: [label, ...chips.map((_, rank) => text(rank * cell + 3, y + 22, String(rank), strong)), ...chips] };
    }

    /** A bar of time for each device, up to the end of this step. @param {State} state */
    function bars({ n, p, t, all, last }, /** @type {number} */ start, /** @type {number} */ y, /** @type {number} */ high, /** @type {boolean} */ roomy) {
      const [name, left, right, size] = [start + (roomy ? 6 : 3), start + (roomy ? 74 : 15), roomy ? 54 : 42, roomy ? 13 : 12];
      // One scale for every scheme, causal or not: the longest of them.
      const most = Math.max(.../** @type {Scheme[]} */ (Object.keys(SCHEMES)).map((scheme) => schedule({ tokens: n, devices: p, scheme, causal: false }).reduce((sum, { long }) => sum + long, 0)));
      const seen = all.slice(0, t + 1);
      const long = seen.reduce((sum, one) => sum + one.long, 0);
      const x = (/** @type {number} */ scores) => left + ((wide - left - right) * scores) / most;
      const place = (/** @type {number} */ row) => y + row * high;
      const sums = totals(seen);
      const parts = [];
      for (let rank = 0; rank < p; rank++) {
        let from = 0;
        parts.push(s("rect", { x: left, y: place(rank) + 1.5, width: wide - left - right, height: high - 3, fill: "none", stroke: quiet, "stroke-opacity": 0.3, ...mark("slot", rank) }));
        seen.forEach((one, k) => {
          const { scores, waits } = one.turns[rank];
          const box = (/** @type {number} */ start, /** @type {number} */ length, /** @type {string} */ what, /** @type {any} */ look, /** @type {string} */ words) => {
            if (!length) return;
            const width = x(start + length) - x(start);
            const fits = words.length * 6.6 + 6 < width;
            parts.push(
              s("rect", { x: (x(start) + 0.75).toFixed(2), y: place(rank) + 1.5, width: Math.max(width - 1.5, 0.5).toFixed(2), height: high - 3, ...look, ...mark(what, rank), "data-step": k + 1, "data-amount": length / SHAPE.heads }),
              ...(fits ? [text((x(start) + x(start + length)) / 2, place(rank) + high / 2 + 4, words, { ...middle, "font-size": roomy ? 12.5 : 11.5, fill: what === "busy" ? ink : quiet })] : []),
            );
          };
          box(from, scores, "busy", { fill: blue, "fill-opacity": k === t ? 0.5 : 0.22 }, units(scores));
          box(from + scores, waits, "idle", dashed, "waits");
          from += one.long;
        });
        const { waits } = sums[rank];
        parts.push(
          text(name, place(rank) + high / 2 + 4, roomy ? `device ${rank}` : String(rank), { ...strong, "font-size": size - 0.5 }),
          text(wide, place(rank) + high / 2 + 4.5, `${percent(waits, long)} %`, { ...atEnd, fill: ink, "font-size": size, ...mark("share", rank) }),
        );
      }
      const waited = sums.reduce((sum, { waits }) => sum + waits, 0);
      const end = x(long);
      return [
        text(name, y - 8, `time ${last ? "in all" : "so far"}: ${units(long)} pairs`, { ...strong, "font-size": size }),
        text(wide, y - 8, "waited", { ...atEnd, "font-size": size }),
        s("path", { d: `M${end} ${y - 2}V${place(p) + 2}`, stroke: quiet }),
        ...parts,
        text(wide, place(p) + 16, `${roomy ? "all devices" : "all"}: ${percent(waited, p * long)} %`, { ...atEnd, ...strong, "font-size": size, ...mark("share", "all") }),
      ];
    }

    /** @param {State} state @param {State} [was] */
    function draw(state, was) {
      const { p, t, now } = state;
      wide = room();
      const [roomy, beside, large] = [wide >= 480, wide >= 600, wide >= 840];
      const [left, top] = [beside ? 44 : 40, 42];
      const side = Math.min(beside ? Math.max(196, wide - left - 415) : wide - left - 4, large ? 340 : beside ? 212 : 214);
      const thick = large ? 20 : 18;
      const time = p * thick + 50;
      const high = beside ? Math.min(70, Math.max(36, (large ? side + 20 - time : side) / p)) : 37;
      // Time stands below the devices that are beside a large table, else below both; on a phone right below the table, and they are folded.
      const x = beside ? left + side + 18 : 0;
      const rings = now.does === "ring";
      const carries = rings && !beside && wide >= 300; // a narrower one has no height for it
      const carry = carried(state, top + side + 16);
      const below = (large ? top + p * high : beside ? Math.max(top + side, top + p * high) : top + side + (carries ? 43 : 0)) + 30;
      const y = beside ? top : below + time + 4;
      const { chips, drawn } = lanes(state, x, y, wide - x - 1, high);
      const cut = Math.ceil(Math.max(below + time - 30, top + side + 4));
      const tall = beside ? cut : Math.ceil(y + p * high + 4);
      for (const [svg, from, end] of /** @type {[SVGElement, number, number][]} */ ([[plane, 0, cut], [lower, cut, tall]])) {
        for (const [key, value] of Object.entries({ viewBox: `0 ${from} ${wide} ${end - from}`, width: wide, height: end - from })) svg.setAttribute(key, String(value));
      }
      plane.replaceChildren(...square(state, left, top, side, was), ...(beside ? drawn : []), ...(carries ? carry.drawn : []), ...bars(state, large ? x : 0, below, thick, roomy));
      lower.replaceChildren(...(beside ? [] : drawn));
      if (beside) holds.remove();
      else if (!holds.parentNode) legend.after(holds);
      [stands, shown] = [state, named(state, t)];
      const go = (/** @type {Element[]} */ all, /** @type {string} */ axis, /** @type {number} */ by) =>
        all.map((chip, rank) => chip.animate([{}, { transform: `translate${axis}(${rank < p - 1 ? by : (1 - p) * by}px)` }], { duration: 500, easing: "ease-in-out", fill: "forwards" }))[0];
      fly = () => {
        if (!rings) return;
        const down = beside || holds.open ? go(chips, "Y", high) : undefined;
        return carries ? go(carry.chips, "X", wide / p) : down;
      };
    }

    /** What happens in this step, in words. @param {State} state */
    function told({ n, p, t, all, now, last, long }) {
      const at = `Step ${t + 1} of ${all.length}: `;
      const end = last ? ` Time in all: ${units(long)}; waited: ${percent(totals(all).reduce((sum, { waits }) => sum + waits, 0), p * long)} % of it.` : "";
      const sends = [...new Set(now.turns.map(({ sent }) => sent))].sort((a, b) => a - b);
      const { heads, kvHeads, width, bytes: each } = SHAPE;
      // Where all devices have as much of everything, the product that it is.
      const [own, even] = [heads / p, n % p === 0 && (now.does === "ring" || heads % p === 0)];
      const product = { ring: `${many(n / p, "token")} × ${kvHeads} heads × ${2 * width}`, give: `${p - 1} × ${many(n / p, "token")} × (${own} + 2 × ${headsOf(p, 0).read.length}) heads × ${width}`, attend: "", return: `${p - 1} × ${many(n / p, "token")} × ${many(own, "head")} × ${width}` }[now.does];
      const sent = sends.at(-1) ? ` Each sends ${sends.length > 1 ? `${sends[0].toLocaleString("en")} to ` : even ? `${product} numbers × ${each} B = ` : ""}${bytes(sends[sends.length - 1])}.` : "";
      if (now.does === "give") return `${at}tokens are exchanged for heads.${sent}`;
      if (now.does === "return") return `${at}outputs go back to the devices of their tokens.${sent}${end}`;
      const ranks = now.turns.map((_, rank) => rank);
      const idle = ranks.filter((rank) => !now.turns[rank].scores);
      const counts = [...new Set(now.turns.map(({ pairs }) => pairs).filter(Boolean))].sort((a, b) => a - b);
      const pairs = counts.length > 1 ? `${counts[0]} to ${many(counts[counts.length - 1], "pair")}` : many(counts[0] ?? 0, "pair");
      const of = [...new Set(now.turns.map(({ heads }) => heads))].sort((a, b) => a - b).join(" or ");
      if (now.does === "attend") return `${at}each device computes all ${pairs}, in ${of} of the ${SHAPE.heads} heads.`;
      const work = idle.length ? `${listed(idle)} wait${idle.length > 1 ? "" : "s"}, the other${p - idle.length > 1 ? "s compute" : " computes"} ${pairs}${p - idle.length > 1 && counts.length < 2 ? " each" : ""}.` : `each device computes ${pairs}.`;
      return `${at}${work}${sent}${end}`;
    }

    function update() {
      const state = read();
      land?.();
      // A step more of the same ring: first the keys go on, and then all that comes of it is there.
      const motion = shown === named(state, state.t - 1) && wide === room() && !calm() ? fly() : undefined;
      // Another deal of the same tokens: what each device holds goes there.
      const deals = stands?.now.does === "ring" && state.now.does === "ring" && stands.scheme !== state.scheme && shown === named({ ...state, scheme: stands.scheme }, state.t) && wide === room() && !calm();
      if (!motion) return show(state, deals ? stands : undefined);
      if (step.input.matches(":focus")) step.input.value = String(state.t + 1); // where the hand is
      const own = (land = () => {
        land = undefined;
        show(state);
        const fresh = ["cells", "busy", "idle"].map((part) => `[data-part="${part}"]:is([data-state="now"], [data-step="${state.t + 1}"])`);
        for (const el of plane.querySelectorAll(fresh.join())) el.animate([{ opacity: 0 }, {}], 250);
      });
      motion.addEventListener("finish", () => land === own && own());
    }

    /** @param {State} state @param {State} [was] */
    function show(state, was) {
      const { n, p, t, scheme, all, causal: only, held, last } = state;
      select(schemes, scheme);
      causal.checked = only;
      tokens.show(n, String(n));
      devices.show(p, String(p));
      step.input.max = String(all.length);
      step.show(t + 1, `${t + 1} of ${all.length}`);
      back.disabled = t === 0;
      next.textContent = last ? "Start over" : "Next step";
      draw(state, was);
      plane.setAttribute("aria-label", `${n} tokens on ${p} devices, ${SCHEMES[scheme]}${scheme === "all-to-all" ? "" : " ring"}, ${only ? "causal" : "not causal"}: step ${t + 1} of ${all.length}. The table of queries and keys, what each device holds, and a bar of time for each device`);
      const seen = all.slice(0, t + 1);
      const cell = (/** @type {import("./math/ring.js").Turn} */ turn, /** @type {string} */ does) =>
        does === "ring" ? `keys ${spans(held[turn.from])}: ${turn.pairs ? many(turn.pairs, "pair") : "waits"}`
          : does === "attend" ? `${turn.pairs} pairs in ${many(turn.heads, "head")}` : `sends ${bytes(turn.sent)}`;
      const rows = totals(seen).map(({ scores, waits, sent }, rank) => [
        String(rank), spans(held[rank]), ...seen.map(({ turns, does }) => cell(turns[rank], does)),
        units(scores), `${units(waits)} (${percent(waits, scores + waits)} %)`, bytes(sent),
      ]);
      numbers.replaceChildren(table("numbers", ["device", "its tokens", ...seen.map((_, k) => `step ${k + 1}`), "computes", "waits", "sends"], rows));
      tell(told(state), plane.querySelector('[data-state="now"]')?.getAnimations()[0]);
    }

    /** @returns {string} */
    function pytorch() {
      const { n, p, scheme, causal: only } = read();
      const { heads, kvHeads, width, bytes: each } = SHAPE;
      const flag = only ? "True" : "False";
      const start = `n, devices = ${n}, ${p}
torch.manual_seed(0)
q = torch.randn(1, ${heads}, n, ${width})  # heads, n, width
k, v = torch.randn(2, 1, ${kvHeads}, n, ${width})
whole = grouped_attention(q, k, v, is_causal=${flag})  # on one device`;
      if (scheme === "all-to-all") {
        return `import torch

from attnlab import grouped_attention
from attnlab.distributed import Split, all_to_all_bytes
from attnlab.distributed.splits import heads_of

${start}
outs = []
for rank in range(devices):  # one after the other what devices do side by side
    heads, reads = heads_of(${heads}, ${kvHeads}, devices, rank)
    outs.append(grouped_attention(q[:, list(heads)], k[:, reads], v[:, reads], is_causal=${flag}))
    sent = all_to_all_bytes(Split(n, devices), rank, n_heads=${heads}, n_kv_heads=${kvHeads}, d_head=${width}, bytes_per_number=${each})
    print("device", rank, "heads", list(heads), "sends", sent)
print("equal to one device:", torch.allclose(torch.cat(outs, 1), whole, atol=1e-5))
`;
      }
      return `import torch

from attnlab import grouped_attention
from attnlab.distributed import Split, merge, partial_attention, ring_bytes

${start}
split = Split(n, devices, "${scheme}")
outs = []
for rank in range(devices):  # one after the other what devices do side by side
    mine, found, pairs = split.positions(rank), [], []
    for hop in range(devices):
        theirs = split.positions((rank - hop) % devices)  # whose keys have come round
        seen = ${only ? "theirs <= mine[:, None]" : "torch.ones(len(mine), len(theirs), dtype=torch.bool)"}
        found.append(partial_attention(q[:, :, mine], k[:, :, theirs], v[:, :, theirs], mask=seen))
        pairs.append(seen.sum().item())
    outs.append(merge(*zip(*found))[0])
    sent = ring_bytes(split, rank, n_kv_heads=${kvHeads}, d_head=${width}, bytes_per_number=${each})
    print("device", rank, "pairs", pairs, "sends", sent)
print("equal to one device:", torch.allclose(split.join(outs), whole, atol=1e-5))
`;
    }

    const svg = () => {
      const [above, below] = [plane, lower].map((one) => /** @type {SVGSVGElement} */ (one).viewBox.baseVal);
      const both = [plane, lower].flatMap((one) => [...one.cloneNode(true).childNodes]);
      return standalone(s("svg", { viewBox: `0 0 ${above.width} ${above.height + below.height}` }, ...both));
    };
    return { update, pytorch, svg };
  },
});
