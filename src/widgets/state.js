// A state that fills order by order, by one of four rules; a query reads it, and softmax attention stands beside.
//
// For tests (data-part): play (button), step, likeness, stays (range inputs), rule, asked (radio groups), plane (svg),
// order (g, data-which; a click reads up to it), weight, softmax (bars), held, answer (squares: data-which or data-row and
// data-column, data-value), written (rects, of the latest order, the same), numbers (table: row, tea, milk, juice), orders (table: order, drink, weight), status.
import pill from "./ui/play.css";
import { slider } from "./ui/controls.js";
import { calm, choices, draggable, fmt, h, onResize, s, select, shade, spot, standalone } from "./ui/dom.js";
import { figure } from "./ui/frame.js";
import { player } from "./ui/play.js";
import { strip, table } from "./ui/tables.js";
import { DRINKS, NEW_DAY, ORDERS, PEOPLE, RULES, fill } from "./math/state.js";

/** @typedef {number[][]} Matrix */

const LIKEST = 0.8;
const MOST = 2; // a square of this value fills its cell
const STAGE = 420; // milliseconds for each thing that an order does to the state
const PAUSE = 700;
const NAMES = { sum: "sum", gate: "gate", delta: "delta", both: "both" };
const text = (/** @type {any} */ props, /** @type {string} */ words = "") => s("text", { "font-size": 13, fill: "var(--fig-ink)", ...props }, words);
const quiet = (/** @type {any} */ props, /** @type {string} */ words) => text({ fill: "var(--fig-quiet)", "font-size": 12, ...props }, words);

export default figure({
  name: "state",
  css: pill,
  title: "A state that fills",
  keys: ["rule", "step", "asked", "likeness", "stays"],
  setup({ model, body, say, set, signal }) {
    const rules = choices({
      label: "Rule", part: "rule", value: "sum",
      options: RULES.map((rule) => ({ value: rule, text: NAMES[/** @type {keyof typeof NAMES} */ (rule)] })),
      onChange: (rule) => set({ rule, stays: rule === "gate" ? 0.5 : 1 }),
    });
    const asked = choices({
      label: "Ask for", part: "asked", value: PEOPLE[0],
      options: PEOPLE.map((who) => ({ value: who, text: who })),
      onChange: (who) => set({ asked: who }),
    });
    const hundredth = (/** @type {number} */ x) => Math.round(x * 100) / 100;
    const step = slider({ part: "step", label: "Orders read", limits: { min: 0, max: ORDERS.length, step: 1 }, onInput: (t) => go(t) });
    const likeness = slider({ part: "likeness", label: "Keys alike", role: "key", limits: { min: 0, max: LIKEST, step: 0.1 }, onInput: (x) => set({ likeness: hundredth(x) }) });
    const stays = slider({ part: "stays", label: "Gate", role: "value", limits: { min: 0, max: 1, step: 0.05 }, onInput: (x) => set({ stays: hundredth(x) }) });
    const { play, going } = player(() => (timer ? stop() : start()), true);
    const plane = s("svg", {
      role: "group", "data-part": "plane", "aria-label": "The orders, and the state that they fill",
      style: "display: block; max-width: 100%",
    });
    const [numbers, orders] = ["The state, and what both answer", "The orders"].map(strip);
    // Few rows: what names itself has no label, and what is short stands beside another.
    for (const [{ row }, least] of /** @type {[typeof step, number][]} */ ([[step, 9], [likeness, 10.5], [stays, 8.5]])) row.style.cssText = `flex: 1 1 ${least}rem; margin-top: 0; grid-template: "name input reading" / max-content 1fr auto`;
    for (const { row } of [likeness, stays]) /** @type {HTMLElement} */ (row.firstElementChild).style.minWidth = "0";
    step.row.firstElementChild?.remove();
    step.row.style.gridTemplate = '"input reading" / 1fr auto';
    for (const group of [rules, asked]) group.style.cssText = "flex-wrap: nowrap; max-width: none";
    const beside = (/** @type {Node[]} */ ...parts) => h("div", { style: "display: flex; flex-wrap: wrap; align-items: center; gap: .4rem 1rem; margin-top: .6rem; font-size: .9375rem" }, ...parts);
    const named = (/** @type {string} */ name, /** @type {Node} */ group) =>
      h("div", { style: "display: flex; flex-wrap: wrap; align-items: center; gap: 0 .5rem" }, h("span", { class: "attnlab-label", style: "line-height: 1.2" }, name), group);
    body.append(
      plane,
      beside(h("div", { style: "display: flex; flex: 1 1 14rem; align-items: center; gap: .6rem" }, play, step.row), named("Ask for", asked)),
      beside(named("Rule", rules), likeness.row, stays.row),
      h("details", {}, h("summary", {}, "The numbers as tables"), numbers, orders),
    );

    /** @type {ReturnType<typeof setTimeout> | undefined} */
    let timer;
    let frame = 0;
    /** @type {{ step: number, rule: string } | undefined} */
    let shown; // what the drawing shows
    /** @type {Matrix} */
    let painted; // the state as it stands, on its way or at its end
    function stop() {
      clearTimeout(timer);
      timer = undefined;
      going(false);
    }
    function start() {
      going(true);
      if (model.get("step") >= ORDERS.length) set({ step: 0 });
      const next = () => {
        set({ step: model.get("step") + 1 });
        if (model.get("step") < ORDERS.length) timer = setTimeout(next, PAUSE + (calm() ? 0 : 3 * STAGE));
        else stop();
      };
      timer = setTimeout(next, 200);
    }
    /** Read up to an order by hand. @param {number} t */
    function go(t) {
      stop();
      if (t !== model.get("step")) set({ step: t });
    }
    signal.addEventListener("abort", () => (stop(), cancelAnimationFrame(frame)));

    const room = () => Math.max(Math.floor(body.clientWidth) || 640, 220);
    /** @type {ReturnType<typeof plan> | undefined} */
    let at;
    onResize(body, signal, () => at && at.wide !== room() && update());

    /** Where everything stands: the orders at the left, from top to bottom; or above, from left to right. */
    function plan() {
      const wide = room();
      const tall = wide >= 500;
      const large = wide >= 760;
      const cell = large ? 56 : tall ? 30 : 27;
      // Keys, values and queries are no longer than 1: they need less room than what adds up.
      const [side, last] = large ? [44, 28] : [cell, cell];
      const machine = 3 * cell + 2 * side + 32 + 62; // names, key, gap, three columns, gap, query
      const across = large ? Math.min(wide - machine - 30, 420) : tall ? 250 : wide / ORDERS.length;
      const from = large ? (wide - across - machine - 30) / 2 : 0;
      const left = large ? from + across + 30 : tall ? Math.max(Math.round((wide + 250 - machine) / 2), 270) : Math.max((wide - machine) / 2, 0);
      const top = tall ? 0 : 80;
      const column = (/** @type {number} */ j) => left + 62 + side + 16 + j * cell;
      const row = (/** @type {number} */ i) => top + 22 + side + 18 + i * cell;
      const answers = row(4) + 9;
      const height = answers + cell + last + 22;
      const pitch = Math.floor((height - 49) / ORDERS.length); // the orders are as high, together, as the machine
      const order = (/** @type {number} */ t) => (tall ? { x: from, y: 22 + pitch * t + (t < NEW_DAY ? 0 : 18), width: across, height: pitch - 3 } : { x: t * across + 0.5, y: 34, width: across - 1, height: 38 });
      return { wide, tall, cell, side, last, from, left, top, order, column, row, key: left + 62, query: column(3) + 16, answers, height };
    }

    /**
     * A square whose area is a number, about the middle of a cell; what would not fit has its number on it.
     * @param {number} x @param {number} y @param {number} value @param {string} role @param {any} props
     */
    function square(x, y, value, role, props) {
      const size = (/** @type {any} */ (at).cell - 3) * Math.sqrt(Math.min(Math.abs(value), MOST) / MOST);
      const hollow = value < 0;
      const drawn = s("rect", {
        x: x - size / 2, y: y - size / 2, width: size, height: size, "data-value": value.toFixed(4), ...props,
        fill: hollow ? "none" : `var(--fig-${role})`, stroke: hollow ? `var(--fig-${role})` : "none", "stroke-width": 2, ...(hollow ? { "stroke-dasharray": "3 2" } : {}),
      });
      return Math.abs(value) < MOST + 0.05 ? [drawn] : [drawn, text({ x, y: y + 4, "text-anchor": "middle", "font-size": 12, "font-weight": 700, fill: `var(--fig-${hollow ? role : "paper"})` }, fmt(value, 1))];
    }
    const cellAt = (/** @type {number} */ x, /** @type {number} */ y, /** @type {number} */ width, /** @type {number} */ height) =>
      s("rect", { x: x + 0.5, y: y + 0.5, width: width - 1, height: height - 1, fill: "var(--fig-tint)", stroke: "var(--fig-line)" });

    function read() {
      /** @type {any} */
      const state = Object.fromEntries(["rule", "step", "asked", "likeness", "stays"].map((key) => [key, model.get(key)]));
      if (!RULES.includes(state.rule)) throw new Error(`rule must be one of ${RULES.join(", ")}, got ${state.rule}.`);
      if (!PEOPLE.includes(state.asked)) throw new Error(`asked must be one of ${PEOPLE.join(", ")}, got ${state.asked}.`);
      if (!Number.isInteger(state.step) || state.step < 0 || state.step > ORDERS.length) throw new Error(`step must be a whole number from 0 to ${ORDERS.length}, got ${state.step}.`);
      for (const [key, most] of /** @type {[string, number][]} */ ([["likeness", LIKEST], ["stays", 1]])) {
        if (!(state[key] >= 0 && state[key] <= most)) throw new Error(`${key} must be from 0 to ${most}, got ${state[key]}.`);
      }
      return state;
    }

    const held = s("g", {});
    /** What moves: the state, and what the query reads from it. @param {Matrix} state @param {number[]} query */
    function paint(state, query) {
      const { cell, column, row, answers } = /** @type {NonNullable<typeof at>} */ (at);
      painted = state;
      const answer = DRINKS.map((_, j) => query.reduce((sum, x, i) => sum + x * state[i][j], 0));
      held.replaceChildren(
        ...state.flatMap((line, i) => line.flatMap((x, j) => square(column(j) + cell / 2, row(i) + cell / 2, x, "value", { "data-part": "held", "data-row": i, "data-column": j }))),
        ...answer.flatMap((x, j) => square(column(j) + cell / 2, answers + cell / 2, x, "output", { "data-part": "answer", "data-column": j })),
      );
    }

    /**
     * Go through stages: of the last order (fade, take out, write), or from rule to rule.
     * @param {Matrix[]} stages
     * @param {number[]} query
     * @param {() => void} then
     */
    function travel(stages, query, then) {
      const moves = stages.slice(1).flatMap((to, i) => (to.some((line, a) => line.some((x, b) => x !== stages[i][a][b])) ? [[stages[i], to]] : []));
      const began = performance.now();
      const tick = () => {
        const t = (performance.now() - began) / STAGE;
        const move = moves[Math.floor(t)];
        if (!move) {
          paint(stages[stages.length - 1], query);
          return then();
        }
        const part = t % 1;
        const ease = part * part * (3 - 2 * part);
        paint(move[0].map((line, i) => line.map((x, j) => x + ease * (move[1][i][j] - x))), query);
        frame = requestAnimationFrame(tick);
      };
      tick();
    }

    function update() {
      const state = read();
      const now = fill(state);
      const { rule, step: t, asked: who } = state;
      at = plan();
      const { wide, tall, cell, side, last, from, left, top, order, column, row, key, query, answers, height } = at;
      select(rules, rule);
      select(asked, who);
      step.show(t, `${t} of ${ORDERS.length}`);
      likeness.show(state.likeness, fmt(state.likeness, 1));
      stays.show(state.stays, `${fmt(100 * state.stays, 0)} %`);
      stays.row.hidden = rule === "sum" || rule === "delta";
      for (const [name, value] of Object.entries({ viewBox: `0 0 ${wide} ${height}`, width: wide, height })) plane.setAttribute(name, String(value));
      const latest = ORDERS[t - 1];
      const fresh = latest ? { key: now.keys[PEOPLE.indexOf(latest[0])], value: DRINKS.map((drink) => Number(drink === latest[1])) } : null;
      const own = state.likeness === 0;
      const line = order(NEW_DAY);
      const long = tall ? line.width - 146 : 22; // of a bar of weight 1
      const drawn = ORDERS.map(([person, drink], i) => {
        const box = order(i);
        const p = now.weights[i] ?? 0;
        const bar = tall
          ? { x: box.x + box.width - long - 4, y: box.y + 8, width: long * p, height: box.height - 16 }
          : { x: box.x + 6, y: box.y - 3 - long * p, width: box.width - 12, height: long * p };
        const middle = box.x + box.width / 2;
        const words = tall
          ? [text({ x: box.x + 10, y: box.y + box.height / 2 + 5, fill: "var(--fig-key)" }, person), text({ x: box.x + 56, y: box.y + box.height / 2 + 5, fill: "var(--fig-value)" }, drink)]
          : [text({ x: middle, y: box.y + 15, "text-anchor": "middle", "font-size": 11, fill: "var(--fig-key)" }, person), text({ x: middle, y: box.y + 31, "text-anchor": "middle", "font-size": 11, fill: "var(--fig-value)" }, drink)];
        return s(
          "g",
          { "data-part": "order", "data-which": i, style: "cursor: pointer" },
          s("rect", { ...box, rx: 5, fill: i < t ? "var(--fig-tint)" : "var(--fig-paper)", stroke: i === t - 1 ? "var(--fig-ink)" : "var(--fig-line)", "stroke-width": i === t - 1 ? 2 : 1, ...(i < t ? {} : { "stroke-dasharray": "3 3" }) }),
          ...words,
          s("rect", { ...bar, fill: "var(--fig-query)", "data-part": "weight", "data-which": i, "data-value": p.toFixed(4) }),
        );
      });
      const outputs = /** @type {[string, number, number][]} */ ([["state", answers, cell], ["softmax", answers + cell, last]]);
      const above = top + 22;
      // How much of the order is written in each cell: what its key and its value have there, multiplied.
      const written = fresh ? fresh.key.flatMap((k, i) => fresh.value.flatMap((v, j) => (k * v > 0 ? [{ i, j, k, much: k * v }] : []))) : [];
      plane.replaceChildren(
        quiet({ x: from, y: 13 }, tall ? "orders, and their softmax weights" : "softmax weights"),
        ...drawn,
        tall ? quiet({ x: from, y: line.y - 5 }, "a new day") : s("path", { d: `M ${line.x - 0.5} 22 V 78`, stroke: "var(--fig-ink)", "stroke-dasharray": "4 3" }),
        ...(tall ? [] : [quiet({ x: line.x - 0.5, y: 13, "text-anchor": "middle" }, "new day")]),
        // The machine: key and value meet in the state, the query reads it.
        ...DRINKS.map((drink, j) => quiet({ x: column(j) + cell / 2, y: top + 15, "text-anchor": "middle", "font-size": tall ? 12 : 11 }, drink)),
        quiet({ x: key + side / 2, y: row(0) - 6, "text-anchor": "middle" }, "key"),
        quiet({ x: query + side / 2, y: row(0) - 6, "text-anchor": "middle" }, "query"),
        quiet({ x: column(0) - 8, y: above + side / 2 + 4, "text-anchor": "end" }, "value"),
        ...DRINKS.flatMap((_, j) => [cellAt(column(j), above, cell, side), ...(fresh ? square(column(j) + cell / 2, above + side / 2, fresh.value[j], "value", {}) : [])]),
        ...PEOPLE.flatMap((person, i) => [
          quiet({ x: left + 54, y: row(i) + cell / 2 + 4, "text-anchor": "end" }, own ? person : `row ${i + 1}`),
          cellAt(key, row(i), side, cell),
          cellAt(query, row(i), side, cell),
          ...(fresh ? square(key + side / 2, row(i) + cell / 2, fresh.key[i], "key", {}) : []),
          ...square(query + side / 2, row(i) + cell / 2, now.query[i], "query", {}),
          ...DRINKS.map((_, j) => cellAt(column(j), row(i), cell, cell)),
        ]),
        // Both reach the cell where they meet.
        ...written.slice(-1).map(({ i, j }) => s("rect", { x: column(j) + 1, y: above + side, width: cell - 2, height: row(i) - above - side, fill: "var(--fig-value)", "fill-opacity": 0.25 })),
        ...written.flatMap(({ i, j, k, much }) => [
          s("rect", { x: key + side, y: row(i) + 1, width: column(j) - key - side, height: cell - 2, fill: "var(--fig-key)", "fill-opacity": 0.25 * k }),
          s("rect", { x: column(j) + 1.5, y: row(i) + 1.5, width: cell - 3, height: cell - 3, fill: "none", stroke: "var(--fig-ink)", "stroke-width": 3, "stroke-opacity": much, "data-part": "written", "data-row": i, "data-column": j, "data-value": much.toFixed(4) }),
        ]),
        s("rect", { x: column(0) - 1, y: row(0) - 1, width: 3 * cell + 2, height: 4 * cell + 2, fill: "none", stroke: "var(--fig-ink)", "stroke-width": 1.5, rx: 3 }),
        ...outputs.flatMap(([name, y, high]) => [
          quiet({ x: column(0) - 8, y: y + high / 2 + 4, "text-anchor": "end", fill: "var(--fig-output)" }, `${name} answers`),
          ...DRINKS.map((_, j) => cellAt(column(j), y, cell, high)),
        ]),
        // Shares of 1, so bars, as the weights are: 0.67 and 0.33 are told apart by length, and hardly by area.
        ...now.softmax.map((x, j) => s("rect", { x: column(j) + 1.5, y: answers + cell + 0.3 * last, width: (cell - 3) * x, height: 0.4 * last, fill: "var(--fig-output)", "data-part": "softmax", "data-column": j, "data-value": x.toFixed(4) })),
        quiet({ x: column(0) - 8, y: height - 5, "text-anchor": "end" }, `${who}’s today`),
        text({ x: now.today === "nothing" ? column(0) : column(DRINKS.indexOf(now.today)) + cell / 2, y: height - 5, "text-anchor": now.today === "nothing" ? "start" : "middle" }, now.today),
        held,
      );
      const parts = (/** @type {number[]} */ list) => DRINKS.flatMap((drink, j) => (Math.abs(list[j]) >= 0.005 ? [`${drink} ${fmt(list[j])}`] : [])).join(", ") || "nothing";
      const told = () => say(latest ? `For ${who}: state ${parts(now.answer)}; softmax ${parts(now.softmax)}.` : "No order has been read.");
      cancelAnimationFrame(frame);
      // What came of an order is said when it is seen.
      if (!shown || calm()) travel([now.held], now.query, told);
      else if (t === shown.step + 1) travel(now.stages, now.query, told);
      else travel(t === shown.step && rule !== shown.rule ? [painted, now.held] : [now.held], now.query, told);
      shown = { step: t, rule };
      tables(now, t);
    }

    /**
     * @param {ReturnType<typeof fill>} now
     * @param {number} t
     */
    function tables(now, t) {
      const four = (/** @type {number} */ x) => fmt(x, 4);
      const cells = (/** @type {number[]} */ list) =>
        list.map((x) => {
          const td = h("td", {}, four(x));
          shade(td, x / MOST, "value");
          return td;
        });
      numbers.replaceChildren(
        table("numbers", ["", ...DRINKS], [...now.held.map((line, i) => [`row ${i + 1}`, ...cells(line)]), ["state answers", ...cells(now.answer)], ["softmax answers", ...cells(now.softmax)]]),
      );
      orders.replaceChildren(
        table("orders", ["order", "drink", "softmax weight"], ORDERS.map(([person, drink], i) => [`${i + 1} ${person}`, drink, i < t ? now.weights[i].toFixed(4) : "not read"]), { bold: t - 1 }),
      );
    }

    /** Read up to the order under the pointer. @param {MouseEvent} event */
    function pick(event) {
      if (!at) return;
      const [x, y] = spot(plane, event);
      const { order } = at;
      const which = ORDERS.findIndex((_, i) => {
        const box = order(i);
        return x >= box.x && x <= box.x + box.width && y >= box.y && y <= box.y + box.height;
      });
      if (which >= 0) go(which + 1);
    }
    plane.addEventListener("click", (event) => pick(/** @type {MouseEvent} */ (event)), { signal });
    draggable(plane, signal, pick, { area: true });

    /** @returns {string} */
    function pytorch() {
      const { rule, step: t, asked: who, likeness: like, stays: left } = read();
      return `import torch

from attnbook.widgets import StateFilling

figure = StateFilling(rule=${JSON.stringify(rule)}, step=${t}, asked=${JSON.stringify(who)}, likeness=${like}, stays=${left})
keys = figure.vectors  # of Ann, Bob, Cy and Dee
orders = [(0, 0), (1, 1), (0, 1), (3, 2), (1, 0), (2, 0), (0, 0), (2, 1)][:${t}]  # person, drink
state = torch.zeros(4, 3, dtype=keys.dtype)
for t, (person, drink) in enumerate(orders):
    k, v = keys[person], torch.eye(3, dtype=keys.dtype)[drink]
    state = state * ${rule === "gate" || rule === "both" ? `(0 if t == ${NEW_DAY} else ${left})  # the gate` : "1"}
${rule === "delta" || rule === "both" ? "    v = v - k @ state  # the delta rule: what is held under this key goes out\n" : ""}    state = state + torch.outer(k, v)
q = keys[${PEOPLE.indexOf(who)}]
print("answer", (q @ state).tolist())
`;
    }

    return { update, pytorch, svg: () => standalone(plane) };
  },
});
