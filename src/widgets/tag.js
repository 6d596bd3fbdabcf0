// Tag a sentence: type, see the tags, pick a word, see where it looked; hide a word, see who needed it.
//
// For tests (data-part): sentence (input), example (buttons), token (buttons, role radio), hide (buttons, one a word), each (fold),
// heads (radio group), arcs (svg), alternatives, status, numbers (table: token, tag, probability, weight, hidden), reset,
// link, pytorch, svg.
import folds from "./ui/folds.css";
import css from "./ui/tag.css";
import { labelled } from "./ui/controls.js";
import { choices, fmt, h, onResize, s, select, shade, standalone } from "./ui/dom.js";
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
  css: folds + css,
  title: "Tag a sentence",
  keys: ["sentence", "word", "head", "hidden"],
  async setup({ model, body, say, set, signal, place }) {
    const tagger = await shipped("tagger", model, place.base);
    const { card } = tagger;
    /** @type {ReturnType<typeof tagTokens>} */
    let result;
    /** @type {ReturnType<typeof tagTokens>} what it is with nothing hidden */
    let whole;
    let shown = "";
    let out = "";
    let cut = 0;
    let drawn = -1;

    const input = h("input", {
      type: "text",
      "aria-label": "A sentence to tag",
      "data-part": "sentence",
      autocomplete: "off",
      spellcheck: "false",
      dir: "auto",
      on: { input: () => set({ sentence: input.value, word: -1, hidden: [] }) },
    });
    const examples = h("div", { class: "attnlab-choices" });
    for (const text of EXAMPLES) {
      const pick = () => set({ sentence: text, word: -1, hidden: [] });
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
      "aria-label": "The words, each with its tag; a word that is hidden is looked at by none",
      on: { keydown: move },
    });
    const likeliest = h("span", {});
    const beside = h("span", {});
    const alternatives = h("p", { class: "attnlab-alternatives", "data-part": "alternatives" }, likeliest, beside);
    const numbers = strip("Table of numbers");
    const layers = card.form.n_layers > 1 ? " 2.3 is the third head of layer 2; layer 2 looks at what layer 1 made." : "";
    // Who meets the figure first knows of no heads: they wait in a fold, unless one is asked for.
    const each = h(
      "details",
      { "data-part": "each", open: model.get("head") !== "mean" },
      h("summary", {}, "Heads and training"),
      labelled("Attention of", heads),
      h("p", { class: "attnlab-note" }, `The shares are the mean of ${card.form.n_layers * card.form.n_heads} heads, each of which looks for itself.${layers}`),
      h(
        "p",
        { class: "attnlab-note", "data-part": "card" },
        `Trained on ${card.data} (${card.licence}); ${card.accuracy.test} % of its test words come out right. ` +
          "It knows no more English than that.",
      ),
    );
    const every = h("details", {}, h("summary", {}, "Numbers"), numbers);
    body.append(input, tokens, alternatives, tries, h("div", { class: "attnlab-folds" }, every, each));
    onResize(tokens, signal, drawArcs);

    /** @param {KeyboardEvent} event */
    function move(event) {
      const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      const n = result.tokens.length;
      if (!step || !n) return;
      event.preventDefault();
      const hiders = /** @type {HTMLElement[]} */ ([...tokens.querySelectorAll('[data-part="hide"]')]);
      const at = hiders.indexOf(/** @type {HTMLElement} */ (event.target));
      if (at >= 0) hiders[(at + step + n) % n].focus();
      else set({ word: (Math.max(model.get("word"), 0) + step + n) % n });
    }

    function read() {
      const text = String(model.get("sentence") ?? "");
      if (!whole || text !== shown) {
        shown = text;
        const all = split(text);
        cut = Math.max(all.length - MOST_TOKENS, 0);
        whole = result = tagTokens(tagger, all.slice(0, MOST_TOKENS));
        out = "";
      }
      const now = hidden();
      if (String(now) === out) return;
      out = String(now);
      result = now.length ? tagTokens(tagger, whole.tokens, new Set(), new Set(now)) : whole;
    }

    /** @returns {number} the word picked, or -1 */
    const picked = () => {
      const word = Number(model.get("word") ?? -1);
      return word >= 0 && word < whole.tokens.length ? word : -1;
    };

    /** @returns {number[]} the words hidden */
    const hidden = () => (model.get("hidden") ?? []).filter((/** @type {number} */ at) => at >= 0 && at < whole.tokens.length);

    /** A word, with its number where it comes twice. @param {number} at */
    const named = (at) => {
      const token = result.tokens[at];
      return `“${token}”${result.tokens.indexOf(token) === result.tokens.lastIndexOf(token) ? "" : ` (word ${at + 1})`}`;
    };

    /** @param {number} at */
    function hide(at) {
      const now = hidden();
      const next = now.includes(at) ? now.filter((other) => other !== at) : [...now, at];
      set({ hidden: next.sort((a, b) => a - b) });
    }

    function update() {
      read();
      if (input.value !== shown) input.value = shown;
      select(heads, model.get("head"));
      const word = picked();
      const off = new Set(hidden());
      const weights = word < 0 ? [] : chosen(result.weights, model.get("head"))[word];
      const focus = /** @type {HTMLElement | null} */ (tokens.querySelector(":focus"));
      const focused = focus?.dataset.part ?? "";
      const place = focused === "hide" ? [...tokens.querySelectorAll('[data-part="hide"]')].indexOf(/** @type {Element} */ (focus)) : Math.max(word, 0);
      tokens.replaceChildren(...result.tokens.map((_, i) => column(i, word, weights, off)));
      if (focused) /** @type {HTMLElement | undefined} */ (tokens.querySelectorAll(`[data-part="${focused}"]`)[place])?.focus();
      const line = (/** @type {string} */ token, /** @type {number} */ i) => [
        token, result.tags[i], Math.max(...result.probabilities[i]).toFixed(4), word < 0 ? "–" : weights[i].toFixed(4),
        off.has(i) ? "yes" : "no",
      ];
      const head = ["word", "tag", "probability", "weight", "hidden"];
      numbers.replaceChildren(table("numbers", head, result.tokens.map(line), { caption: "Every number" }));
      describe(word, weights);
      drawArcs();
    }

    /**
     * A word with its tag, and under it what hides it.
     * @param {number} i
     * @param {number} word the one picked, or -1
     * @param {number[]} weights
     * @param {Set<number>} off
     */
    function column(i, word, weights, off) {
      const token = result.tokens[i];
      const open = !off.has(i);
      const says = word < 0 ? `${fmt(100 * Math.max(...result.probabilities[i]), 0)} %` : `${fmt(100 * weights[i], 0)} %`;
      const whose = word < 0 || !open ? "" : h("small", {}, " of looks");
      const tabindex = i === Math.max(word, 0) ? 0 : -1;
      const chip = h(
        "button",
        {
          type: "button",
          class: open ? "attnlab-token" : "attnlab-token is-hidden",
          role: "radio",
          "aria-checked": i === word ? "true" : "false",
          tabindex,
          "data-part": "token",
          on: { click: () => set({ word: i }) },
        },
        h("b", { dir: "auto" }, token),
        h("span", {}, result.tags[i]),
        h("i", {}, open ? says : "hidden", whose),
      );
      if (word >= 0) shade(chip, weights[i]);
      const verb = open ? "hide" : "show";
      const label = `${verb} “${token}”, word ${i + 1}`;
      const hider = { type: "button", class: "attnlab-hide", tabindex, "aria-label": label, "data-part": "hide", on: { click: () => hide(i) } };
      return h("div", { class: "attnlab-word" }, chip, h("button", hider, verb));
    }

    /**
     * @param {number} word
     * @param {number[]} weights
     */
    function describe(word, weights) {
      if (!result.tokens.length) {
        likeliest.textContent = beside.textContent = "";
        say("Type a sentence: there is nothing to tag yet.");
        return;
      }
      const off = hidden();
      const without = off.length ? ` Hidden: ${off.map(named).join(", ")}.` : "";
      const warning = cut ? ` Only the first ${MOST_TOKENS} of ${MOST_TOKENS + cut} words are shown.` : "";
      beside.textContent = "Hide a word to see who needed it.";
      if (word < 0) {
        likeliest.textContent = "Pick a word to see where it looked.";
        say(result.tokens.map((token, i) => `${token} ${result.tags[i]}`).join(", ") + `.${without}${warning}`);
        return;
      }
      // The likeliest tags, that of nothing hidden among them: as many whatever is hidden, so that nothing moves.
      const usual = whole.probabilities[word].indexOf(Math.max(...whole.probabilities[word]));
      const order = result.probabilities[word].map((p, t) => ({ p, t })).sort((a, b) => b.p - a.p).map(({ t }) => t);
      const best = order.slice(0, 3).includes(usual) ? order.slice(0, 3) : [...order.slice(0, 2), usual];
      const list = (/** @type {number[]} */ given) => best.map((t) => `${card.tags[t]} ${fmt(100 * given[t], 1)}\u00a0%`).join(" · ");
      likeliest.textContent = list(result.probabilities[word]);
      if (off.length) beside.textContent = `With nothing hidden: ${list(whole.probabilities[word])}`;
      const most = weights.indexOf(Math.max(...weights));
      const whom = most === word ? "itself" : named(most);
      const looks = weights[most] > 0 ? `It looks most at ${whom}: ${fmt(100 * weights[most], 0)}\u00a0%.` : "It can look at nothing.";
      say(`${named(word)} is ${result.tags[word]}. ${looks}${without}${warning}`);
    }

    /** Arcs from the picked word to the others, over as many lines as the words take. */
    function drawArcs() {
      tokens.querySelector("svg")?.remove();
      const word = picked();
      const chips = /** @type {HTMLElement[]} */ ([...tokens.querySelectorAll(".attnlab-token")]);
      // Picked or not: the words stay where they are.
      tokens.classList.toggle("is-long", chips.some((chip) => chip.offsetTop !== chips[0].offsetTop));
      if (word < 0) return;
      const tops = chips.map((chip) => ({ x: chip.offsetLeft + chip.offsetWidth / 2, y: chip.offsetTop - 2 }));
      const svg = s("svg", { class: drawn === word ? "attnlab-arcs" : "attnlab-arcs is-new", "aria-hidden": "true", "data-part": "arcs" });
      drawn = word;
      svg.append(...arcs(tops, word, chosen(result.weights, model.get("head"))[word], tokens.classList.contains("is-long") ? 40 : 76));
      tokens.prepend(svg);
    }

    return {
      update,
      pytorch: () => pytorch(shown, picked(), model.get("head"), hidden()),
      svg: () => drawing(result, picked(), model.get("head"), hidden()),
    };
  },
});

/**
 * An arc from one word to each that it looks at, the wider the more.
 * @param {{ x: number, y: number }[]} tops the middle of each word's upper edge
 * @param {number} word
 * @param {number[]} weights
 * @param {number} most how high an arc may rise
 */
function arcs(tops, word, weights, most) {
  const from = tops[word];
  return tops.flatMap((to, j) => {
    if (weights[j] < 0.02) return [];
    const [left, right] = j === word ? [-9, 9] : [0, 0]; // a word that looks at itself: a loop
    const lean = j === word ? 13 : 0;
    const rise = Math.min(24 + Math.abs(to.x - from.x) * 0.16, most) * (j === word ? 1.4 : 1);
    return s("path", {
      d: `M ${from.x + left} ${from.y} C ${from.x + left - lean} ${from.y - rise}, ${to.x + right + lean} ${to.y - rise}, ${to.x + right} ${to.y}`,
      fill: "none",
      stroke: "var(--fig-query)",
      "stroke-width": (1 + 12 * weights[j]).toFixed(2),
      "stroke-opacity": (0.25 + 0.7 * weights[j]).toFixed(2),
      "stroke-linecap": "round",
      pathLength: 1,
    });
  });
}

/**
 * The state as a snippet that runs.
 * @param {string} sentence
 * @param {number} word
 * @param {string} head
 * @param {number[]} hidden
 */
function pytorch(sentence, word, head, hidden) {
  const [layer, number] = head.split(".").map(Number);
  const weights = head === "mean" ? "tagged.weights.mean((0, 1))" : `tagged.weights[${layer - 1}, ${number - 1}]`;
  const look = word < 0 ? "" : `weights = ${weights}[${word}]  # how much word ${word} looks at each word\n`;
  return `from attnbook.tagging import shipped

tagged = shipped.load().tag(${JSON.stringify(sentence)}${hidden.length ? `, hidden=${JSON.stringify(hidden)}` : ""})
${look}for i, (token, tag) in enumerate(zip(tagged.tokens, tagged.tags)):
    print(token, tag, round(tagged.probabilities[i].max().item(), 4)${word < 0 ? "" : ", round(weights[i].item(), 4)"})
`;
}

/**
 * The state as a drawing that stands alone.
 * @param {ReturnType<typeof tagTokens>} result
 * @param {number} word
 * @param {string} head
 * @param {number[]} hidden
 */
function drawing(result, word, head, hidden) {
  const weights = word < 0 ? [] : chosen(result.weights, head)[word];
  const width = 110;
  const top = word < 0 ? 10 : 92; // room for the arcs
  const tops = result.tokens.map((_, i) => ({ x: 61 + i * width, y: top - 2 }));
  const cells = result.tokens.flatMap((token, i) => {
    const [x, weight] = [10 + i * width, weights[i] ?? 0];
    const out = hidden.includes(i);
    const text = (/** @type {number} */ y, /** @type {number} */ size, /** @type {string} */ words) =>
      s("text", { x: x + 51, y: y + top - 10, "font-size": size, "text-anchor": "middle", fill: "var(--fig-ink)" }, words);
    return [
      s("rect", {
        x, y: top, width: width - 8, height: 76, rx: 8, fill: "var(--fig-query)", "fill-opacity": (0.52 * weight).toFixed(3),
        stroke: `var(--fig-${i === word ? "query" : "line"})`, "stroke-width": 2,
        ...(out ? { "stroke-dasharray": "5 4" } : {}),
      }),
      text(36, 18, token),
      text(57, 13, result.tags[i]),
      text(76, 13, out ? "hidden" : word < 0 ? "" : `${fmt(100 * weight, 0)} %`),
    ];
  });
  const looks = word < 0 ? [] : arcs(tops, word, weights, 76);
  return standalone(s("svg", { viewBox: `0 0 ${12 + result.tokens.length * width} ${top + 86}` }, ...looks, ...cells));
}
