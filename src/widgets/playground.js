// The playground: train attention on the toy grammar in the page, from random weights, against exact ceilings.
//
// For tests (data-part): choice (selects, data-run A or B, data-name), train, step, restart, seed, beside (buttons), progress,
// curves (svg; data-curve, data-ceiling), sentence (input), unknown, example (buttons), heads (svg), tags (table), numbers (table),
// confusion (table), weights (table), challenge (list items, data-id), forget (button), status, reset, link, pytorch, svg.
import css from "./ui/playground.css";
import { labelled } from "./ui/controls.js";
import { drawCurves, drawHeads, eachWeight, LOOKS } from "./ui/curves.js";
import { fmt, h, s, standalone } from "./ui/dom.js";
import { figure } from "./ui/frame.js";
import { strip, table } from "./ui/tables.js";
import { CHALLENGES, met } from "./math/challenges.js";
import { LONGEST, posterior, TAGS, WORDS } from "./math/grammar.js";
import { checked, DEFAULTS, exactly, LAST, numbered, OFFERED, start, view, CEILINGS } from "./math/playground.js";
import { forward } from "./math/train.js";

/** @typedef {import("./math/playground.js").Run} Run */
/** @typedef {import("./math/playground.js").Choices} Choices */

const NAMES = ["A", "B"];
const KEYS = ["a", "b"];
const EXAMPLES = ["I saw a saw", "that duck can fish", "you can watch that old saw", "they left"];
/** Milliseconds that it works before it lets the page have its turn: half a frame. */
const SLICE = 7;
/** Milliseconds between two drawings, and between two sentences said to screen readers. */
const [DRAW, CALM, SPEAK] = [100, 1000, 5000];
const KEPT = "attnlab-playground";
/** @type {Record<string, [string, Record<string, string>]>} what a choice is called, and its values where they have other names */
const CALLED = {
  context: ["context", { alone: "own word", mean: "average", attention: "attention", "causal attention": "causal attention" }],
  positions: ["positions", { sinusoidal: "sinusoids", rotary: "RoPE", alibi: "ALiBi" }],
  n_heads: ["heads", {}],
  d_model: ["width", {}],
  n_layers: ["layers", {}],
  divide: ["divide q·k by", { root: "√d", width: "d", nothing: "nothing" }],
  residual: ["residual", { true: "on", false: "off" }],
  rate: ["learning rate", {}],
  batch: ["batch", {}],
};
/** What is shown of the errors: words with more than one tag, and each of their tags. */
const CONFUSED = ["can/AUX", "can/NOUN", "can/VERB", "saw/NOUN", "saw/VERB", "that/DET", "that/PRON"];
/** These change nothing unless words attend. */
const INSIDE = ["n_heads", "divide"];
/** These may change while a run goes on. */
const LIVE = ["rate", "batch"];

export default figure({
  name: "playground",
  css,
  title: "Playground",
  keys: ["a", "b", "seed", "text"],
  undo: "nothing", // trained weights are no part of its state
  setup({ model, body, say, set, signal, place }) {
    /** @type {Run[]} */
    let runs = [];
    let [seed, going, goal, fresh, seen, spoken, drew] = [-1, false, Infinity, true, true, 0, 0];
    /** @type {{ run: Run, count: Generator<number>, share: number } | null} */
    let counting = null;
    /** @type {{ words: number[], best: number[][] | null, problem: string }} */
    let sentence = { words: [], best: null, problem: "" };
    /** @type {{ shape: string, show: ((layers: Float64Array[]) => void)[] }} */
    let heads = { shape: "", show: [] };
    let done = kept();
    const calm = matchMedia("(prefers-reduced-motion: reduce)");

    const button = (/** @type {string} */ part, /** @type {string} */ text, /** @type {() => void} */ click, props = {}) => h("button", { type: "button", "data-part": part, ...props, on: { click } }, text);
    const choices = h("tbody");
    const head = h("tr");
    const train = button("train", "Train", toggle, { class: "attnlab-go" });
    const beside = button("beside", "", () => set({ b: model.get("b") ? null : { ...runs[0].choices } }));
    const progress = h("progress", { max: 1, value: 0, "data-part": "progress", "aria-label": "Sentences counted", hidden: true });
    const curves = s("svg", { role: "img", "data-part": "curves", style: "display: block; width: 100%; height: auto" });
    const input = h("input", { type: "text", "aria-label": "A sentence of the grammar’s words", "data-part": "sentence", autocomplete: "off", spellcheck: "false", on: { input: () => set({ text: input.value }) } });
    const unknown = h("p", { class: "attnlab-error", role: "status", "data-part": "unknown", hidden: true });
    const examples = h("div", { class: "attnlab-choices" }, ...EXAMPLES.map((text) => button("example", text, () => set({ text }))));
    const tries = labelled("Try", examples);
    tries.classList.add("attnlab-examples");
    const looks = h("div", { class: "attnlab-pair", "data-part": "heads" });
    const [tags, numbers, confusion, weights] = ["The tags of the sentence", "Numbers of the runs", "Words with more than one tag", "What each head looks at"].map(strip);
    const fold = h("details", {}, h("summary", {}, "What the heads look at, as a table"), weights);
    const list = h("ul", { class: "attnlab-challenges" }, ...CHALLENGES.map(({ id, text }) => h("li", { "data-part": "challenge", "data-id": id }, text)));
    const tally = h("summary");
    body.append(
      h(
        "div",
        { class: "attnlab-play" },
        h(
          "div",
          {},
          h("table", { class: "attnlab-set" }, h("thead", {}, head), choices),
          h("div", { class: "attnlab-go-row" }, train, button("step", "Step", () => go(steps() + 1)), beside),
          h(
            "div",
            { class: "attnlab-go-row" },
            button("restart", "Restart", () => restart()),
            button("seed", "Another seed", () => set({ seed: Number(model.get("seed")) + 1 })),
          ),
          progress,
        ),
        h("div", {}, curves),
      ),
      h("div", { class: "attnlab-pair" }, numbers, confusion),
      labelled("Sentence", input),
      tries,
      unknown,
      tags,
      looks,
      fold,
      h("details", { open: true }, tally, list, h("p", { class: "attnlab-note" }, "What you have found is kept in this browser only. ", button("forget", "Forget it", forget))),
    );
    fold.addEventListener("toggle", draw);
    const resized = new ResizeObserver(() => draw());
    resized.observe(body);
    const watcher = new IntersectionObserver(([entry]) => {
      seen = entry.isIntersecting;
      wake();
    });
    watcher.observe(body);
    // Reset means random weights too, whatever the state was before.
    body.parentElement?.addEventListener("click", (event) => (fresh ||= Boolean(/** @type {Element} */ (event.target).closest('[data-part="reset"]'))), { capture: true, signal });
    document.addEventListener("visibilitychange", wake, { signal });
    signal.addEventListener("abort", () => {
      resized.disconnect();
      watcher.disconnect();
      turns.port1.close();
    });

    // A message to itself comes back behind whatever else the page has to do, and without the pause of a timer.
    const turns = new MessageChannel();
    turns.port1.onmessage = work;
    let waiting = false;

    /** Work in the next turn, as long as there is something to do and somebody to see it. */
    function wake() {
      if (waiting || !seen || document.hidden || !(going || counting)) return;
      waiting = true;
      turns.port2.postMessage(0);
    }

    function work() {
      waiting = false;
      const until = performance.now() + SLICE;
      while ((going || counting) && performance.now() < until) {
        if (going) advance();
        else count();
      }
      if (performance.now() - drew > (calm.matches ? CALM : DRAW)) draw();
      wake();
    }

    const steps = () => Math.min(...runs.map((run) => run.model.steps));

    /** A piece of work for the run that is behind: two runs go step by step. */
    function advance() {
      const able = runs.filter((run) => !run.diverged && run.model.steps < Math.min(goal, LAST + 1));
      const run = able.reduce((a, b) => (b.model.steps < a.model.steps ? b : a), able[0]);
      if (!run || run.work.next().done) if (!run || able.length < 2) pause();
    }

    function count() {
      if (!counting) return;
      const next = counting.count.next();
      counting.share = Number(next.value ?? 1);
      if (!next.done) return;
      counting = null;
      countNext();
      draw();
    }

    /** Count the next run over the whole grammar, or be done. */
    function countNext() {
      const run = runs.find(({ exact, model: { steps } }) => !exact && steps > 0);
      if (run) counting = { run, count: exactly(run), share: 0 };
      else settle();
    }

    function toggle() {
      // Who is a step behind may catch up: both stop at the same one.
      if (going) goal = Math.max(...runs.map((run) => run.model.steps));
      else go(Infinity);
    }

    /** @param {number} to */
    function go(to) {
      if (runs.every((run) => run.diverged || run.model.steps >= LAST)) return say(runs[0].diverged ? `Run A ${runs[0].diverged} Restart it with a smaller one.` : "The axis ends here. Restart, or choose something else.");
      [going, goal, counting, spoken] = [true, to, null, performance.now()];
      train.textContent = "Pause";
      wake();
    }

    function pause() {
      going = false;
      train.textContent = "Train";
      countNext();
      draw();
    }

    function restart() {
      fresh = true;
      update();
    }

    /** Both runs stand still and are counted: give Python the weights, see what was found out. */
    function settle() {
      KEYS.forEach((key, i) => {
        const run = runs[i];
        model.set(`steps_${key}`, run ? run.model.steps : 0);
        model.set(`weights_${key}`, new DataView(run ? run.model.values.slice().buffer : new ArrayBuffer(0)));
      });
      model.save_changes();
      const wrong = runs.map((run) => Boolean(sentence.best) && given(run).some((tag, i) => tag !== top(sentence.best?.[i] ?? [])));
      const found = met(runs, wrong).filter((id) => !done.includes(id));
      if (found.length) keep([...done, ...found]);
      speak(found);
    }

    /** What a run makes of the sentence. @param {Run} run */
    function given(run) {
      const { value, columns } = forward(run.model, [sentence.words]).scores;
      return sentence.words.map((_, i) => top([...value.subarray(i * columns, (i + 1) * columns)]));
    }

    function update() {
      const wanted = [checked(model.get("a"), "A"), ...(model.get("b") ? [checked(model.get("b"), "B")] : [])];
      const number = Number(model.get("seed"));
      if (!Number.isInteger(number) || number < 0 || number > 1e6) throw new Error(`seed must be a whole number from 0 to 1,000,000, got ${model.get("seed")}.`);
      const kind = (/** @type {Choices[]} */ all) => JSON.stringify(all.map((one) => ({ ...one, rate: 0, batch: 0 })));
      if (fresh || number !== seed || kind(wanted) !== kind(runs.map((run) => run.choices))) {
        [fresh, seed, going, counting, heads.shape] = [false, number, false, null, ""];
        train.textContent = "Train";
        runs = wanted.map((one) => start(one, seed));
        offer();
      } else if (JSON.stringify(wanted) !== JSON.stringify(runs.map((run) => run.choices))) {
        runs.forEach((run, i) => {
          run.choices = wanted[i];
          run.rates += 1;
        });
        offer();
      }
      read();
      draw();
      if (!going && !counting) {
        if (runs.some(({ exact }) => exact)) settle();
        else speak([]);
      }
    }

    function read() {
      const text = String(model.get("text") ?? "");
      if (input.value !== text) input.value = text;
      try {
        const words = numbered(text, LONGEST);
        sentence = { words, best: posterior(words), problem: "" };
      } catch (error) {
        sentence = { words: [], best: null, problem: /** @type {Error} */ (error).message };
      }
      unknown.hidden = !sentence.problem;
      if (unknown.textContent !== sentence.problem) unknown.textContent = sentence.problem;
    }

    /** The choices: a row each, a column a run. */
    function offer() {
      const focused = /** @type {HTMLElement | null} */ (choices.querySelector(":focus"))?.id;
      beside.textContent = runs.length > 1 ? "Only run A" : "Add a second run";
      head.replaceChildren(h("td"), ...runs.map((_, i) => h("th", { scope: "col", style: `color: var(--fig-${LOOKS[i].role}); font-weight: 700` }, `${NAMES[i]} ${i ? "┄" : "━"}`)));
      choices.replaceChildren(
        ...Object.entries(CALLED).map(([name, [title, called]]) =>
          h(
            "tr",
            {},
            h("th", { scope: "row" }, title),
            ...runs.map((run, i) => {
              const own = /** @type {any} */ (run.choices)[name];
              const attends = run.choices.context.endsWith("attention");
              const values = OFFERED[name].includes(own) ? OFFERED[name] : [...OFFERED[name], own];
              const select = h(
                "select",
                {
                  id: `attnlab-choice-${NAMES[i]}-${name}`, "data-part": "choice", "data-run": NAMES[i], "data-name": name, "aria-label": `${title}, run ${NAMES[i]}`,
                  disabled: INSIDE.includes(name) && !attends,
                  on: { change: () => choose(i, name, values[select.selectedIndex]) },
                },
                ...values.map((value) =>
                  h("option", { selected: value === own, disabled: name === "positions" && ["rotary", "alibi"].includes(value) && !attends }, called[String(value)] ?? String(value)),
                ),
              );
              return h("td", {}, select);
            }),
          ),
        ),
      );
      if (focused) /** @type {HTMLElement | null} */ (choices.querySelector(`#${focused}`))?.focus();
    }

    /**
     * @param {number} which
     * @param {string} name
     * @param {any} value
     */
    function choose(which, name, value) {
      const next = { ...runs[which].choices, [name]: value };
      if (!next.context.endsWith("attention") && ["rotary", "alibi"].includes(next.positions)) next.positions = "none";
      set({ [KEYS[which]]: next });
      if (!LIVE.includes(name)) say(`Run ${NAMES[which]}: ${CALLED[name][0]} ${CALLED[name][1][String(value)] ?? value}. Random weights again: press Train.`);
    }

    function draw() {
      if (!runs.length) return;
      drew = performance.now();
      const wide = Math.round(curves.parentElement?.clientWidth || 640);
      const { drawn, high } = drawCurves({ wide: Math.max(wide, 250), runs, names: NAMES });
      curves.setAttribute("viewBox", `0 0 ${Math.max(wide, 250)} ${high}`);
      curves.replaceChildren(...drawn);
      curves.setAttribute("aria-label", `Curves of training. ${runs.map(sentenceOf).join(" ")}`);
      progress.hidden = !counting;
      if (counting) progress.value = counting.share;
      drawTables();
      drawSentence();
      tally.textContent = `${CHALLENGES.length} things to find out: ${done.length} found`;
      for (const item of list.children) item.classList.toggle("is-met", done.includes(/** @type {HTMLElement} */ (item).dataset.id ?? ""));
      if (going && performance.now() - spoken > SPEAK) speak([]);
    }

    function drawTables() {
      // Before training there is nothing to read: to measure is work too, and the first piece of it.
      const sampled = runs.map(({ curve }) => curve.findLast(({ error }) => error > 0));
      const readings = runs.map((run, i) => run.exact ?? sampled[i]);
      const row = (/** @type {string} */ name, /** @type {(run: Run, i: number) => string} */ what) => [name, ...runs.map(what)];
      const named = NAMES.slice(0, runs.length);
      numbers.replaceChildren(
        table("numbers", ["run", ...named], [
          row("steps", ({ model: { steps } }) => String(steps)),
          row("right on a sample", (_, i) => (sampled[i] ? `${fmt(sampled[i].accuracy, 1)} ± ${fmt(sampled[i].error, 1)} %` : "–")),
          row("right, exactly", ({ exact }) => (exact ? `${fmt(exact.accuracy, 2)} %` : "when paused")),
          row("its ceiling", ({ choices, model: { steps } }) => (steps ? `${fmt(CEILINGS[view(choices)].accuracy, 2)} %` : "–")),
          row("loss", (_, i) => (readings[i] ? fmt(readings[i].loss, 3) : "–")),
          row("gradient at the queries", (run) => (run.model.steps && run.choices.context.endsWith("attention") ? run.gradient.toExponential(1) : "–")),
          row("numbers learned", ({ model: { values } }) => values.length.toLocaleString("en")),
        ]),
      );
      confusion.replaceChildren(
        table("confusion", ["the word, as", ...named], CONFUSED.map((key) => [
          key.replace("/", ", "),
          ...readings.map((reading) => {
            const counts = reading?.guesses.get(key);
            if (!counts) return "–";
            const all = counts.reduce((a, b) => a + b, 0);
            const right = TAGS.indexOf(key.split("/")[1]);
            const others = counts.map((count, tag) => ({ tag, share: tag === right ? 0 : count / all })).sort((a, b) => b.share - a.share);
            return `${fmt((100 * counts[right]) / all, 0)} %${others[0].share >= 0.005 ? ` (${TAGS[others[0].tag]} ${fmt(100 * others[0].share, 0)} %)` : ""}`;
          }),
        ]), { caption: "Right, and taken for what" }),
      );
    }

    function drawSentence() {
      const words = sentence.words.map((i) => WORDS[i]);
      const attends = runs.filter((run) => run.choices.context.endsWith("attention"));
      const wide = Math.round(looks.clientWidth || 640);
      const shape = JSON.stringify([words, wide, runs.map(({ choices: { context, n_heads, n_layers } }) => [context, n_heads, n_layers])]);
      if (!words.length) {
        [tags, looks, weights].forEach((el) => el.replaceChildren());
        heads.shape = "";
        return;
      }
      const passes = runs.map((run) => {
        const pass = forward(run.model, [sentence.words]);
        const { value, columns } = pass.scores;
        return { weights: pass.weights.map((one) => one.slice()), tags: words.map((_, i) => top([...value.subarray(i * columns, (i + 1) * columns)])) };
      });
      const { best } = sentence;
      tags.replaceChildren(
        table("tags", ["word", ...words], [
          ["best possible", ...words.map((_, i) => (best ? TAGS[top(best[i])] : "–"))],
          ...runs.map((_, r) => [`run ${NAMES[r]}`, ...passes[r].tags.map((tag, i) => TAGS[tag] + (best ? (tag === top(best[i]) ? " ✓" : " ✗") : ""))]),
        ], best ? {} : { caption: "The grammar never says this sentence: no tag is right or wrong." }),
      );
      if (heads.shape !== shape) {
        heads = { shape, show: [] };
        looks.classList.toggle("is-one", attends.length < 2);
        const room = wide > 760 && attends.length > 1 ? wide / 2 - 14 : wide;
        looks.replaceChildren(
          ...runs.flatMap((run, i) => {
            if (!attends.includes(run)) return [];
            const { svg, show } = drawHeads({ wide: room, words, layers: passes[i].weights, heads: run.choices.n_heads, role: LOOKS[i].role });
            heads.show[i] = show;
            svg.setAttribute("aria-label", `Run ${NAMES[i]}: what each head looks at; the numbers are in the table below`);
            return [h("div", {}, runs.length > 1 ? h("p", { class: "attnlab-label" }, `Run ${NAMES[i]}: a row is the word that looks, a column what it looks at`) : h("p", { class: "attnlab-label" }, "A row is the word that looks, a column what it looks at"), svg)];
          }),
        );
      }
      passes.forEach((pass, i) => heads.show[i]?.(pass.weights));
      if (!fold.open) return;
      const rows = /** @type {string[][]} */ ([]);
      passes.forEach((pass, r) =>
        pass.weights.forEach((layer, l) => {
          const n = words.length;
          const of = runs[r].choices.n_heads;
          const lines = Array.from({ length: of * n }, (_, at) => [`${NAMES[r]} ${l + 1}.${Math.floor(at / n) + 1} ${words[at % n]}`, ...words.map(() => "")]);
          eachWeight(layer, n, of, (weight, i, head, j) => (lines[head * n + i][j + 1] = fmt(weight)));
          rows.push(...lines);
        }),
      );
      weights.replaceChildren(table("weights", ["run, layer.head, word", ...words], rows));
    }

    /** A run in words. @param {Run} run @param {number} i */
    function sentenceOf(run, i) {
      const now = run.exact ?? run.curve[run.curve.length - 1];
      if (!now) return `Run ${NAMES[i]}: random weights.`;
      const ceiling = `its ceiling, ${view(run.choices)}, is ${fmt(CEILINGS[view(run.choices)].accuracy, 1)} %`;
      if (run.diverged) return `Run ${NAMES[i]} ${run.diverged}`;
      return `Run ${NAMES[i]}, step ${run.model.steps}: ${run.exact ? `${fmt(now.accuracy, 2)} % of all words right, exactly` : `about ${fmt(now.accuracy, 1)} % right`}; ${ceiling}.`;
    }

    /** @param {string[]} found ids of challenges met just now */
    function speak(found) {
      spoken = performance.now();
      const news = found.map((id) => `Found: ${CHALLENGES.find((one) => one.id === id)?.text}`);
      say([...news, ...runs.map(sentenceOf), ...(counting ? ["Counting all 61,242 sentences."] : [])].join(" "));
      if (found.length) draw();
    }

    function kept() {
      try {
        const ids = JSON.parse(localStorage.getItem(KEPT) ?? "[]");
        return CHALLENGES.map(({ id }) => id).filter((id) => Array.isArray(ids) && ids.includes(id));
      } catch {
        return []; // no storage here, or something else in it
      }
    }

    /** @param {string[]} ids */
    function keep(ids) {
      done = ids;
      try {
        localStorage.setItem(KEPT, JSON.stringify(ids));
      } catch {
        // A browser that keeps nothing: they are known as long as the page is open.
      }
    }

    function forget() {
      keep([]);
      draw();
    }

    /** @returns {string} */
    function pytorch() {
      const parts = runs.map((run, i) => {
        const { rate, batch, ...choices } = run.choices;
        const given = Object.entries(choices).map(([key, value]) => `${key}=${typeof value === "string" ? `"${value}"` : value === true ? "True" : value === false ? "False" : value}`);
        const steps = run.model.steps;
        const same = run.rates > 1 ? "# Its rate or batch was changed on the way, so only the weights lead here." : `# The same training, here: training.train(tagger, ${seed}, steps=${steps}, lr=${rate}, batch_size=${batch})`;
        return `# Run ${NAMES[i]}
tagger = training.build(${seed}, ${given.join(", ")})  # the page's random weights
${same}
training.load(tagger, """${base64(run.model.values)}""")  # the page's weights after ${steps} steps
print(f"run ${NAMES[i]}, step ${steps}: {100 * expected_accuracy(tagger):.2f} % of all words right")
`;
      });
      return `from attnlab.tagging.training import expected_accuracy
from attnlab.widgets import training

${parts.join("\n")}`;
    }

    return { update, pytorch, svg: () => standalone(curves) };
  },
});

/** Where the largest number is. @param {number[]} row */
const top = (row) => row.indexOf(Math.max(...row));

/** In single precision, as text. @param {Float64Array} values */
function base64(values) {
  const bytes = new Uint8Array(Float32Array.from(values).buffer);
  let text = "";
  for (let from = 0; from < bytes.length; from += 8192) text += String.fromCharCode(...bytes.subarray(from, from + 8192));
  return btoa(text);
}
