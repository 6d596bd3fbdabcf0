// What stands behind the playground's buttons: challenges, errors, loss and gradient, all numbers. One is open at a time, or none.
import { curves } from "./curves.js";
import { fmt, h } from "./dom.js";
import { eachWeight } from "./looks.js";
import { strip, table } from "./tables.js";
import { CHALLENGES } from "../math/challenges.js";
import { TAGS } from "../math/grammar.js";
import { CEILINGS, view } from "../math/playground.js";

/** @typedef {import("../math/playground.js").Run} Run */
/** @typedef {{ words: string[], best: string[], passes: { weights: Float64Array[], tags: string[] }[] }} Said a sentence, and what each run makes of it */

/** What is shown of the errors: words with more than one tag, and each of their tags. */
const CONFUSED = ["can/AUX", "can/NOUN", "can/VERB", "saw/NOUN", "saw/VERB", "that/DET", "that/PRON"];
export const PANELS = /** @type {Record<string, string>} */ ({ challenges: "Challenges", words: "Errors by word", gradient: "Loss, gradient", numbers: "All numbers" });

/**
 * @param {{ names: string[], open: (name: string) => void, forget: () => void }} given
 * @returns {{ el: HTMLElement, show: (opened: string, done: string[]) => void, draw: (wide: number, runs: Run[], said: Said, all: boolean) => void }}
 *   `draw` writes what is open, or `all`
 */
export function panels({ names, open, forget }) {
  const gradient = curves("gradient", ["loss", "gradient"]);
  const [confusion, numbers, tags, weights] = ["Words with more than one tag", "Numbers of the runs", "The tags of the sentence", "What each head looks at"].map(strip);
  const list = h("ul", { class: "attnlab-challenges" }, ...CHALLENGES.map(({ id, text }) => h("li", { "data-part": "challenge", "data-id": id }, text)));
  const inside = /** @type {Record<string, Node[]>} */ ({
    challenges: [list, h("p", { class: "attnlab-note" }, "They are ticked off when you pause. Where a curve shivers, lower the rate on the way. What you have found is kept in this browser only. ", h("button", { type: "button", "data-part": "forget", on: { click: forget } }, "Forget it"))],
    words: [confusion],
    gradient: [gradient.svg],
    numbers: [numbers, tags, weights],
  });
  const buttons = Object.entries(PANELS).map(([name, text]) => h("button", { type: "button", "data-part": "opens", "data-opens": name, on: { click: () => open(name) } }, text));
  const bodies = Object.entries(inside).map(([name, parts]) => h("div", { class: "attnlab-panel", "data-part": "panel", "data-panel": name, role: "group", "aria-label": PANELS[name], hidden: true }, ...parts));
  let opened = "";

  /** @param {Run[]} runs */
  function tables(runs) {
    // Before training there is nothing to read: to measure is work too, and the first piece of it.
    const sampled = runs.map(({ curve }) => curve.findLast(({ error }) => error > 0));
    const readings = runs.map((run, i) => run.exact ?? sampled[i]);
    const older = (/** @type {number} */ i) => (readings[i]?.step === runs[i].model.steps ? "" : ` at step ${readings[i]?.step}`);
    const row = (/** @type {string} */ name, /** @type {(run: Run, i: number) => string} */ what) => [name, ...runs.map(what)];
    const named = names.slice(0, runs.length);
    numbers.replaceChildren(
      table("numbers", ["run", ...named], [
        row("steps", ({ model: { steps } }) => String(steps)),
        row("right on a sample", (_, i) => (sampled[i] ? `${fmt(sampled[i].accuracy, 1)} ± ${fmt(sampled[i].error, 1)} %${older(i)}` : "–")),
        row("right, exactly", ({ exact }) => (exact ? `${fmt(exact.accuracy, 2)} %` : "when paused")),
        row("its ceiling", ({ choices, model: { steps } }) => (steps ? `${fmt(CEILINGS[view(choices)].accuracy, 2)} %` : "–")),
        row("loss", (_, i) => (readings[i] ? fmt(readings[i].loss, 3) + older(i) : "–")),
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
          return `${fmt((100 * counts[right]) / all, 1)} %${others[0].share >= 0.0005 ? ` (${TAGS[others[0].tag]} ${fmt(100 * others[0].share, 1)} %)` : ""}`;
        }),
      ]), { caption: "Tagged right (taken for)" }),
    );
  }

  /** @param {Run[]} runs @param {Said} said */
  function sentence(runs, { words, best, passes }) {
    if (!words.length) return [tags, weights].forEach((el) => el.replaceChildren());
    const known = best.length > 0;
    tags.replaceChildren(
      table("tags", ["word", ...words], [
        ["best possible", ...words.map((_, i) => best[i] ?? "–")],
        ...passes.map((pass, r) => [`run ${names[r]}`, ...pass.tags]),
      ], known ? {} : { caption: "The grammar never says this sentence: no tag is right or wrong." }),
    );
    const rows = /** @type {string[][]} */ ([]);
    passes.forEach((pass, r) =>
      pass.weights.forEach((layer, l) => {
        const n = words.length;
        const of = runs[r].choices.n_heads;
        const lines = Array.from({ length: of * n }, (_, at) => [`${names[r]} ${l + 1}.${Math.floor(at / n) + 1} ${words[at % n]}`, ...words.map(() => "")]);
        eachWeight(layer, n, of, (weight, i, head, j) => (lines[head * n + i][j + 1] = fmt(weight)));
        rows.push(...lines);
      }),
    );
    weights.replaceChildren(...(rows.length ? [table("weights", ["run, layer.head, word", ...words], rows)] : []));
  }

  return {
    el: h("div", { class: "attnlab-more" }, h("div", { class: "attnlab-tabs" }, ...buttons), ...bodies),
    show(now, done) {
      opened = now;
      Object.keys(PANELS).forEach((name, i) => {
        buttons[i].setAttribute("aria-expanded", String(name === now));
        bodies[i].hidden = name !== now;
      });
      buttons[0].textContent = `${PANELS.challenges} ${done.length}/${CHALLENGES.length}`;
      for (const item of list.children) item.classList.toggle("is-met", done.includes(/** @type {HTMLElement} */ (item).dataset.id ?? ""));
    },
    draw(wide, runs, said, all) {
      if (all || opened === "gradient") {
        gradient.show(wide, runs, names);
        gradient.svg.setAttribute("aria-label", `Loss, and size of the gradient at the queries. ${runs.map((run, i) => `Run ${names[i]}: ${run.model.steps ? run.gradient.toExponential(1) : "not trained yet"}.`).join(" ")}`);
      }
      if (all || opened === "numbers" || opened === "words") tables(runs);
      if (all || opened === "numbers") sentence(runs, said);
    },
  };
}
