// Design your own attention: who sees whom is painted; at once stands there how good any model can be that sees so, and what it costs;
// then it is trained, and the rest is what training did not find.
//
// For tests (data-part): offset (buttons, data-layer, data-offset), layers, told, mix (radio groups), nearest, preset (selects), train,
// restart (buttons), line (opens what is chosen), steps, progress, lost, confused, missed, price (texts), plane (svg; in it frontier, tried, now, trained), climb (svg; in it goal, climbed), mask (svg), guide, onward,
// dismiss, opens (buttons, data-opens), panel, challenge (list items, data-id), forget, links (textarea), take (button), refused, tried,
// numbers (tables), show (buttons), status, reset, link, pytorch, svg.
import shared from "./ui/train.css";
import own from "./ui/design.css";
import { choices, fmt, h, onResize, s, select, standalone } from "./ui/dom.js";
import { figure } from "./ui/frame.js";
import { keep as store, recalled } from "./ui/kept.js";
import { OFFSETS, offsets } from "./ui/offsets.js";
import { climb, plane } from "./ui/plane.js";
import { strip, table } from "./ui/tables.js";
import { turns } from "./ui/turns.js";
import { add, CHALLENGES, links, met, restored, worded } from "./math/board.js";
import { ceiling, language } from "./math/ceiling.js";
import { TAGS, WORDS } from "./math/grammar.js";
import { checked, D_MODEL, FARTHEST, masks, named, pairs, reading } from "./math/design.js";
import { LAST as AXIS, DEFAULTS, exactly, packed, start } from "./math/playground.js";

/** @typedef {import("./math/design.js").Design} Design */
/** @typedef {import("./math/board.js").Entry} Entry */
/** @typedef {import("./math/playground.js").Run} Run */

const KEPT = "attnlab-designs";
const SENTENCE = ["that", "left", "duck", "can", "watch", "the", "old", "saw"];
const PRESETS = /** @type {Record<string, number[]>} */ ({
  "itself only": [], "both neighbours": [-1, 1], "window: two on each side": [-2, -1, 1, 2], "every second word": [-6, -4, -2, 2, 4, 6],
  "all before": OFFSETS.slice(0, FARTHEST), everything: OFFSETS.filter(Boolean),
});
const PANELS = /** @type {Record<string, string>} */ ({ challenges: "Challenges", tried: "Designs tried", numbers: "Numbers" });
const STEPS = [
  { text: "Click −1: a word sees the one before. How high goes the dot?", done: (/** @type {Design} */ { layers }) => layers[0].includes(-1) },
  { text: "Which one word more takes the dot highest? Try some.", done: (/** @type {Design} */ _, /** @type {boolean} */ trained) => trained },
  { text: "Press Train. The curve climbs to the dotted line, the ring to the dot.", done: (/** @type {Design} */ _, /** @type {boolean} */ trained) => trained },
  { text: "Now pause: has training found all that is there? Then the challenges wait, below.", done: () => false },
];
const LEFT = "Now paint as you like. The challenges wait, below.";
const DRAW = 120;
const OPENING = named(checked({ told: true }));

export default figure({
  name: "design",
  css: shared + own,
  title: "Design your own attention",
  keys: ["layers", "told", "nearest", "mix", "seed", "panel"],
  undo: "nothing", // trained weights are no part of its state
  setup({ model, body, say, set, signal }) {
    const button = (/** @type {string} */ part, /** @type {string} */ text, /** @type {() => void} */ click, props = {}) => h("button", { type: "button", "data-part": part, ...props, on: { click } }, text);
    const radio = (/** @type {string} */ part, /** @type {string} */ label, /** @type {Record<string, string>} */ options, /** @type {(value: string) => void} */ onChange) =>
      choices({ label, part, value: "", options: Object.entries(options).map(([value, text]) => ({ value, text })), onChange });
    const list = (/** @type {string} */ part, /** @type {string} */ label, /** @type {[string, string][]} */ options, /** @type {(value: string) => void} */ change) => {
      const el = h("select", { "data-part": part, "aria-label": label, on: { change: () => change(el.value) } }, ...options.map(([value, text]) => h("option", { value }, text)));
      return el;
    };
    const group = (/** @type {string} */ name, /** @type {Node} */ part) => h("div", { class: "attnlab-group" }, h("span", { class: "attnlab-label" }, name), part);

    /** @type {Design} */
    let design = checked({});
    /** @type {import("./math/ceiling.js").Language | null} */
    let text = null;
    const reader = language();
    /** What is known of designs. @type {Map<string, import("./math/ceiling.js").Judged>} */
    const known = new Map();
    /** @type {{ design: Design, name?: string, work?: Generator<void, import("./math/ceiling.js").Judged> }[]} those that are still to be computed, the first one next */
    let due = [];
    /** @type {Run | null} */
    let run = null;
    /** @type {{ count: Generator<number>, share: number } | null} */
    let counting = null;
    let [going, drew, stage] = [false, 0, 0];
    const kept = recalled(KEPT) ?? {};
    /** @type {Entry[]} */
    let entries = restored(kept.entries);
    /** @type {string[]} */
    let done = CHALLENGES.map(({ id }) => id).filter((id) => Array.isArray(kept.done) && kept.done.includes(id));
    let guided = kept.guided === true;
    let [fresh, whole] = [true, false]; // whether nothing was shown yet; whether Train is there, and all that follows

    const rows = [0, 1].map((layer) => offsets({ layer, signal, open: (offset) => Boolean(design.layers[layer]?.includes(offset)), paint: (offset, on) => paint(layer, offset, on) }));
    const depth = radio("layers", "Layers", { 1: "one", 2: "two" }, (count) => set({ layers: count === "2" ? [design.layers[0], design.layers[1] ?? []] : [design.layers[0]] }));
    const told = radio("told", "Places", { yes: "told", no: "not told" }, (value) => set({ told: value === "yes", ...(value === "yes" ? { mix: "attention" } : {}) }));
    const mix = radio("mix", "Mixed by", { attention: "attention", mean: "mean" }, (value) => set({ mix: value, ...(value === "mean" ? { told: false } : {}) }));
    const nearest = list("nearest", "At most so many words", [["0", "all of them"], ...Array.from({ length: 7 }, (_, i) => /** @type {[string, string]} */ ([String(i + 1), `the nearest ${i + 1}`]))], (value) => set({ nearest: Number(value) }));
    const preset = list("preset", "Patterns to begin from", [["", "Patterns"], ...Object.keys(PRESETS).map((name) => /** @type {[string, string]} */ ([name, name]))], (name) => {
      preset.value = "";
      if (name) set({ layers: design.layers.map(() => PRESETS[name]) });
    });
    const mask = s("svg", { role: "img", "data-part": "mask", class: "attnlab-sight" });
    const [drawing, climbing] = [plane(), climb()];
    const train = button("train", "Train", toggle, { class: "attnlab-act" });
    const counter = h("span", { class: "attnlab-steps", "data-part": "steps" });
    const progress = h("progress", { max: 1, value: 0, "data-part": "progress", "aria-label": "Sentences counted", hidden: true });
    const tile = (/** @type {string} */ part, /** @type {string} */ name) => {
      const big = h("b", { "data-part": part });
      return { el: h("div", { class: "attnlab-tile" }, h("span", {}, name), big), show: (/** @type {string} */ words) => (big.textContent = words) };
    };
    const confused = h("p", { class: "attnlab-tile", "data-part": "confused", hidden: true });
    const tiles = { lost: tile("lost", "Lost by the view"), missed: tile("missed", "Not found by training"), price: tile("price", "Price paid") };
    const said = h("span");
    const dismiss = button("dismiss", "Skip", () => leave());
    const onward = button("onward", "Next", () => next());
    const guide = h("div", { class: "attnlab-guide", role: "note", "data-part": "guide", hidden: true }, said, h("span", { class: "attnlab-guide-do" }, onward, dismiss));
    const items = h("ul", { class: "attnlab-challenges" }, ...CHALLENGES.map(({ id, text }) => h("li", { "data-part": "challenge", "data-id": id }, text)));
    const tried = strip("Designs that were tried");
    const numbers = strip("Numbers of this design");
    const area = h("textarea", { "data-part": "links", rows: 2, "aria-label": "Links of others, one a line, a name before each", placeholder: "Ada https://… (one a line)" });
    const refused = h("p", { class: "attnlab-error", role: "status", "data-part": "refused", hidden: true });
    const inside = /** @type {Record<string, Node[]>} */ ({
      challenges: [items, h("p", { class: "attnlab-note" }, "Ticked off as soon as a ceiling stands. What you have tried is kept in this browser only. ", button("forget", "Forget it", forget))],
      tried: [tried, h("p", { class: "attnlab-note" }, "A class compares: everybody copies a link (behind ⋯), one collects them here."), h("div", { class: "attnlab-said" }, area, button("take", "Add", take)), refused],
      numbers: [numbers],
    });
    const tabs = Object.entries(PANELS).map(([name, text]) => button("opens", text, () => set({ panel: model.get("panel") === name ? "" : name }), { "data-opens": name }));
    const bodies = Object.entries(inside).map(([name, parts]) => h("div", { class: "attnlab-panel", "data-part": "panel", "data-panel": name, role: "group", "aria-label": PANELS[name], hidden: true }, ...parts));
    // One line says what else is chosen, and opens it.
    const rest = h("div", { class: "attnlab-sets", hidden: true }, group("places", told), group("layers", depth), group("mixed by", mix), group("sees", nearest), group("begin from", preset));
    const line = button("line", "", () => line.setAttribute("aria-expanded", String(!(rest.hidden = !rest.hidden))), { class: "attnlab-line", "aria-expanded": "false" });
    const bench = h("div", { class: "attnlab-bench" },
      h("div", {}, ...rows.map(({ el }) => el)),
      h("div", { class: "attnlab-goal" }, drawing.svg),
      mask,
      h("div", { class: "attnlab-climb" }, climbing.svg),
      line,
      rest,
      h("div", { class: "attnlab-go-row" }, train, button("restart", "Restart", () => begin()), counter, progress),
      h("div", { class: "attnlab-tiles" }, tiles.lost.el, tiles.missed.el, tiles.price.el, confused, h("div", { class: "attnlab-tabs" }, ...tabs)),
    );
    body.append(guide, bench, ...bodies);
    onResize(body, signal, () => draw(true));
    const { wake } = turns({ el: body, signal, work, due: () => performance.now() - drew > DRAW, draw });

    /** A piece of the work that is most urgent: ceilings, then training, then counting. */
    function work() {
      if (!text) {
        const { value, done } = reader.next();
        if (done) [text, drew] = [value, 0];
      } else if (due.length) {
        const one = due[0];
        one.work ??= ceiling(one.design, text);
        const { value, done } = one.work.next();
        if (done) settled(one.design, value, one.name);
      } else if (going && run) {
        if (run.work.next().done || run.model.steps >= AXIS) pause();
      } else if (counting) {
        const { value, done } = counting.count.next();
        counting.share = Number(value ?? 1);
        if (done) counted();
      }
      return !text || due.length > 0 || going || counting !== null;
    }

    /** @param {Design} one @param {import("./math/ceiling.js").Judged} found @param {string} [name] */
    function settled(one, found, name) {
      due.shift();
      known.set(named(one), found);
      const entry = entryOf(one, name);
      if (entry) entries = add(entries, entry);
      if (entry && !name) find(entry);
      keep();
      if (named(one) === named(design)) drew = 0;
      if (!due.length) draw(true);
    }

    /** What is known of a design. @param {Design} one @param {string} [name] @returns {Entry | null} */
    function entryOf(one, name) {
      const found = known.get(named(one));
      if (!text || !found) return null;
      return { design: one, ceiling: 100 * found.best, pairs: pairs(one, text), ...reading(one), ...(name ? { name } : {}) };
    }

    /** Tick off what a design meets. @param {Entry} entry */
    function find(entry) {
      const found = met(entry).filter((id) => !done.includes(id));
      if (!found.length) return;
      done = [...done, ...found];
      say(found.map((id) => `Found: ${CHALLENGES.find((one) => one.id === id)?.text}`).join(" "));
    }

    /** @param {number} layer @param {number} offset @param {boolean} on */
    function paint(layer, offset, on) {
      const before = design.layers[layer];
      if (before.includes(offset) === on) return;
      set({ layers: design.layers.map((all, i) => (i !== layer ? all : on ? [...all, offset] : all.filter((one) => one !== offset))) });
    }

    function begin() {
      [going, counting, run] = [false, null, null];
      still();
      draw(true);
    }

    function still() {
      train.textContent = "Train";
      train.classList.remove("is-going");
    }

    function toggle() {
      if (going) return pause();
      run ??= start({ ...DEFAULTS, context: design.mix, positions: design.told ? "rotary" : "none", n_layers: design.layers.length, sight: masks(design) }, Number(model.get("seed")));
      if (run.diverged || run.model.steps >= AXIS) return say("This training is at its end. Go back to step 0.");
      [going, counting] = [true, null];
      train.textContent = "Pause";
      train.classList.add("is-going");
      say("Training. When you pause, all 61,242 sentences are counted.");
      wake();
    }

    function pause() {
      going = false;
      still();
      if (run && run.model.steps && !run.exact) counting = { count: exactly(run), share: 0 };
      draw(true);
      if (counting) say("Counting all 61,242 sentences.");
      wake();
    }

    function counted() {
      counting = null;
      const entry = entryOf(design);
      if (entry && run?.exact) entries = add(entries, { ...entry, trained: run.exact.accuracy });
      model.set("steps", run?.model.steps ?? 0);
      model.set("weights", new DataView(run ? run.model.values.slice().buffer : new ArrayBuffer(0)));
      model.save_changes();
      keep();
      draw(true);
    }

    function update() {
      const wanted = checked(Object.fromEntries(["layers", "told", "nearest", "mix"].map((key) => [key, model.get(key)])));
      const seed = Number(model.get("seed"));
      if (!Number.isInteger(seed) || seed < 0 || seed > 1e6) throw new Error(`seed must be a whole number from 0 to 1,000,000, got ${model.get("seed")}.`);
      const panel = String(model.get("panel") ?? "");
      if (panel && !(panel in PANELS)) throw new Error(`panel must be ${Object.keys(PANELS).join(", ")}, or nothing; it is ${JSON.stringify(panel)}.`);
      if (named(wanted) !== named(design)) begin();
      design = wanted;
      // What is picked moves the dot alone: the rest waits for the step that trains, unless somebody shares more than that.
      whole ||= guided || panel !== "" || stage > 1 || named({ ...design, layers: fresh || design.layers[1] ? design.layers : [[]] }) !== OPENING;
      fresh = false;
      bench.classList.toggle("is-first", !whole);
      select(depth, String(design.layers.length));
      select(told, design.told ? "yes" : "no");
      select(mix, design.mix);
      nearest.value = String(design.nearest);
      line.textContent = [design.told ? "places told" : "places not told", design.layers.length > 1 ? "two layers" : "one layer", design.mix, design.nearest ? `nearest ${design.nearest}` : "all of them"].join(" · ");
      rows.forEach(({ el, show, name }, layer) => {
        el.hidden = layer >= design.layers.length;
        name(design.layers.length > 1 ? `layer ${layer + 1}` : "");
        show();
      });
      if (!known.has(named(design))) due = [{ design }, ...due.filter(({ name }) => name)];
      Object.keys(PANELS).forEach((name, i) => {
        tabs[i].setAttribute("aria-expanded", String(name === panel));
        bodies[i].hidden = name !== panel;
      });
      draw(true);
      wake();
    }

    /** @param {boolean} [all] what is folded away, too */
    function draw(all = false) {
      drew = performance.now();
      const entry = entryOf(design);
      const now = run && (run.exact ?? run.curve[run.curve.length - 1]);
      const right = now && run && run.model.steps ? now.accuracy : NaN;
      const wide = Math.max(240, Math.round(drawing.svg.parentElement?.clientWidth || 480));
      drawing.show({ wide, entries, entry, right });
      const three = results(entry, right);
      for (const [name, { show }] of Object.entries(tiles)) show(three[name]);
      confuse();
      const steps = run?.model.steps ?? 0;
      counter.textContent = run ? `step ${steps.toLocaleString("en")}${Number.isFinite(right) ? ` · ${fmt(right, 1)} % right` : ""}` : "";
      progress.hidden = !counting;
      if (counting) progress.value = counting.share;
      if (all) drawMask(wide < 300 ? [13.5, 13.5] : wide < 400 ? [17, 13.5] : [35, 17]);
      climbing.show({ wide: Math.max(100, climbing.svg.parentElement?.clientWidth ?? 0), tall: Math.min(/** @type {any} */ (mask).viewBox.baseVal.height, 160), best: entry?.ceiling ?? NaN, curve: run?.curve ?? [], step: steps });
      tabs[0].textContent = `${PANELS.challenges} ${done.length}/${CHALLENGES.length}`;
      for (const item of items.children) item.classList.toggle("is-met", done.includes(/** @type {HTMLElement} */ (item).dataset.id ?? ""));
      const panel = model.get("panel");
      if (all || panel === "numbers") numbers.replaceChildren(table("numbers", ["this design", "value"], rowsOf(entry, right)));
      if (all && panel === "tried") list_tried();
      lead();
      if (entry && !going && !counting && all) say(sentence(entry, right));
      else if (!entry && all) say(`${worded(design)}: counting all sentences.`);
    }

    /** The three numbers of a design. @param {Entry | null} entry @param {number} right @returns {Record<string, string>} */
    function results(entry, right) {
      const points = (/** @type {number} */ x) => `${fmt(x, 2)} points`;
      // The ceiling holds for all sentences, and 600 of them stray from it by more than there may be left to find.
      const gap = entry && run?.exact ? Math.max(0, entry.ceiling - run.exact.accuracy) : NaN;
      return {
        lost: entry ? points(100 - entry.ceiling) : "…",
        missed: Number.isFinite(gap) ? points(gap) : Number.isFinite(right) ? "…" : "–",
        price: entry ? `${fmt(entry.pairs, 2)} pairs a word` : "…",
      };
    }

    /** Show two places that look alike and want different tags. */
    function confuse() {
      const found = known.get(named(design))?.confusion;
      confused.hidden = !found;
      if (!found) return;
      const [one, other] = found.alike;
      const words = (/** @type {{ words: number[], place: number }} */ { words, place }) => words.flatMap((word, i) => [i ? " " : "", i === place ? h("b", {}, WORDS[word]) : WORDS[word]]);
      const same = one.place === other.place && one.words.join() === other.words.join();
      confused.replaceChildren(
        h("span", {}, "Loses most: ", h("b", {}, WORDS[found.word]), `, ${fmt(100 * found.lost, 2)} points. ${same ? "One sentence with two tags:" : "Two places look alike here:"} `),
        h("span", {}, "“", ...words(one), `” ${TAGS[one.tag]}${same ? " or " : ", "}`, ...(same ? [] : ["“", ...words(other), "” "]), TAGS[other.tag]),
      );
    }

    /** @param {Entry | null} entry @param {number} right */
    function rowsOf(entry, right) {
      return [
        ["sees", worded(design)],
        ["ceiling", entry ? `${fmt(entry.ceiling, 4)} %` : "…"],
        ["lost by the view", entry ? fmt(100 - entry.ceiling, 4) : "…"],
        ["right after training", run?.exact ? `${fmt(run.exact.accuracy, 2)} %` : Number.isFinite(right) ? `${fmt(right, 1)} % on 600 sentences` : "–"],
        ["steps", String(run?.model.steps ?? 0)],
        ["pairs a word", entry ? fmt(entry.pairs, 3) : "…"],
        ["bytes held", entry ? String(entry.bytes) : "…"],
        ["words waited for", entry ? String(entry.wait) : "…"],
      ];
    }

    /** The state in words. @param {Entry} entry @param {number} right */
    function sentence(entry, right) {
      const got = run?.exact ? ` Training has found ${fmt(run.exact.accuracy, 2)} % in ${run.model.steps.toLocaleString("en")} steps.` : Number.isFinite(right) ? ` Training is at ${fmt(right, 1)} %, on 600 sentences.` : "";
      const news = run?.diverged ? ` The training ${run.diverged}` : "";
      return `Each word sees ${worded(design)}: at best ${fmt(entry.ceiling, 2)} % right.${got}${news}`;
    }

    function list_tried() {
      const all = [...entries].sort((a, b) => a.pairs - b.pairs || b.ceiling - a.ceiling);
      tried.replaceChildren(
        table("tried", ["sees", "ceiling", "trained", "pairs", "bytes", "open it"], all.map((one) => [
          (one.name ? `${one.name}: ` : "") + worded(one.design), `${fmt(one.ceiling, 2)} %`, one.trained ? `${fmt(one.trained, 2)} %` : "–", fmt(one.pairs, 2), String(one.bytes),
          h("td", {}, button("show", "Show", () => set(structuredClone(one.design)), { "aria-label": `Show ${worded(one.design)}` })),
        ])),
      );
    }

    /** @param {number[]} cells how large they are, of one layer and of two */
    function drawMask(cells) {
      const n = SENTENCE.length;
      const [cell, left, top] = [cells[design.layers.length - 1], 44, 2];
      const [block, wide] = [n * cell + 8, left + n * cell];
      mask.setAttribute("viewBox", `0 0 ${wide} ${block * design.layers.length}`);
      mask.style.width = `${wide}px`;
      mask.replaceChildren(...masks(design).flatMap((layer, l) => layer[n].flatMap((seen, i) => [
        s("text", { x: left - 5, y: top + l * block + (i + 0.5) * cell + 3.5, "text-anchor": "end", "font-size": 11.5, fill: "var(--fig-quiet)" }, SENTENCE[i]),
        ...Array.from({ length: n }, (_, j) => s("rect", {
          x: left + j * cell, y: top + l * block + i * cell, width: cell - 1.5, height: cell - 1.5, rx: 2,
          fill: seen.includes(j) ? `var(--fig-${i === j ? "query" : "key"})` : "var(--fig-line)", "fill-opacity": seen.includes(j) ? 1 : 0.5,
        })),
      ])));
      const words = masks(design).map((layer, l) => `${design.layers.length > 1 ? `Layer ${l + 1}: ` : ""}${layer[n].map((seen, i) => `${SENTENCE[i]} sees ${seen.filter((j) => j !== i).map((j) => SENTENCE[j]).join(", ") || "itself only"}`).join("; ")}`);
      mask.setAttribute("aria-label", `Who sees whom in “${SENTENCE.join(" ")}”. ${words.join(". ")}.`);
    }

    /** Show the step of the first visit that is next, if there is one. */
    function lead() {
      while (!guided && stage < STEPS.length && STEPS[stage].done(design, going || run !== null)) stage += 1;
      const end = stage === STEPS.length - 1;
      const left = dismiss.hidden;
      guide.hidden = guided && !end && !left;
      if (guide.hidden || left) return;
      // Whoever trains has been led through. What is said last stays, so that nothing moves under the hand.
      guided = end;
      onward.hidden = stage !== 1;
      dismiss.textContent = end ? "Close" : "Skip";
      const words = end ? STEPS[stage].text : `${stage + 1} of ${STEPS.length - 1}. ${STEPS[stage].text}`;
      if (said.textContent !== words) said.textContent = words;
    }

    function next() {
      stage += 1;
      update();
      train.focus({ preventScroll: true });
    }

    /** Whoever pressed a button that goes is led on, and nothing moves under the hand. */
    function leave() {
      [guided, stage] = [true, 0];
      keep();
      guide.style.minHeight = `${guide.getBoundingClientRect().height}px`;
      onward.hidden = dismiss.hidden = true;
      said.textContent = LEFT;
      update();
      /** @type {HTMLElement | null} */ (body.querySelector('[data-part="offset"][tabindex="0"]'))?.focus();
    }

    function take() {
      const { found, wrong } = links(area.value);
      due.push(...found.filter(({ design }) => !known.has(named(design))));
      for (const { design: one, name } of found) {
        const entry = entryOf(one, name);
        if (entry) entries = add(entries, entry);
      }
      refused.hidden = !wrong.length;
      refused.textContent = wrong.join(" ");
      if (!wrong.length) area.value = "";
      keep();
      draw(true);
      wake();
    }

    function forget() {
      [entries, done, guided, stage] = [[], [], false, 0];
      keep();
      const entry = entryOf(design);
      if (entry) entries = [entry];
      draw(true);
    }

    function keep() {
      store(KEPT, { entries, done, guided });
    }

    /** @returns {string} */
    function pytorch() {
      const { layers, nearest } = design;
      const tuple = (/** @type {(number | string)[]} */ all) => `(${all.join(", ")}${all.length === 1 ? "," : ""})`;
      const trained = run && run.model.steps ? `
training.load(tagger, """${packed(run.model.values)}""")  # the page's weights after ${run.model.steps} steps
print(f"trained: {100 * expected_accuracy(tagger):.2f} % of all words right")
` : "";
      const mixed = design.mix === "mean" ? "out = seen.float() / seen.sum(-1, keepdim=True) @ v" : "out = F.scaled_dot_product_attention(q, k, v, attn_mask=seen)";
      return `import torch
import torch.nn.functional as F


def mask(n, offsets, nearest=0):
    """Who sees whom among n words: (n, n), True = may attend."""
    offset = torch.arange(n) - torch.arange(n)[:, None]
    seen = torch.isin(offset, torch.tensor([0, *offsets]))
    if nearest:  # of two that are equally near, the one before
        far = (2 * offset.abs() + (offset > 0)).masked_fill(~seen, 4 * n)
        seen &= far.argsort(-1).argsort(-1) < nearest
    return seen


layers = ${tuple(layers.map(tuple))}
for offsets in layers:
    q, k, v = torch.randn(3, 8, ${D_MODEL})${design.told ? "  # RoPE turns q and k" : ""}
    seen = mask(8, offsets, nearest=${nearest})
    ${mixed}  # (8, ${D_MODEL})
    print(seen.int())

# From here on with the book's package: its tagger, and what any model can reach.
from attnbook.tagging import views
from attnbook.tagging.training import expected_accuracy
from attnbook.widgets import training

design = views.Design(layers, told=${design.told ? "True" : "False"}, nearest=${nearest}, mix="${design.mix}")
assert all(mask(8, one, ${nearest}).equal(design.mask(8, at)) for at, one in enumerate(layers))
print(f"ceiling: {100 * float(views.ceiling(design)):.2f} %, {float(views.pairs(design)):.2f} pairs a word")
# The page's random weights. To train them as the page does:
# training.train(tagger, ${model.get("seed")}, steps=1000, lr=${DEFAULTS.rate}, batch_size=${DEFAULTS.batch})
tagger = training.build(${model.get("seed")}, **design.tagger_choices())
${trained || `print(f"untrained: {100 * expected_accuracy(tagger):.2f} % of all words right")
`}`;
    }

    /** The design by name, its numbers, the plane and the mask. */
    function svg() {
      const entry = entryOf(design);
      const now = run && (run.exact ?? run.curve[run.curve.length - 1]);
      const box = (/** @type {any} */ one) => one.viewBox.baseVal;
      const [plane, sight] = [box(drawing.svg), box(mask)];
      const wide = Math.max(plane.width, sight.width, 400);
      const lines = worded(design).split(" ").reduce((/** @type {string[]} */ all, word) => {
        const last = all[all.length - 1];
        return last && (last.length + word.length) * 10.5 < wide ? [...all.slice(0, -1), `${last} ${word}`] : [...all, word];
      }, []);
      const numbers = rowsOf(entry, now && run?.model.steps ? now.accuracy : NaN).slice(1).map((row) => row.join(": "));
      const write = (/** @type {string} */ words, /** @type {number} */ y, look = {}) => s("text", { x: 2, y, "font-size": 13, fill: "var(--fig-ink)", ...look }, words);
      const top = 20 * lines.length + 18 * numbers.length + 14;
      const at = (/** @type {number} */ y, /** @type {any} */ one) => s("g", { transform: `translate(0 ${y})` }, ...[...one.childNodes].map((child) => child.cloneNode(true)));
      return standalone(s("svg", { viewBox: `0 0 ${wide} ${top + plane.height + sight.height + 12}` },
        ...lines.map((words, i) => write(words, 18 + 20 * i, { "font-size": 16, "font-weight": 700 })),
        ...numbers.map((words, i) => write(words, 20 * lines.length + 18 + 18 * i)),
        at(top, drawing.svg), at(top + plane.height + 8, mask),
      ));
    }

    return { update, pytorch, svg };
  },
});
