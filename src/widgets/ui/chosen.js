// The playground's choices: a group each, in it one for each run; those that one needs first, and the others in a fold. All
// of them wait behind one line that says what is chosen: the picture is in the first screen.
import { LOOKS } from "./curves.js";
import { h } from "./dom.js";
import { DEFAULTS, OFFERED } from "../math/playground.js";

/** @typedef {import("../math/playground.js").Choices} Choices */
/** @type {Record<string, [string, Record<string, string>]>} what a choice is called, and its values where they have other names */
export const CALLED = {
  context: ["context", { alone: "own word", mean: "average", attention: "attention", "causal attention": "causal attention" }],
  positions: ["positions", { sinusoidal: "sinusoids", rotary: "RoPE", alibi: "ALiBi" }],
  n_heads: ["heads", {}],
  d_model: ["width", {}],
  rate: ["learning rate", {}],
  n_layers: ["layers", {}],
  divide: ["q·k divided by", { root: "√d", width: "d", nothing: "nothing" }],
  residual: ["residual", { true: "on", false: "off" }],
  batch: ["batch size", {}],
};
const FIRST = 5;
/** These change nothing unless words attend. */
const INSIDE = ["n_heads", "divide"];

/**
 * Say what a run is made of: what it hears, and, where one may choose it, whatever is not as usual.
 * @param {Choices} run @param {boolean} only training is all there is
 */
function told(run, only) {
  const value = (/** @type {string} */ name) => /** @type {string | number} */ (CALLED[name][1][String(/** @type {any} */ (run)[name])] ?? /** @type {any} */ (run)[name]);
  const said = (/** @type {string} */ name) => ["n_heads", "n_layers"].includes(name) ? `${value(name)} ${CALLED[name][0].slice(0, value(name) === 1 ? -1 : undefined)}` : `${CALLED[name][0]} ${value(name)}`;
  const unusual = Object.keys(CALLED).slice(2).filter((name) => !only && /** @type {any} */ (run)[name] !== /** @type {any} */ (DEFAULTS)[name]);
  return [value("context"), run.positions === "none" ? "no positions" : value("positions"), ...unusual.map(said)].join(", ");
}

/**
 * @param {{ names: string[], choose: (run: number, name: string, value: any) => void, only: boolean }} given
 * @returns {{ told: HTMLElement, line: HTMLElement, el: HTMLElement, show: (chosen: Choices[]) => void }} `told` says what is chosen; `line`
 *   has it in it, and opens them; `show` offers them anew
 */
export function chosen({ names, choose, only }) {
  const [first, rest] = [0, 0].map(() => h("div", { class: "attnlab-grid" }));
  const fold = h("details", { class: "attnlab-rest" }, h("summary", {}, "More settings"), rest);
  const el = h("div", { class: "attnlab-set", role: "group", "aria-label": "Settings" }, first, fold);
  const said = h("span", { class: "attnlab-told", "data-part": "told" });
  const line = h(
    "button",
    { type: "button", class: "attnlab-line", "data-part": "settings", "aria-expanded": "false", on: { click: () => line.setAttribute("aria-expanded", String(el.classList.toggle("is-open"))) } },
    h("b", {}, "Settings"),
    said,
  );

  /** @param {string} name @param {Choices[]} runs */
  function group(name, runs) {
    const [title, called] = CALLED[name];
    return [h("span", { class: "attnlab-label" }, title), ...runs.map((run, i) => {
      const own = /** @type {any} */ (run)[name];
      const attends = run.context.endsWith("attention");
      const values = OFFERED[name].includes(own) ? OFFERED[name] : [...OFFERED[name], own];
      const select = h(
        "select",
        {
          "data-part": "choice", "data-run": names[i], "data-name": name, "aria-label": `${title}, run ${names[i]}`,
          disabled: INSIDE.includes(name) && !attends, on: { change: () => choose(i, name, values[select.selectedIndex]) },
        },
        ...values.map((value) => h("option", { selected: value === own, disabled: name === "positions" && ["rotary", "alibi"].includes(value) && !attends }, called[String(value)] ?? String(value))),
      );
      return select;
    })];
  }

  /** The letter of a run, and its dash. @param {number} i */
  const sign = (i, dash = true) => h("b", { class: "attnlab-run", style: `color: var(--fig-${LOOKS[i].role})` }, names[i] + (dash ? ` ${LOOKS[i].sign}` : ""));

  return {
    told: said,
    line,
    el,
    show(runs) {
      const focused = /** @type {HTMLElement | null} */ (el.querySelector(":focus"))?.dataset;
      const all = Object.keys(CALLED);
      for (const [grid, named] of /** @type {[HTMLElement, string[]][]} */ ([[first, all.slice(0, FIRST)], [rest, all.slice(FIRST)]])) {
        grid.style.setProperty("--runs", String(runs.length));
        grid.replaceChildren(h("span"), ...runs.map((_, i) => sign(i)), ...named.flatMap((name) => group(name, runs)));
      }
      said.replaceChildren(...runs.map((run, i) => h("span", {}, ...(runs.length > 1 ? [sign(i, false), " "] : []), told(run, only))));
      // What is not as usual must be seen.
      fold.open ||= runs.some((run) => all.slice(FIRST).some((name) => /** @type {any} */ (run)[name] !== /** @type {any} */ (DEFAULTS)[name]));
      if (focused?.name) /** @type {HTMLElement | null} */ (el.querySelector(`[data-run="${focused.run}"][data-name="${focused.name}"]`))?.focus();
    },
  };
}
