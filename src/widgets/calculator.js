// The calculator: every number of single-head attention, six stages, one formula for the cell in focus. A stage has the whole
// board: what comes out, and the matrices that it comes of. Where the page begins with one stage and nothing
// else (`only`), one button leads on once a number is picked, and from the last stage back.
//
// For tests (data-part): stages (radio group, values 1-6), previous, next, play (buttons), causal (checkbox),
// product (radio group Q | K | V, at stage 2), on (button, where `only`), matrix-X, matrix-Wq, -Wk, -Wv (tables of inputs), matrix-Q, -K, -V, -S,
// -scaled, -A, -O (tables of buttons; each cell has data-row and data-column, as it stands; .is-asked: the one to press while
// none is picked), formula, numbers (table:
// weights and output of every token), status.
import cells from "./ui/cells.css";
import own from "./ui/calculator.css";
import pill from "./ui/play.css";
import { calm, choices, fmt, h, onResize, select, shade } from "./ui/dom.js";
import { EDITABLE, decimals, explain, feeds, plain, typeset } from "./ui/formulas.js";
import { figure } from "./ui/frame.js";
import { player } from "./ui/play.js";
import { neighbour, picture, strip, table } from "./ui/tables.js";
import { attend, matrix, transpose } from "./math/attention.js";

/** @typedef {import("./math/attention.js").Matrix} Matrix */
/** @typedef {import("./ui/formulas.js").Piece} Piece */

const STAGES = ["Input", "Q, K, V", "Scores", "Scaled", "Weights", "Output"];
const SAYS = [
  "a row of numbers for each token.",
  "three views of each token: what it looks for, offers and passes on.",
  "every query against every key.",
  "the scores, made smaller: their spread must not grow with the width.",
  "each row becomes shares that sum to one.",
  "each row is a weighted mean of the values.",
];
/** What stands where, by stage: what comes out, what lies to its left and what above it. */
const BOARD = [["X"], [], ["S", "Q", "K"], ["scaled", "S"], ["A", "scaled"], ["O", "A", "V"]];
const ABOVE = ["top", "beside"];
/** What each is called, with what it is made of. @type {Record<string, Piece[]>} */
const NAMES = Object.fromEntries(
  ["X", "W_q", "W_k", "W_v", "Q = X W_q", "K = X W_k", "V = X W_v", "S = Q Kᵀ", "A = softmax", "O = A V"].map((text) => [
    text.split(" ")[0].replace("_", ""),
    text.split(/([A-Z](?:_.)?)/).slice(1).map((name, i) => (i % 2 ? name : { name })),
  ]),
);
const ROLE = /** @type {Record<string, string>} */ ({
  Wq: "query", Q: "query", Wk: "key", K: "key", Wv: "value", V: "value", O: "output",
});
const PRODUCTS = ["Q", "K", "V"];
const MOST = 1e6;
const BEAT = 420; // milliseconds for a pair of numbers
/** @type {KeyframeAnimationOptions} */
const MOVES = { duration: 250, easing: "ease-out" };

export default figure({
  name: "calculator",
  css: cells + pill + own,
  title: "Attention calculator",
  keys: ["X", "W_q", "W_k", "W_v", "tokens", "stage", "focus", "scale", "causal"],
  undo: "steps",
  setup({ model, body, say, set, keep, signal }) {
    /** @type {ReturnType<typeof attend>} */
    let result;
    let [drawn, fitted, walked, roomy, playing, timer] = ["", "", "", "", false, 0];
    let [product, ended] = ["Q", ""]; // and where Play came to its end
    const stageNow = () => Number(model.get("stage"));
    const focusNow = () => /** @type {any[]} */ (model.get("focus"));
    const here = () => JSON.stringify([stageNow(), focusNow()]);
    const only = Boolean(model.get("only"));
    /** What the columns of the values are called, as votes for one or another thing. @type {string[] | undefined} */
    const votes = model.get("votes");
    const FIRST = 3; // here the road of `only` begins again

    const go = (/** @type {number} */ stage) => {
      mode(false);
      const [row = 0, column = 0, name = ""] = focusNow();
      // Who is picked stays picked; a row of weights is no token: who was asked about stands for it.
      set({ stage: Math.min(Math.max(stage, 1), 6), focus: name.startsWith("W") ? [asker, about] : [row, column] });
    };
    const stages = choices({
      label: "Stage",
      part: "stages",
      value: String(stageNow()),
      options: STAGES.map((text, at) => ({ value: String(at + 1), text: `${at + 1} ${text}` })),
      onChange: (value) => go(Number(value)),
    });
    const arrow = (/** @type {string} */ part, /** @type {string} */ sign, /** @type {string} */ label, /** @type {number} */ by) =>
      h("button", { type: "button", "data-part": part, "aria-label": label, on: { click: () => go(stageNow() + by) } }, sign);
    const previous = arrow("previous", "←", "Stage before", -1);
    const next = arrow("next", "→", "Next stage", 1);
    const { play, going } = player(() => mode(!playing) || step(), focusNow().length > 0); // else a cell is ringed
    // What the page asks to change first, whose share of whom that is about, and whether it was tried.
    const [asked, [asker, about] = [0, 0]] = model.get("asked") ?? [];
    const stands = () => JSON.stringify(model.get("W_q"));
    const opened = stands();
    const untried = () => stands() === opened && Boolean(asked);
    const tried = () => stands() !== opened && Boolean(asked);
    let was = 0; // that share, before
    const causal = h("input", { type: "checkbox", "data-part": "causal", on: { change: () => change({ causal: causal.checked }) } });
    const products = choices({
      label: "Which of the three",
      part: "product",
      value: "Q",
      options: PRODUCTS.map((text) => ({ value: text, text })),
      onChange: (name) => set({ focus: [0, 0, name] }),
    });
    const formula = h("p", { class: "attnlab-formula", "data-part": "formula", "aria-live": "polite" });
    const corner = h("div", { class: "attnlab-corner" }, products, formula);
    const board = h("div", { class: `attnlab-board${only ? " is-alone" : ""}` }, corner);
    const numbers = strip("Weights and output");
    // Where six names have no room, the arrows stand around the one of this stage.
    const where = h("b", { class: "attnlab-where", "aria-hidden": "true" });
    // Above what grows and shrinks from stage to stage: what is pressed again and again stays under the finger.
    const more = [play, h("label", {}, causal, "hide later tokens")];
    const lead = h("div", { class: "attnlab-lead" }, previous, stages, where, next, ...more);
    const on = h("button", { type: "button", "data-part": "on", class: "attnlab-on", on: { click: () => go(ahead(stageNow())) } });
    /** Where `only` leads: at the end back, and past a stage that divides by 1. @param {number} stage */
    const ahead = (stage) => (stage > 5 ? FIRST : stage === FIRST && same() ? 5 : stage + 1);
    const same = () => result.factor === 1;
    if (only) corner.append(on);
    body.append(...(only ? [board] : [lead, board, h("details", {}, h("summary", {}, "More: weights and output"), numbers)]));
    let [wide, at, apart] = [0, 0, false]; // the width it was drawn for, the stage on the board, whether all three matrices have room side by side
    onResize(body, signal, () => (drawn && wide !== body.clientWidth ? update() : fit()));
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
    });

    /** What room is left on a phone is the cells', and under a stage that is lower than the tallest, where the page has nothing else. */
    function fit() {
      const give = (/** @type {string} */ name, /** @type {number} */ room) => board.style.setProperty(name, `${Math.max(Math.floor(room), 0)}px`);
      give("--extra", 0);
      give("--high", 0);
      // Where they come to stand: they may be on their way.
      const ends = (/** @type {"Left" | "Top"} */ from, /** @type {"Width" | "Height"} */ by) => Math.max(...areas().map((el) => el[`offset${from}`] + el[`offset${by}`]));
      const across = board.querySelectorAll('[data-area]:not([data-area="top"]) tbody tr:first-child td').length;
      give("--extra", (board.clientWidth - ends("Left", "Width") + Math.min(...areas().map((el) => el.offsetLeft))) / across - 1);
      const rows = board.querySelectorAll(':is([data-area="top"], [data-area="result"]) tbody tr').length;
      if (only) give("--high", (board.offsetTop + board.clientHeight - ends("Top", "Height")) / rows);
    }

    /** @param {Record<string, any>} changes an edit that Undo can take back */
    function change(changes) {
      keep(Object.keys(changes));
      set(changes);
    }

    function read() {
      const [x, wq, wk, wv] = Object.values(EDITABLE).map((key) => matrix(key, model.get(key)));
      for (const [key, w] of [["W_q", wq], ["W_k", wk], ["W_v", wv]]) {
        if (/** @type {Matrix} */ (w).length !== x[0].length) {
          throw new Error(`${key} must have ${x[0].length} rows for X, not ${w.length}.`);
        }
      }
      if (wq[0].length !== wk[0].length) {
        throw new Error(`W_q and W_k must be equally wide, not ${wq[0].length} and ${wk[0].length}.`);
      }
      result = attend({ x, wq, wk, wv, scale: model.get("scale"), causal: Boolean(model.get("causal")) });
      return { X: x, Wq: wq, Wk: wk, Wv: wv, Q: result.q, K: result.k, V: result.v, S: result.scores, scaled: result.scaled, A: result.weights, O: result.output };
    }

    function update() {
      const all = /** @type {Record<string, Matrix>} */ (read());
      const stage = stageNow();
      const tokens = /** @type {string[]} */ (model.get("tokens"));
      if (tokens.length !== all.X.length) {
        throw new Error(`tokens must name the ${all.X.length} rows of X, not ${tokens.length}.`);
      }
      const named = focusNow()[2];
      if (named) product = PRODUCTS.find((one) => named === one || named === `W${one.toLowerCase()}`) ?? product;
      else if (stage === 2) product = "Q";
      select(stages, String(stage));
      where.textContent = `Stage ${stage} of 6: ${STAGES[stage - 1]}`;
      select(products, product);
      previous.disabled = stage <= 1;
      next.disabled = stage >= 6;
      wide = body.clientWidth;
      // Where there is no room for all, a fold has what is not pressed first.
      const folded = wide <= 420;
      if (lead.contains(play) === folded) {
        if (folded) numbers.before(...more);
        else lead.append(...more);
      }
      if (untried()) was = all.A[asker][about];
      // What Play leads to is what to press next: the next stage, or where six names have no room, the arrow to it. On a phone that is so at once.
      // What was tried leads to the weights.
      const weights = tried() && stage < 5;
      const names = [...stages.querySelectorAll("button")];
      const lit = (folded ? !untried() : weights || ended === here()) && stage < 6 && (stages.offsetParent ? names[weights ? 4 : stage] : next);
      for (const el of [next, ...names]) el.classList.toggle("attnlab-act", el === lit);
      if (focusNow().length) play.classList.toggle("attnlab-act", !lit && !untried());
      causal.checked = Boolean(model.get("causal"));
      // The tallest stage's room is kept, so that nothing below moves from stage to stage.
      const given = JSON.stringify([wide, tokens, all.O[0].length, all.Q[0].length, all.X[0].length]);
      if (given !== roomy) {
        roomy = given;
        board.style.minHeight = "";
        const focus = focusNow().length ? focusNow() : [0, 0];
        const tallest = () => {
          drawn = walked = "";
          const high = STAGES.map((_, before) => {
            if (only && before + 1 < FIRST) return 0;
            draw(all, before + 1, tokens, focus);
            return Math.ceil(board.getBoundingClientRect().height);
          });
          board.style.minHeight = `${Math.max(...high)}px`;
          return board.scrollWidth > board.clientWidth;
        };
        apart = only || wide > 760;
        if (tallest() && apart) {
          apart = false;
          board.style.minHeight = "";
          tallest();
        }
        drawn = walked = "";
      }
      const stood = drawn && drawn !== layoutOf(all, stage, tokens) && !calm() ? stand() : null;
      const { shown, target, sources } = draw(all, stage, tokens, focusNow());
      const picked = target.row >= 0;
      if (stood) arrive(stood);
      const place = JSON.stringify([drawn, target]);
      if (place !== walked) {
        walked = place;
        if (picked) walk(shown, target, sources);
      }
      const head = ["token", ...tokens.map((t) => `takes of ${t}`), ...(votes ?? all.O[0].map((_, j) => `output ${j + 1}`))];
      numbers.replaceChildren(table("numbers", head, tokens.map((token, i) => [token, ...[...all.A[i], ...all.O[i]].map((value) => value.toFixed(4))])));
      say(`${only ? STAGES[stage - 1] : `Stage ${stage} of 6`}: ${stage === 4 && same() ? "the scores as they are." : votes && stage > 5 && picked ? counts(all, target.row, tokens, votes) : SAYS[stage - 1]}`);
    }

    /** What comes out at a stage, what stands left of it and above; scores as they are stand alone, not twice. @param {number} stage */
    const standing = (stage) => (stage === 2 ? [product, "X", `W${product.toLowerCase()}`] : stage === 4 && same() ? ["scaled"] : BOARD[stage - 1]);

    /** What is on the board at a stage, and where: around what comes out. @param {number} stage */
    function placing(stage) {
      const [out, left, top] = standing(stage);
      const beside = apart && stage > 5; // of values there are as many rows as of words: above, they would make it high
      return [[top, beside ? "beside" : "top"], [left, "left"], [out, "result"]].filter(([name]) => name);
    }

    /** @param {Record<string, Matrix>} all @param {number} stage @param {string[]} tokens */
    const layoutOf = (all, stage, tokens) => JSON.stringify([stage, tokens, placing(stage).map(([name, area]) => [name, area, all[name].length, all[name][0].length])]);

    /**
     * The board at a stage.
     * @param {Record<string, Matrix>} all
     * @param {number} stage
     * @param {string[]} tokens
     * @param {any[]} focus
     */
    function draw(all, stage, tokens, focus) {
      at = stage;
      products.hidden = stage !== 2;
      const placed = placing(stage);
      const shown = placed.map(([name]) => name);
      const [out, left, top] = standing(stage);
      const target = focusOf(all, out, shown, focus);
      // Typing must not lose its place: the tables are made again when the stage or a shape changes, not else.
      const layout = layoutOf(all, stage, tokens);
      if (layout !== drawn) {
        drawn = layout;
        board.classList.toggle("is-product", placed.some((one) => one[1] === "top"));
        board.replaceChildren(corner, ...placed.map(([name, area]) => cellsOf(name, area, all[name], tokens)));
      }
      const picked = target.row >= 0;
      on.textContent = `${stage < 6 ? "Next" : "Back"}: ${STAGES[ahead(stage) - 1]}`;
      on.classList.toggle("attnlab-act", stage < 6);
      on.hidden = !picked; // there is nothing to follow
      const sources = picked ? feeds(target) : () => false;
      // Scores scaled are as pale as they are small.
      const most = Math.max(...[out === "O" ? all.O : [...all.S, ...all.scaled]].flat(2).map(Math.abs).filter(Number.isFinite));
      // While none is picked, the first of the largest numbers is the one to press.
      let peak = all[out].flat().indexOf(Math.max(...all[out].flat()));
      for (const name of shown) fill(name, all[name], target, sources, most);
      // What stands in one column is equally wide, and as wide as its longest number; what can be edited is not counted.
      const longest = (/** @type {string[]} */ ...names) =>
        Math.max(0, ...names.flatMap((name) => (name in EDITABLE ? [] : all[name].flat().map((x) => characters(fmt(x, decimals(all[name])))))));
      const columns = placed.map(([name, area]) => (["left", "beside"].includes(area) ? longest(name) : longest(out, top ?? out)));
      board.style.setProperty("--characters", String(columns[columns.length - 1]));
      areas().forEach((el, i) => el.style.setProperty("--characters", String(columns[i])));
      /** @type {Piece[]} */
      const pieces = picked ? tried() && target.name === "Wq" ? told(all.A, tokens) : explain(all, target, tokens, model.get("scale"), only) : ["Pick a number: which ones made it?"];
      // Read as one line; seen as it is printed in books.
      const [words, before] = [plain(pieces), formula.firstChild?.textContent];
      if (words !== before) {
        formula.replaceChildren(h("span", { class: "is-heard" }, words), h("span", { "aria-hidden": "true" }, ...typeset(pieces)));
      }
      const taken = JSON.stringify([wide, layout, columns, words]);
      if (taken !== fitted) {
        fitted = taken;
        fit();
      }
      for (const td of within(out, "td.attnlab-cell")) td.classList.toggle("is-asked", !picked && !peak--);
      return { shown, target, sources };
    }

    /** What there is in a matrix. @param {string} name @param {string} css */
    const within = (name, css) => board.querySelectorAll(`[data-part="matrix-${name}"] ${css}`);
    /** What the change did, where it was made. @param {Matrix} weights @param {string[]} tokens @returns {Piece[]} */
    const told = (weights, tokens) => [
      { word: tokens[asker], part: "query" }, " takes from ", { word: tokens[about], part: "key" }, `: ${fmt(was)} before, ${fmt(weights[asker][about])} now`,
    ];

    /** The votes that a word got, the most first; only who asked is told what it is. @param {Record<string, Matrix>} all @param {number} row @param {string[]} tokens @param {string[]} votes */
    function counts({ Q, O }, row, tokens, votes) {
      const by = votes.map((_, j) => j).sort((a, b) => O[row][b] - O[row][a]);
      return `${by.map((j) => `${votes[j]} ${fmt(O[row][j])}`).join(", ")}: ${tokens[row]} ${Q[row].some(Boolean) ? `is rather a ${votes[by[0]]}` : "asked nothing"}.`;
    }

    /** Where the tables stand. */
    const stand = () => new Map(areas().map((el) => [el.dataset.name, el.getBoundingClientRect()]));
    const areas = () => /** @type {HTMLElement[]} */ ([...board.querySelectorAll("[data-name]")]);

    /** What stood elsewhere goes where it stands now, and all else appears. @param {ReturnType<typeof stand>} before */
    function arrive(before) {
      const now = stand();
      for (const el of areas()) {
        const { name } = el.dataset;
        const was = before.get(name) ?? (name === "scaled" && before.get("S")); // out of what it was
        const is = /** @type {DOMRect} */ (now.get(name));
        const from = was ? { transform: `translate(${was.left - is.left}px, ${was.top - is.top}px)` } : { opacity: 0 };
        el.animate([from, {}], was ? MOVES : { ...MOVES, delay: 180, fill: "backwards" });
      }
    }

    /** Play or not. @param {boolean} on @returns {boolean} whether it now does not */
    function mode(on) {
      playing = on;
      going(on);
      clearTimeout(timer);
      if (!on) light(Infinity), due();
      return !on;
    }

    /**
     * Go on to the next number of all that the stage makes. From the last one a press goes to the first, and Play stays there.
     * The input comes out of nothing.
     * @param {boolean} [played]
     */
    function step(played) {
      const all = /** @type {Record<string, Matrix>} */ (read());
      const stage = stageNow();
      if (stage === 1) return set({ stage: 2, focus: [0, 0] });
      const outs = stage === 2 ? PRODUCTS : BOARD[stage - 1].slice(0, 1);
      const out = stage === 2 ? product : outs[0];
      const { row, column } = focusOf(all, out, [out]);
      const columns = all[out][0].length;
      const to = Math.max(row * columns + column + 1, 0);
      if (to < all[out].length * columns) return set({ focus: [Math.floor(to / columns), to % columns, out] });
      const then = outs[outs.indexOf(out) + 1];
      if (then || !played) return set({ focus: [0, 0, then ?? outs[0]] });
      mode(false);
      ended = here();
      update();
    }

    /** Show of the pairs that make a number those up to one; all of them if there are no more. @param {number} now */
    function light(now) {
      const later = (/** @type {Element} */ el) => Number(/** @type {HTMLElement} */ (el).dataset.term) > now;
      board.classList.toggle("attnlab-walks", Number.isFinite(now));
      for (const el of board.querySelectorAll("[data-term]")) {
        el.classList.toggle("is-later", later(el));
        el.classList.toggle("is-now", Number(/** @type {HTMLElement} */ (el).dataset.term) === now);
      }
    }

    /**
     * While it plays, numbers that are still to be made are pale.
     * @param {{ name: string, row: number, column: number }} [target] the one that is being made
     * @param {number} made 1 once it is
     */
    function due(target, made = 1) {
      const outs = playing && target ? (at === 2 ? PRODUCTS : [target.name]) : [];
      const when = (/** @type {string} */ name, /** @type {number[]} */ [i, j]) => (outs.indexOf(name) * 99 + i) * 99 + j;
      for (const el of areas()) {
        const name = /** @type {string} */ (el.dataset.name);
        for (const cell of el.querySelectorAll("[data-row]")) {
          const later = outs.includes(name) && target && when(name, placeOf(name, cell)) >= when(target.name, [target.row, target.column]) + made;
          cell.parentElement?.classList.toggle("is-due", later);
        }
      }
    }

    /**
     * Go through the pairs of numbers that make the chosen one.
     * @param {string[]} shown
     * @param {{ name: string, row: number, column: number }} target
     * @param {(name: string, row: number, column: number) => boolean} sources
     */
    function walk(shown, target, sources) {
      clearTimeout(timer);
      for (const td of board.querySelectorAll("td[data-term]")) {
        td.removeAttribute("data-term");
        td.classList.remove("is-now", "is-later");
      }
      let pairs = 0;
      for (const name of shown) {
        let along = 0;
        for (const cell of within(name, "[data-row]")) {
          const [i, j] = placeOf(name, cell);
          if (!sources(name, i, j) || name === target.name) continue;
          /** @type {HTMLElement} */ (cell.parentElement).dataset.term = String(along++);
        }
        pairs = Math.max(pairs, along);
      }
      const still = calm();
      const beat = (/** @type {number} */ now) => {
        const on = now < pairs && !still && pairs > 1;
        light(on ? now : Infinity);
        due(target, Number(!on));
        if (on) timer = setTimeout(() => beat(now + 1), BEAT);
        else if (playing) timer = setTimeout(() => step(true), still ? 2 * BEAT : BEAT);
      };
      beat(0);
    }

    /**
     * @param {Record<string, Matrix>} all
     * @param {string} main what comes out
     * @param {string[]} shown
     * @param {any[]} given
     */
    function focusOf(all, main, shown, given = focusNow()) {
      if (!given.length) return { name: main, row: -1, column: -1 };
      const name = shown.includes(given[2]) ? given[2] : main;
      return {
        name,
        row: Math.min(Number(given[0]) || 0, all[name].length - 1),
        column: Math.min(Number(given[1]) || 0, all[name][0].length - 1),
      };
    }

    /** Keys stand upright where scores are made: a cell's place on the board, and in its matrix. */
    const turned = (/** @type {string} */ name) => name === "K" && at > 2;
    const placeOf = (/** @type {string} */ name, /** @type {Element} */ cell) => {
      const { row, column } = /** @type {HTMLElement} */ (cell).dataset;
      return turned(name) ? [Number(column), Number(row)] : [Number(row), Number(column)];
    };

    /**
     * @param {string} name
     * @param {string} area
     * @param {Matrix} given
     * @param {string[]} tokens
     */
    function cellsOf(name, area, given, tokens) {
      const flip = turned(name);
      const values = flip ? transpose(given) : given;
      const square = ["S", "scaled", "A"].includes(name);
      // The numbers of a word have no names: they are only counted for who can't see them.
      const counted = (/** @type {any[]} */ all) => all.map((_, i) => h("span", { class: "is-heard" }, String(i + 1)));
      const rows = !name.startsWith("W") && !flip ? tokens : counted(values);
      const columns = square || flip ? tokens : votes && "VO".includes(name) ? votes : counted(values[0]);
      /** @type {Piece[]} */
      const caption = flip ? [{ name: "K" }, "ᵀ"] : name === "scaled" ? [{ name: "S" }, same() ? "" : ` × ${fmt(result.factor, 3)}`] : name === standing(at)[0] ? NAMES[name] : [NAMES[name][0]];
      const body = values.map((row, i) =>
        h(
          "tr",
          {},
          h("th", { scope: "row" }, rows[i]),
          ...row.map((_, j) => {
            const [a, b] = flip ? [j, i] : [i, j];
            const at = { "data-row": i, "data-column": j };
            return h("td", { class: "attnlab-cell" }, name in EDITABLE ? editor(name, a, b, at) : reader(name, a, b, only && area !== "result" ? { ...at, disabled: true } : at));
          }),
        ),
      );
      return h(
        "div",
        { class: "attnlab-scroll", "data-name": name, "data-area": area, style: `grid-area: ${area}; --frame: var(--fig-${ROLE[name] ?? "ink"})` },
        h(
          "table",
          { "data-part": `matrix-${name}`, on: { keydown: move } },
          h("caption", {}, ...typeset(caption)),
          h("thead", {}, h("tr", {}, h("td", { style: "border: 0" }), ...columns.map((text) => h("th", { scope: "col" }, text)))),
          h("tbody", {}, ...body),
        ),
      );
    }

    /**
     * @param {string} name
     * @param {number} i
     * @param {number} j
     * @param {Record<string, any>} at
     */
    function editor(name, i, j, at) {
      // No keypad of digits: a phone's has no minus. What is typed takes the place of what stands there.
      const key = EDITABLE[/** @type {keyof typeof EDITABLE} */ (name)];
      const is = () => written(model.get(key)[i][j]);
      const invalid = (/** @type {boolean} */ so) => input.setAttribute("aria-invalid", String(so));
      const input = h("input", {
        ...at,
        type: "text",
        on: {
          focus: () => (choose(i, j, name), requestAnimationFrame(() => input.select())),
          // What was refused goes with who leaves.
          blur: () => ((input.value = is()), invalid(false)),
        },
      });
      input.addEventListener("change", () => {
        const value = number(input.value);
        invalid(value === null);
        if (value === null) return say(`“${input.value}” is not a number from −${MOST} to ${MOST}: ${is()} stays.`);
        if (input.value === is()) return;
        const edited = structuredClone(model.get(key));
        edited[i][j] = value;
        change({ [key]: edited });
      });
      return input;
    }

    /**
     * @param {string} name
     * @param {number} i
     * @param {number} j
     * @param {Record<string, any>} at
     */
    function reader(name, i, j, at) {
      return h("button", { ...at, type: "button", on: { click: () => choose(i, j, name) } });
    }

    /** @param {number} i @param {number} j @param {string} name */
    function choose(i, j, name) {
      mode(false);
      set({ focus: [i, j, name] });
    }

    /** Arrow keys go from cell to cell. @param {KeyboardEvent} event */
    function move(event) {
      const cell = /** @type {HTMLElement} */ (event.target);
      if (event.key === "Enter") cell.dispatchEvent(new Event("change"));
      if (cell instanceof HTMLInputElement && cell.selectionStart !== cell.selectionEnd) return;
      const to = neighbour(event);
      to?.focus();
      if (to instanceof HTMLButtonElement) to.click();
    }

    /**
     * @param {string} name
     * @param {Matrix} values
     * @param {{ name: string, row: number, column: number }} target
     * @param {(name: string, row: number, column: number) => boolean} sources
     * @param {number} most the largest score, or output, by size: its cell is the darkest
     */
    function fill(name, values, target, sources, most) {
      const shown = decimals(values);
      for (const el of within(name, "th.is-source")) el.classList.remove("is-source");
      for (const el of within(name, "[data-row]")) {
        const cell = /** @type {HTMLInputElement} */ (el);
        const [i, j] = placeOf(name, cell);
        const value = values[i][j];
        let called = `${name} row ${i + 1} column ${j + 1}`;
        if (cell.tagName !== "INPUT") {
          cell.textContent = fmt(value, shown);
          // The name replaces the text for a screen reader, so it has the number too.
          called = `${cell.textContent}, ${called}`;
        } else cell.value = written(value);
        cell.setAttribute("aria-label", called);
        const td = /** @type {HTMLElement} */ (cell.parentElement);
        td.classList.toggle("is-focus", target.name === name && target.row === i && target.column === j);
        td.classList.toggle("is-asked", untried() && String(asked) === String([i, j, name]));
        const source = sources(name, i, j);
        td.classList.toggle("is-source", source);
        if (source) headOf(td)?.classList.add("is-source");
        const size = Number.isFinite(value) && most ? Math.abs(value) / most : 0;
        if (name === "A") shade(td, value);
        else if (name === "O") shade(td, 0.15 + 0.85 * size, value < 0 ? "key" : "output"); // the smallest have their matrix's tint
        else if (["S", "scaled"].includes(name)) shade(td, size, value < 0 ? "key" : "query");
      }
    }

    /** The head of the row, or in what stands above, of the column. @param {HTMLElement} td */
    const headOf = (td) => {
      const area = /** @type {HTMLElement} */ (td.closest("[data-area]"));
      const row = /** @type {HTMLTableRowElement} */ (td.parentElement);
      if (ABOVE.includes(area.dataset.area ?? "")) return area.querySelector("thead tr")?.children[/** @type {HTMLTableCellElement} */ (td).cellIndex];
      return row.firstElementChild;
    };

    /** @returns {string} the state as a snippet that runs */
    function pytorch() {
      const t = (/** @type {string} */ key) => `torch.tensor(${JSON.stringify(model.get(key))}, dtype=torch.float64)`;
      const scale = model.get("scale");
      return `import torch

from attnlab import attention

x = ${t("X")}  # one row a token: ${model.get("tokens").join(", ")}
w_q = ${t("W_q")}
w_k = ${t("W_k")}
w_v = ${t("W_v")}
output, weights = attention(
    x @ w_q, x @ w_k, x @ w_v, scale=${scale ?? "None"}, is_causal=${model.get("causal") ? "True" : "False"}, need_weights=True
)
print(weights)
print(output)
`;
    }

    /** @returns {string} the weights as a drawing */
    function svg() {
      const { A } = /** @type {Record<string, Matrix>} */ (read());
      return picture([{ names: model.get("tokens"), cells: A.map((row) => row.map((weight) => ({ text: fmt(weight), weight }))) }]);
    }

    return { update, pytorch, svg };
  },
});

/** How long a number is: a minus counts twice, for it is wide. @param {string} text */
const characters = (text) => text.length + Number(text.startsWith("−"));

/**
 * Write a number to edit, without the digits that single precision leaves behind 3.55.
 * @param {number} value
 */
const written = (value) => String(Number(value.toPrecision(7)));

/**
 * Read a number as people type it: comma or point, any minus sign.
 * @param {string} text
 */
function number(text) {
  const clean = text.trim().replace("−", "-").replace(",", ".");
  const value = clean === "" ? NaN : Number(clean);
  return Number.isFinite(value) && Math.abs(value) <= MOST ? value : null;
}
