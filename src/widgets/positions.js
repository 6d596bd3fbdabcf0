// Order: a sentence whose words are dragged to other places, or change places when one taps one and then another; and the output
// of each, as written and as it stands. Where the page wants no more (`only`), with places or without.
//
// For tests (data-part): scheme (radio group), plane (svg), handle (g, role slider; data-which: the word, counted as
// written), line (path, data-which), arrow, before (lines from the middle to the output now and as written, data-which),
// verdict (what became of the arrows), shuffle, restore, numbers (table: place, token, output 1, output 2, change), status.
import { grip, labelled } from "./ui/controls.js";
import { calm, choices, draggable, first, fmt, h, onResize, s, select, spot, standalone } from "./ui/dom.js";
import { figure } from "./ui/frame.js";
import { strip, table } from "./ui/tables.js";
import { SCHEMES, attendInOrder, farthest, moved, shuffled, snippet, swapped } from "./math/positions.js";

const NAMES = { none: "none", sinusoidal: "sinusoids", learned: "learned", rotary: "RoPE", alibi: "ALiBi", relative: "relative bias" };
const HEAD = 22; // height of the line that names the upper row, where there is no room beside it
const NAMED = 132; // room beside the rows for their names
const WORD = 32; // height of a word
/** What says that a word can be gripped: six dots. */
const RIDGES = [11, 16, 21].flatMap((y) => [0, 5].map((x) => `M${x} ${y}h.01`)).join("");
/** A finger that moves less is one that taps. */
const STILL = 5;
const range = (/** @type {number} */ n) => Array.from({ length: n }, (_, i) => i);
const text = (/** @type {string} */ words, /** @type {Record<string, any>} */ look) =>
  s("text", { "font-size": 13, fill: "var(--fig-quiet)", "text-anchor": "middle", ...look }, words);

export default figure({
  name: "positions",
  title: "Order",
  keys: ["scheme", "order"],
  setup({ model, body, say, set, signal }) {
    const only = Boolean(model.get("only"));
    const asWritten = () => ({ order: range(model.get("order").length) });
    const schemes = choices({
      label: "Positions",
      part: "scheme",
      value: model.get("scheme"),
      options: SCHEMES.filter((value) => !only || ["none", "rotary"].includes(value)).map((value) => ({ value, text: /** @type {any} */ (NAMES)[value] })),
      // Who is to drag again begins as written.
      onChange: (value) => set({ scheme: value, ...(only && asWritten()) }),
    });
    const plane = s("svg", {
      role: "group",
      "aria-label": "The words as written with an arrow for the output of each, and below them as they stand now; each word below can be dragged to another place, or moved with the arrow keys; two that are tapped, one after the other, change places",
      "data-part": "plane",
      style: "display: block; width: 100%; height: auto; forced-color-adjust: none; background: var(--fig-paper)",
    });
    const numbers = strip("Outputs of the sentence");
    // Right under the arrows, and large: what they did is what one looks for.
    const verdict = h("b", { "data-part": "verdict", style: "flex: 1 1 20rem; font-size: 1.125rem; line-height: 1.3" });
    const button = (/** @type {string} */ words, /** @type {string} */ part, /** @type {() => void} */ click) =>
      h("button", { type: "button", "data-part": part, on: { click } }, words);
    body.append(
      plane,
      h("div", { class: "attnlab-row" },
        verdict,
        button("Shuffle", "shuffle", () => set({ order: shuffled(model.get("order"), model.get("tokens")) })),
        button("As written", "restore", () => set(asWritten())),
      ),
      labelled("Positions", schemes),
      only ? "" : h("details", {}, h("summary", {}, "The numbers as a table"), numbers),
    );

    const room = () => Math.max(Math.floor(body.clientWidth) || 640, 220);
    /** @type {ReturnType<typeof plan> | undefined} */
    let at;
    onResize(body, signal, () => at && at.wide !== room() && update());

    /** Where rows and columns are. @param {number} n */
    function plan(n) {
      const wide = room();
      const left = wide < 480 ? 0 : NAMED;
      const column = (wide - left) / n;
      const radius = Math.min(column / 2 - 4, 42);
      const above = (left ? 2 : HEAD) + 2 * radius; // where the words as written begin
      const below = above + WORD + 46;
      return { wide, left, column, radius, above, below, height: below + WORD + 2 * radius + 2 };
    }
    const middle = (/** @type {number} */ place) => /** @type {any} */ (at).left + /** @type {any} */ (at).column * (place + 0.5);

    function read() {
      const get = (/** @type {string} */ key) => model.get(key);
      const [tokens, order] = [get("tokens"), get("order")];
      if (!Array.isArray(order) || order.length !== tokens.length || !range(tokens.length).every((i) => order.includes(i))) {
        throw new Error(`order must hold each of 0 to ${tokens.length - 1} once, got ${order}.`);
      }
      const given = Object.fromEntries(["x", "wq", "wk", "wv", "learned", "relative", "slope", "base"].map((key) => [key, get(key)]));
      const head = /** @type {import("./math/positions.js").Head} */ ({ ...given, scheme: get("scheme") });
      const names = tokens.map((/** @type {string} */ t, /** @type {number} */ i) => {
        const twice = tokens.filter((/** @type {string} */ u) => u === t).length > 1;
        const before = tokens.slice(0, i).filter((/** @type {string} */ u) => u === t).length;
        return t + (twice ? "₁₂₃₄₅₆₇₈₉"[before % 9] : "");
      });
      return { head, order: /** @type {number[]} */ (order), names: /** @type {string[]} */ (names) };
    }

    /** A word at its place, which can be dragged along the row, and the arrow of its output, where fingers scroll the page. @param {number} token @param {string} name */
    function word(token, name) {
      const chip = s("rect", { y: 2, height: WORD - 4, rx: 8, fill: "var(--fig-tint)", stroke: "var(--fig-ink)", "stroke-width": 2 });
      const clock = dial();
      const ridges = s("path", { d: RIDGES, stroke: "var(--fig-ink)", "stroke-width": 3, "stroke-linecap": "round" });
      const g = grip({ which: token, limits: [0, model.get("order").length - 1], style: "cursor: grab" }, chip, ridges, text(name, { y: 21, "font-size": 16, fill: "var(--fig-ink)" }));
      g.setAttribute("aria-label", name);
      const line = s("path", { fill: "none", "data-part": "line", "data-which": token });
      const place = () => model.get("order").indexOf(token);
      const go = (/** @type {number} */ to) => {
        const next = Math.min(Math.max(to, 0), model.get("order").length - 1);
        if (next !== place()) set({ order: moved(model.get("order"), token, next) });
      };
      let [grabbed, down, tapped] = [0, 0, false]; // how far from its middle the pointer went down, and where, and whether it stays there
      g.addEventListener("pointerdown", (event) => {
        down = spot(plane, /** @type {any} */ (event))[0];
        [grabbed, tapped] = [down - middle(place()), first(/** @type {any} */ (event))];
      }, { signal });
      draggable(g, signal, (event) => {
        tapped &&= Math.abs(spot(plane, event)[0] - down) < STILL;
        if (tapped) return;
        pick(-1);
        const { column, left, wide } = /** @type {NonNullable<typeof at>} */ (at);
        // Above the others, which go behind it: were it taken out itself, the pointer would let it go.
        if (!held) g.before(...words.flatMap((one) => (one.g === g ? [] : [one.g])));
        held = { token, x: Math.min(Math.max(spot(plane, event)[0] - grabbed, left + column / 2), wide - column / 2) };
        go(Math.round((held.x - left) / column - 0.5));
        travel();
      });
      for (const name of ["pointerup", "pointercancel"]) {
        g.addEventListener(name, () => {
          held = undefined;
          travel();
          if (tapped && name === "pointerup") tap(token);
          tapped = false;
        });
      }
      g.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => {
        if ([" ", "Enter"].includes(event.key)) {
          event.preventDefault();
          tap(token);
        }
        const step = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, Home: -99, End: 99 }[event.key];
        if (!step) return;
        event.preventDefault();
        go(place() + step);
      });
      for (const [name, hot] of Object.entries({ pointerenter: true, focus: true, pointerleave: false, blur: false })) g.addEventListener(name, () => shine(hot));
      const shine = (/** @type {boolean} */ hot) => {
        line.setAttribute("stroke", `var(--fig-${hot ? "ink" : "quiet"})`);
        line.setAttribute("stroke-width", hot ? "4" : "2");
      };
      shine(false);
      return { g, line, chip, ridges, clock, name };
    }

    /** A second word that is tapped takes the place of the first. @param {number} token */
    function tap(token) {
      const one = picked;
      pick(one < 0 ? token : -1);
      if (one >= 0 && one !== token) set({ order: swapped(model.get("order"), one, token) });
      else update();
    }

    /** @param {number} token or -1 */
    function pick(token) {
      picked = token;
      words.forEach(({ chip }, at) => {
        chip.setAttribute("stroke", `var(--fig-${at === picked ? "accent" : "ink"})`);
        chip.setAttribute("stroke-width", at === picked ? "4" : "2");
      });
    }

    /** An output of two numbers as an arrow from the middle of a ring. */
    function dial() {
      const ring = s("circle", { fill: "none", stroke: "var(--fig-line)" });
      const before = s("path", { fill: "none", stroke: "var(--fig-quiet)", "stroke-dasharray": "3 2" });
      const arrow = s("path", { fill: "none", stroke: "var(--fig-output)", "stroke-width": 3, "stroke-linecap": "round", "stroke-linejoin": "round" });
      const g = s("g", {}, ring, arrow, before);
      return { g, ring, before, arrow };
    }

    /** The way of an arrow with its head. @param {number} x @param {number} y */
    function arrowTo(x, y) {
      const [long, turn] = [Math.hypot(x, y), Math.atan2(y, x)];
      const size = Math.min(9, 0.6 * long);
      const barb = (/** @type {number} */ by) => `${(x - size * Math.cos(turn + by)).toFixed(1)} ${(y - size * Math.sin(turn + by)).toFixed(1)}`;
      return `M 0 0 L ${x.toFixed(1)} ${y.toFixed(1)} M ${barb(0.5)} L ${x.toFixed(1)} ${y.toFixed(1)} L ${barb(-0.5)}`;
    }

    /** @type {{ token: number, x: number } | undefined} */
    let held;
    /** The word that was tapped and waits for another, or -1. */
    let picked = -1;
    /** @type {ReturnType<typeof word>[]} */
    let words = [];
    /** Of each word: where it is drawn, and the two numbers of its output. @type {number[][]} */
    let shown = [];
    /** @type {number[][]} */
    let goal = [];
    let unit = 1;
    let frame = 0;
    signal.addEventListener("abort", () => cancelAnimationFrame(frame));

    /** Let words and arrows go from where they are drawn to where they belong; what is held follows the pointer. */
    function travel() {
      cancelAnimationFrame(frame);
      const still = shown.length !== goal.length || calm();
      const from = still ? goal : shown;
      const began = performance.now();
      const go = () => {
        const left = still ? 0 : Math.max(1 - (performance.now() - began) / 400, 0) ** 2;
        shown = goal.map((to, token) => to.map((value, i) => (i === 0 && held?.token === token ? held.x : value + (from[token][i] - value) * left)));
        paint();
        if (left) frame = requestAnimationFrame(go);
        // Again in the order of the text, in which keys go through them.
        else if (!held && plane.lastChild !== words[words.length - 1].g) plane.append(...words.slice(1 + words.findIndex(({ g }) => g === plane.lastChild)).map(({ g }) => g));
      };
      go();
    }

    function paint() {
      const { above, below, radius } = /** @type {NonNullable<typeof at>} */ (at);
      words.forEach(({ g, line, clock }, token) => {
        const [x, a, b] = shown[token];
        g.setAttribute("transform", `translate(${x.toFixed(1)} ${below})`);
        clock.g.setAttribute("transform", `translate(${x.toFixed(1)} ${below + WORD + radius})`);
        clock.arrow.setAttribute("d", arrowTo(a * unit * radius, -b * unit * radius));
        const [top, bottom, half] = [above + WORD, below + 1, (below - above - WORD) / 2];
        line.setAttribute("d", `M ${middle(token).toFixed(1)} ${top} c 0 ${half}, ${(x - middle(token)).toFixed(1)} ${half}, ${(x - middle(token)).toFixed(1)} ${bottom - top}`);
      });
    }

    /** What stays while words move. @param {ReturnType<typeof read>} now @param {number[][]} written */
    function build({ head, names }, written) {
      at = plan(names.length);
      const { wide, left, column, radius, above, below, height } = at;
      plane.setAttribute("viewBox", `0 0 ${wide} ${height}`);
      if (words.length !== names.length || words.some(({ name }, i) => name !== names[i])) words = names.map((name, token) => word(token, name));
      const half = Math.min(column - 6, 100) / 2;
      const roomy = half > 18 + 4.3 * Math.max(...names.map(({ length }) => length)); // for the six dots beside the longest word
      const first = names.map((name, token) => {
        const { g, ring, arrow } = dial();
        ring.setAttribute("r", String(radius - 2));
        arrow.setAttribute("d", arrowTo(written[token][0] * unit * radius, -written[token][1] * unit * radius));
        g.setAttribute("transform", `translate(0 ${-radius})`);
        return s("g", { transform: `translate(${middle(token).toFixed(1)} ${above})` }, g, text(name, { y: 21, "font-size": 16, fill: "var(--fig-ink)" }));
      });
      words.forEach(({ g, chip, ridges, clock }, token) => {
        chip.setAttribute("x", String(-half));
        chip.setAttribute("width", String(2 * half));
        ridges.setAttribute("transform", roomy ? `translate(${8 - half} 0)` : "translate(12.8 4.5) rotate(90) scale(0.8)"); // beside its word, or above
        g.lastElementChild?.setAttribute("y", roomy ? "21" : "24");
        clock.ring.setAttribute("r", String(radius - 2));
        const [x, y] = written[token].map((value, i) => (i ? -value : value) * unit * radius);
        clock.before.setAttribute("d", `M 0 0 L ${x.toFixed(1)} ${y.toFixed(1)} m -7 0 a 7 7 0 1 0 14 0 a 7 7 0 1 0 -14 0`);
        for (const [part, drawn] of Object.entries({ arrow: clock.arrow, before: clock.before })) {
          drawn.setAttribute("data-part", part);
          drawn.setAttribute("data-which", String(token));
        }
      });
      const bold = { "font-size": 15, "font-weight": 600, fill: "var(--fig-ink)" };
      const by = head.scheme === "none" ? "" : `with ${/** @type {any} */ (NAMES)[head.scheme]}`; // what is as written is computed anew, too
      const rows = left
        ? [["output", radius + (by ? -3 : 6)], ...(by ? [[`(${by})`, radius + 13]] : []), ["as written", above + 21, bold], ["now", below + 14, bold], ["drag a word", below + 31], ["output", below + WORD + radius - 3], ["(dashed: as written)", below + WORD + radius + 13]]
        : [[`${by ? `as written, ${by}` : "outputs as written"} (below: dashed)`, 13], ["now:", below - 21], ["drag", below - 6]];
      plane.replaceChildren(
        ...rows.map(([words, y, look]) => text(String(words), { x: 0, y, "text-anchor": "start", ...Object(look) })),
        ...words.map(({ line }) => line),
        ...first,
        ...words.map(({ clock }) => clock.g),
        ...words.map(({ g }) => g),
      );
      shown = [];
    }

    let [made, stood] = ["", ""];
    function update() {
      const now = read();
      const { head, order, names } = now;
      if (stood !== String(order)) pick(-1);
      stood = String(order);
      const { output } = attendInOrder(head, order); // an unknown scheme is said here
      const written = attendInOrder(head, range(order.length)).output;
      select(schemes, head.scheme);
      const state = JSON.stringify([names, head, room()]);
      if (made !== state) {
        const was = shown;
        unit = 0.92 / farthest(head);
        build(now, written);
        if (was.length === order.length) shown = was; // another scheme: arrows travel there too
      }
      const resize = made && JSON.parse(made)[2] !== room();
      made = state;
      goal = order.map((_, token) => {
        const place = order.indexOf(token);
        return [middle(place), ...output[place]];
      });
      if (resize) shown = [];
      const change = order.map((token, p) => Math.hypot(...output[p].map((v, d) => v - written[token][d])));
      words.forEach(({ g }, token) => {
        const place = order.indexOf(token);
        g.setAttribute("aria-valuenow", String(place));
        g.setAttribute("aria-valuetext", `place ${place}, output ${output[place].map((v) => fmt(v)).join(" and ")}`);
      });
      travel();
      numbers.replaceChildren(
        table("numbers", ["place", "token", "output 1", "output 2", "change"], order.map((token, p) => [String(p), names[token], ...output[p].map((v) => fmt(v, 4)), fmt(change[p], 4)])),
      );
      const same = order.every((token, p) => token === p);
      const changed = change.filter((by) => by > 0.005).length;
      // What an eye takes for the same: less than a tenth of the longest arrow.
      const which = (/** @type {(by: number) => boolean} */ is) => order.filter((_, p) => is(change[p])).map((token) => names[token]);
      const [never, clearly] = [which((by) => by <= 0.005), which((by) => by >= farthest(head) / 10)];
      const hardly = order.map((token) => names[token]).filter((name) => ![...never, ...clearly].includes(name));
      const but = [["hardly", hardly], ["not", never]].flatMap(([how, all]) => (all.length ? `, ${how} that of ${/** @type {string[]} */ (all).join(" and ")}` : []));
      const told = but.length ? `${clearly.length} arrows clearly${but.join("")}` : `all ${order.length} arrows clearly`;
      const asked = head.scheme === "none" ? "Does saw’s arrow turn or grow?" : "Now the two saw differ. What does a move change?";
      verdict.style.minHeight = at && at.left ? "" : "2.6em"; // two lines
      verdict.textContent = same
        ? only ? asked : "What becomes of the arrows?"
        : changed ? (only ? `The move changed ${told}.` : `${changed} of ${order.length} arrows turned, grew or shrank.`) : "No arrow turned or grew: they only moved.";
      if (picked >= 0) return say(`${names[picked]} is picked: tap another word, and they change places.`);
      say(`${order.map((token) => names[token]).join(" ")}.${same || only ? (changed && hardly.length ? " Hardly: less than a tenth of the longest arrow." : "") : ` Largest change of an output: ${fmt(Math.max(...change))}.`}`);
    }

    return { update, pytorch: () => snippet(model.get.bind(model)), svg: () => standalone(plane) };
  },
});
