// Tag a sentence: type, see the tags, pick a word, see how much of every word went into it.
//
// For tests (data-part): sentence (input), example (buttons), token (buttons, role radio), heads (radio group),
// arcs (svg), alternatives, status, numbers (table: token, tag, probability, weight), reset, link, pytorch, svg.
import css from "./ui/tag.css";
import { labelled } from "./ui/controls.js";
import { choices, fmt, h, s, select, shade, standalone } from "./ui/dom.js";
import { figure } from "./ui/frame.js";
import { strip, table } from "./ui/tables.js";
import { shipped } from "./ui/shipped.js";
import { chosen, tagTokens } from "./math/tagger.js";
import { split } from "./math/words.js";

/** Longer texts are cut here, and the figure says so: past this, a page of chips helps nobody. */
export const MOST_TOKENS = 128;
const EXAMPLES = ["I saw a saw", "What do you do?", "There were many hotels there.", "Can you open the can?"];

export default figure({
  name: "tag",
  css,
  title: "Tag a sentence",
  keys: ["sentence", "word", "head"],
  async setup({ model, body, say, set, signal, place }) {
    const tagger = await shipped("tagger", model, place.base);
    const { card } = tagger;
    /** @type {ReturnType<typeof tagTokens>} */
    let result;
    let shown = "";
    let cut = 0;

    const input = h("input", {
      type: "text",
      "aria-label": "A sentence to tag",
      "data-part": "sentence",
      autocomplete: "off",
      spellcheck: "false",
      dir: "auto",
      on: { input: () => set({ sentence: input.value, word: -1 }) },
    });
    const examples = h("div", { class: "attnlab-choices" });
    for (const text of EXAMPLES) {
      const pick = () => set({ sentence: text, word: text === EXAMPLES[0] ? 3 : -1 });
      examples.append(h("button", { type: "button", "data-part": "example", on: { click: pick } }, text));
    }
    const tries = labelled("Try", examples);
    tries.classList.add("attnlab-examples");
    const heads = choices({
      label: "Which attention head",
      part: "heads",
      value: model.get("head"),
      options: [
        { value: "mean", text: "all heads" },
        ...Array.from({ length: card.form.n_layers * card.form.n_heads }, (_, at) => {
          const [layer, head] = [Math.floor(at / card.form.n_heads) + 1, (at % card.form.n_heads) + 1];
          const text = card.form.n_layers > 1 ? `${layer}.${head}` : String(head);
          return { value: `${layer}.${head}`, text };
        }),
      ],
      onChange: (value) => set({ head: value }),
    });
    const tokens = h("div", {
      class: "attnlab-tokens",
      role: "radiogroup",
      "aria-label": "The words, each with its tag",
      on: { keydown: move },
    });
    const alternatives = h("p", { "data-part": "alternatives" });
    const numbers = strip("Table of numbers");
    const layers = card.form.n_layers > 1 ? "2.3 is the third head of layer 2; layer 2 looks at what layer 1 made. " : "";
    body.append(
      input,
      tries,
      labelled("Attention of", heads),
      tokens,
      alternatives,
      h("details", {}, h("summary", {}, "The numbers as a table"), numbers),
      h(
        "p",
        { class: "attnlab-note", "data-part": "card" },
        `${layers}Trained on ${card.data} (${card.licence}); ${card.accuracy.test} % of its test words come out right. ` +
          "It knows no more English than that.",
      ),
    );
    const resized = new ResizeObserver(() => drawArcs());
    resized.observe(tokens);
    signal.addEventListener("abort", () => resized.disconnect());

    /** @param {KeyboardEvent} event */
    function move(event) {
      const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      const n = result.tokens.length;
      if (!step || !n) return;
      event.preventDefault();
      set({ word: (Math.max(model.get("word"), 0) + step + n) % n });
      /** @type {HTMLElement | null} */ (tokens.querySelector('[tabindex="0"]'))?.focus();
    }

    function read() {
      const text = String(model.get("sentence") ?? "");
      if (result && text === shown) return;
      shown = text;
      const all = split(text);
      cut = Math.max(all.length - MOST_TOKENS, 0);
      result = tagTokens(tagger, all.slice(0, MOST_TOKENS));
    }

    /** @returns {number} the word picked, or -1 */
    const picked = () => {
      const word = Number(model.get("word") ?? -1);
      return word >= 0 && word < result.tokens.length ? word : -1;
    };

    function update() {
      read();
      if (input.value !== shown) input.value = shown;
      select(heads, model.get("head"));
      const word = picked();
      const weights = word < 0 ? [] : chosen(result.weights, model.get("head"))[word];
      const focused = tokens.matches(":focus-within");
      tokens.replaceChildren(
        ...result.tokens.map((token, i) => {
          const sure = Math.max(...result.probabilities[i]);
          const chip = h(
            "button",
            {
              type: "button",
              class: "attnlab-token",
              role: "radio",
              "aria-checked": i === word ? "true" : "false",
              tabindex: i === Math.max(word, 0) ? 0 : -1,
              "data-part": "token",
              on: { click: () => set({ word: i }) },
            },
            h("b", { dir: "auto" }, token),
            h("span", {}, result.tags[i]),
            h("i", {}, word < 0 ? `${fmt(100 * sure, 0)} %` : `gives ${fmt(100 * weights[i], 0)} %`),
          );
          if (word >= 0) shade(chip, weights[i]);
          return chip;
        }),
      );
      if (focused) /** @type {HTMLElement | null} */ (tokens.querySelector('[tabindex="0"]'))?.focus();
      const line = (/** @type {string} */ token, /** @type {number} */ i) => [
        token, result.tags[i], Math.max(...result.probabilities[i]).toFixed(4), word < 0 ? "–" : weights[i].toFixed(4),
      ];
      numbers.replaceChildren(table("numbers", ["word", "tag", "probability", "weight"], result.tokens.map(line), { caption: "Every number" }));
      describe(word, weights);
      drawArcs();
    }

    /**
     * @param {number} word
     * @param {number[]} weights
     */
    function describe(word, weights) {
      if (!result.tokens.length) {
        alternatives.textContent = "";
        say("Type a sentence: there is nothing to tag yet.");
        return;
      }
      const warning = cut ? ` Only the first ${MOST_TOKENS} of ${MOST_TOKENS + cut} words are shown.` : "";
      if (word < 0) {
        alternatives.textContent = "Pick a word to see where the tagger looked.";
        say(result.tokens.map((token, i) => `${token} ${result.tags[i]}`).join(", ") + "." + warning);
        return;
      }
      const best = result.probabilities[word]
        .map((p, t) => ({ p, tag: card.tags[t] }))
        .sort((a, b) => b.p - a.p)
        .slice(0, 3);
      alternatives.textContent = best.map(({ p, tag }) => `${tag} ${fmt(100 * p, 1)} %`).join(" · ");
      const most = weights.indexOf(Math.max(...weights));
      const whom = most === word ? "itself" : `“${result.tokens[most]}” (word ${most + 1})`;
      say(
        `“${result.tokens[word]}” (word ${word + 1}) is ${result.tags[word]}. It takes most from ${whom}: ` +
          `${fmt(100 * weights[most], 0)} %.${warning}`,
      );
    }

    /** Arcs from the picked word to the others, where all words stand in one line. */
    function drawArcs() {
      tokens.querySelector("svg")?.remove();
      const word = picked();
      const chips = /** @type {HTMLElement[]} */ ([...tokens.querySelectorAll(".attnlab-token")]);
      const oneLine = chips.length > 1 && chips.every((chip) => chip.offsetTop === chips[0].offsetTop);
      const room = oneLine && tokens.clientWidth > 480;
      tokens.classList.toggle("has-arcs", room); // picked or not: the words stay where they are
      if (!room || word < 0) return;
      const weights = chosen(result.weights, model.get("head"))[word];
      const svg = s("svg", { class: "attnlab-arcs", "aria-hidden": "true", "data-part": "arcs" });
      const middle = chips.map((chip) => chip.offsetLeft + chip.offsetWidth / 2);
      chips.forEach((_, j) => {
        if (weights[j] < 0.02) return;
        const [from, to] = [middle[word], middle[j]];
        const height = j === word ? 26 : Math.min(24 + Math.abs(to - from) * 0.16, 76);
        const path =
          j === word
            ? `M ${from - 9} 82 C ${from - 22} ${82 - height * 1.4}, ${from + 22} ${82 - height * 1.4}, ${from + 9} 82`
            : `M ${from} 82 C ${from} ${82 - height}, ${to} ${82 - height}, ${to} 82`;
        svg.append(
          s("path", {
            d: path,
            fill: "none",
            stroke: "var(--fig-query)",
            "stroke-width": (1 + 9 * weights[j]).toFixed(2),
            "stroke-opacity": (0.25 + 0.7 * weights[j]).toFixed(2),
            "stroke-linecap": "round",
          }),
        );
      });
      tokens.prepend(svg);
    }

    return { update, pytorch: () => pytorch(shown, picked(), model.get("head")), svg: () => drawing(result, picked(), model.get("head")) };
  },
});

/**
 * The state as a snippet that runs.
 * @param {string} sentence
 * @param {number} word
 * @param {string} head
 */
function pytorch(sentence, word, head) {
  const [layer, number] = head.split(".").map(Number);
  const weights = head === "mean" ? "tagged.weights.mean((0, 1))" : `tagged.weights[${layer - 1}, ${number - 1}]`;
  const look = word < 0 ? "" : `weights = ${weights}[${word}]  # how much word ${word} takes of each word\n`;
  return `from attnlab.tagging import shipped

tagged = shipped.load().tag(${JSON.stringify(sentence)})
${look}for i, (token, tag) in enumerate(zip(tagged.tokens, tagged.tags)):
    print(token, tag, round(tagged.probabilities[i].max().item(), 4)${word < 0 ? "" : ", round(weights[i].item(), 4)"})
`;
}

/**
 * The state as a drawing that stands alone.
 * @param {ReturnType<typeof tagTokens>} result
 * @param {number} word
 * @param {string} head
 */
function drawing(result, word, head) {
  const weights = word < 0 ? [] : chosen(result.weights, head)[word];
  const width = 110;
  const cells = result.tokens.flatMap((token, i) => {
    const [x, weight] = [10 + i * width, weights[i] ?? 0];
    const text = (/** @type {number} */ y, /** @type {number} */ size, /** @type {string} */ words) =>
      s("text", { x: x + 51, y, "font-size": size, "text-anchor": "middle", fill: "var(--fig-ink)" }, words);
    return [
      s("rect", {
        x, y: 10, width: width - 8, height: 76, rx: 8, fill: "var(--fig-query)", "fill-opacity": (0.52 * weight).toFixed(3),
        stroke: `var(--fig-${i === word ? "query" : "line"})`, "stroke-width": 2,
      }),
      text(36, 18, token),
      text(57, 13, result.tags[i]),
      text(76, 13, word < 0 ? "" : `${fmt(100 * weight, 0)} %`),
    ];
  });
  return standalone(s("svg", { viewBox: `0 0 ${12 + result.tokens.length * width} 96` }, ...cells));
}
