// A generation, pass by pass: the cache fills, a pass reads all of it, a draft is verified.
//
// For tests (data-part): lanes (svg: old-word, new-word, draft-word with data-fate, pass with data-name, kept-numbers with
// data-column, alone), next, again (buttons), draft, heads, place (radio groups; place stands among the numbers), status,
// numbers (table: next word, model, with a draft: draft, in both; written), checked (table of the draft), counts (table),
// reset, ...
import css from "./ui/writing.css";
import { labelled } from "./ui/controls.js";
import { choices, fmt, h, onResize, s, select, standalone } from "./ui/dom.js";
import { drawLanes, sweep } from "./ui/decoding.js";
import { figure } from "./ui/frame.js";
import { shipped } from "./ui/shipped.js";
import { strip, table } from "./ui/tables.js";
import { END, MOST, bytes, numbered, pass } from "./math/decoder.js";
import { ranked } from "./math/samplers.js";

const HEADS = [["4", "4, MHA"], ["2", "2, GQA"], ["1", "1, MQA"]];

export default figure({
  name: "decoder",
  css,
  title: "Decoding",
  keys: ["text", "passes", "draft", "heads", "place", "seed"],
  async setup({ model, body, say, set, signal, place: where }) {
    const models = /** @type {import("./math/decoder.js").Models} */ (await shipped("decoder", model, where.base));
    const { words } = models.card;
    const lanes = s("svg", { role: "img", "data-part": "lanes", style: "display: block; width: 100%; height: auto" });
    const next = h("button", { type: "button", class: "attnlab-act", "data-part": "next", on: { click: go } });
    const again = h("button", { type: "button", "data-part": "again", on: { click: () => set({ seed: Number(model.get("seed")) + 1, place: 0 }) } }, "Draw again");
    const drafts = ["0", "1", "2", "3", "4"].map((n) => ({ value: n, text: n }));
    const draft = choices({ label: "Words drafted for a pass", part: "draft", value: "0", options: drafts, onChange: (n) => set({ draft: Number(n), place: 0 }) });
    const options = HEADS.map(([value, text]) => ({ value, text }));
    const heads = choices({ label: "Key-value heads", part: "heads", value: "4", options, onChange: (n) => set({ heads: Number(n), place: 0 }) });
    const picked = h("div");
    const numbers = strip("Tables of numbers");
    body.append(
      lanes,
      h("div", { class: "attnlab-lane" }, h("div", { class: "attnlab-choices attnlab-examples" }, next, again), labelled("Draft", draft)),
      h("div", { class: "attnlab-lane" }, labelled("Key-value heads", heads)),
      h("details", {}, h("summary", {}, "The numbers as tables"), picked, numbers),
    );
    let wide = 0;
    const room = () => Math.max(Math.floor(body.clientWidth) || 640, 230);
    onResize(body, signal, () => wide && wide !== room() && update());

    function read() {
      const ids = numbered(models, model.get("text"));
      const passes = /** @type {number[]} */ (model.get("passes") ?? []);
      const before = ids.length - passes.reduce((sum, n) => sum + n, 0);
      if (before < 0 || passes.some((n) => !(n >= 1))) throw new Error(`passes must write 1 word or more each, ${ids.length} at most in all, got ${passes.join(", ")}.`);
      const [drafted, shared, seed] = [Number(model.get("draft")), Number(model.get("heads")), Number(model.get("seed"))];
      if (!HEADS.some(([n]) => n === String(shared))) throw new Error(`heads must be 4, 2 or 1, got ${model.get("heads")}.`);
      if (!drafts.some(({ value }) => value === String(drafted))) throw new Error(`draft must be from 0 to 4, got ${model.get("draft")}.`);
      const step = pass(models, ids, { rules: { temperature: 1 }, draft: drafted, heads: shared, seed });
      const at = Math.min(Math.max(Number(model.get("place")) || 0, 0), step.words.length - 1);
      const rows = step.rows.length;
      const fresh = passes.length ? 1 + step.drafted.length : rows;
      const asked = { rows, read: fresh, drafted: step.drafted.length };
      const reads = bytes(models, { ...asked, heads: shared });
      const own = bytes(models, asked); // with keys and values for each head
      const unshared = own.weights + own.cache + own.draft;
      const without = bytes(models, { rows: ids.length + 1, read: passes.length ? 1 : ids.length + 1, drafted: 0, heads: shared });
      const alone = without.weights + without.cache;
      const ended = step.words.includes(END) || ids.length + step.words.length > MOST;
      return { ids, passes, before, drafted, shared, seed, step, at, rows, fresh, reads, alone, unshared, ended };
    }

    function go() {
      const { ids, passes, before, seed, step, ended } = read();
      if (ended) set({ text: ids.slice(0, before).map((i) => words[i]).join(" "), passes: [], place: 0, seed: seed + 1 });
      else set({ text: [...ids, ...step.words].map((i) => words[i]).join(" "), passes: [...passes, step.words.length], place: 0 });
      sweep(lanes);
    }

    /**
     * Which columns of the cache each pass has filled: the first the prompt, each later one the word written last;
     * and of what was drafted, what was kept.
     * @param {ReturnType<typeof read>} now
     */
    function groups({ passes, before, step, rows, fresh }) {
      let at = 0;
      const past = passes.map((written, i) => {
        const from = at;
        at += (i ? 1 : before + 1) + written - 1;
        return { name: i ? (written > 1 ? "verify" : "decode") : "prefill", from, to: at };
      });
      const name = past.length ? (step.drafted.length ? "verify" : "decode") : step.drafted.length ? "prefill, verify" : "prefill";
      return [...past, { name, from: rows - fresh, to: rows }];
    }

    function update() {
      const now = read();
      const { ids, passes, drafted, shared, step, at, rows, fresh, reads, alone, unshared, ended } = now;
      const spoken = step.words.map((i) => words[i]);
      next.textContent = ended ? "Start again" : "Next pass";
      select(draft, String(drafted));
      select(heads, String(shared));
      wide = room();
      const text = ["<start>", ...ids.map((i) => words[i]), ...spoken];
      const all = groups(now);
      const { drawn, high } = drawLanes({ wide, words: text, step, groups: all, heads: models.card.models.model.n_heads, shared, reads, alone, unshared }, words);
      lanes.replaceChildren(...drawn);
      lanes.setAttribute("viewBox", `0 0 ${wide} ${high}`);
      const fate = step.drafted.map((i, k) => `${words[i]} ${k < step.kept ? "kept" : k === step.kept ? "refused" : "dropped"}`).join(", ");
      lanes.setAttribute("aria-label", `${text.slice(0, ids.length + 1).join(" ")}; ${all[all.length - 1].name} writes ${spoken.join(" ")}.${fate && ` Drafted: ${fate}.`} The cache: ${rows} words, ${fresh} of them new, all read.`);
      tables(now);
      const total = passes.reduce((a, b) => a + b, 0) + spoken.length;
      const one = `“${spoken[0]}” is written.`;
      const several = `${step.drafted.length} drafted, ${step.kept} kept, ${spoken.length} written.`;
      const so = `${passes.length + 1} ${passes.length ? "passes" : "pass"}, ${total} ${total > 1 ? "words" : "word"}.`;
      say(`${step.drafted.length ? several : one} ${so}${ended && !spoken.includes("<end>") ? " The cache is full." : ""}`);
    }

    /** The numbers at one of the pass's places; what became of the draft; what was read. @param {ReturnType<typeof read>} now */
    function tables({ step, at, passes, reads }) {
      const four = (/** @type {number} */ x) => x.toFixed(4);
      const spoken = step.words.map((i) => words[i]);
      const names = JSON.stringify(spoken);
      if (picked.dataset.names !== names) {
        picked.dataset.names = names;
        const options = spoken.map((text, i) => ({ value: String(i), text }));
        picked.replaceChildren(...(spoken.length > 1 ? [labelled("Show", choices({ label: "Word of this pass", part: "place", value: String(at), options, onChange: (value) => set({ place: Number(value) }) }))] : []));
      }
      const group = /** @type {HTMLElement | null} */ (picked.querySelector('[role="radiogroup"]'));
      if (group) select(group, String(at));
      const [p, q] = [step.p[at], step.q[at]];
      const order = ranked(p);
      const lines = order.map((i) => [words[i], four(p[i]), ...(q ? [four(q[i]), four(Math.min(q[i], p[i]))] : []), step.words[at] === i ? "✓" : ""]);
      const fate = (/** @type {number} */ i) => (i < step.kept ? "kept" : i === step.kept ? `${spoken[spoken.length - 1]} instead` : "dropped");
      const tried = step.drafted.map((word, i) => [words[word], four(step.q[i][word]), four(step.p[i][word]), four(step.keep[i]), fate(i)]);
      const whole = (/** @type {number} */ x) => Math.round(x).toLocaleString("en");
      const total = reads.weights + reads.cache + reads.draft;
      const counts = [
        ["weights, bytes", whole(reads.weights)],
        ["cache, bytes", whole(reads.cache)],
        ["draft, bytes", whole(reads.draft)],
        ["together, bytes", whole(total)],
        ["words written", String(spoken.length)],
        ["bytes a word", whole(total / spoken.length)],
        ["passes so far", String(passes.length + 1)],
        ["words so far", String(passes.reduce((a, b) => a + b, 0) + spoken.length)],
      ];
      numbers.replaceChildren(
        table("numbers", ["next word", "model", ...(q ? ["draft", "in both"] : []), "written"], lines, { caption: `The next word, at place ${at + 1} of this pass`, bold: order.indexOf(step.words[at]) }),
        ...(tried.length ? [table("checked", ["drafted", "draft", "model", "kept with", "so"], tried, { caption: "What became of the draft" })] : []),
        table("counts", ["of this pass", "number"], counts, { caption: "Numbers of two bytes each" }),
      );
    }

    /** @returns {string} */
    function pytorch() {
      const { ids, shared, step, at } = read();
      const before = [...ids, ...step.drafted.slice(0, at)].map((i) => words[i]);
      const draft = step.q[at] ? `    q = models()["draft"](ids)[0, -1].softmax(-1)\n    print("kept with", torch.minimum(p, q).sum())\n` : "";
      return `import torch
from attnbook.widgets.decoder import models, words

model = models()["model"]${shared === 4 ? "" : `.grouped(${shared})`}
ids = torch.tensor([[words().index(word) for word in ${JSON.stringify(["<start>", ...before])}]])
cache = model.new_cache(1, ${MOST + 1})
with torch.no_grad():
    for word in ids[0]:  # a column of the cache for each
        scores = model(word.view(1, 1), cache=cache, last=True)
    p = scores[0, 0].softmax(-1)
    for i in p.argsort(descending=True).tolist():
        print(f"{words()[i]:8} {p[i]:.4f}")
${draft}`;
    }

    return { update, pytorch, svg: () => standalone(lanes) };
  },
});
