// The next word: its probabilities, a temperature, a rule that cuts them, and a draw from what stays.
//
// For tests (data-part): written (the text), next, again (buttons), rule (radio group), temperature, top_k, top_p, min_p
// (range inputs), words (svg: tick, bar, with data-word and data-kept; line, the rule's; piece, with data-word; pin, data-value;
// thread, from the drawn word's bar to the pin), numbers (table: next word, model, drawn with, drawn), status, reset, ...
import css from "./ui/writing.css";
import { labelled, slider } from "./ui/controls.js";
import { choices, fmt, h, halo, onResize, renew, s, select, standalone } from "./ui/dom.js";
import { figure } from "./ui/frame.js";
import { shipped } from "./ui/shipped.js";
import { strip, table } from "./ui/tables.js";
import { END, MOST, numbered, pass } from "./math/decoder.js";
import { begins } from "./math/grammar.js";
import { distribution, ranked } from "./math/samplers.js";

const RULES = [["all", "all"], ["greedy", "greedy"], ["top_k", "top-k"], ["top_p", "top-p"], ["min_p", "min-p"]];
const TICKS = [0, 0.01, 0.1, 0.25, 0.5, 1]; // of the axis, whatever is set
const percent = (/** @type {number} */ x) => `${fmt(100 * x, 0)} %`;
const text = (/** @type {any} */ props, /** @type {string} */ words = "") => s("text", { "font-size": 13, fill: "var(--fig-ink)", ...props }, words);

export default figure({
  name: "sampler",
  css,
  title: "The next word",
  keys: ["text", "rule", "temperature", "top_k", "top_p", "min_p", "seed"],
  async setup({ model, body, say, set, signal, place }) {
    const models = /** @type {import("./math/decoder.js").Models} */ (await shipped("decoder", model, place.base));
    const { words } = models.card;
    const written = h("p", { class: "attnlab-written", "data-part": "written" });
    const chart = s("svg", { role: "img", "data-part": "words", style: "display: block; width: 100%; height: auto" });
    const next = h("button", { type: "button", class: "attnlab-act", "data-part": "next", on: { click: go } });
    const again = h("button", { type: "button", "data-part": "again", on: { click: () => (set({ seed: Number(model.get("seed")) + 1 }), drop()) } }, "Draw again");
    const rule = choices({ label: "What is kept", part: "rule", value: "all", options: RULES.map(([value, text]) => ({ value, text })), onChange: (name) => set({ rule: name }) });
    const tune = (/** @type {string} */ part, /** @type {string} */ label, /** @type {number[]} */ [min, max, step]) =>
      slider({ part, label, limits: { min, max, step }, role: "output", onInput: (x) => set({ [part]: x }) });
    const temperature = tune("temperature", "Temperature", [0.1, 3, 0.1]);
    const limits = /** @type {Record<string, ReturnType<typeof slider>>} */ ({
      top_k: tune("top_k", "Words kept", [1, words.length, 1]),
      top_p: tune("top_p", "Share kept", [0.05, 1, 0.05]),
      min_p: tune("min_p", "Share of best", [0.05, 1, 0.05]),
    });
    const numbers = strip("Table of numbers");
    body.append(
      written,
      chart,
      h("div", { class: "attnlab-lane" }, h("div", { class: "attnlab-choices attnlab-examples" }, next, again), labelled("Keep", rule)),
      h("div", { class: "attnlab-lane" }, temperature.row, ...Object.values(limits).map(({ row }) => row)),
      h("details", {}, h("summary", {}, "The numbers as a table"), numbers),
    );
    let wide = 0;
    const room = () => Math.max(Math.floor(body.clientWidth) || 640, 230);
    onResize(body, signal, () => wide && wide !== room() && update());

    function read() {
      const ids = numbered(models, model.get("text"));
      const name = String(model.get("rule"));
      if (!RULES.some(([known]) => known === name)) throw new Error(`rule must be one of ${RULES.map(([known]) => known).join(", ")}, got ${name}.`);
      const limit = name in limits ? { [name]: Number(model.get(name)) } : {};
      const rules = name === "greedy" ? { temperature: 0 } : { temperature: Number(model.get("temperature")), ...limit };
      if (Object.values(rules).some((x) => !(x >= 0))) throw new Error(`${Object.keys(rules).join(" and ")} must be numbers of 0 or more.`);
      const step = pass(models, ids, { rules, draft: 0, seed: Number(model.get("seed")) });
      const [scores, p, word] = [step.scores[0], step.p[0], step.words[0]];
      const own = distribution(scores, { temperature: 1 });
      const uncut = name === "greedy" ? own : distribution(scores, { temperature: rules.temperature });
      const order = ranked(own);
      return { ids, name, rules, limit: limit[name], own, uncut, p, word, order, drew: step.drew, kept: p.filter((x) => x > 0).length, ended: word === END || ids.length === MOST };
    }

    function go() {
      const { ids, word, ended } = read();
      if (ended) set({ text: "", seed: Number(model.get("seed")) + 1 });
      else set({ text: [...ids, word].map((i) => words[i]).join(" ") });
      drop();
    }

    /** The pin falls; nothing moves for who asked for that. */
    function drop() {
      if (matchMedia("(prefers-reduced-motion: reduce)").matches) return;
      chart.querySelector('[data-part="pin"]')?.animate([{ transform: "translateY(-60px)", opacity: 0 }, { transform: "none", opacity: 1 }], { duration: 350, easing: "ease-in" });
    }

    function update() {
      const now = read();
      const { ids, name, own, p, word, order, kept, ended } = now;
      written.replaceChildren(["<start>", ...ids.map((i) => words[i])].join(" "), " ", h("b", {}, words[word]));
      next.textContent = ended ? "Start again" : "Next word";
      select(rule, name);
      temperature.row.hidden = name === "greedy";
      temperature.show(Number(model.get("temperature")), fmt(Number(model.get("temperature")), 1));
      for (const [key, { row, show }] of Object.entries(limits)) {
        row.hidden = key !== name;
        const value = Number(model.get(key));
        show(value, key === "top_k" ? `${value} of ${words.length}` : percent(value));
      }
      wide = room();
      draw(now);
      const four = (/** @type {number} */ x) => x.toFixed(4);
      numbers.replaceChildren(
        table("numbers", ["next word", "model", "drawn with", "drawn"], order.map((i) => [words[i], four(own[i]), four(p[i]), i === word ? "✓" : ""]), { bold: order.indexOf(word) }),
      );
      const before = ids.map((i) => words[i]);
      const slips = begins(before) && !begins([...before, words[word]]);
      say(`“${words[word]}” is drawn, ${percent(p[word])}, from ${kept} of ${words.length} words.${slips ? " A slip: the grammar doesn’t allow it here." : ""}${ids.length === MOST && word !== END ? " The text is full." : ""}`);
    }

    /**
     * A bar for each word, the likeliest first; below, what stays of them side by side, and where the random number falls.
     * @param {ReturnType<typeof read>} now
     */
    function draw({ name, limit, own, uncut, p, word, order, drew, kept }) {
      const narrow = wide < 480;
      const [left, top, high] = [38, 20, narrow ? 130 : 168];
      const [slot, base] = [(wide - left) / words.length, top + high];
      // All of it, from nothing to certain; as roots, so that what is rare is seen, too.
      const y = (/** @type {number} */ x) => base - high * Math.sqrt(x);
      const drawn = TICKS.flatMap((x) => [
        s("path", { d: `M${left} ${y(x)}H${wide}`, stroke: "var(--fig-line)" }),
        text({ x: left - 4, y: y(x) + 4, "text-anchor": "end", "font-size": 11, fill: "var(--fig-quiet)", "data-part": "tick" }, percent(x)),
      ]);
      const edge = left + slot * kept;
      const across = name === "min_p";
      const at = across ? y(limit * Math.max(...uncut)) : 0;
      if (kept < order.length) drawn.push(s("rect", { x: edge, y: top, width: Math.max(wide - edge, 0), height: high, fill: "var(--fig-tint)", "data-key": "cut" }));
      drawn.push(text({ x: wide - 4, y: top + 16, "text-anchor": "end", "font-size": 12, fill: "var(--fig-quiet)" }, "square-root scale"));
      const moved = order.some((i) => Math.abs((p[i] || uncut[i]) - own[i]) > 0.002);
      if (moved) {
        drawn.push(
          text({ x: wide - 4, y: top + 34, "text-anchor": "end", "font-size": 12, fill: "var(--fig-quiet)" }, "the model’s own"),
          s("path", { d: `M${wide - 122} ${top + 30}h18`, stroke: "var(--fig-ink)", "stroke-width": 1.5 }),
        );
      }
      order.forEach((i, rank) => {
        const [x, width, on, cut] = [left + slot * (rank + 0.14), slot * 0.72, i === word, p[i] === 0];
        const value = cut ? uncut[i] : p[i];
        const look = cut ? { fill: "none", stroke: "var(--fig-quiet)", "stroke-dasharray": "2 2" } : { fill: "var(--fig-output)", "fill-opacity": on ? 0.9 : 0.45 };
        drawn.push(s("rect", { x: x.toFixed(2), y: y(value).toFixed(2), width: width.toFixed(2), height: (base - y(value)).toFixed(2), "data-part": "bar", "data-key": `bar ${i}`, "data-word": words[i], "data-kept": p[i] > 0, ...look }));
        if (Math.abs(value - own[i]) > 0.002) drawn.push(s("path", { d: `M${(x - 2).toFixed(2)} ${y(own[i]).toFixed(2)}h${(width + 4).toFixed(2)}`, stroke: "var(--fig-ink)", "stroke-width": 1.5 }));
        if (!narrow && !cut && value >= 0.005) drawn.push(text({ x: x + width / 2, y: Math.max(Math.min(y(value), y(own[i])) - 4, 11), "text-anchor": "middle", "font-size": 11, "font-weight": on ? 700 : 400, ...halo() }, percent(value)));
        // Where there is room names stand level, every other one a line lower.
        const lower = !narrow && rank % 2 === 1;
        const set = narrow ? { transform: `translate(${x + width / 2 + 4} ${base + 5}) rotate(-90)`, "text-anchor": "end" } : { x: x + width / 2, y: base + (lower ? 32 : 15), "text-anchor": "middle" };
        if (lower) drawn.push(s("path", { d: `M${x + width / 2} ${base + 3}v15`, stroke: "var(--fig-line)" }));
        drawn.push(text({ ...set, "font-size": narrow ? 12 : 13, "font-weight": on ? 700 : 400, ...(cut ? { fill: "var(--fig-quiet)", "text-decoration": "line-through" } : {}) }, words[i]));
      });
      if (name !== "all") {
        const label = { greedy: "the best", top_k: `${kept} ${kept > 1 ? "words" : "word"}`, top_p: percent(limit), min_p: `${percent(limit)} of the best` }[name] ?? "";
        const room = wide - edge > 60;
        drawn.push(
          s("path", { d: across ? `M${left} ${at}H${wide}` : `M${edge} ${top - 14}V${base}`, stroke: "var(--fig-ink)", "stroke-width": 2, "stroke-dasharray": "6 4", "data-part": "line" }),
          text({ x: across ? wide : edge + (room ? 5 : -5), y: across ? Math.max(at - 6, 12) : top - 5, "text-anchor": across || !room ? "end" : "start", "font-weight": 700 }, label),
        );
      }
      const [below, thick] = [base + (narrow ? 70 : 58), narrow ? 40 : 26];
      let from = 0;
      // In the order of the vocabulary, in which the draw goes through them: so the number falls on the drawn word.
      p.flatMap((x, i) => (x > 0 ? [i] : [])).forEach((i, rank) => {
        const [x, width, on] = [from * wide, p[i] * wide, i === word];
        from += p[i];
        drawn.push(s("rect", { x: x.toFixed(2), y: below + 16, width: Math.max(width - 1, 0.3).toFixed(2), height: thick, fill: "var(--fig-output)", "fill-opacity": on ? 0.9 : rank % 2 ? 0.3 : 0.45, "data-part": "piece", "data-key": `piece ${i}`, "data-word": words[i] }));
        // A piece too narrow for its name has it on end.
        const [middle, long, centre] = [x + width / 2, 8 * words[i].length + 4, below + 16 + thick / 2];
        const lies = width > long ? { x: middle, y: centre + 5 } : width > 13 && thick > long - 6 ? { transform: `translate(${middle + 4} ${centre}) rotate(-90)` } : null;
        if (lies) drawn.push(text({ ...lies, "text-anchor": "middle", ...(on ? { "font-weight": 700, fill: "var(--fig-paper)" } : {}) }, words[i]));
      });
      const x = Math.min(Math.max(drew * wide, 6), wide - 6);
      // The pieces stand in another order than the bars: a line leads from the number up to the word that it draws.
      const rank = order.indexOf(word);
      const [up, start, end] = [left + slot * (rank + 0.5), base + (narrow ? 9 + 6 * words[word].length : rank % 2 ? 37 : 20), base + (narrow ? 50 : 37)];
      drawn.push(
        s("path", { d: `M${up.toFixed(2)} ${start}V${end}C${up.toFixed(2)} ${below} ${x.toFixed(2)} ${end} ${x.toFixed(2)} ${below + 2}`, fill: "none", stroke: "var(--fig-output)", "stroke-width": 1.5, "data-part": "thread" }),
        s("g", { "data-part": "pin", "data-value": drew.toFixed(4) },
          s("path", { d: `M${x - 6} ${below + 2}h12l-6 11z`, fill: "var(--fig-ink)" }),
          text({ x: x + (x > wide - 50 ? -10 : 10), y: below + 12, "text-anchor": x > wide - 50 ? "end" : "start", "font-size": 12 }, drew.toFixed(2))),
      );
      renew(chart, ...drawn); // what another rule or heat changes, is seen to
      chart.setAttribute("viewBox", `0 0 ${wide} ${below + thick + 18}`);
      chart.setAttribute("aria-label", `The next word: ${order.filter((i) => p[i] > 0).slice(0, 7).map((i) => `${words[i]} ${percent(p[i])}`).join(", ")}. ${kept} words stay; ${words[word]} is drawn.`);
    }

    /** @returns {string} */
    function pytorch() {
      const { ids, rules } = read();
      const given = Object.entries(rules).map(([key, value]) => `${key}=${value}`).join(", ");
      return `import torch
from attnlab.transformer import distribution
from attnbook.widgets.decoder import models, words

ids = torch.tensor([[words().index(word) for word in ${JSON.stringify(["<start>", ...ids.map((i) => words[i])])}]])
with torch.no_grad():
    scores = models()["model"](ids)[0, -1]
p = distribution(scores, ${given})
for i in p.argsort(descending=True)[: int((p > 0).sum())].tolist():
    print(f"{words()[i]:8} {p[i]:.4f}")
print("drawn:", words()[torch.multinomial(p, 1).item()])
`;
    }

    return { update, pytorch, svg: () => standalone(chart) };
  },
});
