// Tag a sentence: type, see the tags, pick a word, see where it looked; hide a word, see who needed it. Where the page says
// whether attention is on, there is its switch instead, and nothing else; where it wants a word hidden (`only`), no sentence to type;
// where it is met first (`folded`), all that is for later waits in one fold.
//
// For tests (data-part): sentence (input), example (buttons), token (buttons, role radio), hide (buttons, one a word), each (fold), more (fold),
// heads (radio group), arcs (svg), alternatives, attention (role switch), status, numbers (table: token, tag, probability, weight,
// hidden), reset, link, pytorch, svg.
import asked from "./ui/asked.css";
import folds from "./ui/folds.css";
import css from "./ui/tag.css";
import looks from "./ui/tags.css";
import { labelled } from "./ui/controls.js";
import { calm, choices, fmt, h, onResize, renew, s, select, shade, standalone } from "./ui/dom.js";
import { figure } from "./ui/frame.js";
import { strip, table } from "./ui/tables.js";
import { kind, NAMES, SMALL } from "./ui/tags.js";
import { shipped } from "./ui/shipped.js";
import { chosen, tagTokens } from "./math/tagger.js";
import { split } from "./math/words.js";

/** Longer texts are cut here, and the figure says so: past this, a page of chips helps nobody. */
export const MOST_TOKENS = 128;
const EXAMPLES = ["I saw a saw", "They can fish", "The dog barks"];
/** A figure that begins with a word picked says which other one it hangs on, in sentences up to this long. */
const MOST_ASKED = 12;
const ANY = "Hide a word to see who needed it.";
/** From this width on arcs rise higher (tag.css). */
const WIDE = 760;

export default figure({
  name: "tag",
  css: asked + folds + looks + css,
  title: "Tag a sentence",
  keys: ["sentence", "word", "head", "hidden", "attention"],
  async setup({ model, body, say, set, signal, place }) {
    const get = (/** @type {string} */ key) => model.get(key);
    /** Whether there is the switch, and nothing else. */
    const switched = get("attention") != null;
    const tokens = h("div", {
      class: "attnlab-tokens is-line",
      role: switched ? "group" : "radiogroup",
      "aria-label": "Words, each with its tag",
      on: { keydown: move },
    });
    // While the tagger loads, the words stand where they will be.
    if (!switched) {
      for (const token of split(get("sentence") ?? "")) {
        const chip = h("div", { class: "attnlab-token" }, h("b", {}, token), h("span", {}, "…"), h("i", {}, "\u00a0"));
        tokens.append(h("div", { class: "attnlab-word" }, chip, h("div", { class: "attnlab-hide" })));
      }
      body.append(tokens);
    }
    const tagger = await shipped("tagger", model, place.base);
    const { card } = tagger;
    const { n_layers, n_heads } = card.form;
    /** @type {ReturnType<typeof tagTokens>} */
    let result;
    /** @type {ReturnType<typeof tagTokens>} what it is with nothing hidden */
    let whole;
    let shown = "";
    let out = "";
    let cut = 0;
    let drawn = "";
    /** @type {Element[]} the shares that were shown last, where a tag turns: they turn with it */
    let shares = [];
    /** The tags that were shown last: one that changes is seen to change. */
    let before = /** @type {string[]} */ ([]);
    const asks = get("word") >= 0;
    /** The word at which the one picked looks most, and whether any was hidden yet. */
    let most = -1;
    let tried = false;
    const deaf = () => get("attention") === false;
    /** What the page's own words speak of; where a link brings another state, or there is no page, nothing. */
    const page = /** @type {HTMLElement | null} */ (body.closest("figure"));
    const { sentence: told, word: of } = JSON.parse(page?.dataset.settings ?? "{}");
    const only = get("only");
    const folded = get("folded");
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    let asking;

    const input = h("input", {
      type: "text",
      "data-part": "sentence",
      autocomplete: "off",
      spellcheck: "false",
      dir: "auto",
      on: { input: () => type(input.value) },
    });
    const typed = h("label", { class: "attnlab-label attnlab-row" }, `Right at ${fmt(card.accuracy.test, 0)} words of 100. Type, and judge:`, input);
    const examples = h("div", { class: "attnlab-choices attnlab-examples" });
    for (const text of EXAMPLES) {
      examples.append(press("example", () => ((drawn = ""), type(text)), {}, text));
    }
    const heads = choices({
      label: "Which attention head",
      part: "heads",
      value: get("head"),
      options: [
        { value: "mean", text: "all heads" },
        ...Array.from({ length: n_layers * n_heads }, (_, at) => {
          const value = `${Math.floor(at / n_heads) + 1}.${(at % n_heads) + 1}`;
          return { value, text: value };
        }),
      ],
      onChange: (value) => set({ head: value }),
    });
    const likeliest = h("span", {});
    const beside = h("span", {});
    const alternatives = h("p", { class: "attnlab-kinds", "data-part": "alternatives" }, likeliest, beside);
    const numbers = strip("Table of numbers");
    const called = (/** @type {boolean} */ small) => Object.keys(NAMES).filter((tag) => SMALL.includes(tag) === small).map(full).join(", ");
    /** @param {string} words @param {string} [part] */
    const note = (words, part) => h("p", { class: "attnlab-note", "data-part": part }, words);
    const every = [numbers, note(`Small words: ${called(true)}. Others: ${called(false)}.`)];
    const each = [
      labelled("Attention of", heads),
      note(`Shares are the mean of ${n_layers * n_heads} heads. 2.3 is the third head of layer 2.`),
      note(`Trained on ${card.data} (${card.licence}) alone.`, "card"),
    ];
    // Who meets the figure first knows of no heads: they wait in a fold, unless one is asked for.
    const open = get("head") !== "mean";
    const folds = folded ? [h("details", { "data-part": "more", open }, h("summary", {}, "Numbers, heads"), ...every, ...each)] : [
      h("details", {}, h("summary", {}, "Numbers"), ...every),
      ...(switched ? [] : [h("details", { "data-part": "each", open }, h("summary", {}, "Heads and training"), ...each)]),
    ];
    const flip = press("attention", () => set({ attention: !get("attention") }), { class: "attnlab-flip", role: "switch" }, "Attention");
    body.append(...(switched ? [flip, tokens] : [tokens, alternatives]));
    if (!switched && !only) body.append(typed, examples);
    if (!only) {
      body.classList.add("is-tag");
      body.append(h("div", { class: "attnlab-folds" }, ...folds));
    }
    signal.addEventListener("abort", () => clearTimeout(asking));
    onResize(tokens, signal, () => drawArcs());

    /** @param {string} part @returns {HTMLElement[]} */
    const all = (part) => [.../** @type {NodeListOf<HTMLElement>} */ (tokens.querySelectorAll(`[data-part="${part}"]`))];

    const cards = () => /** @type {HTMLElement[]} */ ([...tokens.querySelectorAll(".attnlab-word")]);

    /** @param {KeyboardEvent} event */
    function move(event) {
      const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      const n = result.tokens.length;
      if (!step || !n) return;
      event.preventDefault();
      const at = all("hide").indexOf(/** @type {HTMLElement} */ (event.target));
      if (at >= 0) all("hide")[(at + step + n) % n].focus();
      else set({ word: (Math.max(get("word"), 0) + step + n) % n });
    }

    /**
     * Another sentence: the word picked is the one of whose tag the model is least sure, to a percent; of several the last, which may
     * hang on those before it; small words come after all others, and marks after them.
     * @param {string} text
     */
    function type(text) {
      tag(text);
      const sure = whole.probabilities.map((row, i) => +surest(row).toFixed(2) + ["small word", "mark"].indexOf(kind(whole.tags[i])));
      set({ sentence: text, word: sure.lastIndexOf(Math.min(...sure)), hidden: [] });
    }

    /** @param {string} text */
    function tag(text) {
      if (whole && text === shown) return;
      shown = text;
      const words = split(text);
      cut = Math.max(words.length - MOST_TOKENS, 0);
      whole = result = tagTokens(tagger, words.slice(0, MOST_TOKENS));
      out = "";
      before = [];
    }

    function read() {
      tag(get("sentence") ?? "");
      const now = hidden();
      const state = `${now} ${deaf()}`;
      if (state === out) return;
      out = state;
      const off = Array.from({ length: deaf() ? n_layers : 0 }, (_, at) => `attention ${at + 1}`);
      result = now.length || deaf() ? tagTokens(tagger, whole.tokens, new Set(off), new Set(deaf() ? whole.tokens.keys() : now)) : whole;
    }

    /**
     * Mark the other word that the one picked hangs on: which, hidden, makes it another kind, and the surest. It takes a moment:
     * one word at a time, so that who types on waits for none. In the whole figure the page asks first of
     * the word looked at most.
     * @param {number} word
     */
    function ask(word) {
      clearTimeout(asking);
      const n = whole.tokens.length;
      tried ||= hidden().length > 0;
      if (!asks || word < 0 || hidden().length || n > MOST_ASKED) return;
      let [best, at] = [0, -1];
      const next = (/** @type {number} */ i) => {
        if (i < n) {
          const { tags, probabilities } = tagTokens(tagger, whole.tokens, new Set(), new Set([i]));
          const p = i === word || kind(tags[word]) === kind(whole.tags[word]) ? 0 : surest(probabilities[word]);
          if (p > best) [best, at] = [p, i];
          asking = setTimeout(next, 0, i + 1);
          return;
        }
        // Of what it begins with the page says so itself.
        const own = shown === told && word === of;
        all("hide")[own && !tried && !folded && !only ? most : at]?.classList.add("is-asked");
        if (own) return;
        beside.replaceChildren(best ? h("b", {}, `Hide “${whole.tokens[at]}”: what does “${whole.tokens[word]}” become?`) : ANY);
        drawArcs(true);
      };
      asking = setTimeout(next, 150, 0);
    }

    /** @returns {number} the word picked, or -1 */
    const picked = () => {
      const word = get("word");
      return word >= 0 && word < whole.tokens.length ? word : -1;
    };

    /** Whether a word has become one of another kind. @param {number} at */
    const turns = (at) => Boolean(before[at]) && kind(before[at]) !== kind(result.tags[at]);

    /** @returns {number[]} the words hidden */
    const hidden = () => (get("hidden") ?? []).filter((/** @type {number} */ at) => at >= 0 && at < whole.tokens.length);

    /** A word, with its number where it comes twice. @param {number} at */
    const named = (at) => {
      const token = result.tokens[at];
      return `“${token}”${result.tokens.indexOf(token) === result.tokens.lastIndexOf(token) ? "" : ` (word ${at + 1})`}`;
    };

    /** What kind the word picked is, and how surely. @param {typeof whole} given */
    function kinds({ probabilities }) {
      /** @type {Record<string, number>} */
      const sum = {};
      card.tags.forEach((/** @type {string} */ t, /** @type {number} */ i) => (sum[kind(t)] = (sum[kind(t)] ?? 0) + probabilities[picked()][i]));
      return sum;
    }

    /** @param {number} at */
    function hide(at) {
      const now = hidden();
      const next = now.includes(at) ? now.filter((other) => other !== at) : [...now, at];
      set({ hidden: next.sort((a, b) => a - b) });
    }

    function update() {
      // Words in rows of their own stand above the field: it stays where one types, and they grow upwards.
      const top = () => (input.matches(":focus") ? input.getBoundingClientRect().top : 0);
      const held = top();
      // From the first change on, or where a link brings one, what takes it back is in sight.
      if (!folded || whole || place.shared) body.classList.add("has-bar");
      read();
      if (input.value !== shown) input.value = shown;
      select(heads, get("head"));
      const word = picked();
      const off = new Set(hidden());
      const weights = word < 0 ? [] : chosen(result.weights, get("head"))[word];
      flip.setAttribute("aria-checked", String(get("attention")));
      const focus = /** @type {HTMLElement | null} */ (tokens.querySelector(":focus"));
      const focused = focus?.dataset.part ?? "";
      const at = focused === "hide" ? all("hide").indexOf(/** @type {HTMLElement} */ (focus)) : Math.max(word, 0);
      shares = before.some((_, i) => turns(i)) ? all("token").map((one) => /** @type {Element} */ (one.lastElementChild)) : [];
      for (const old of cards()) old.remove();
      tokens.append(...result.tokens.map((_, i) => column(i, word, weights, off)));
      if (focused) all(focused)[at]?.focus();
      const line = (/** @type {string} */ token, /** @type {number} */ i) => [
        token, result.tags[i], surest(result.probabilities[i]).toFixed(4), word < 0 ? "–" : weights[i].toFixed(4),
        off.has(i) ? "yes" : "no",
      ];
      const head = ["word", "tag", "probability", "weight", "hidden"];
      numbers.replaceChildren(table("numbers", head, result.tokens.map(line), { caption: "Every number" }));
      describe(word, weights);
      before = result.tags;
      page?.toggleAttribute("data-other", shown !== told);
      drawArcs();
      if (top() !== held) scrollBy(0, top() - held);
      ask(word);
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
      const says = fmt(100 * (word < 0 ? surest(result.probabilities[i]) : weights[i]), 0);
      const whose = h("bdi", {}, word < 0 ? " sure" : " of looks");
      const tabindex = i === Math.max(word, 0) ? 0 : -1;
      const group = kind(result.tags[i]);
      const held = [h("b", { dir: "auto" }, token), ...turned(pill(group, full(result.tags[i])), turns(i) && pill(kind(before[i])))];
      // Beside the switch a number would be read as the share of looks that stands there in other figures.
      if (switched) return h("div", { class: "attnlab-word" }, h("div", { class: "attnlab-token", "data-part": "token" }, ...held));
      // The old one first: the last is what is so.
      held.push(...(open ? turned(h("i", {}, `${says} %`, whose), shares[i]).reverse() : [h("i", {}, "hidden")]));
      const state = { class: open ? "attnlab-token" : "attnlab-token is-hidden", role: "radio", "aria-checked": `${i === word}`, tabindex };
      const chip = press("token", () => set({ word: i }), state, ...held);
      if (word >= 0) shade(chip, weights[i]);
      const verb = open ? "hide" : "show";
      const hider = { class: "attnlab-hide", tabindex, "aria-label": `${verb} “${token}”, word ${i + 1}` };
      return h("div", { class: "attnlab-word" }, chip, press("hide", () => hide(i), hider, open ? "× hide" : verb));
    }

    /**
     * @param {number} word
     * @param {number[]} weights
     */
    function describe(word, weights) {
      if (!result.tokens.length) {
        likeliest.textContent = beside.textContent = "";
        say("Type a sentence.");
        return;
      }
      const off = hidden();
      const without = off.length ? ` Hidden: ${off.map(named).join(", ")}.` : "";
      const warning = cut ? ` Of ${MOST_TOKENS + cut} words only the first ${MOST_TOKENS}.` : "";
      beside.textContent = asks && result.tokens.length <= MOST_ASKED ? "" : ANY; // until it is found which to ask for
      if (word < 0) {
        likeliest.textContent = "Pick a word to see where it looked.";
        const state = switched ? `Attention is ${get("attention") ? "on" : "off"}. ` : "";
        say(state + result.tokens.map((token, i) => `${token}: ${kind(result.tags[i])}`).join(", ") + `.${without}${warning}`, cut > 0);
        return;
      }
      // Its kind and that of nothing hidden, or the next one that is worth a word.
      const now = kinds(result);
      const usual = kind(whole.tags[word]);
      const order = Object.keys(now).sort((a, b) => now[b] - now[a]);
      const best = [...new Set([kind(result.tags[word]), usual, ...order])].slice(0, 2).filter((t) => t === usual || now[t] > 0.01);
      const list = (/** @type {Record<string, number>} */ given) => best.map((t) => `${t} ${fmt(100 * given[t], 1)}\u00a0%`);
      const [first, ...others] = list(now);
      const was = turns(word) && likeliest.firstElementChild;
      likeliest.replaceChildren(...turned(h("span", {}, `${named(word)}: `, h("b", {}, first), now[best[0]] < 0.5 ? ", not sure" : "", ...others.map((other) => ` · ${other}`)), was));
      beside.className = was ? "is-new" : "";
      if (off.length) beside.textContent = `${off.length > 1 ? "Nothing hidden" : `With ${named(off[0])}`}: ${list(kinds(whole)).join(" · ")}`;
      most = weights.indexOf(Math.max(...weights));
      const whom = most === word ? "itself" : named(most);
      const looks = weights[most] > 0 ? `It looks most at ${whom}: ${fmt(100 * weights[most], 0)}\u00a0%.` : "It can look at nothing.";
      say(`${named(word)}: ${kind(result.tags[word])}. ${looks}${without}${warning}`, cut > 0);
    }

    /**
     * Arcs from the picked word to the others. Those of the same word stay and change their width; with attention off they
     * show where it would look.
     * @param {boolean} [said] only what is said has changed
     */
    function drawArcs(said) {
      const word = picked();
      // Picked or not: the words stay where they are. Where they don't fit in one row, each has its own, and arcs stand before them.
      tokens.classList.remove("is-line", "is-long");
      const words = cards();
      const long = words.some((one) => one.offsetTop !== words[0].offsetTop);
      tokens.classList.add(long ? "is-long" : "is-line");
      let svg = tokens.querySelector("svg");
      const tops = words.map((one) => long ? { x: one.offsetLeft - 2, y: one.offsetTop + one.offsetHeight / 2 } : { x: one.offsetLeft + one.offsetWidth / 2, y: one.offsetTop - 2 });
      // What is said of the word picked stands below it.
      const lines = [likeliest, beside];
      const room = lines.map((line) => alternatives.clientWidth - line.offsetWidth);
      lines.forEach((line, i) => {
        line.style.left = `${word < 0 || long ? 0 : Math.max(0, Math.min(room[i], tops[word].x - line.offsetWidth / 2))}px`;
      });
      if (said) return;
      const key = String(word);
      const idle = deaf();
      // Until they are drawn whole, a figure that is laid out anew begins again.
      if (!svg || drawn !== key) {
        svg?.remove();
        svg = /** @type {SVGSVGElement} */ (s("svg", { class: "attnlab-arcs", "aria-hidden": "true", "data-part": "arcs" }));
        svg.addEventListener("animationend", () => (drawn = key));
        svg.classList.toggle("is-new", !idle);
        tokens.prepend(svg);
      } else svg.classList.remove("is-new");
      svg.classList.toggle("is-idle", idle);
      const weights = chosen((idle ? whole : result).weights, get("head"));
      const most = long ? tokens.clientWidth / 6 : tokens.clientWidth < WIDE ? 76 : 112;
      // To be drawn, and to be withdrawn, a line is measured as 1.
      const length = idle ? {} : { pathLength: 1 };
      renew(svg, ...(word < 0 ? [...tops.keys()] : [word]).flatMap((i) =>
        arcs(tops, i, weights[i], most, word < 0, long).map(({ to, ...line }) => s("path", { "data-key": `${i} ${to}`, ...line, ...length }))));
    }

    return {
      update,
      pytorch: () => pytorch(shown, picked(), get("head"), hidden(), deaf()),
      svg: () => drawing(result, picked(), get("head"), hidden()),
    };
  },
});

/** A button. @param {string} part @param {() => void} click @param {Record<string, any>} more attributes @param {...any} inside */
const press = (part, click, more, ...inside) => h("button", { type: "button", "data-part": part, on: { click }, ...more }, ...inside);

/** The share of the likeliest. */
const surest = (/** @type {number[]} */ row) => Math.max(...row);

/** @param {string} tag */
const full = (tag) => `${NAMES[tag]} (${tag})`;

/** The kind of a tag. @param {string} group @param {string} [title] */
const pill = (group, title) => h("span", { "data-kind": group, title }, group);

/**
 * What is so is there at once. What was so turns away before it.
 * @param {HTMLElement} now
 * @param {any} was an element, if something turns
 */
function turned(now, was) {
  if (!was || calm()) return [now];
  now.className = "is-new";
  was.className = "is-old";
  was.setAttribute("aria-hidden", "true");
  was.addEventListener("animationend", () => was.remove());
  return [now, was];
}

/**
 * An arc from one word to each that it looks at, the wider the more, and to which.
 * @param {{ x: number, y: number }[]} tops the middle of each word's upper edge, or of its left one
 * @param {number} word
 * @param {number[]} weights
 * @param {number} most how high an arc may rise
 * @param {boolean} [others] whether a word that looks at itself has no arc
 * @param {boolean} [down] whether words stand below one another
 */
function arcs(tops, word, weights, most, others, down) {
  const along = tops.map(({ x, y }) => (down ? y : x));
  const from = along[word];
  const slope = Math.min((most - 24) / (Math.max(...along) - Math.min(...along)), 0.16);
  const at = (/** @type {number} */ place, rise = 0) => (down ? `${tops[word].x - rise} ${place}` : `${place} ${tops[word].y - rise}`);
  return along.flatMap((to, j) => {
    if (weights[j] < 0.02 || (others && j === word)) return [];
    // A word that looks at itself: a loop. Beside it in one line the others' ends stand apart, and the farthest inmost.
    const [far, many] = j < word ? [j, word] : [weights.length - 1 - j, weights.length - 1 - word];
    const apart = others ? 0 : Math.sign(j - word) * (down ? 11 : 16 + far * Math.min(6, 18 / many));
    const [left, right] = j === word ? [-9, 9] : [apart, 0];
    const lean = j === word ? 13 : 0;
    const rise = (24 + Math.abs(to - from) * slope) * (j === word ? 1.4 : 1);
    return {
      to: j,
      d: `M ${at(from + left)} C ${at(from + left - lean, rise)}, ${at(to + right + lean, rise)}, ${at(to + right)}`,
      fill: "none",
      stroke: "var(--fig-query)",
      "stroke-width": (1 + 12 * weights[j]).toFixed(2),
      "stroke-opacity": (0.25 + 0.7 * weights[j]).toFixed(2),
      "stroke-linecap": "round",
    };
  });
}

/**
 * The state as a snippet that runs.
 * @param {string} sentence
 * @param {number} word
 * @param {string} head
 * @param {number[]} hidden
 * @param {boolean} deaf whether attention is off
 */
function pytorch(sentence, word, head, hidden, deaf) {
  const [layer, number] = head.split(".").map(Number);
  const weights = head === "mean" ? "tagged.weights.mean((0, 1))" : `tagged.weights[${layer - 1}, ${number - 1}]`;
  const look = word < 0 ? "" : `weights = ${weights}[${word}]  # where word ${word} looks\n`;
  const more = deaf ? ", attention=False" : hidden.length ? `, hidden=${JSON.stringify(hidden)}` : "";
  return `from attnbook.widgets import TagSentence

tagged = TagSentence(${JSON.stringify(sentence)}${more}).tagged
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
      text(57, 13, kind(result.tags[i])),
      text(76, 13, out ? "hidden" : word < 0 ? "" : `${fmt(100 * weight, 0)} %`),
    ];
  });
  const looks = word < 0 ? [] : arcs(tops, word, weights, 76).map(({ to, ...line }) => s("path", line));
  return standalone(s("svg", { viewBox: `0 0 ${12 + result.tokens.length * width} ${top + 86}` }, ...looks, ...cells));
}
