// Rotation: a query and a key at two places of a line, pair by pair two arrows on a dial, and the score over all places.
//
// For tests (data-part): scheme (radio group "rotary" | "sinusoidal"), plane (svg), handle (g, role slider; data-which
// "query", "key" or "both"), dial (g, role radio; data-which: the pair), hand (lines; data-which "query" or "key", of the
// chosen pair), angle (text), curve (path: the score over the key's place), alone (path: the chosen pair's part of it),
// point (circle), told (the score, written), numbers (table: pair, speed, angle, part), scores (table: key at, score), status.
import { grip, labelled } from "./ui/controls.js";
import { calm, choices, draggable, fmt, h, halo, onResize, s, select, spot, standalone } from "./ui/dom.js";
import { figure } from "./ui/frame.js";
import { strip, table } from "./ui/tables.js";
import { LAST, SCHEMES, ends, pairsOf, snippet, speeds } from "./math/rope.js";

const text = (/** @type {string} */ words, /** @type {Record<string, any>} */ look) =>
  s("text", { "font-size": 13, fill: "var(--fig-quiet)", ...look }, words);
const range = (/** @type {number} */ from, /** @type {number} */ to, step = 1) => Array.from({ length: Math.floor((to - from) / step) + 1 }, (_, i) => from + i * step);
const place = (/** @type {number} */ x) => Math.min(Math.max(Math.round(x), 0), LAST);
const LINE = 92; // height of the line with its handles
const BIG = 88; // radius of the large dial

export default figure({
  name: "rope",
  title: "Rotation",
  keys: ["scheme", "m", "n", "pair"],
  setup({ model, body, say, set, signal }) {
    const schemes = choices({
      label: "Positions",
      part: "scheme",
      value: model.get("scheme"),
      options: [
        { value: "rotary", text: "RoPE" },
        { value: "sinusoidal", text: "sinusoids" },
      ],
      onChange: (value) => set({ scheme: value }),
    });
    const plane = s("svg", {
      role: "group",
      "aria-label": "A query and a key on a line of positions, to shift one by one or together; dials of their pairs of entries as arrows; and the score over the position of the key",
      "data-part": "plane",
      style: "display: block; overflow: visible; width: 100%; height: auto; margin-top: .5rem; forced-color-adjust: none; background: var(--fig-paper)",
    });
    const [numbers, scores] = ["Pairs", "Scores over the position of the key"].map(strip);
    body.append(labelled("Positions", schemes), plane, h("details", {}, h("summary", {}, "The numbers as tables"), numbers, scores));

    const room = () => Math.max(Math.floor(body.clientWidth) || 640, 220);
    /** @type {ReturnType<typeof plan> | undefined} */
    let at;
    onResize(body, signal, () => at && at.wide !== room() && update());

    /** The large dial, the line with the curve below it, and a small dial for each pair. @param {number} pairs */
    function plan(pairs) {
      const wide = room();
      const beside = wide >= 520;
      const big = beside ? BIG : 64;
      const plot = beside ? 112 : 104;
      const left = beside ? 2 * big + 46 : 26; // of the line
      const right = wide - 12;
      const top = beside ? 0 : 2 * big + 26;
      const small = beside ? 36 : Math.min(wide / pairs / 2 - 4, 28);
      const dials = top + LINE + plot + 48;
      const height = dials + (beside ? 2 * small + 4 : 2 * small + 38);
      return { wide, beside, big, plot, left, right, top, small, dials, height, each: wide / pairs };
    }
    const px = (/** @type {number} */ position) => {
      const { left, right } = /** @type {NonNullable<typeof at>} */ (at);
      return left + (position * (right - left)) / LAST;
    };

    const drawn = s("g");
    const chosen = s("g");
    const handles = { both: handle("both"), query: handle("query"), key: handle("key") };
    /** @type {SVGElement[]} */
    let dials = [];
    const group = s("g", { role: "radiogroup", "aria-label": "Pair on the large dial" });
    plane.append(drawn, chosen, ...Object.values(handles), group);

    /**
     * Move what was asked for, and stop both when one of them meets an end.
     * @param {string} which
     * @param {number} to where the query goes, or the key
     */
    function moveTo(which, to) {
      const [m, n] = [model.get("m"), model.get("n")];
      if (which === "query") set({ m: place(to) });
      else if (which === "key") set({ n: place(to) });
      else {
        const step = Math.min(Math.max(Math.round(to) - m, -Math.min(m, n)), LAST - Math.max(m, n));
        if (step) set({ m: m + step, n: n + step });
      }
    }

    /** @param {string} which */
    function handle(which) {
      const shape = {
        query: () => s("path", { d: "M 0 -11 L 11 0 L 0 11 L -11 0 Z", fill: "var(--fig-query)" }),
        key: () => s("circle", { r: 9.5, fill: "var(--fig-key)" }),
        both: () => s("rect", { y: -12, height: 24, rx: 8, fill: "var(--fig-tint)", stroke: "var(--fig-quiet)" }),
      }[which];
      const g = grip(
        { which, limits: [0, LAST], style: "cursor: grab" },
        which === "both" ? "" : s("rect", { x: -17, y: which === "query" ? -13 : -11, width: 34, height: 24, fill: "transparent" }), // room for a thumb
        /** @type {any} */ (shape)(),
        s("text", { y: 5, "font-size": 14, fill: "var(--fig-ink)", ...halo(which === "both" ? 0 : 4) }),
      );
      let held = 0; // how far from the query, or the key, the pointer went down
      const own = () => model.get(which === "key" ? "n" : "m");
      const position = (/** @type {MouseEvent} */ event) => {
        const { left, right } = /** @type {NonNullable<typeof at>} */ (at);
        return ((spot(plane, event)[0] - left) / (right - left)) * LAST;
      };
      g.addEventListener("pointerdown", (event) => (held = position(/** @type {any} */ (event)) - own()), { signal });
      draggable(g, signal, (event) => moveTo(which, position(event) - held));
      g.addEventListener("keydown", (event) => {
        const step = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, PageUp: 5, PageDown: -5, Home: -LAST, End: LAST }[/** @type {KeyboardEvent} */ (event).key];
        if (!step) return;
        event.preventDefault();
        moveTo(which, own() + step);
      });
      return g;
    }

    /** A small dial: one of the pairs to choose from. @param {number} pair */
    function radio(pair) {
      const g = s("g", { role: "radio", "data-part": "dial", "data-which": pair, style: "cursor: pointer" });
      g.addEventListener("click", () => set({ pair }));
      g.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => {
        const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1, Enter: 0, " ": 0 }[event.key];
        if (step === undefined) return;
        event.preventDefault();
        const next = (pair + step + dials.length) % dials.length;
        dials[next].focus();
        set({ pair: next });
      });
      return g;
    }

    function read() {
      const get = (/** @type {string} */ key) => model.get(key);
      const given = { q: get("q"), k: get("k"), base: get("base"), scheme: get("scheme") };
      const [m, n, pair, words] = ["m", "n", "pair", "words"].map(get);
      if (!SCHEMES.includes(given.scheme)) throw new Error(`scheme must be one of ${SCHEMES.join(", ")}, got “${given.scheme}”.`);
      for (const [name, value, end] of [["m", m, LAST], ["n", n, LAST], ["pair", pair, given.q.length / 2 - 1]]) {
        if (!Number.isInteger(value) || value < 0 || value > end) throw new Error(`${name} must be a whole number from 0 to ${end}, got ${value}.`);
      }
      return { given, m, n, pair, words };
    }

    /** @typedef {ReturnType<typeof read>} State */
    /** @typedef {State & { given: import("./math/rope.js").Given }} Drawn */
    /** One scale of scores and, in a scheme, of arrows wherever query and key stand: nothing jumps but what changed. */
    let [low, high, longest] = [0, 1, 1];
    /** @type {Record<string, number[]>} */
    const measured = {};
    /** @param {State["given"]} given @returns {number[]} the lowest score, the highest, and the longest arrow where it is turned */
    const measure = ({ scheme, ...given }) =>
      (measured[JSON.stringify(given)] ??= [
        ...ends({ ...given, scheme }),
        Math.max(...[given.q, given.k].flatMap((v) => range(0, v.length / 2 - 1).map((i) => Math.hypot(v[2 * i], v[2 * i + 1])))) * 1.2,
      ]);

    /** How far the drawing is on its way from turned to added. @type {number | undefined} */
    let added;
    let frame = 0;
    signal.addEventListener("abort", () => cancelAnimationFrame(frame));
    /** Draw what is now; to another scheme it goes over. @param {State} now */
    function travel(now) {
      cancelAnimationFrame(frame);
      const goal = now.given.scheme === "rotary" ? 0 : 1;
      const from = added === undefined || calm() ? goal : added;
      const [lowest, highest, turned] = measure(now.given);
      let began = 0;
      const go = () => {
        const time = performance.now();
        began ||= time; // the first drawing is still the old one, however long it took to measure
        const left = Math.max(1 - (time - began) / 350, 0) ** 2;
        const at = (added = goal + (from - goal) * left);
        [low, high, longest] = [lowest, highest, turned + at]; // what is added has length 1
        draw({ ...now, given: { ...now.given, added: at } });
        if (left && from !== goal) frame = requestAnimationFrame(go);
      };
      go();
    }

    /** @param {Drawn} now */
    function draw(now) {
      const { pairs, score } = pairsOf(now.given, now.m, now.n);
      drawLine(now, score);
      drawBig(now, pairs[now.pair]);
      drawSmall(now, pairs);
    }

    function update() {
      const now = read();
      const { given, m, n, pair } = now;
      const { pairs, score } = pairsOf(given, m, n);
      if (!at || at.wide !== room() || dials.length !== pairs.length) {
        at = plan(pairs.length);
        plane.setAttribute("viewBox", `0 0 ${at.wide} ${at.height}`);
        dials = pairs.map((_, i) => dials[i] ?? radio(i));
        group.replaceChildren(...dials);
      }
      select(schemes, given.scheme);
      travel(now);
      const speed = speeds(given);
      numbers.replaceChildren(
        table("numbers", ["pair", "speed", "angle", "part of the score"], pairs.map(({ angle, part }, i) => [String(i + 1), fmt(speed[i], 4), fmt(angle, 4), fmt(part, 4)])),
      );
      scores.replaceChildren(table("scores", ["key at", "score"], range(0, LAST).map((p) => [String(p), fmt(pairsOf(given, m, p).score, 4)])));
      say(`Distance ${fmt(n - m, 0)}. Pair ${pair + 1}: angle ${fmt(Math.abs(pairs[pair].angle))}. Score: ${fmt(score)}.`);
    }

    /**
     * Two arrows on a dial, the rings on which their tips go round, and the angle between them.
     * @param {Drawn} now
     * @param {import("./math/rope.js").Pair} pair
     * @param {number} which
     * @param {number} radius
     */
    function arrows({ given }, { q, k, angle }, which, radius) {
      const unit = radius / longest;
      const bold = radius > 50;
      const part = (/** @type {number[]} */ v) => v.slice(2 * which, 2 * which + 2);
      const { added = 0 } = given;
      const out = [s("circle", { r: radius, fill: "var(--fig-tint)", stroke: "var(--fig-line)" })];
      for (const [role, v] of /** @type {[string, number[]][]} */ ([["query", part(given.q)], ["key", part(given.k)]])) {
        const middle = v.map((x) => x * added);
        out.push(s("circle", { cx: middle[0] * unit, cy: -middle[1] * unit, r: (Math.hypot(...v) * (1 - added) + added) * unit, fill: "none", stroke: `var(--fig-${role})`, "stroke-opacity": 0.35 }));
      }
      const from = Math.atan2(q[1], q[0]);
      const r = 0.3 * radius;
      const on = (/** @type {number} */ a, /** @type {number} */ by = r) => `${(by * Math.cos(a)).toFixed(1)} ${(-by * Math.sin(a)).toFixed(1)}`;
      out.push(s("path", { d: `M 0 0 L ${on(from)} A ${r} ${r} 0 0 ${angle > 0 ? 0 : 1} ${on(from + angle)} Z`, fill: "var(--fig-ink)", "fill-opacity": 0.16, stroke: "var(--fig-ink)" }));
      for (const [role, v] of /** @type {[string, number[]][]} */ ([["query", q], ["key", k]])) {
        const [x, y, turn] = [v[0] * unit, -v[1] * unit, Math.atan2(-v[1], v[0])];
        const size = Math.min(bold ? 11 : 6, 0.5 * Math.hypot(x, y));
        const barb = (/** @type {number} */ by) => `${(x - size * Math.cos(turn + by)).toFixed(1)} ${(y - size * Math.sin(turn + by)).toFixed(1)}`;
        out.push(s("path", {
          d: `M 0 0 L ${x.toFixed(1)} ${y.toFixed(1)} M ${barb(0.5)} L ${x.toFixed(1)} ${y.toFixed(1)} L ${barb(-0.5)}`,
          fill: "none", stroke: `var(--fig-${role})`, "stroke-width": bold ? 4 : 2.2, "stroke-linecap": "round", "stroke-linejoin": "round",
          ...(bold ? { "data-part": "hand", "data-which": role } : {}),
        }));
        if (!bold) continue;
        const far = Math.hypot(x, y) + 10;
        const to = turn + (role === "query" ? 0.13 : -0.13) * (Math.sign(angle) || 1); // away from the other's
        out.push(text(role === "query" ? "q" : "k", { x: far * Math.cos(to), y: far * Math.sin(to) + 5, "text-anchor": "middle", "font-style": "italic", "font-size": 16, fill: "var(--fig-ink)", ...halo() }));
      }
      return out;
    }

    /** @param {Drawn} now @param {import("./math/rope.js").Pair} pair */
    function drawBig(now, pair) {
      const { big, beside, wide } = /** @type {NonNullable<typeof at>} */ (at);
      chosen.setAttribute("transform", `translate(${beside ? big + 2 : wide / 2} ${big + 2})`);
      chosen.replaceChildren(
        ...arrows(now, pair, now.pair, big),
        text(`angle ${fmt(Math.abs(pair.angle))} rad`, { "data-part": "angle", y: big + 21, "text-anchor": "middle", "font-size": 15, fill: "var(--fig-ink)" }),
      );
    }

    /** @param {Drawn} now @param {import("./math/rope.js").Pair[]} pairs */
    function drawSmall(now, pairs) {
      const { small, beside, dials: top, each } = /** @type {NonNullable<typeof at>} */ (at);
      const speed = speeds(now.given);
      pairs.forEach((pair, i) => {
        const on = i === now.pair;
        const x = i * each;
        const lines = [`pair ${i + 1}`, `speed ${fmt(speed[i])}`, `part ${fmt(pair.part)}`];
        const clock = s("g", { transform: `translate(${beside ? x + small + 6 : x + each / 2} ${top + small + 2})` });
        clock.append(...arrows(now, pair, i, small - 3));
        if (on) clock.append(s("circle", { r: small, fill: "none", stroke: "var(--fig-ink)", "stroke-width": 2.5 }));
        const words = beside
          ? lines.map((line, l) => text(line, { x: x + 2 * small + 14, y: top + small - 13 + 19 * l, ...(on ? { fill: "var(--fig-ink)" } : {}), "font-weight": on && !l ? 700 : 400 }))
          : lines.slice(1).map((line, l) => text(line, { x: x + each / 2, y: top + 2 * small + 18 + 15 * l, "text-anchor": "middle", "font-size": 12, fill: "var(--fig-ink)" }));
        dials[i].replaceChildren(s("rect", { x, y: top, width: each - 2, height: 2 * small + 4, fill: "transparent" }), clock, ...words);
        for (const [key, value] of Object.entries({ "aria-checked": on, tabindex: on ? 0 : -1, "aria-label": `pair ${i + 1}, speed ${fmt(speed[i], 3)}: angle ${fmt(Math.abs(pair.angle))}, part ${fmt(pair.part)}` })) dials[i].setAttribute(key, String(value));
      });
    }

    /** @param {Drawn} now @param {number} score */
    function drawLine({ given, m, n, words, pair }, score) {
      const { left, right, top, beside, plot } = /** @type {NonNullable<typeof at>} */ (at);
      const floor = top + LINE + plot;
      const y = (/** @type {number} */ value) => floor - ((value - low) / (high - low)) * plot;
      const fine = range(0, LAST, 0.25).map((p) => ({ x: px(p), ...pairsOf(given, m, p) }));
      const way = (/** @type {(at: typeof fine[0]) => number} */ of) => fine.map((at, i) => `${i ? "L" : "M"} ${at.x.toFixed(1)} ${y(of(at)).toFixed(1)}`).join(" ");
      const middle = top + 42;
      const ticks = range(Math.ceil(low), Math.floor(high));
      drawn.replaceChildren(
        s("path", { d: `M ${px(0)} ${middle} H ${px(LAST)} ${range(0, LAST).map((p) => `M ${px(p)} ${middle - 4} v 8`).join(" ")}`, stroke: "var(--fig-quiet)", fill: "none" }),
        ...ticks.map((t) => s("path", { d: `M ${left} ${y(t)} H ${right}`, stroke: t ? "var(--fig-line)" : "var(--fig-quiet)" })),
        ...ticks.map((t) => text(fmt(t, 0), { x: left - 6, y: y(t) + 4, "text-anchor": "end" })),
        ...[0, 10, 20, 30].map((p) => text(String(p), { x: px(p), y: floor + 17, "text-anchor": "middle" })),
        s("path", { d: `M ${left} ${floor} H ${right} ${[0, 10, 20, 30].map((p) => `M ${px(p)} ${floor} v 4`).join(" ")}`, stroke: "var(--fig-quiet)" }),
        // Below the lines: beside its point no number has room.
        s("text", { x: left, y: floor + 36, "font-size": 13, fill: "var(--fig-quiet)" },
          "score, here ", s("tspan", { "data-part": "told", fill: "var(--fig-ink)", "font-weight": 700 }, fmt(score)), beside ? ", of the key at each place; dashed: the part of this pair" : "; dashed: this pair"),
        s("path", { d: way(({ pairs }) => pairs[pair].part), fill: "none", stroke: "var(--fig-quiet)", "stroke-width": 1.5, "stroke-dasharray": "4 3", "data-part": "alone" }),
        s("path", { d: way(({ score }) => score), fill: "none", stroke: "var(--fig-query)", "stroke-width": 2.5, "data-part": "curve" }),
        s("path", { d: `M ${px(n)} ${middle + 30} V ${y(score)}`, stroke: "var(--fig-key)", "stroke-dasharray": "2 3" }),
        s("circle", { cx: px(n), cy: y(score), r: 6, fill: "var(--fig-key)", stroke: "var(--fig-paper)", "stroke-width": 2, "data-part": "point" }),
      );
      const put = (/** @type {SVGElement} */ g, /** @type {number} */ x, /** @type {number} */ to, /** @type {string} */ said, /** @type {string} */ label, /** @type {number} */ value, /** @type {string} */ spoken) => {
        g.setAttribute("transform", `translate(${x.toFixed(1)} ${to})`);
        /** @type {SVGElement} */ (g.lastElementChild).textContent = said;
        for (const [key, v] of Object.entries({ "aria-label": label, "aria-valuenow": value, "aria-valuetext": spoken })) g.setAttribute(key, String(v));
      };
      put(handles.query, px(m), middle - 27, words[0], `query of ${words[0]}`, m, `position ${m}`);
      put(handles.key, px(n), middle + 27, words[1], `key of ${words[1]}`, n, `position ${n}`);
      for (const [g, p] of /** @type {[SVGElement, number][]} */ ([[handles.query, m], [handles.key, n]])) {
        const away = px(p) > (left + right) / 2 ? -1 : 1; // the word stands where there is room
        const word = /** @type {SVGElement} */ (g.lastElementChild);
        word.setAttribute("x", String(away * 17));
        word.setAttribute("text-anchor", away > 0 ? "start" : "end");
      }
      const width = Math.max(Math.abs(px(n) - px(m)) + 16, 44);
      const between = Math.min(Math.max((px(m) + px(n)) / 2, left + width / 2 - 12), right + 12 - width / 2);
      put(handles.both, between, middle, `↔ ${fmt(n - m, 0)}`, "query and key together", m, `query at ${m}, key at ${n}`);
      /** @type {SVGElement} */ (handles.both.lastElementChild).setAttribute("text-anchor", "middle");
      const bar = /** @type {SVGElement} */ (handles.both.querySelector("rect"));
      bar.setAttribute("x", String(-width / 2));
      bar.setAttribute("width", String(width));
    }

    return { update, pytorch: () => snippet(model.get.bind(model)), svg: () => standalone(plane) };
  },
});
