// The playground: train attention on the toy grammar in the page, from random weights, against exact ceilings. Where the page
// wants that and nothing else (`only`), it says what the runs are made of and offers no other. It begins with the curve of the
// plainest tagger, in grey: what will come is in sight, and no answer.
//
// For tests (data-part): told (what the runs are made of), settings (button), choice (selects, data-run A or B, data-name), beside, train, step, restart, seed (buttons),
// steps, target (where the run stood of which a link was sent), progress, curves (svg; data-curve, data-ceiling, ceiling (texts), data-letter), sentence (input), unknown, examples (select), head (choices), looks (svgs),
// heard (what is said of a run that goes on), opens (buttons, data-opens; data-part panel), challenge (list items, data-id), forget (button), confusion, gradient, numbers, tags,
// weights (tables and svg), status, reset, link, pytorch, svg.
import shared from "./ui/train.css";
import own from "./ui/playground.css";
import tagged from "./ui/tags.css";
import { CALLED, chosen } from "./ui/chosen.js";
import { curves, LOOKS } from "./ui/curves.js";
import { choices, fmt, h, onResize, select, standalone } from "./ui/dom.js";
import { figure } from "./ui/frame.js";
import { keep as store, recalled } from "./ui/kept.js";
import { called, looks, margin, NAMED, square } from "./ui/looks.js";
import { PANELS, panels } from "./ui/panels.js";
import { kind, NAMES as TAGGED } from "./ui/tags.js";
import { turns } from "./ui/turns.js";
import { CHALLENGES, met } from "./math/challenges.js";
import { LONGEST, posterior, TAGS, WORDS } from "./math/grammar.js";
import { CEILINGS, checked, exactly, LAST, look, numbered, packed, seen, sentAt, start, trained, view } from "./math/playground.js";
import { STORED } from "./math/stored.js";
import { forward } from "./math/train.js";

/** @typedef {import("./math/playground.js").Run} Run */
/** @typedef {import("./math/playground.js").Choices} Choices */

const NAMES = ["A", "B"];
const KEYS = ["a", "b"];
const EXAMPLES = ["I saw a saw", "that duck can fish", "you can watch that old saw", "they left", "that can saw a saw"];
/** Milliseconds between two drawings, and between two sentences said to screen readers. */
const [DRAW, CALM, SPEAK] = [100, 1000, 5000];
/** Where drawing is slow it gets one part in so many of the time; training has the others. */
const DRAWING = 4;
const KEPT = "attnlab-playground";
/** What is said where no word looks at another. */
const HEARS = /** @type {Record<string, string>} */ ({ alone: "hears no other word", mean: "hears the mean of all words" });
/** Under this width one thing stands below the other. */
const NARROW = 560;
/** How high the curves are and what the words of a drawing share, for one run and for two: on a phone, and where there is room. */
const HIGH = [{ curves: [132, 132], words: [140, 122] }, { curves: [226, 264], words: [200, 128] }];
/** Where no sentence is asked for, this much more. */
const ROOM = 14;
/** Squares of two runs stand beside each other from this width on, so far apart. */
const [BESIDE, SPACE] = [10.5, 10];
/** These may change while a run goes on. */
const LIVE = ["rate", "batch"];
/** Up to here a step waits for a frame: the first hundred would be over before one has looked. */
const GENTLE = 60;

export default figure({
  name: "playground",
  css: tagged + shared + own,
  title: "Playground",
  keys: ["a", "b", "seed", "text", "panel"],
  undo: "nothing", // trained weights are no part of its state
  setup({ model, body, say, set, signal, place }) {
    /** @type {Run[]} */
    let runs = [];
    /** @type {import("./ui/curves.js").Ghost[]} those before the last new beginning: their curves stay, in grey, to compare with */
    let ghosts = [];
    let [seed, going, goal, fresh, spoken, drew, took, offered] = [-1, false, Infinity, true, 0, 0, 0, ""];
    /** @type {{ run: Run, count: Generator<number | void>, share: number } | null} */
    let counting = null;
    /** @type {{ words: number[], best: number[][] | null, problem: string }} */
    let sentence = { words: [], best: null, problem: "" };
    /** @type {{ shape: string, all: ReturnType<typeof looks>[], picked: number, full: boolean }} */
    const heads = { shape: "", all: [], picked: 0, full: false };
    let done = kept();
    const asked = () => ({ a: model.get("a"), b: model.get("b"), seed: model.get("seed") });
    /** Where the run stood of which a link was sent: the same settings lead there. */
    let there = sentAt(place.shared, asked());
    const away = () => (there && steps() < there.step ? there : null);
    const first = JSON.stringify(asked());
    const only = Boolean(model.get("only"));
    const calm = matchMedia("(prefers-reduced-motion: reduce)");

    const button = (/** @type {string} */ part, /** @type {string} */ text, /** @type {() => void} */ click, props = {}) => h("button", { type: "button", "data-part": part, ...props, on: { click } }, text);
    const settings = chosen({ names: NAMES, choose, only });
    const train = button("train", "Train", toggle, { class: "attnlab-act" });
    const step = button("step", "One step", () => go(steps() + 1));
    const beside = button("beside", "", () => set({ b: runs.length > 1 ? null : { ...runs[0].choices } }));
    // The curves run ahead of what is said: numbers of a run that goes on are only heard.
    const heard = h("p", { class: "is-heard", role: "status", "data-part": "heard" });
    const counter = h("span", { class: "attnlab-steps", "data-part": "steps" });
    // Once it is reached its room stays, so that nothing moves.
    const target = h("span", { class: "attnlab-steps", "data-part": "target", style: "flex: none", hidden: !there });
    const progress = h("progress", { max: 1, value: 0, "data-part": "progress", "aria-label": "Sentences counted", hidden: true });
    const drawing = curves("curves", ["accuracy"]);
    const input = h("input", { type: "text", "aria-label": "A sentence of the grammar’s words", "data-part": "sentence", autocomplete: "off", spellcheck: "false", on: { input: () => set({ text: input.value }) } });
    const unknown = h("p", { class: "attnlab-error", role: "status", "data-part": "unknown", hidden: true });
    const examples = h(
      "select",
      { "data-part": "examples", "aria-label": "Example sentences", on: { change: take } },
      ...["Examples", ...EXAMPLES].map((text) => h("option", {}, text)),
    );
    const legend = h("span", { class: "attnlab-label" });
    const picker = h("div", { class: "attnlab-row attnlab-pick" });
    const sight = h("div", { class: "attnlab-pair", "data-part": "looks" });
    const below = panels({ names: NAMES, open: (name) => set({ panel: name === model.get("panel") ? "" : name }), forget });
    settings.el.append(
      h(
        "div",
        { class: "attnlab-go-row" },
        button("restart", "Back to step 0", () => restart()),
        button("seed", "Another seed", () => set({ seed: Number(model.get("seed")) + 1 })),
      ),
    );
    body.append(
      h("div", { class: "attnlab-go-row" }, train, ...(only ? [] : [step, beside]), counter, target, progress),
      ...(only ? [settings.told] : [settings.line, settings.el]),
      h("div", { class: "attnlab-sides" }, h("div", {}, drawing.svg), h("div", {}, only ? "" : h("div", { class: "attnlab-said" }, input, examples), unknown, h("div", { class: "attnlab-row attnlab-pick" }, legend, picker), sight)),
      only ? "" : below.el,
      heard,
    );
    onResize(body, signal, draw);
    // Reset means random weights too, whatever the state was before.
    body.parentElement?.addEventListener("click", (event) => {
      if (!(/** @type {Element} */ (event.target).closest('[data-part="reset"]'))) return;
      [fresh, runs, ghosts] = [true, [], []];
    }, { capture: true, signal });
    const { wake } = turns({ el: body, signal, work, due: () => performance.now() - drew > Math.max(calm.matches ? CALM : DRAW, DRAWING * took), draw });

    /** A piece of the work: training, then counting. */
    function work() {
      const began = steps();
      const gentle = going && goal > steps() + 1 && !calm.matches && began < GENTLE;
      if (going) advance();
      else count();
      if (!going && !counting) return false;
      return gentle && steps() > began ? "frame" : true;
    }

    /** How far they are: who diverged stands still, and holds nobody up. */
    function steps() {
      const able = runs.filter(({ diverged }) => !diverged);
      return Math.min(...(able.length ? able : runs).map((run) => run.model.steps));
    }

    /** A piece of work for the run that is behind: two runs go step by step. */
    function advance() {
      const able = runs.filter((run) => !run.diverged && run.model.steps < Math.min(goal, LAST + 1));
      const run = able.reduce((a, b) => (b.model.steps < a.model.steps ? b : a), able[0]);
      if (run && !run.work.next().done) return;
      if (!run || able.length < 2) pause();
      else say(["Training.", ...runs.map(sentenceOf).filter((_, i) => runs[i].diverged)].join(" ")); // one has stopped, the other goes on
    }

    function count() {
      if (!counting) return;
      const next = counting.count.next();
      counting.share = Number(next.value ?? 0);
      if (!next.done) return;
      counting = null;
      countNext();
      draw();
    }

    /** Count the next run over the whole grammar, or be done. The sample comes first: it is soon known, and what is said then is true of this step. */
    function countNext() {
      const left = runs.filter(({ exact, model: { steps } }) => !exact && steps > 0);
      const unseen = left.find((run) => !seen(run));
      if (!left.length) return settle();
      counting = unseen ? { run: unseen, count: look(unseen), share: 0 } : { run: left[0], count: exactly(left[0]), share: 0 };
      if (!unseen) speak([]);
    }

    function toggle() {
      // Who is a step behind may catch up: both stop at the same one. Who is farther behind stops where it is.
      const most = Math.max(...runs.map((run) => run.model.steps));
      if (going) goal = most - steps() > 1 ? 0 : most;
      else go(away()?.step ?? Infinity);
    }

    /** @param {number} to */
    function go(to) {
      if (runs.every((run) => run.diverged || run.model.steps >= LAST)) return say(only ? "This training has ended. Reset begins it again." : runs[0].diverged ? `Run A ${runs[0].diverged} Go back to step 0, with a smaller one.` : "The axis ends here. Go back to step 0, or choose something else.");
      [going, goal, counting, spoken] = [true, to, null, performance.now()];
      train.textContent = "Pause";
      train.classList.add("is-going");
      say("Training. When you pause, all 61,242 sentences are counted.");
      wake();
    }

    function still() {
      train.textContent = "Train";
      train.classList.remove("is-going");
    }

    function pause() {
      going = false;
      still();
      countNext();
      draw(true);
    }

    /** Take another sentence; what it is stands beside, so the list goes back to its name. */
    function take() {
      const text = EXAMPLES[examples.selectedIndex - 1];
      examples.selectedIndex = 0;
      if (text) set({ text });
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
      const wrong = listen().passes.map(({ tags }) => tags.some((tag) => tag.endsWith("✗")));
      const found = only ? [] : met(runs, wrong).filter((id) => !done.includes(id));
      if (found.length) keep([...done, ...found]);
      speak(found);
    }

    function update() {
      const wanted = [checked(model.get("a"), "A"), ...(model.get("b") ? [checked(model.get("b"), "B")] : [])];
      const number = Number(model.get("seed"));
      if (!Number.isInteger(number) || number < 0 || number > 1e6) throw new Error(`seed must be a whole number from 0 to 1,000,000, got ${model.get("seed")}.`);
      if (JSON.stringify(asked()) !== first) there = null;
      const made = (/** @type {Choices} */ one) => JSON.stringify({ ...one, rate: 0, batch: 0 });
      const panel = String(model.get("panel") ?? "");
      if (panel && !(panel in PANELS)) throw new Error(`panel must be ${Object.keys(PANELS).join(", ")}, or nothing; it is ${JSON.stringify(panel)}.`);
      const anew = fresh || number !== seed;
      [fresh, seed] = [false, number];
      // Who stays as it was keeps what it has learned: another beside it catches up.
      const next = wanted.map((one, i) => (!anew && runs[i] && made(one) === made(runs[i].choices) ? runs[i] : start(one, seed)));
      if (next.length !== runs.length || next.some((run, i) => run !== runs[i])) {
        const over = runs.flatMap((run, i) => (next.includes(run) || !trained(run) ? [] : [{ ...run, was: `${NAMES[i]} before, ${fmt(run.curve[run.curve.length - 1].accuracy, 1)} %` }]));
        if (over.length) ghosts = over;
        else if (!ghosts.some((one) => !one.name)) ghosts = left(wanted, only);
        if (counting && !next.includes(counting.run)) counting = null;
        if (!next.some((run) => runs.includes(run))) {
          going = false;
          still();
        }
        [heads.shape, runs] = ["", next];
      }
      runs.forEach((run, i) => {
        run.rates += Number(run.choices.rate !== wanted[i].rate || run.choices.batch !== wanted[i].batch);
        run.choices = wanted[i];
      });
      const shown = JSON.stringify(wanted);
      if (shown !== offered) settings.show(wanted);
      offered = shown;
      read();
      draw(!going);
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

    /**
     * @param {number} which
     * @param {string} name
     * @param {any} value
     */
    function choose(which, name, value) {
      const next = { ...runs[which].choices, [name]: value };
      if (!next.context.endsWith("attention") && ["rotary", "alibi"].includes(next.positions)) next.positions = "none";
      set({ [KEYS[which]]: next });
      if (!LIVE.includes(name)) say(`Run ${NAMES[which]}: ${CALLED[name][0]} ${CALLED[name][1][String(value)] ?? value}. Random weights again${runs.some(trained) ? "; it catches up with the other" : ghosts.length ? "; the curves from before stay, in grey" : ""}.`);
    }

    /** @param {boolean} [all] what is folded away, too */
    function draw(all = !going && !counting) {
      if (!runs.length) return;
      drew = performance.now();
      // All that is measured comes before all that is written: else the page is laid out again and again.
      const [across, beyond, whole] = [drawing.svg.parentElement, sight, body].map((el) => Math.max(240, Math.round(el?.clientWidth || 640)));
      const narrow = body.clientWidth < NARROW;
      beside.textContent = `${runs.length > 1 ? "−" : "+"} run B`;
      drawing.show(across, runs, NAMES, HIGH[Number(!narrow)].curves[runs.length - 1], ghosts, only ? runs.map(({ choices }) => view(choices)) : undefined);
      const before = ghosts.map(({ curve, name }) => {
        const { accuracy, step } = curve[curve.length - 1];
        return `${name ? `${name.join("")}, ` : ""}${fmt(accuracy, 1)} % right at step ${step.toLocaleString("en")}`;
      });
      drawing.svg.setAttribute("aria-label", `Curves of training. ${runs.map(sentenceOf).join(" ")}${before.length ? ` In grey${ghosts[0].name ? "" : ", from before"}: ${before.join(", ")}.` : ""}`);
      counter.textContent = `step ${steps().toLocaleString("en")}`;
      const ahead = away();
      target.style.visibility = ahead ? "" : "hidden";
      if (ahead) target.textContent = `sent at ${ahead.step.toLocaleString("en")}${runs.length > 1 ? "" : `: ${fmt(ahead.right, 1)} % right`}`;
      progress.hidden = !counting;
      if (counting) progress.value = counting.share;
      const said = listen();
      drawLooks(said, beyond, narrow);
      below.show(String(model.get("panel") ?? ""), done);
      below.draw(whole, runs, said, all);
      took = performance.now() - drew;
      if (going && performance.now() - spoken > SPEAK) speak([]);
    }

    /** What each run makes of the sentence. */
    function listen() {
      const words = sentence.words.map((i) => WORDS[i]);
      const best = sentence.best?.map((row) => TAGS[top(row)]) ?? [];
      const passes = runs.map((run) => {
        if (!words.length) return { weights: [], tags: [] };
        const pass = forward(run.model, [sentence.words]);
        const { value, columns } = pass.scores;
        const tags = words.map((_, i) => TAGS[top([...value.subarray(i * columns, (i + 1) * columns)])]);
        return { weights: pass.weights.map((one) => one.slice()), tags: tags.map((tag, i) => tag + (best.length ? (tag === best[i] ? " ✓" : " ✗") : "")) };
      });
      return { words, best, passes };
    }

    /** @param {ReturnType<typeof listen>} said @param {number} wide @param {boolean} narrow */
    function drawLooks({ words, best, passes }, wide, narrow) {
      const sizes = runs.map(({ choices: { n_heads } }, i) => ({ layers: passes[i].weights.length, heads: n_heads, all: passes[i].weights.length * n_heads }));
      if (!words.length) return void [sight.replaceChildren(), (picker.hidden = true), (legend.textContent = ""), (heads.shape = "")];
      const shape = JSON.stringify([words, wide, narrow, heads.picked, runs.map(({ choices: { context } }) => context), sizes]);
      if (heads.shape !== shape) {
        const many = Math.max(...sizes.map(({ all }) => all));
        // Where there is no room for all heads, or they would be specks, one is drawn, and one picks which.
        const full = !narrow && many < 2; // beside several heads tags are short
        const one = many > 1 && (narrow || sizes.some(({ all }) => all > 1 && square(wide, words, all, full) < NAMED));
        const room = (wide - margin(words) - SPACE) / 2;
        const pair = runs.length > 1 && narrow && many > 0 && square(room, words, 1, full, false) >= BESIDE;
        [heads.shape, heads.full] = [shape, full];
        heads.all = runs.map((run, i) => looks({
          wide: pair ? room + (i ? 0 : margin(words)) : wide, high: HIGH[Number(!narrow)].words[runs.length - 1] + (only && !narrow ? ROOM : 0), words, layers: sizes[i].layers, heads: sizes[i].heads,
          role: LOOKS[i].role, sign: NAMES[i], only: one ? heads.picked : -1, full, named: !(pair && i), note: HEARS[run.choices.context] ?? "",
        }));
        sight.replaceChildren(...heads.all.map(({ svg }) => svg));
        sight.classList.toggle("is-pair", pair);
        pick(one ? sizes.find(({ all }) => all === many) : undefined);
        legend.textContent = many ? "Rows: where a word looks, and its tag (✗: wrong)" : "At the end of a row, the tag of its word (✗: wrong)";
      }
      heads.all.forEach(({ svg, show }, i) => {
        const tags = passes[i].tags.map((tag, j) => written(tag, best[j]));
        show(passes[i].weights, tags);
        svg.setAttribute("aria-label", `Run ${NAMES[i]}: ${words.map((word, j) => `${word} ${tags[j].said}`).join(", ")}.${only ? "" : ` What each head looks at is in the table behind “${PANELS.numbers}”.`}`);
      });
    }

    /**
     * A tag in the words of the book's first figure, in which small words are of one kind: none is wrong among them.
     * @param {string} tag
     * @param {string} [best]
     */
    function written(tag, best = "") {
      const [name, mark] = tag.split(" ");
      const group = kind(name);
      const small = only && group === "small word";
      const wrong = mark === "✗" && !(small && kind(best) === group);
      const said = heads.full ? (small ? group : TAGGED[name]) : small ? "small" : name.toLowerCase();
      return { said: wrong ? `${said} ✗` : said, kind: group, wrong };
    }

    /** Offer the heads to pick one from. @param {{ layers: number, heads: number, all: number }} [sizes] none: all are drawn */
    function pick(sizes) {
      picker.hidden = !sizes;
      if (!sizes) return;
      heads.picked = Math.min(heads.picked, sizes.all - 1);
      const key = JSON.stringify(sizes);
      if (picker.dataset.key === key) return;
      picker.dataset.key = key;
      const row = choices({
        label: "Head that is drawn", part: "head", value: String(heads.picked),
        options: Array.from({ length: sizes.all }, (_, which) => ({ value: String(which), text: called(which, sizes.layers, sizes.heads) })),
        onChange: (value) => {
          heads.picked = Number(value);
          select(row, value);
          draw(false);
        },
      });
      picker.replaceChildren(h("span", { class: "attnlab-label" }, "head"), row);
    }

    /** A run in words. @param {Run} run @param {number} i */
    function sentenceOf(run, i) {
      const now = run.exact ?? run.curve[run.curve.length - 1];
      if (run.diverged) return `Run ${NAMES[i]} ${run.diverged}`;
      if (!now || !run.model.steps) return `Run ${NAMES[i]}: untrained${runs.some(trained) ? "; it will catch up" : ""}.`;
      const sees = view(run.choices);
      return `Run ${NAMES[i]}, step ${now.step.toLocaleString("en")}: ${run.exact ? `exactly ${fmt(now.accuracy, 2)}` : `about ${fmt(now.accuracy, 1)}`} % right; ceiling ${fmt(CEILINGS[sees].accuracy, 1)} % (${sees}).`;
    }

    /** @param {string[]} found ids of challenges met just now */
    function speak(found) {
      spoken = performance.now();
      const news = found.map((id) => `Found: ${CHALLENGES.find((one) => one.id === id)?.text}`);
      const grey = only && ghosts.length && !runs.some(trained) ? ["In grey: the word alone, trained before."] : [];
      const words = [...news, ...runs.map(sentenceOf), ...grey, ...(counting ? ["Counting all 61,242 sentences."] : [])].join(" ");
      heard.textContent = going ? words : "";
      if (!going) say(words);
      if (found.length) draw();
    }

    function kept() {
      const ids = recalled(KEPT);
      return CHALLENGES.map(({ id }) => id).filter((id) => Array.isArray(ids) && ids.includes(id));
    }

    /** @param {string[]} ids */
    function keep(ids) {
      done = ids;
      store(KEPT, ids);
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
training.load(tagger, """${packed(run.model.values)}""")  # the page's weights after ${steps} steps
print(f"run ${NAMES[i]}, step ${steps}: {100 * expected_accuracy(tagger):.2f} % of all words right")
`;
      });
      return `from attnbook.tagging.training import expected_accuracy
from attnbook.widgets import training

${parts.join("\n")}`;
    }

    /** A link has the settings. It has where they led, too, if they alone did. @returns {[Record<string, any>, string] | undefined} */
    function sent() {
      if (!runs.some(trained)) return;
      const [now] = runs.map(({ exact, curve }) => exact ?? curve[curve.length - 1]);
      const more = now && runs.every(({ rates }) => rates === 1) ? { sent: [now.step, +now.accuracy.toFixed(1)] } : {};
      return [more, "Copied: your settings; it trains afresh when opened."];
    }

    return { update, pytorch, sent, svg: () => standalone(drawing.svg) };
  },
});

/**
 * That of the word alone, by its name, unless one trains such a one.
 * @param {Choices[]} wanted
 * @param {boolean} only whether its ceiling, which says the same, isn't drawn: then the name has to be whole
 */
const left = (wanted, only) =>
  STORED.filter(({ choices }) => wanted.every(({ context }) => context !== choices.context))
    .map(({ choices, curve }) => ({ choices, name: [only ? "" : "word alone, ", `${only ? "word alone, " : ""}trained before`], curve: curve.map(([step, accuracy]) => ({ step, accuracy, loss: NaN, gradient: NaN })) }));

/** Where the largest number is. @param {number[]} row */
const top = (row) => row.indexOf(Math.max(...row));
