// Alignment: type a date, step through the decoder, see which state asks and which characters answer.
//
// For tests (data-part): text (input), example (buttons), score (radio group), step (range input), next (button),
// drawing (svg), numbers (table: character written, probability, one weight a character of the text), status.
import css from "./ui/alignment.css";
import { labelled, slider } from "./ui/controls.js";
import { choices, fmt, h, onResize, renew, s, select, shade, standalone } from "./ui/dom.js";
import { figure } from "./ui/frame.js";
import { shipped } from "./ui/shipped.js";
import { strip, table } from "./ui/tables.js";
import { readable, write } from "./math/alignment.js";

/** Longer texts are cut here, and the figure says so. */
const MOST = 40;
/** The drawing's own width, where there is room; on a phone it is drawn as narrow as its place, so that letters keep their size. */
const [WIDE, NARROW] = [620, 240];
const EXAMPLES = ["3 may 1984", "3.5.84", "may 3rd, 84", "5/3/84", "the third of may, 1984"];
/** The names on a phone are the last words: all four stand in one row there. */
const SCORES = [
  ["bahdanau", "Bahdanau"],
  ["dot", "Luong, dot"],
  ["general", "Luong, general"],
  ["concat", "Luong, concat"],
];
const visible = (/** @type {string} */ c) => (c === " " ? "␣" : c);
const small = (/** @type {number} */ n) => [...String(n)].map((d) => "₀₁₂₃₄₅₆₇₈₉"[Number(d)]).join("");

export default figure({
  name: "alignment",
  css,
  title: "Alignment",
  keys: ["text", "score", "step"],
  async setup({ model, body, say, set, signal, place }) {
    const models = /** @type {any} */ (await shipped("alignment", model, place.base));
    /** @type {import("./math/alignment.js").Written[]} */
    let written = [];
    let [shown, key, cut] = ["", "", 0];

    const input = h("input", {
      type: "text",
      "aria-label": "A date to rewrite",
      "data-part": "text",
      autocomplete: "off",
      spellcheck: "false",
      on: { input: () => set({ text: input.value, step: 0 }) },
    });
    const examples = h("div", { class: "attnlab-choices", role: "group", "aria-label": "Try" });
    for (const text of EXAMPLES) examples.append(h("button", { type: "button", "data-part": "example", on: { click: () => set({ text, step: 0 }) } }, text));
    const tries = h("div", { class: "attnlab-row attnlab-examples" }, examples);
    const scores = choices({
      label: "Model",
      part: "score",
      value: "bahdanau",
      options: SCORES.map(([value, text]) => ({ value, text })),
      onChange: (score) => set({ score }),
    });
    for (const button of scores.children) {
      const [last, ...paper] = String(button.textContent).split(", ").reverse();
      button.replaceChildren(...paper.map((name) => h("span", { class: "attnlab-paper" }, `${name}, `)), last);
    }
    const step = slider({ part: "step", label: "Step", limits: { min: 0, max: 10, step: 1 }, onInput: (at) => set({ step: at }) });
    const next = h("button", { type: "button", class: "attnlab-act", "data-part": "next", on: { click: () => set({ step: now() < written.length ? now() + 1 : 0 }) } });
    const drawing = s("svg", { role: "img", "data-part": "drawing", style: "width: 100%; max-width: 46rem; height: auto; display: block; overflow: visible; margin: .4rem auto 0" });
    const numbers = strip("Table of numbers");
    const card = h("p", { class: "attnlab-note", "data-part": "card" }, `Four small models, trained on dates from a grammar, run in this page. Of a thousand new dates they get right: ${SCORES.map(([name, text]) => `${text} ${models.card.models[name].right} %`).join(", ")}.`);
    const details = h("details", {}, h("summary", {}, "The numbers as a table"), numbers, card);
    body.append(input, drawing, h("div", { class: "attnlab-row attnlab-stepped" }, next, step.row), labelled("Model", scores), tries, details);
    let wide = WIDE;
    const fit = () => Math.max(Math.min(Math.floor(body.clientWidth) || WIDE, WIDE), NARROW);
    onResize(body, signal, () => fit() !== wide && written && update());

    const now = () => Math.min(Math.max(Number(model.get("step")) || 0, 0), written.length);

    function read() {
      const [text, score] = [String(model.get("text") ?? ""), String(model.get("score"))];
      if (!models.card.models[score]) throw new Error(`score must be one of ${SCORES.map(([name]) => name).join(", ")}, got ${score}.`);
      if (`${score} ${text}` === key) return;
      key = `${score} ${text}`;
      const known = readable(models.card, text);
      cut = Math.max(known.length - MOST, 0);
      shown = known.slice(0, MOST);
      written = write(models, score, shown);
    }

    function update() {
      read();
      const [text, score, at] = [String(model.get("text") ?? ""), String(model.get("score")), now()];
      if (input.value !== text) input.value = text;
      select(scores, score);
      step.input.max = String(Math.max(written.length, 1));
      step.show(at, `${at} of ${written.length}`);
      draw(at, score);
      next.textContent = at < written.length ? (wide < 390 ? "Next" : "Next character") : wide < 390 ? "Again" : "Start again";
      const head = ["written", "probability", ...[...shown].map(visible)];
      const rows = written.slice(0, at).map((one) => [
        visible(one.text),
        one.probability.toFixed(4),
        ...one.weights.map((w) => {
          const td = h("td", {}, w.toFixed(4));
          shade(td, w);
          return td;
        }),
      ]);
      numbers.replaceChildren(table("numbers", head, rows, { caption: "How much of each character was taken", bold: at - 1 }));
      const dropped = text.length - shown.length - cut;
      const warning = (cut ? ` Only the first ${MOST} characters are read.` : "") + (dropped > 0 ? " Characters that the models don't know are left out." : "");
      if (!shown) say("Type a date: there is nothing to read yet.");
      else if (!at) say(`Nothing is written yet. ${score === "bahdanau" ? "s₀ will ask first." : "The decoder will move to h₁, and h₁ will ask."}${warning}`);
      else {
        const { text: character, probability, weights } = written[at - 1];
        const most = weights.indexOf(Math.max(...weights));
        const asks = score === "bahdanau" ? `s${small(at - 1)}` : `h${small(at)}`;
        say(`Step ${at}: ${asks} asks, most comes from “${visible(shown[most])}” (character ${most + 1}, ${fmt(100 * weights[most], 0)} %); “${visible(character)}” is written (${fmt(100 * probability, 0)} %).${warning}`);
      }
    }

    /**
     * The text above, in rows if it is long; the states of the decoder below; lines from the state that asks to what answers.
     * @param {number} at
     * @param {string} score
     */
    function draw(at, score) {
      const characters = [...shown];
      const before = score === "bahdanau";
      const first = before ? 0 : 1; // who asks first
      const asks = at ? at - 1 + first : -1;
      const weights = at ? written[at - 1].weights : [];
      wide = fit();
      const [most, high] = [Math.floor((wide - 8) / 19), 34];
      const rows = Math.max(Math.ceil(characters.length / most), 1);
      const perRow = Math.max(Math.ceil(characters.length / rows), 1);
      const cell = Math.min(30, (wide - 8) / perRow);
      const from = (wide - cell * perRow) / 2;
      const x = (/** @type {number} */ j) => from + ((j % perRow) + 0.5) * cell;
      const y = (/** @type {number} */ j) => 8 + (high + 8) * Math.floor(j / perRow);
      const count = Math.max(written.length, 10) + 1;
      const state = (/** @type {number} */ t) => ((t + 0.5) * wide) / count;
      const half = wide / count / 2;
      // Where names of all states would be tiny, every second has one, and who asks; the others are small.
      const tight = half < 13;
      const r = tight ? half - 1 : Math.min(15, half - 3);
      const bare = (/** @type {number} */ t) => tight && t % 2 > 0 && t !== asks && (at > 0 || t !== first);
      const radius = (/** @type {number} */ t) => (bare(t) ? 5 : r);
      const low = y((rows - 1) * perRow) + high + 66 + r;
      const foot = low + 56;
      const text = (/** @type {string} */ words, /** @type {Record<string, any>} */ where) =>
        s("text", { "font-size": 17, fill: "var(--fig-ink)", "text-anchor": "middle", ...where }, words);
      const box = (/** @type {number} */ j, /** @type {Record<string, any>} */ look) => s("rect", { x: x(j) - cell / 2 + 1, y: y(j), width: cell - 2, height: high, rx: 4, ...look });
      const read = characters.flatMap((c, j) => [
        box(j, { fill: "var(--fig-paper)" }), // lines to the row above pass behind
        box(j, { "data-key": `weight ${j}`, fill: "var(--fig-value)", "fill-opacity": (0.52 * (weights[j] ?? 0)).toFixed(3), stroke: "var(--fig-line)", "data-weight": "" }),
        text(visible(c), { x: x(j), y: y(j) + 23, "font-size": Math.min(19, cell * 1.15) }),
      ]);
      const link = (/** @type {number} */ t, /** @type {number} */ j, /** @type {Record<string, any>} */ look) =>
        s("path", { d: `M ${state(t)} ${low - radius(t)} C ${state(t)} ${low - r - 45}, ${x(j)} ${y(j) + high + 50}, ${x(j)} ${y(j) + high + 2}`, fill: "none", ...look });
      const lines = weights.flatMap((w, j) =>
        w < 0.01 ? [] : [link(asks, j, { "data-key": `line ${j}`, stroke: "var(--fig-query)", "stroke-width": (1 + 9 * w).toFixed(2), "stroke-opacity": (0.2 + 0.7 * w).toFixed(2), "stroke-linecap": "round" })],
      );
      // What comes back goes where the next arrow points: into the next state and the guess, or into the guess alone.
      const arrow = (/** @type {number[]} */ [x1, y1, x2, y2], on = false) =>
        s("line", { x1, y1, x2, y2, stroke: `var(--fig-${on ? "output" : "line"})`, "stroke-width": on ? 3.5 : 1.5 });
      const chain = Array.from({ length: count - 1 }, (_, t) => arrow([state(t) + radius(t), low, state(t + 1) - radius(t + 1), low], before && at === t + 1));
      const name = (/** @type {number} */ t) => `${before ? "s" : "h"}${small(t)}`;
      const states = Array.from({ length: count }, (_, t) => [
        s("circle", { "data-key": `state ${t}`, cx: state(t), cy: low, r: radius(t), fill: "var(--fig-paper)", stroke: `var(--fig-${t === asks || (!at && t === first) ? "query" : before && at && t === at ? "output" : "line"})`, "stroke-width": t === asks ? 3.5 : before && at && t === at ? 2.5 : 1.5, "data-state": t, ...(t === asks ? { "data-asks": "" } : {}) }),
        ...(bare(t) ? [] : [text(name(t), { x: state(t), y: low + r / 3, "font-size": tight ? 12.5 : r < 12 && t > 9 ? 0.93 * r : r, fill: `var(--fig-${t <= at ? "ink" : "quiet"})`, "font-weight": t === asks ? 700 : 400 })]),
      ]);
      const answers = written.slice(0, at).flatMap((one, i) => [
        arrow([state(before ? i : i + 1), low + radius(before ? i : i + 1), state(i + 1), foot - 4], i === at - 1),
        text(visible(one.text), { x: state(i + 1), y: foot + 14, "font-size": 20, "font-weight": i === at - 1 ? 700 : 400, "data-written": "" }),
      ]);
      // What is to come has its place: each character of the answer, and at first who asks, and whom.
      const dashed = { fill: "none", stroke: "var(--fig-quiet)", "stroke-dasharray": "3 3" };
      const side = Math.min(22, 2 * half - 3);
      const unwritten = written.slice(at).map((_, i) => s("rect", { x: state(at + i + 1) - side / 2, y: foot - 3, width: side, height: 24, rx: 4, ...dashed, "stroke-opacity": 0.6 }));
      const ahead = at || !written.length ? [] : characters.map((_, j) => link(first, j, { ...dashed, stroke: "var(--fig-query)", "stroke-opacity": 0.55 }));
      const context = at ? [text(`c${small(at)}`, { x: (state(asks) + state(at)) / 2 + (before ? Math.min(14, r + 2) : -16), y: low + Math.min(36, r + 20), "font-size": Math.min(15, r + 3), fill: "var(--fig-output)", "font-weight": 700 })] : [];
      renew(drawing, ...ahead, ...lines, ...read, ...chain, ...states.flat(), ...unwritten, ...answers, ...context);
      drawing.setAttribute("viewBox", `0 0 ${wide} ${foot + 24}`);
      const said = written.slice(0, at).map((one) => one.text).join("");
      drawing.setAttribute("aria-label", `The text ${shown}; written so far: ${said || "nothing"}. ${at ? `State ${name(asks)} asks.` : ""}`);
    }

    /** @returns {string} */
    function pytorch() {
      return `from attnbook.experiments import translation
from attnbook.widgets import alignment

model = alignment.models()[${JSON.stringify(model.get("score"))}]
(answer,), (weights,) = translation.write(model, [${JSON.stringify(shown)}])
print(answer)
print(weights[:${now()}])  # a row for each character written, a column for each character of the text
`;
    }

    return { update, pytorch, svg: () => standalone(drawing) };
  },
});
