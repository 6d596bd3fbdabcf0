// A configuration, field by field: what each means, where the book has it, and above what all say together.
//
// For tests (data-part): example (select), file (button), text (textarea), defaults (what an example has of its class),
// refused (what is wrong), summary (dl), strip (svg: path, data-kind), bars (svg: rect, data-of), find (text), all (button),
// fields (table: field, value, what it means, section; rows with data-known), status.
import css from "./ui/configuration.css";
import { h, s, standalone } from "./ui/dom.js";
import { figure } from "./ui/frame.js";
import { LAYERS } from "./ui/layers.js";
import { load } from "./ui/script.js";
import { groupBytes, grouped, listed, reading, summary } from "./math/configuration.js";
import { parse, plain } from "./math/json.js";

/** @typedef {{ rules: any, note: string, examples: [string, string][], fields: [string, string, string, string[]][] }} Data */

const LONGEST = 1_000_000;
/** For what is typed and no prose. */
const EXACT = { spellcheck: "false", autocapitalize: "off", autocomplete: "off" };
const ROWS = 1500;
/** So many rows stand open; one button shows the others. */
const FIRST = 10;
/** @param {string} what */
const called = (what) => ({ inside: "Read in", "made for": "Longest text" })[what] ?? what[0].toUpperCase() + what.slice(1);

const WIDE = 480;

/** A tick for each layer, by the initial of its kind, but for what shares a cache. @param {string[]} kinds */
function ticks(kinds) {
  const step = WIDE / kinds.length;
  const wide = (step * 0.8).toFixed(1);
  return s("g", { transform: "scale(1 24)" }, ...kinds.map((kind, i) => {
    const parts = LAYERS[kind === "shared" ? "X" : kind[0].toUpperCase()];
    const d = parts.map(([from, tall]) => `M${(step * (i + 0.1)).toFixed(1)} ${from}h${wide}v${tall}h-${wide}z`).join("");
    return s("path", { "data-kind": kind, d, [parts[0][2] ? "stroke" : "fill"]: "var(--fig-ink)", "vector-effect": "non-scaling-stroke" });
  }));
}

/** A size in words as a number of MiB. @param {string} words */
const amount = (words) => parseFloat(words.replaceAll(",", "")) * (words.includes("GiB") ? 1024 : 1) || 0;

/** What all layers keep, keys and values, over what they kept before. @param {string} now @param {string} before @param {number} keys their share, or 0 of a latent */
function bars(now, before, keys) {
  const sizes = [now, before].map(amount);
  const most = 4 ** Math.ceil(Math.log2(Math.max(1, ...sizes)) / 2);
  const [own, old] = sizes.map((size) => (WIDE * size) / most);
  const bar = (/** @type {string} */ of, /** @type {number} */ x, /** @type {number} */ width, /** @type {string} */ fill, y = 0, height = 12) => s("rect", { "data-of": of, x, y, width, height, fill: `var(--fig-${fill})` });
  return [
    drawing("bars", 20, bar("all", 0, WIDE, "paper"), bar("keys", 0, own * keys, "key"), bar(keys ? "values" : "latent", own * keys, own * (1 - keys), keys ? "value" : "ink"), bar("before", 0, old, "quiet", 14, 6)),
    h("small", { class: "attnlab-private" }, `${keys ? "keys, values" : "latent"}, to ${most < 1024 ? `${most} M` : `${grouped(most / 1024)} G`}iB`),
  ];
}

/** @param {string} part @param {number} high @param {...Element} inside */
const drawing = (part, high, ...inside) => s("svg", { "data-part": part, viewBox: `0 0 ${WIDE} ${high}`, preserveAspectRatio: "none", fill: "none", style: `height: ${high}px`, "aria-hidden": true }, ...inside);

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
  if (text.length > LONGEST) throw new Error(`This is too long: ${grouped(text.length)} characters, and at most ${grouped(LONGEST)} are read. Weights and word lists are other files.`);
  if (!text.trim()) throw new Error("There is nothing to read yet: paste or drop a config.json, or pick an example.");
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

    const example = h("select", { "data-part": "example", on: { change: () => example.value && set({ text: examples[Number(example.value)][1] }) } }, h("option", { value: "" }, "your own"), ...examples.map(([name], i) => h("option", { value: i }, name)));
    const defaults = h("p", { class: "attnlab-private", "data-part": "defaults" }, note);
    const file = h("input", { type: "file", accept: ".json,application/json,text/plain", hidden: true });
    const pick = h("button", { type: "button", "data-part": "file", on: { click: () => file.click() } }, "Open a file");
    const text = h("textarea", { "data-part": "text", rows: 7, ...EXACT, wrap: "off", "aria-label": "The text of config.json" });
    const refused = h("p", { class: "attnlab-error attnlab-private", role: "alert", "data-part": "refused", hidden: true });
    const sent = h("p", { class: "attnlab-private" }, "Paste or drop a config.json here. It is read in this page and sent nowhere.");
    const facts = h("dl", { class: "attnlab-facts", "data-part": "summary" });
    const find = h("input", { type: "text", "data-part": "find", placeholder: "a part of its name", ...EXACT });
    const none = h("p", { hidden: true }, "No field has this in its name.");
    const rows = h("tbody", { role: "rowgroup" });
    const heads = ["field", "value", "what it means", "section"].map((name) => h("th", { scope: "col", role: "columnheader" }, name));
    // Roles, since on a phone its rows are laid out as blocks, and some browsers then forget that it is a table.
    const table = h("table", { class: "attnlab-fields", role: "table", "aria-label": "Fields", "data-part": "fields" }, h("thead", { role: "rowgroup" }, h("tr", { role: "row" }, ...heads)), rows);
    const more = h("button", { type: "button", class: "attnlab-unfold", "data-part": "all", on: { click: () => unfold() } });
    let open = false; // whether all rows are
    const shown = h("div", { hidden: true }, facts, h("label", { class: "attnlab-find" }, "Find a field", find), none, table, more);
    body.append(
      h("div", { class: "attnlab-open" }, h("label", {}, "Example", example), pick, file),
      defaults,
      text,
      sent,
      refused,
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
    text.addEventListener("focus", () => (start = held || start));
    text.addEventListener("input", () => set({ text: (typed = text.value) }));
    body.addEventListener("dragover", (event) => {
      event.preventDefault();
      text.classList.add("is-target");
    }, { signal });
    body.addEventListener("dragleave", () => text.classList.remove("is-target"), { signal });
    body.addEventListener("drop", (event) => {
      event.preventDefault();
      text.classList.remove("is-target");
      const { files, ...data } = { files: event.dataTransfer?.files, words: event.dataTransfer?.getData("text/plain") };
      if (files?.length) take(files[0]);
      else if (data.words) set({ text: data.words });
    }, { signal });
    find.addEventListener("input", () => (sift(), seek()));

    function unfold() {
      open = !open;
      sift();
      say(open ? `All ${grouped(rows.children.length)} fields are shown.` : `The first ${FIRST} fields are shown.`);
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

    /** @type {import("./math/configuration.js").Reading | null} */
    let found = null;
    /** What was typed last; what all layers keep now, kept when the typing began, and before its last change that made a difference. */
    let [typed, held, start, before] = ["", "", "", ""];

    /** Puts the size before a change beside the one now: on its way to 64, a 6 may have none. @param {[string, string[]][]} said @param {boolean} unknown */
    function compare(said, unknown) {
      const after = said.findIndex(([what]) => what === "cache") + 1;
      const own = said[after][0] === "in all" && said[after][1];
      const [size = "", at = ""] = (own && own[0].match(/^.*?( at \S+ tokens)/)) || [];
      held = size;
      if (typed !== model.get("text")) [start, before] = [held, ""];
      else if (held !== start) before = start;
      if (before === held) before = "";
      if (!before) return;
      if (own) own[0] += `; before ${before.replace(at, "")}`;
      else if (unknown) said.splice(after, 0, ["in all", [`unknown; before ${before}`]]);
    }

    function update() {
      const now = String(model.get("text"));
      if (text.value !== now) text.value = now.length > LONGEST ? "" : now;
      const at = examples.findIndex(([, own]) => own === now);
      example.value = at < 0 ? "" : String(at);
      // Its line stays empty under who types: the text would move.
      defaults.style.visibility = at < 0 ? "hidden" : "";
      if (now !== typed) {
        defaults.hidden = at < 0;
        find.value = "";
        open = false;
      }
      found = null;
      try {
        const given = read(now);
        const all = listed(given, rules);
        const ours = all.filter(({ name, known }) => known && meanings.get(name)?.section).length;
        const result = (found = reading(plain(given), rules));
        /** @type {[string, string[]][]} */
        const said = summary(result, rules);
        if (result.inside) said.unshift(["inside", [result.inside.slice(0, -1)]]);
        compare(said, !result.cache);
        const each = result.cache?.[0]?.terms.at(-1);
        /** @type {Record<string, Element[] | null>} */
        const drawn = { layers: result.order && [drawing("strip", 24, ticks(result.order))], "in all": bars(held, before, result.latent ? 0 : Array.isArray(each) ? each[0] / (each[0] + each[1]) : 0.5) };
        facts.replaceChildren(...said.flatMap(([what, lines]) => [h("dt", {}, called(what)), h("dd", {}, ...(drawn[what] ?? []), ...lines.map((line) => h("div", { "data-unknown": line.startsWith("unknown") }, line)))]));
        rows.replaceChildren(...all.slice(0, ROWS).map(line));
        shown.hidden = false;
        refuse("");
        sift();
        const cut = all.length > ROWS ? ` The first ${grouped(ROWS)} are listed.` : "";
        say(`${grouped(all.length)} ${all.length === 1 ? "field" : "fields"}: ${grouped(ours)} in this book, ${grouped(all.length - ours)} not.${cut}`);
      } catch (error) {
        refuse(/** @type {Error} */ (error).message);
        say(shown.hidden ? "" : "In grey: the last text that could be read.");
      }
    }

    /** The last good reading stays, or the page would jump under the caret. @param {string} why */
    function refuse(why) {
      refused.textContent = why;
      refused.hidden = !why;
      sent.hidden = shown.classList.toggle("is-before", !!why);
    }

    return {
      update,
      pytorch() {
        const groups = found?.cache;
        if (!groups) return "import torch\n\n# What the cache takes can't be told from this configuration.\n";
        const each = groups.map((group) => `    [${groupBytes(group)}, ${group.window ?? "torch.inf"}],\n`).join("");
        const beside = found?.kinds?.linear ? "# states are not counted\n" : "";
        return `import torch\n\n# kinds of layers: bytes a token, and the window that ends it\n${beside}groups = torch.tensor([\n${each}], dtype=torch.float64).reshape(-1, 2)\ngrows, window = groups.T\nfor n in (4096, 32768, 131072):\n    held = (grows * window.clamp(max=n)).sum()\n    print(n, round(held.item() / 2**20, 1), "MiB")\n`;
      },
      svg() {
        const lines = found ? summary(found, rules).flatMap(([what, said]) => said.map((line, i) => [i ? "" : called(what), line])) : [["", "no configuration"]];
        const text = (/** @type {number} */ x, /** @type {number} */ i, /** @type {string} */ fill, /** @type {string} */ words) => s("text", { x, y: 24 + 22 * i, "font-size": 14, fill: `var(--fig-${fill})` }, words);
        const wide = 120 + 7.4 * Math.max(66, ...lines.map(([, line]) => line.length));
        return standalone(s("svg", { viewBox: `0 0 ${Math.ceil(wide)} ${22 * lines.length + 48}` }, s("g", { fill: "none", transform: `translate(110 ${22 * lines.length + 14})` }, ticks(found?.order ?? [])), ...lines.flatMap(([what, line], i) => [text(10, i, "quiet", what), text(110, i, "ink", line)])));
      },
    };
  },
});
