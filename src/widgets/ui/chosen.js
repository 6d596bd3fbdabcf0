// The playground's choices: a row each, a column a run; those that one needs first, and the others in a fold.
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
  n_layers: ["layers", {}],
  divide: ["q·k over", { root: "√d", width: "d", nothing: "nothing" }],
  residual: ["residual", { true: "on", false: "off" }],
  rate: ["rate", {}],
  batch: ["batch", {}],
};
const FIRST = 4;
/** Longer names, for those who hear them. */
const SPOKEN = /** @type {Record<string, string>} */ ({ divide: "divide q·k by", rate: "learning rate" });
/** These change nothing unless words attend. */
const INSIDE = ["n_heads", "divide"];

/**
 * @param {{ names: string[], choose: (run: number, name: string, value: any) => void, add: () => void, drop: () => void }} given
 * @returns {{ el: HTMLElement, show: (chosen: Choices[]) => void }} `show` offers them anew
 */
export function chosen({ names, choose, add, drop }) {
  const head = h("tr");
  const [first, rest] = [h("tbody"), h("tbody")];
  const fold = h("details", { class: "attnlab-rest" }, h("summary", {}, "More choices"), h("table", {}, rest));
  const el = h("div", { class: "attnlab-set" }, h("table", {}, h("thead", {}, head), first), fold);

  /** @param {string} name @param {Choices[]} runs */
  function row(name, runs) {
    const [title, called] = CALLED[name];
    return h("tr", {}, h("th", { scope: "row" }, title), ...runs.map((run, i) => {
      const own = /** @type {any} */ (run)[name];
      const attends = run.context.endsWith("attention");
      const values = OFFERED[name].includes(own) ? OFFERED[name] : [...OFFERED[name], own];
      const select = h(
        "select",
        {
          "data-part": "choice", "data-run": names[i], "data-name": name, "aria-label": `${SPOKEN[name] ?? title}, run ${names[i]}`,
          disabled: INSIDE.includes(name) && !attends, on: { change: () => choose(i, name, values[select.selectedIndex]) },
        },
        ...values.map((value) => h("option", { selected: value === own, disabled: name === "positions" && ["rotary", "alibi"].includes(value) && !attends }, called[String(value)] ?? String(value))),
      );
      return h("td", {}, select);
    }));
  }

  return {
    el,
    show(runs) {
      const focused = /** @type {HTMLElement | null} */ (el.querySelector(":focus"))?.dataset;
      const both = runs.length > 1;
      head.replaceChildren(
        h("td"),
        ...runs.map((_, i) => h("th", { scope: "col", style: `color: var(--fig-${LOOKS[i].role})` }, `${names[i]} ${LOOKS[i].sign}`, i > 0 ? h("button", { type: "button", "data-part": "beside", "aria-label": "Only run A", title: "Only run A", on: { click: drop } }, "×") : null)),
        ...(both ? [] : [h("td", {}, h("button", { type: "button", "data-part": "beside", on: { click: add } }, "+ run B"))]),
      );
      const all = Object.keys(CALLED);
      first.replaceChildren(...all.slice(0, FIRST).map((name) => row(name, runs)));
      rest.replaceChildren(...all.slice(FIRST).map((name) => row(name, runs)));
      // What is not as usual must be seen.
      fold.open ||= runs.some((run) => all.slice(FIRST).some((name) => /** @type {any} */ (run)[name] !== /** @type {any} */ (DEFAULTS)[name]));
      if (!focused?.part) return;
      const same = focused.name ? `[data-run="${focused.run}"][data-name="${focused.name}"]` : '[data-part="beside"]';
      /** @type {HTMLElement | null} */ (el.querySelector(same))?.focus();
    },
  };
}
