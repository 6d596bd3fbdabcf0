// Decoding: a small model writes word by word; the cache fills, rules cut the tail, a draft saves passes.
//
// For tests (data-part): written (the text), next, again (buttons), place (radio group, while there is a draft), cache,
// words (svg), draft, rule, heads (radio groups), temperature, top_k, top_p, min_p (range inputs), status, numbers (table:
// next word, model, after the rules, with a draft: draft, in both; written), checked (table of the draft), counts (table), reset, ...
import css from "./ui/decoder.css";
import { labelled, slider } from "./ui/controls.js";
import { choices, fmt, h, s, select, standalone } from "./ui/dom.js";
import { drawCache, drawWords, sweep } from "./ui/decoding.js";
import { figure } from "./ui/frame.js";
import { shipped } from "./ui/shipped.js";
import { strip, table } from "./ui/tables.js";
import { END, MOST, bytes, pass } from "./math/decoder.js";
import { ranked } from "./math/samplers.js";
import { softmax } from "./math/attention.js";

const RULES = [["all", "all words"], ["greedy", "greedy"], ["top_k", "top-k"], ["top_p", "top-p"], ["min_p", "min-p"]];
const HEADS = ["4", "2", "1"];
const KEYS = ["text", "passes", "rule", "temperature", "top_k", "top_p", "min_p", "draft", "heads", "place", "seed"];

export default figure({
  name: "decoder",
  css,
  title: "Decoding",
  keys: KEYS,
  async setup({ model, body, say, set, signal, place: where }) {
    const models = /** @type {import("./math/decoder.js").Models} */ (await shipped("decoder", model, where.base));
    const { words } = models.card;
    const from = (/** @type {string[][]} */ pairs) => pairs.map(([value, text]) => ({ value, text }));
    const written = h("p", { class: "attnlab-written", "data-part": "written" });
    const next = h("button", { type: "button", class: "attnlab-go", "data-part": "next", on: { click: go } });
    const again = h("button", { type: "button", "data-part": "again", on: { click: () => set({ seed: Number(model.get("seed")) + 1, place: 0 }) } }, "Draw again");
    const buttons = h("div", { class: "attnlab-row attnlab-examples" }, next, again);
    const checked = h("div", { class: "attnlab-choices", style: "margin-bottom: .6rem; align-items: center", hidden: true });
    const [cache, chances] = ["cache", "words"].map((part) => s("svg", { role: "img", "data-part": part, style: "display: block; width: 100%; height: auto" }));
    const [left, right] = [h("div", {}, cache), h("div", {}, checked, chances)];
    const draft = choices({ label: "Words drafted for a pass", part: "draft", value: "0", options: from(["0", "1", "2", "3", "4"].map((n) => [n, n === "0" ? "none" : n])), onChange: (n) => set({ draft: Number(n), place: 0 }) });
    const rule = choices({ label: "What is kept", part: "rule", value: "all", options: from(RULES), onChange: (name) => set({ rule: name, place: 0 }) });
    const heads = choices({ label: "Key-value heads", part: "heads", value: "4", options: from(HEADS.map((n) => [n, n])), onChange: (n) => set({ heads: Number(n), place: 0 }) });
    const tune = (/** @type {string} */ part, /** @type {string} */ label, /** @type {number[]} */ [min, max, step]) =>
      slider({ part, label, limits: { min, max, step }, role: "output", onInput: (x) => set({ [part]: x, place: 0 }) });
    const temperature = tune("temperature", "Temperature", [0.1, 3, 0.1]);
    const limits = /** @type {Record<string, ReturnType<typeof slider>>} */ ({
      top_k: tune("top_k", "Words kept", [1, words.length, 1]),
      top_p: tune("top_p", "Share kept", [0.05, 1, 0.05]),
      min_p: tune("min_p", "Share of best", [0.05, 1, 0.05]),
    });
    const averaged = h("p", { class: "attnlab-note" }, "Shared heads are the means of the trained four; the model was not trained further, so its guesses suffer.");
    const numbers = strip("Tables of numbers");
    body.append(
      written,
      buttons,
      labelled("Draft", draft),
      h("div", { class: "attnlab-decoding" }, left, right),
      labelled("Sampler", rule),
      temperature.row,
      ...Object.values(limits).map(({ row }) => row),
      labelled("Key-value heads", heads),
      averaged,
      h("details", {}, h("summary", {}, "The numbers as tables"), numbers),
    );
    let wide = "";
    const widths = () => [left, right].map((el) => Math.max(el.clientWidth || 400, 230));
    const resized = new ResizeObserver(() => wide !== widths().join() && next.textContent && update());
    resized.observe(body);
    signal.addEventListener("abort", () => resized.disconnect());

    function read() {
      const text = String(model.get("text") ?? "").split(" ").filter(Boolean);
      const unknown = text.find((word) => words.indexOf(word) < 2);
      if (unknown) throw new Error(`text must be of ${words.slice(2).join(", ")}; got ${unknown}.`);
      if (text.length > MOST) throw new Error(`text must have at most ${MOST} words, got ${text.length}.`);
      const passes = /** @type {number[]} */ (model.get("passes") ?? []);
      const name = String(model.get("rule"));
      if (!RULES.some(([known]) => known === name)) throw new Error(`rule must be one of ${RULES.map(([known]) => known).join(", ")}, got ${name}.`);
      const shared = Number(model.get("heads"));
      if (!HEADS.includes(String(shared))) throw new Error(`heads must be 4, 2 or 1, got ${model.get("heads")}.`);
      const [drafts, seed] = [Number(model.get("draft")), Number(model.get("seed"))];
      if (!(drafts >= 0 && drafts <= 4)) throw new Error(`draft must be from 0 to 4, got ${model.get("draft")}.`);
      const rules = name === "greedy" ? { temperature: 0 } : { temperature: Number(model.get("temperature")), ...(name in limits ? { [name]: Number(model.get(name)) } : {}) };
      if (Object.values(rules).some((x) => !(x >= 0))) throw new Error(`${Object.keys(rules).join(" and ")} must be numbers of 0 or more.`);
      const step = pass(models, text.map((word) => words.indexOf(word)), { rules, draft: drafts, heads: shared, seed });
      const at = Math.min(Math.max(Number(model.get("place")) || 0, 0), step.words.length - 1);
      const rows = text.length + 1 + step.drafted.length;
      const fresh = passes.length ? 1 + step.drafted.length : rows;
      const reads = bytes(models, { rows, read: fresh, drafted: step.drafted.length, heads: shared });
      const ended = step.words.includes(END) || text.length + step.words.length > MOST;
      return { text, passes, name, rules, drafts, shared, seed, step, at, rows, fresh, reads, ended };
    }

    function go() {
      const { text, passes, seed, step, ended } = read();
      if (ended) set({ text: "", passes: [], place: 0, seed: seed + 1 });
      else set({ text: [...text, ...step.words.map((i) => words[i])].join(" "), passes: [...passes, step.words.length], place: 0 });
      sweep(cache);
    }

    function update() {
      const now = read();
      const { text, passes, name, drafts, shared, step, at, rows, fresh, reads, ended } = now;
      const spoken = step.words.map((i) => words[i]);
      written.replaceChildren(["<start>", ...text].join(" "), " ", h("b", {}, spoken.join(" ")));
      next.textContent = ended ? "Start again" : drafts ? "Next pass" : "Next word";
      select(draft, String(drafts));
      select(rule, name);
      select(heads, String(shared));
      temperature.row.hidden = name === "greedy";
      temperature.show(Number(model.get("temperature")), fmt(Number(model.get("temperature")), 1));
      for (const [key, { row, show }] of Object.entries(limits)) {
        row.hidden = key !== name;
        const value = Number(model.get(key));
        show(value, key === "top_k" ? `${value} of ${words.length}` : `${fmt(100 * value, 0)} %`);
      }
      averaged.hidden = shared === 4;
      const p = step.scores.map((scores) => softmax(scores));
      const order = ranked(p[at]);
      const drafted = at < step.drafted.length;
      const keeps = text.length + 1 + step.kept;
      chips(now);
      const sizes = widths();
      wide = sizes.join();
      const shape = models.card.models.model;
      const box = drawCache({ wide: sizes[0], names: ["<start>", ...text, ...step.drafted.map((i) => words[i])], rows: step.rows, from: rows - fresh, dropped: keeps, room: MOST + 1, heads: shape.n_heads, shared, reads, words: spoken.length });
      put(cache, sizes[0], box, `The cache: ${rows} rows, ${fresh} of them new, all read.`);
      const bars = drawWords({ wide: sizes[1], words, order, before: p[at], after: step.p[at], draft: drafted ? step.q[at] : null, written: step.words[at], how: drafted && at < step.kept ? "kept" : "drawn" });
      put(chances, sizes[1], bars, `The next word: ${order.slice(0, 5).map((i) => `${words[i]} ${fmt(100 * step.p[at][i], 0)} %`).join(", ")}; written: ${spoken[at]}.`);
      tables(now, p[at], order);
      const stay = step.p[at].filter((x) => x > 0).length;
      const total = passes.reduce((a, b) => a + b, 0) + spoken.length;
      const so = `${passes.length + 1} ${passes.length ? "passes" : "pass"}, ${total} ${total > 1 ? "words" : "word"}; the cache holds ${((reads.cache * keeps) / rows).toLocaleString("en")} bytes.`;
      const one = `“${spoken[0]}” is drawn, ${fmt(100 * step.p[0][step.words[0]], 0)} %, from ${stay} of ${words.length} words.`;
      const several = `${step.drafted.length} drafted, ${step.kept} kept, ${spoken.length} written.`;
      const full = ended && !spoken.includes("<end>") ? " The cache is full." : "";
      say(`${drafts && step.drafted.length ? several : one} ${so}${full}`);
    }

    /**
     * The drafted words, and what became of each; one may be picked to see its probabilities.
     * @param {ReturnType<typeof read>} now
     */
    function chips({ step, drafts, at }) {
      checked.hidden = !step.drafted.length;
      const last = words[step.words[step.words.length - 1]];
      const options = step.drafted.slice(0, step.kept + 1).map((word, i) => {
        const chance = `${fmt(100 * step.keep[i], 0)} %`;
        return { value: String(i), text: i < step.kept ? `${words[word]} ✓ ${chance}` : `${words[word]} ✗ ${chance} → ${last}` };
      });
      if (step.kept === step.drafted.length && step.words.length > step.kept) options.push({ value: String(step.kept), text: `+ ${last}` });
      const names = JSON.stringify([drafts, options]);
      if (checked.dataset.names !== names) {
        checked.dataset.names = names;
        const dropped = step.drafted.slice(step.kept + 1).map((i) => words[i]);
        checked.replaceChildren(
          h("span", { class: "attnlab-label" }, "Drafted, and kept with"),
          choices({ label: "Drafted words", part: "place", value: String(at), options, onChange: (value) => set({ place: Number(value) }) }),
          dropped.length ? h("span", { class: "attnlab-label" }, `dropped: ${dropped.join(", ")}`) : "",
        );
      }
      const group = /** @type {HTMLElement | null} */ (checked.querySelector('[role="radiogroup"]'));
      if (group) select(group, String(at));
    }

    /**
     * @param {SVGElement} svg
     * @param {number} width
     * @param {{ drawn: SVGElement[], high: number }} box
     * @param {string} label
     */
    function put(svg, width, { drawn, high }, label) {
      svg.replaceChildren(...drawn);
      svg.setAttribute("viewBox", `0 0 ${width} ${high}`);
      svg.setAttribute("aria-label", label);
    }

    /**
     * @param {ReturnType<typeof read>} now
     * @param {number[]} before
     * @param {number[]} order
     */
    function tables({ step, at, passes, reads }, before, order) {
      const four = (/** @type {number} */ x) => x.toFixed(4);
      const q = step.q[at];
      const lines = order.map((i) => [
        words[i], four(before[i]), four(step.p[at][i]), ...(q ? [four(q[i]), four(Math.min(q[i], step.p[at][i]))] : []), step.words[at] === i ? "✓" : "",
      ]);
      const last = words[step.words[step.words.length - 1]];
      const fate = (/** @type {number} */ i) => (i < step.kept ? "kept" : i === step.kept ? `${last} instead` : "dropped");
      const tried = step.drafted.map((word, i) => [words[word], four(step.q[i][word]), four(step.p[i][word]), four(step.keep[i]), fate(i)]);
      const whole = (/** @type {number} */ x) => Math.round(x).toLocaleString("en");
      const total = reads.weights + reads.cache + reads.draft;
      const counts = [
        ["weights, bytes", whole(reads.weights)],
        ["cache, bytes", whole(reads.cache)],
        ["draft, bytes", whole(reads.draft)],
        ["together, bytes", whole(total)],
        ["words written", String(step.words.length)],
        ["bytes a word", whole(total / step.words.length)],
        ["passes so far", String(passes.length + 1)],
        ["words so far", String(passes.reduce((a, b) => a + b, 0) + step.words.length)],
      ];
      numbers.replaceChildren(
        table("numbers", ["next word", "model", "after the rules", ...(q ? ["draft", "in both"] : []), "written"], lines, { caption: `The next word, at place ${at + 1} of this pass`, bold: order.indexOf(step.words[at]) }),
        ...(tried.length ? [table("checked", ["drafted", "draft", "model", "kept with", "so"], tried, { caption: "What became of the draft" })] : []),
        table("counts", ["this pass reads", ""], counts, { caption: "Numbers of two bytes each" }),
      );
    }

    /** @returns {string} */
    function pytorch() {
      const { text, rules, shared, step, at } = read();
      const before = [...text, ...step.drafted.slice(0, at).map((i) => words[i])];
      const given = Object.entries(rules).map(([key, value]) => `${key}=${value}`).join(", ");
      const draft = step.q[at] ? `q = distribution(models()["draft"](ids)[0, -1], ${given})  # the draft's\nprint("kept with", torch.minimum(p, q).sum())\n` : "";
      return `import torch
from attnlab.transformer import distribution
from attnlab.widgets.decoder import models, words

model = models()["model"]${shared === 4 ? "" : `.grouped(${shared})`}
ids = torch.tensor([[words().index(word) for word in ${JSON.stringify(["<start>", ...before])}]])
cache = model.new_cache(1, 12)
with torch.no_grad():
    for word in ids[0]:  # a row of the cache for each
        scores = model(word.view(1, 1), cache=cache, last=True)
    p = distribution(scores[0, 0], ${given})
    for i in p.argsort(descending=True)[: int((p > 0).sum())].tolist():
        print(f"{words()[i]:8} {p[i]:.4f}")
${draft && draft.replace(/^/gm, "    ").trimEnd() + "\n"}`;
    }

    /** Both drawings, one above the other. */
    function svg() {
      let [wide, high] = [0, 0];
      const parts = [cache, chances].map((/** @type {any} */ one) => {
        const { width, height } = one.viewBox.baseVal;
        const group = s("g", { transform: `translate(0 ${high})` }, ...one.cloneNode(true).childNodes);
        [wide, high] = [Math.max(wide, width), high + height + 16];
        return group;
      });
      return standalone(s("svg", { viewBox: `0 0 ${wide} ${high}` }, ...parts));
    }

    return { update, pytorch, svg };
  },
});
