// The block: follow one word through the layers of a trained tagger; switch parts off and see what becomes of it.
//
// For tests (data-part): sentence (input), word (buttons, role radio), part (buttons with aria-pressed and data-name),
// bars (a span for each tag), numbers (table: after, switched, tag, probability, added / stream), status, reset, link, ...
import css from "./ui/block.css";
import { labelled } from "./ui/controls.js";
import { fmt, h, s, standalone } from "./ui/dom.js";
import { figure } from "./ui/frame.js";
import { shipped } from "./ui/shipped.js";
import { strip, table } from "./ui/tables.js";
import { parts, tagTokens } from "./math/tagger.js";
import { split } from "./math/words.js";

/** @typedef {import("./math/tagger.js").Stage} Stage */

const MOST_TOKENS = 24;
const WIDE = 600;
const TALL = 34;

export default figure({
  name: "block",
  css,
  title: "The block",
  keys: ["sentence", "word", "off"],
  async setup({ model, body, say, set, place }) {
    const tagger = await shipped("tagger", model, place.base);
    const { tags, form } = tagger.card;
    const known = parts(form);
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
    const toggle = (/** @type {string} */ name, /** @type {string} */ text) =>
      h("button", { type: "button", class: "attnlab-switch", "data-part": "part", "data-name": name, "aria-pressed": "true", on: { click: () => flip(name) } }, text);
    /** @type {Record<string, { bars: HTMLElement, added: HTMLElement }>} */
    const rows = {};
    const drawing = h("div", { class: "attnlab-stages" });
    const row = (/** @type {string} */ name, /** @type {Node[]} */ ...controls) => {
      rows[name] = {
        bars: h("div", { class: "attnlab-shares", role: "img", "data-part": "bars" }),
        added: h("span", { class: "attnlab-note" }),
      };
      const control = h("div", { class: "attnlab-choices attnlab-parts" });
      control.append(...controls, rows[name].added);
      drawing.append(control, rows[name].bars);
    };
    row("words", h("b", {}, "the word itself"));
    for (let layer = 1; layer <= form.n_layers; layer++) {
      const heads = Array.from({ length: form.n_heads }, (_, at) => toggle(`head ${layer}.${at + 1}`, String(at + 1)));
      heads.forEach((button, at) => button.setAttribute("aria-label", `head ${at + 1} of layer ${layer}`));
      row(`attention ${layer}`, toggle(`attention ${layer}`, `attention ${layer}`), h("span", { class: "attnlab-heads" }, "heads", ...heads));
      row(`network ${layer}`, toggle(`network ${layer}`, `network ${layer}`));
    }
    const numbers = strip("Table of numbers");
    const everywhere = h("div", { class: "attnlab-choices" });
    everywhere.append(toggle("norm", "norms"), toggle("residual", "residual stream"));
    body.append(
      input,
      labelled("Follow", words),
      h("p", { class: "attnlab-note" }, "✓ on, ✗ off: press a part to switch it."),
      drawing,
      labelled("In all layers", everywhere),
      h("details", {}, h("summary", {}, "The numbers as a table"), numbers),
    );

    const off = () => new Set(/** @type {string[]} */ (model.get("off")));

    /** @param {string} name */
    function flip(name) {
      const now = off();
      if (!now.delete(name)) now.add(name);
      set({ off: known.filter((part) => now.has(part)) });
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
      for (const button of body.querySelectorAll('[data-part="part"]')) {
        button.setAttribute("aria-pressed", String(!now.has(/** @type {HTMLElement} */ (button).dataset.name ?? "")));
      }
      for (const { bars, added } of Object.values(rows)) {
        bars.replaceChildren();
        added.textContent = "";
      }
      if (!tokens.length) {
        numbers.replaceChildren();
        say("Type a sentence: there is no word to follow yet.");
        return;
      }
      for (const stage of stages) {
        const chances = ranked(stage.probabilities[word], tags);
        rows[stage.part].bars.replaceChildren(...shares(chances));
        rows[stage.part].bars.setAttribute("aria-label", `after ${stage.part}: ${chances.slice(0, 3).map(({ tag, p }) => `${tag} ${fmt(100 * p, 0)} %`).join(", ")}`);
        if (stage.part !== "words") rows[stage.part].added.textContent = stage.on ? `adds ${fmt(stage.added[word])} of the stream` : "off: adds nothing";
      }
      const lines = stages.map(({ part, on, added, probabilities }) => {
        const [{ tag, p }] = ranked(probabilities[word], tags);
        return [part, on ? "on" : "off", tag, p.toFixed(4), part === "words" ? "–" : added[word].toFixed(4)];
      });
      const caption = `“${tokens[word]}” (word ${word + 1}), read out after each part`;
      numbers.replaceChildren(table("numbers", ["after", "switched", "tag", "probability", "added / stream"], lines, { caption }));
      const [first, last] = [stages[0], stages[stages.length - 1]].map(({ probabilities }) => ranked(probabilities[word], tags)[0]);
      const without = now.size ? ` Off: ${[...now].join(", ")}.` : "";
      say(`“${tokens[word]}” (word ${word + 1}): by itself ${first.tag} ${fmt(100 * first.p, 0)} %, at the end ${last.tag} ${fmt(100 * last.p, 0)} %.${without}`);
    }

    /** @returns {string} */
    function pytorch() {
      return `from attnlab.tagging import shipped
from attnlab.widgets.block import follow

tagger = shipped.load()
tokens = ${JSON.stringify(read().tokens)}
for stage in follow(tagger, tokens, off=${JSON.stringify([...off()])}):
    chances = stage.probabilities[${read().word}]
    best = int(chances.argmax())
    print(f"{stage.part:12} {tagger.tags[best]:6} {chances[best]:.4f}")
`;
    }

    /** All bars as a drawing that stands alone. */
    function svg() {
      const { word, stages } = read();
      const label = (/** @type {string} */ text, /** @type {number} */ y) => s("text", { x: 8, y, "font-size": 15, fill: "var(--fig-ink)" }, text);
      const lines = stages.flatMap((stage, at) => {
        const group = s("g", { transform: `translate(0 ${24 + at * (TALL + 30)})` }, ...bar(ranked(stage.probabilities[word], tags)));
        return [label(stage.part + (stage.on ? "" : " (off)"), 18 + at * (TALL + 30)), group];
      });
      return standalone(s("svg", { viewBox: `0 0 ${WIDE} ${stages.length * (TALL + 30)}` }, ...lines));
    }

    return { update, pytorch, svg };
  },
});

/**
 * The tags from the likeliest on.
 * @param {number[]} probabilities
 * @param {string[]} tags
 */
const ranked = (probabilities, tags) => probabilities.map((p, t) => ({ p, tag: tags[t] })).sort((a, b) => b.p - a.p);

/**
 * The tags side by side, as wide as they are likely; those with room for it say so.
 * @param {{ p: number, tag: string }[]} chances
 */
const shares = (chances) =>
  chances.map(({ p, tag }) => h("span", { class: "attnlab-mark", style: `width: ${100 * p}%`, "data-probability": p.toFixed(4) }, p < 0.3 ? "" : `${tag} ${fmt(100 * p, 0)} %`));

/**
 * The same as a drawing: the tags side by side, as wide as they are likely, those with room for it named.
 * @param {{ p: number, tag: string }[]} chances
 */
function bar(chances) {
  let x = 0;
  return chances.flatMap(({ p, tag }, at) => {
    const from = x;
    x += WIDE * p;
    const cell = s("rect", {
      x: from, y: 1, width: WIDE * p, height: TALL - 2, stroke: "var(--fig-line)",
      fill: "var(--fig-output)", "fill-opacity": at ? 0.08 : 0.4,
    });
    const words = `${tag} ${fmt(100 * p, 0)} %`;
    if (p < 0.03 + 0.019 * words.length) return [cell];
    return [cell, s("text", { x: from + (WIDE * p) / 2, y: TALL / 2 + 6, "font-size": 17, "text-anchor": "middle", fill: "var(--fig-ink)" }, words)];
  });
}
