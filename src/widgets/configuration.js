// A configuration, field by field: what each means, where the book has it, and above what all say together.
//
// For tests (data-part): example (select), file (button), text (textarea), defaults (what an example has of its class),
// refused (what is wrong), summary (dl), strip (svg: path, data-kind), comb (svg: path, data-of), scale (svg: path, data-of),
// find (text), all (button),
// fields (table: field, value, what it means, section; rows with data-known), status.
import css from "./ui/configuration.css";
import { h, s, standalone } from "./ui/dom.js";
import { figure } from "./ui/frame.js";
import { LAYERS } from "./ui/layers.js";
import { load } from "./ui/script.js";
import { groupBytes, grouped, heldBytes, listed, reading, span, summary, uncounted } from "./math/configuration.js";
import { parse, plain } from "./math/json.js";

/** @typedef {import("./math/configuration.js").Reading} Reading */
/** @typedef {{ rules: any, note: string, examples: [string, string][], fields: [string, string, string, string[]][] }} Data */

const LONGEST = 1_000_000;
/** For what is typed and no prose. */
const EXACT = { spellcheck: "false", autocapitalize: "off", autocomplete: "off" };
const ROWS = 1500;
/** So many rows stand open; one button shows the others. */
const FIRST = 5;
/** @param {string} what */
const called = (what) => (what === "made for" ? "Longest text" : what[0].toUpperCase() + what.slice(1));

const WIDE = 480;

const TALL = 48;
/** As wide as it has room for: of its lines and marks only the places stretch. @param {string} part @param {number} high @param {...Element} inside */
const drawing = (part, high, ...inside) => s("svg", { "data-part": part, viewBox: `0 0 ${WIDE} ${high}`, preserveAspectRatio: "none", fill: "none", style: `height: ${high}px`, "aria-hidden": true }, ...inside);

/** The box at a place of so many side by side. @param {number} many @param {number} at @param {number} from @param {number} tall @param {number} [gap] */
function box(many, at, from, tall, gap = (WIDE * 0.2) / many) {
  const wide = (WIDE / many - gap).toFixed(1);
  return `M${((WIDE / many) * at + gap / 2).toFixed(1)} ${from}h${wide}v${tall}h-${wide}z`;
}

/** A tick for each layer, by the initial of its kind, but for what shares a cache. @param {string[]} kinds */
const ticks = (kinds) => kinds.map((kind, i) => {
  const parts = LAYERS[kind === "shared" ? "X" : kind[0].toUpperCase()];
  const d = parts.map(([from, tall]) => box(kinds.length, i, TALL * from, TALL * tall)).join("");
  return s("path", { "data-kind": kind, d, [parts[0][2] ? "stroke" : "fill"]: "var(--fig-ink)" });
});

/** The heads of queries, and under each group what it shares. @param {Reading} found */
function comb({ heads, kept, latent }) {
  const asked = Number(heads);
  const shared = asked < 161 && (latent ? 1 : kept);
  const row = (/** @type {string} */ of, /** @type {number} */ many, /** @type {number} */ from, /** @type {number} */ tall) => s("path", { "data-of": of, d: Array.from({ length: many }, (_, i) => box(many, i, from, tall, of === "query" ? undefined : 160 / asked)).join(""), fill: `var(--fig-${of})` });
  return asked && shared ? [drawing("comb", 24, row("query", asked, 0, 10), ...(latent ? [row("ink", 1, 13, 11)] : [row("key", shared, 13, 5), row("value", shared, 19, 5)]))] : [];
}

/** What all layers keep, and thinner what they kept before, on one scale for all: each mark sixteen times the last. @param {number | null} now @param {number | null} before */
function scale(now, before) {
  const line = (/** @type {string} */ of, /** @type {string} */ d, width = 1, ink = "quiet") => s("path", { "data-of": of, d, stroke: `var(--fig-${ink})`, "stroke-width": width });
  // It ends a factor of four beyond its outer marks, and what is further stands there.
  const at = (/** @type {number | null} */ bytes) => (bytes === null ? "" : `M${Math.min(WIDE, Math.max(0, 24 * Math.log2(bytes) - 528)).toFixed(1)} 0v20`);
  return [
    drawing("scale", 20, line("all", "M0 10h480M48 6v8m96-8v8m96-8v8m96-8v8m96-8v8"), line("before", at(before), 3), line("now", at(now), 6, "ink")),
    h("p", { class: "attnlab-private" }, ...["16 MiB", "256 MiB", "4 GiB", "64 GiB", "1 TiB"].map((mark) => h("span", {}, mark))),
  ];
}

/** @param {any} model @param {string | undefined} base @returns {Promise<Data>} */
async function known(model, base) {
  const given = model.get("data");
  if (given) return JSON.parse(given);
  const store = () => /** @type {any} */ (globalThis).attnlabModels?.configuration;
  if (!store()) await load("models/configuration-model.js", base);
  return store();
}

/** What a text holds, or an error in words for whoever pasted it. @param {string} text */
function read(text) {
  if (text.length > LONGEST) throw new Error(`This is too long: ${grouped(text.length)} characters, and at most ${grouped(LONGEST)} are read.`);
  if (!text.trim()) throw new Error("There is nothing to read yet: paste a config.json, or pick an example.");
  const found = parse(text);
  if (found.kind !== "object") throw new Error(`A configuration is an object, { … } with fields; this is ${found.kind === "list" ? "a list" : "a single value"}.`);
  return found;
}

export default figure({
  name: "configuration",
  css,
  title: "Read a configuration",
  keys: ["text"],
  async setup({ model, body, say, set, signal, place }) {
    const { rules, note, examples, fields } = await known(model, place.base);
    const meanings = new Map(fields.flatMap(([means, section, at, names]) => names.map((name) => [name, { means, section, at }])));
    // What was pasted would stand in the address, and an address is sent: no link has it.
    delete place.link;

    const example = h("select", { "data-part": "example", on: { change: () => (begin(), example.value && type(examples[Number(example.value)][1])) } }, h("option", { value: "" }, "your own"), ...examples.map(([name], i) => h("option", { value: i }, name)));
    const file = h("input", { type: "file", accept: ".json,.txt", hidden: true });
    const pick = h("button", { type: "button", "data-part": "file", on: { click: () => file.click() } }, "Open a file");
    const text = h("textarea", { "data-part": "text", rows: 7, ...EXACT, wrap: "off", "aria-label": "The text of config.json" });
    const refused = h("p", { class: "attnlab-error attnlab-private", role: "alert", "data-part": "refused", hidden: true });
    const sent = h("p", { class: "attnlab-private" }, "Paste or drop a config.json here. It is read in this page and sent nowhere.");
    const facts = h("dl", { class: "attnlab-facts", hidden: true, "data-part": "summary" });
    const find = h("input", { type: "text", "data-part": "find", placeholder: "a part of its name", ...EXACT });
    const none = h("p", { hidden: true }, "No field has this in its name.");
    const rows = h("tbody", { role: "rowgroup" });
    const heads = ["field", "value", "what it means", "section"].map((name) => h("th", { scope: "col", role: "columnheader" }, name));
    // Roles, since on a phone its rows are laid out as blocks, and some browsers then forget that it is a table.
    const table = h("table", { class: "attnlab-fields", role: "table", "aria-label": "Fields", "data-part": "fields" }, h("thead", { role: "rowgroup" }, h("tr", { role: "row" }, ...heads)), rows);
    const more = h("button", { type: "button", class: "attnlab-unfold", "data-part": "all", on: { click: () => unfold() } });
    let open = false; // whether all rows are
    const shown = h("div", { class: "attnlab-shown", hidden: true }, h("label", { class: "attnlab-open attnlab-find" }, "Find a field", find), none, table, more);
    body.append(
      h("div", { class: "attnlab-open" }, h("label", {}, "Example", example), pick, file),
      facts,
      text,
      sent,
      refused,
      h("p", { class: "attnlab-private", "data-part": "defaults" }, note),
      shown,
    );

    const take = async (/** @type {File | undefined} */ chosen) => {
      if (!chosen) return;
      // A file of weights is not read to be told that it is none.
      set({ text: chosen.size > 4 * LONGEST ? " ".repeat(LONGEST + 1) : await chosen.text() });
    };
    file.addEventListener("change", async () => {
      await take(file.files?.[0]);
      file.value = "";
    });
    const type = (/** @type {string} */ words) => set({ text: (typed = words) });
    const begin = () => (start = held || start);
    text.addEventListener("focus", begin);
    text.addEventListener("input", () => type(text.value));
    body.addEventListener("dragover", (event) => event.preventDefault(), { signal });
    body.addEventListener("drop", (event) => {
      event.preventDefault();
      const data = event.dataTransfer;
      const words = data?.getData("text/plain");
      if (data?.files.length) take(data.files[0]);
      else if (words) set({ text: words });
    }, { signal });
    find.addEventListener("input", () => (sift(), seek()));

    function unfold() {
      open = !open;
      sift();
    }

    function sift() {
      const wanted = find.value.trim().toLowerCase();
      const all = wanted || open;
      let left = 0;
      for (const row of rows.children) {
        row.hidden = !row.dataset.name.includes(wanted);
        // Folded on the screen only: paper shows all.
        row.classList.toggle("is-folded", !all && left >= FIRST);
        left += Number(!row.hidden);
      }
      more.setAttribute("aria-expanded", String(open));
      more.hidden = Boolean(wanted) || left <= FIRST;
      more.textContent = all ? `Show the first ${FIRST}` : `Show all ${grouped(left)}`;
      none.hidden = left > 0 || !rows.children.length;
      table.hidden = !left;
    }

    /** Brings the first field that is found into sight where it is written, a line below the top. */
    function seek() {
      const name = find.value.trim() && [...rows.children].find((row) => !row.hidden)?.dataset.name;
      if (!name) return;
      const all = text.value.toLowerCase();
      // A name within an object may stand elsewhere, too: it is looked for behind the object's own.
      const at = name.split(".").reduce((/** @type {number} */ from, /** @type {string} */ part) => Math.max(from, all.indexOf(`"${part}"`, from)), 0);
      const lines = (/** @type {string} */ words) => words.split("\n").length;
      text.scrollTop = (text.scrollHeight * (lines(all.slice(0, at)) - 2)) / lines(all);
    }

    /** @param {{ path: string, name: string, value: string, known: boolean }} field */
    function line({ path, name, value, known }) {
      const told = known ? meanings.get(name) : undefined;
      const cell = (/** @type {string} */ is, /** @type {any[]} */ ...inside) => h("td", { role: "cell", class: `attnlab-${is}` }, ...inside);
      const section = !told?.section ? "not in this book" : told.at && place.base ? h("a", { href: new URL(`../${told.at}`, place.base).href }, told.section) : told.section;
      return h(
        "tr",
        { role: "row", "data-name": `${path}${name}`.toLowerCase(), "data-known": Boolean(told?.section) },
        h("th", { scope: "row", role: "rowheader", dir: "auto" }, path && h("span", {}, path), name),
        cell("value", value),
        cell("means", told?.means ?? ""),
        cell("section", section),
      );
    }

    let typed = ""; // or picked, last
    /** What is read; and where what all layers keep is told: now, when a change began, and before the last one that made a difference. */
    let [found, held, start, before] = /** @type {(Reading | null)[]} */ ([null, null, null, null]);

    /** What is kept now, and was before a change, both at the length told: on its way to 64, a 6 may not be known. @param {Reading} found */
    function compare(found) {
      const at = (/** @type {Reading | null} */ one) => one && heldBytes(one, span(found, rules), rules);
      held = at(found) === null ? null : found;
      if (typed !== model.get("text")) [start, before] = [held, null];
      else if (at(held) !== at(start)) before = start;
      if (at(before) === at(held)) before = null;
      return [at(held), at(before)];
    }

    function update() {
      const words = String(model.get("text"));
      if (text.value !== words) text.value = words.length > LONGEST ? "" : words;
      const at = examples.findIndex(([, own]) => own === words);
      example.value = at < 0 ? "" : String(at);
      if (at >= 0 || words !== typed) {
        find.value = "";
        open = false;
      }
      found = null;
      try {
        const given = read(words);
        const all = listed(given, rules);
        const ours = all.filter(({ name, known }) => known && meanings.get(name)?.section).length;
        const result = (found = reading(plain(given), rules));
        const [now, then] = compare(result);
        /** @type {[string, string[]][]} */
        const said = summary(result, rules, then);
        if (result.inside) said.unshift(["read in", [result.inside.slice(0, -1)]]);
        /** @type {Record<string, Element[] | null>} */
        const drawn = { layers: result.order && [drawing("strip", TALL, ...ticks(result.order))], heads: comb(result), "in all": scale(now, then) };
        const top = text.getBoundingClientRect().top;
        facts.replaceChildren(...said.flatMap(([what, lines]) => [h("dt", {}, called(what)), h("dd", {}, ...(drawn[what] ?? []), ...lines.map((line) => h("div", {}, line)))]));
        rows.replaceChildren(...all.slice(0, ROWS).map(line));
        facts.hidden = shown.hidden = false;
        // A line more or less above does not move the text under who types.
        if (text.matches(":focus")) scrollBy(0, text.getBoundingClientRect().top - top);
        refuse();
        sift();
        const cut = all.length > ROWS ? ` The first ${grouped(ROWS)} are listed.` : "";
        say(`${grouped(all.length)} ${all.length === 1 ? "field" : "fields"}: ${grouped(ours)} in this book, ${grouped(all.length - ours)} not.${cut}`);
      } catch (error) {
        refuse(/** @type {Error} */ (error).message);
        say(shown.hidden ? "" : "In grey: the last text that could be read.");
      }
    }

    /** The last good reading stays, or the page would jump under the caret. */
    function refuse(why = "") {
      refused.textContent = why;
      refused.hidden = !why;
      sent.hidden = !!why;
      for (const part of [facts, shown]) part.classList.toggle("is-before", !!why);
    }

    return {
      update,
      pytorch() {
        const groups = found?.cache;
        if (!found || !groups) return "import torch\n\n# What the cache takes can't be told from its fields.\n";
        const each = groups.map((group) => `    [${groupBytes(group)}, ${group.window ?? "torch.inf"}],\n`).join("");
        const beside = uncounted(found, rules).length ? "# states are not counted\n" : "";
        return `import torch\n\n# kinds of layers: bytes a token, the window (a state: 1)\n${beside}groups = torch.tensor([\n${each}], dtype=torch.float64).reshape(-1, 2)\ngrows, window = groups.T\nfor n in (4096, 32768, 131072):\n    held = (grows * window.clamp(max=n)).sum()\n    print(n, round(held.item() / 2**20, 1), "MiB")\n`;
      },
      svg() {
        const lines = found ? summary(found, rules).flatMap(([what, said]) => said.map((line, i) => [i ? "" : called(what), line])) : [["", "no configuration"]];
        const text = (/** @type {number} */ x, /** @type {number} */ i, /** @type {string} */ fill, /** @type {string} */ words) => s("text", { x, y: 24 + 22 * i, "font-size": 14, fill: `var(--fig-${fill})` }, words);
        const wide = 120 + 7.4 * Math.max(66, ...lines.map(([, line]) => line.length));
        return standalone(s("svg", { viewBox: `0 0 ${Math.ceil(wide)} ${24 + TALL + 22 * lines.length}` }, s("g", { fill: "none", transform: `translate(110 ${22 * lines.length + 14})` }, ...ticks(found?.order ?? [])), ...lines.flatMap(([what, line], i) => [text(10, i, "quiet", what), text(110, i, "ink", line)])));
      },
    };
  },
});
