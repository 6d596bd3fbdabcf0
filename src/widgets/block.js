// The block: one word's way through the layers of a trained tagger; switch a part off and see which tag the word becomes.
//
// For tests (data-part): sentence (input), word (buttons, role radio), switch (the four of the drawing, data-name), part
// (each part alone, data-name), bars (a row for each tag, data-tag), stages (after each part, a span for each tag),
// layers, stages (details), numbers (table: after, switched, tag, probability, added / stream), status, reset, ...
import css from "./ui/block.css";
import { fmt, h, s, standalone } from "./ui/dom.js";
import { figure } from "./ui/frame.js";
import { inTime } from "./ui/said.js";
import { shipped } from "./ui/shipped.js";
import { strip, table } from "./ui/tables.js";
import { parts, tagTokens } from "./math/tagger.js";
import { split } from "./math/words.js";

/** @typedef {import("./math/tagger.js").Stage} Stage */

const MOST_TOKENS = 24;
const BARS = 5;
/** The drawing: its size, where the stream runs, where the parts stand, and how wide they are. */
const [WIDE, TALL, STREAM, MIDDLE, PART] = [254, 252, 56, 186, 126];
/** In it: where each part's way leaves the stream and comes back, where its norm stands, and where it does. */
const WAYS = [
  { part: "attention", from: 50, norm: 57, at: 93, to: 131 },
  { part: "network", from: 144, norm: 151, at: 183, to: 221 },
];
const RESIDUAL = 76;
const FAINT = { "font-size": 13, fill: "var(--fig-quiet)" };

export default figure({
  name: "block",
  css,
  title: "The block",
  keys: ["sentence", "word", "off"],
  async setup({ model, body, say, set, signal, place }) {
    const tagger = await shipped("tagger", model, place.base);
    const { tags, form } = tagger.card;
    const known = parts(form);
    const layers = Array.from({ length: form.n_layers }, (_, l) => l + 1);
    const heads = Array.from({ length: form.n_heads }, (_, at) => at + 1);
    /** @type {Record<string, { all: string[], some: string[] }>} what a switch switches, and what of it can be off alone */
    const switches = {
      norm: { all: ["norm"], some: [] },
      residual: { all: ["residual"], some: [] },
      attention: { all: layers.map((l) => `attention ${l}`), some: layers.flatMap((l) => heads.map((at) => `head ${l}.${at}`)) },
      network: { all: layers.map((l) => `network ${l}`), some: [] },
    };
    const input = h("input", {
      type: "text",
      "aria-label": "A sentence",
      "data-part": "sentence",
      autocomplete: "off",
      spellcheck: "false",
      dir: "auto",
      on: { input: () => set({ sentence: input.value, word: 0 }) },
    });
    const words = h("div", { class: "attnlab-choices", role: "radiogroup", "aria-label": "The word that is followed", on: { keydown: move } });
    const toggle = (/** @type {string} */ part, /** @type {string} */ name, /** @type {string} */ text, /** @type {Record<string, any>} */ props = {}) =>
      h("button", { type: "button", class: "attnlab-switch", "data-part": part, "data-name": name, "aria-pressed": "true", ...props }, text);

    const way = s("svg", { viewBox: `0 0 ${WIDE} ${TALL}`, width: WIDE, height: TALL, "aria-hidden": "true" });
    const on = (/** @type {string} */ name, /** @type {number} */ x, /** @type {number} */ y) =>
      toggle("switch", name, name, { style: `left: ${x}px; top: ${y}px`, on: { click: () => flipAll(name) } });
    const drawing = h("div", { class: "attnlab-way", role: "group", "aria-label": `The parts of each of ${form.n_layers} layers` }, way,
      on("norm", MIDDLE, WAYS[0].norm), on("attention", MIDDLE, WAYS[0].at), on("residual", STREAM, RESIDUAL), on("network", MIDDLE, WAYS[1].at));
    const asked = h("span");
    const mark = h("span", { class: "attnlab-note attnlab-then" }, "with all on");
    const bars = h("div", { class: "attnlab-odds", "data-part": "bars", role: "img" });
    const rows = Array.from({ length: BARS + 1 }, () => {
      const [name, bar, then, share] = [h("span"), h("span", { class: "attnlab-mark" }), h("i"), h("span")];
      const row = h("div", {}, name, h("div", {}, bar, then), share);
      bars.append(row);
      return { row, name, bar, then, share };
    });
    const layered = h("details", { "data-part": "layers" }, h("summary", {}, "Heads and layers"), ...layers.map((l) => {
      const one = (/** @type {string} */ name, /** @type {string} */ text, /** @type {string} */ label) =>
        toggle("part", name, text, { "aria-label": label, on: { click: () => flip(name) } });
      const many = heads.map((at) => one(`head ${l}.${at}`, String(at), `head ${at} of layer ${l}`));
      return h("div", { class: "attnlab-row attnlab-layer" }, h("b", {}, `Layer ${l}`), ...["attention", "network"].flatMap((part) => [
        one(`${part} ${l}`, part, `${part} of layer ${l}`),
        part === "attention" && h("span", { class: "attnlab-row attnlab-layer" }, "heads", ...many),
      ]).filter(Boolean));
    }));
    const passed = h("div", { class: "attnlab-stages" });
    const numbers = strip("Table of numbers");
    body.append(
      h("div", { class: "attnlab-row attnlab-asked" }, input, h("div", { class: "attnlab-follow" }, h("span", { class: "attnlab-label" }, "Follow"), words)),
      h("div", { class: "attnlab-row attnlab-through" }, drawing, h("div", { class: "attnlab-tagged" }, h("p", {}, asked, mark), bars)),
      h("div", { class: "attnlab-row attnlab-folds" }, layered,
        h("details", { "data-part": "stages" }, h("summary", {}, "After each part"), passed),
        h("details", {}, h("summary", {}, "Numbers"), numbers)),
    );

    const off = () => new Set(/** @type {string[]} */ (model.get("off")));
    const put = (/** @type {Set<string>} */ now) => set({ off: known.filter((part) => now.has(part)) });

    /** @param {string} name */
    function flip(name) {
      const now = off();
      if (!now.delete(name)) now.add(name);
      put(now);
    }

    /** In all layers at once. What is off within a part stays as it is. @param {string} name */
    function flipAll(name) {
      const now = off();
      const { all } = switches[name];
      const back = all.every((part) => now.has(part));
      for (const part of all) back ? now.delete(part) : now.add(part);
      put(now);
    }

    /** @param {KeyboardEvent} event */
    function move(event) {
      const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      const n = words.children.length;
      if (!step || !n) return;
      event.preventDefault();
      set({ word: (Number(model.get("word")) + step + n) % n });
      /** @type {HTMLElement | null} */ (words.querySelector('[tabindex="0"]'))?.focus();
    }

    function read() {
      const tokens = split(String(model.get("sentence") ?? "")).slice(0, MOST_TOKENS);
      const unknown = [...off()].find((name) => !known.includes(name));
      if (unknown) throw new Error(`off must name parts, of ${known.join(", ")}; got ${unknown}.`);
      const word = Math.min(Math.max(Number(model.get("word")) || 0, 0), Math.max(tokens.length - 1, 0));
      return { tokens, word, stages: tokens.length ? tagTokens(tagger, tokens, off()).stages : /** @type {Stage[]} */ ([]) };
    }

    let frame = 0;
    const told = inTime(say);
    signal.addEventListener("abort", () => cancelAnimationFrame(frame));
    let [weighed, whole, kept] = ["", /** @type {number[]} */ ([]), /** @type {number[]} */ ([])];
    /**
     * The tags that have a row: those likeliest at the end with all parts on or with one of the four off. Rows stay when
     * a part is switched; only a tag that leads and had none takes the last.
     * @param {string[]} tokens
     * @param {number} word
     * @param {number[]} now
     */
    function chosen(tokens, word, now) {
      const key = JSON.stringify([tokens, word]);
      if (weighed !== key) {
        const ends = [[], ...Object.values(switches).map(({ all }) => all)].map((gone) => last(tagTokens(tagger, tokens, new Set(gone)).stages).probabilities[word]);
        const most = tags.map((/** @type {string} */ _, /** @type {number} */ t) => Math.max(...ends.map((end) => end[t])));
        [weighed, whole, kept] = [key, ends[0], best(most).slice(0, BARS)];
      }
      const leads = best(now)[0];
      return kept.includes(leads) ? kept : [...kept.slice(0, -1), leads];
    }

    function update() {
      const { tokens, word, stages } = read();
      if (input.value !== model.get("sentence")) input.value = model.get("sentence");
      const focused = words.matches(":focus-within");
      words.replaceChildren(
        ...tokens.map((token, i) =>
          h(
            "button",
            {
              type: "button",
              role: "radio",
              "data-part": "word",
              "aria-checked": String(i === word),
              tabindex: i === word ? 0 : -1,
              on: { click: () => set({ word: i }) },
            },
            token,
          ),
        ),
      );
      if (focused) /** @type {HTMLElement | null} */ (words.querySelector('[tabindex="0"]'))?.focus();
      const now = off();
      for (const button of /** @type {NodeListOf<HTMLElement>} */ (/** @type {HTMLElement} */ (body.parentElement).querySelectorAll(".attnlab-switch"))) {
        const { part, name = "" } = button.dataset;
        button.setAttribute("aria-pressed", part === "part" ? String(!now.has(name)) : pressed(switches[name], now));
      }
      way.replaceChildren(...path(tokens[word] ?? "", now));
      for (const part of [passed, numbers]) part.replaceChildren();
      bars.hidden = mark.hidden = !tokens.length;
      if (!tokens.length) {
        asked.textContent = "";
        told("Type a sentence: there is no word to follow yet.");
        return;
      }
      const end = last(stages).probabilities[word];
      drawBars(chosen(tokens, word, end), end, now.size > 0);
      asked.replaceChildren("“", h("b", {}, tokens[word]), "” is tagged");
      passed.replaceChildren(...stages.flatMap(({ part, on, added, probabilities }) => {
        const chances = ranked(probabilities[word], tags);
        const said = chances.slice(0, 3).map(({ tag, p }) => `${tag} ${fmt(100 * p, 0)} %`).join(", ");
        const note = part === "words" ? "" : on ? `adds ${fmt(added[word])} of the stream` : "off: adds nothing";
        return [
          h("div", {}, part === "words" ? "the word itself" : part, " ", h("span", { class: "attnlab-note" }, note)),
          h("div", { class: "attnlab-shares", role: "img", "data-part": "shares", "aria-label": `after ${part}: ${said}` }, ...shares(chances)),
        ];
      }));
      const lines = stages.map(({ part, on, added, probabilities }) => {
        const [{ tag, p }] = ranked(probabilities[word], tags);
        return [part, on ? "on" : "off", tag, p.toFixed(4), part === "words" ? "–" : added[word].toFixed(4)];
      });
      const caption = `“${tokens[word]}” (word ${word + 1}), read out after each part`;
      numbers.replaceChildren(table("numbers", ["after", "switched", "tag", "probability", "added / stream"], lines, { caption }));
      const [{ tag, p }] = ranked(end, tags);
      const without = Object.entries(switches).flatMap(([name, { all, some }]) =>
        all.every((part) => now.has(part)) ? [name, ...some.filter((part) => now.has(part))] : [...all, ...some].filter((part) => now.has(part)));
      told(`“${tokens[word]}” (word ${word + 1}): ${tag} ${fmt(100 * p, 0)} %.${without.length ? ` Off: ${without.join(", ")}.` : ""}`, bars.getAnimations({ subtree: true })[0]);
    }

    /**
     * @param {number[]} shown tags, by number
     * @param {number[]} end their probabilities
     * @param {boolean} changed whether a part is off
     */
    function drawBars(shown, end, changed) {
      const others = (/** @type {number[]} */ p) => Math.max(0, 1 - shown.reduce((sum, t) => sum + p[t], 0));
      const [now, then] = [end, whole].map((p) => [...shown.map((t) => p[t]), others(p)]);
      const names = [...shown.map((t) => tags[t]), `${tags.length - BARS} others`];
      rows.forEach((row, at) => {
        row.row.dataset.tag = names[at];
        row.row.dataset.probability = now[at].toFixed(4);
        row.name.textContent = names[at];
        row.bar.style.width = `${100 * now[at]}%`;
        row.then.style.left = `${100 * then[at]}%`;
        row.then.hidden = !changed || then[at] < 0.005;
      });
      tell();
      mark.style.visibility = changed ? "visible" : "hidden";
      bars.setAttribute("aria-label", names.map((name, at) => `${name} ${fmt(100 * now[at], 0)} %`).join(", "));
    }

    /** Each number is as large as its bar, on the way there, too, and the longest bar leads. */
    function tell() {
      cancelAnimationFrame(frame);
      const moving = bars.getAnimations({ subtree: true }).length > 0;
      const parts = rows.map(({ row, bar }) => (moving ? bar.getBoundingClientRect().width / /** @type {HTMLElement} */ (bar.parentElement).clientWidth : Number(row.dataset.probability)));
      const lead = parts.indexOf(Math.max(...parts.slice(0, BARS)));
      rows.forEach(({ row, share }, at) => {
        share.textContent = `${fmt(100 * parts[at], 0)} %`;
        row.classList.toggle("is-lead", at === lead);
      });
      if (moving) frame = requestAnimationFrame(tell);
    }

    /**
     * The way through a layer, with what is off broken.
     * @param {string} word
     * @param {Set<string>} now what is off
     */
    function path(word, now) {
      const line = (/** @type {string} */ d, /** @type {boolean} */ live, wide = 2.5) =>
        s("path", {
          d, fill: "none", "stroke-width": wide, stroke: `var(--fig-${live ? "ink" : "quiet"})`,
          ...(live ? {} : { "stroke-dasharray": "2 5" }),
        });
      const tip = (/** @type {number} */ x, /** @type {number} */ y, /** @type {string} */ d) => s("path", { d: `M${x} ${y}${d}z`, fill: "var(--fig-ink)" });
      const short = word.length > 12 ? `${word.slice(0, 11)}…` : word;
      const normed = !now.has("norm");
      return [
        s("rect", { x: 1, y: 27, width: WIDE - 2, height: 209, rx: 9, fill: "var(--fig-tint)", stroke: "var(--fig-line)" }),
        text(WIDE - 10, 43, `in each of ${form.n_layers} layers`, { "text-anchor": "end", ...FAINT }),
        text(STREAM, 15, short, { "text-anchor": "middle", "font-size": 15, "font-weight": 700 }),
        line(`M${STREAM} 21V${WAYS[0].from}`, true),
        ...WAYS.flatMap(({ part, from, norm, at, to }, i) => {
          // A part that is off in all layers leaves the stream whole, residual or not.
          const runs = pressed(switches[part], now) !== "false";
          const whole = !runs || !now.has("residual");
          const next = WAYS[i + 1]?.from ?? TALL - 6;
          return [
            line(`M${STREAM} ${from}V${to}`, whole),
            line(`M${STREAM} ${from}H${MIDDLE}V${to}H${STREAM + 9}`, runs),
            line(`M${STREAM} ${to}V${next}`, true),
            ...(i ? [
              s("rect", { x: MIDDLE - 24, y: norm, width: 48, height: 24, fill: "var(--fig-tint)" }),
              text(MIDDLE, norm + 17, "norm", { "text-anchor": "middle", ...FAINT, ...(normed ? {} : { "text-decoration": "line-through" }) }),
            ] : []),
            s("circle", { cx: STREAM, cy: to, r: 9, fill: "var(--fig-paper)", stroke: "var(--fig-ink)", "stroke-width": 2 }),
            ...(runs && whole ? [s("path", { d: `M${STREAM - 5} ${to}h10M${STREAM} ${to - 5}v10`, stroke: "var(--fig-ink)", "stroke-width": 2 })] : []),
            // Nothing comes that would replace it, though the residual is struck out.
            ...(!runs && now.has("residual") ? [text(STREAM + 14, to - 10, "stays", FAINT)] : []),
            ...(runs ? [tip(STREAM + 10, to, "l7 -4v8")] : []),
          ];
        }),
        // Beside the bars the way turns to them, above the bars it points at them.
        s("g", { class: "attnlab-down" }, tip(STREAM, TALL, "l-5 -9h10")),
        s("g", { class: "attnlab-aside" }, line(`M${STREAM} ${TALL - 6}H${WIDE + 14}V126H${WIDE + 22}`, true), tip(WIDE + 30, 126, "l-9 -5v10")),
      ];
    }

    /** @returns {string} */
    function pytorch() {
      return `from attnbook.tagging import shipped
from attnbook.widgets.block import follow

tagger = shipped.load()
tokens = ${JSON.stringify(read().tokens)}
for stage in follow(tagger, tokens, off=${JSON.stringify([...off()])}):
    chances = stage.probabilities[${read().word}]
    best = int(chances.argmax())
    print(f"{stage.part:12} {tagger.tags[best]:6} {chances[best]:.4f}")
`;
    }

    /** The way and the bars, as a drawing that stands alone. */
    function svg() {
      const { tokens, word } = read();
      const now = off();
      const boxes = /** @type {HTMLElement[]} */ ([...drawing.children]).flatMap(({ dataset: { name }, style }) => {
        if (!name) return [];
        const is = pressed(switches[name], now);
        const [x, y, wide] = [Number.parseFloat(style.left), Number.parseFloat(style.top), name === "residual" ? 92 : PART];
        return [
          s("rect", { x: x - wide / 2, y, width: wide, height: 28, rx: 7, fill: "var(--fig-paper)", stroke: "var(--fig-ink)", "stroke-width": 2, "stroke-dasharray": is === "true" ? "none" : "4 3" }),
          text(x, y + 19, is === "true" ? name : `${name}: ${is === "false" ? "off" : "in part"}`, { "text-anchor": "middle" }),
        ];
      });
      const lines = rows.flatMap(({ row: { dataset } }, at) => {
        const [p, y] = [Number(dataset.probability), 26 + 32 * at];
        return [
          text(380, y + 16, dataset.tag ?? "", { "text-anchor": "end" }),
          s("path", { d: `M389 ${y - 5}v32`, stroke: "var(--fig-line)", "stroke-width": 2 }),
          s("rect", { x: 390, y, width: 190 * p, height: 22, fill: "var(--fig-output)", "fill-opacity": 0.6 }),
          text(632, y + 16, `${fmt(100 * p, 0)} %`, { "text-anchor": "end" }),
        ];
      });
      const drawn = tokens.length ? lines : [];
      const gone = text(4, TALL + 22, now.size ? `Off: ${[...now].join(", ")}` : "");
      return standalone(s("svg", { viewBox: `0 0 640 ${TALL + 32}` }, ...path(tokens[word] ?? "", now).filter((el) => el.getAttribute("class") !== "attnlab-down"), ...boxes, ...drawn, gone));
    }

    return { update, pytorch, svg };
  },
});

/** @param {number} x @param {number} y @param {string} words @param {Record<string, any>} [props] */
const text = (x, y, words, props = {}) => s("text", { x, y, "font-size": 14, fill: "var(--fig-ink)", ...props }, words);

/** @template T @param {T[]} list @returns {T} */
const last = (list) => list[list.length - 1];

/** Where numbers stand, the largest first. @param {number[]} numbers */
const best = (numbers) => numbers.map((_, at) => at).sort((a, b) => numbers[b] - numbers[a]);

/**
 * Whether what a switch switches is on: all of it, some, or nothing.
 * @param {{ all: string[], some: string[] }} given
 * @param {Set<string>} off
 */
const pressed = ({ all, some }, off) => (all.every((part) => off.has(part)) ? "false" : [...all, ...some].some((part) => off.has(part)) ? "mixed" : "true");

/**
 * The tags from the likeliest on.
 * @param {number[]} probabilities
 * @param {string[]} tags
 */
const ranked = (probabilities, tags) => best(probabilities).map((t) => ({ p: probabilities[t], tag: tags[t] }));

/**
 * The tags side by side, as wide as they are likely. Where there is no room for what one says, its style hides it.
 * @param {{ p: number, tag: string }[]} chances
 */
const shares = (chances) =>
  chances.map(({ p, tag }) => h("span", { class: "attnlab-mark", style: `width: ${100 * p}%`, "data-probability": p.toFixed(4) }, `${tag} ${fmt(100 * p, 0)} %`));
