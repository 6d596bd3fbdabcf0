// JSON read by hand: it keeps the order of fields and says where and how a text is no JSON, in words for whoever wrote it.

/**
 * A value as it was read: an object is a list of its fields in their order, since JavaScript would move names like "0".
 * @typedef {{ name: string, value: Read }} Field
 * @typedef {{ kind: "object", fields: Field[] } | { kind: "list", values: Read[] } |
 *   { kind: "plain", value: string | number | boolean | null, text: string }} Read
 */

const DEEP = 60;
const WORDS = new Map(/** @type {[string, number | boolean | null][]} */ ([["true", true], ["false", false], ["null", null], ["NaN", NaN], ["Infinity", Infinity], ["-Infinity", -Infinity]]));
const ESCAPES = new Map([["n", "\n"], ["t", "\t"], ["r", "\r"], ["b", "\b"], ["f", "\f"], ["/", "/"], ["\\", "\\"], ['"', '"']]);
const PYTHON = new Map([["True", "true"], ["False", "false"], ["None", "null"]]);
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const WORD = /-?[\p{L}_$][\p{L}\p{N}_$]*/uy;

/**
 * Read a text. Beside JSON it takes NaN and Infinity, which Python writes.
 * @param {string} text
 * @returns {Read}
 */
export function parse(text) {
  let at = 0;

  /**
   * @param {string} what
   * @param {number} [where]
   * @returns {never}
   */
  function fail(what, where = at) {
    const before = text.slice(0, where).split(/\r\n?|\n/);
    throw new Error(`This is no JSON: line ${before.length}, column ${(before.at(-1) ?? "").length + 1}: ${what}`);
  }

  const named = () => {
    if (at >= text.length) return "the end of the text";
    const found = /** @type {string} */ (String.fromCodePoint(/** @type {number} */ (text.codePointAt(at))));
    return `“${found}”`;
  };

  function space() {
    while (/[ \t\r\n\uFEFF]/.test(text[at] ?? "")) at += 1;
    const two = text.slice(at, at + 2);
    if (two === "//" || two === "/*" || text[at] === "#") fail("a comment. JSON has none: take it out.");
  }

  /** @param {number} depth @returns {Read} */
  function value(depth) {
    if (depth > DEEP) fail(`more than ${DEEP} objects or lists stand in one another.`);
    const first = text[at];
    if (first === "{") return object(depth);
    if (first === "[") return list(depth);
    if (first === '"') {
      const value = string();
      return { kind: "plain", value, text: JSON.stringify(value) };
    }
    if (first === "'") fail("a single quote. JSON writes texts in double quotes.");
    NUMBER.lastIndex = WORD.lastIndex = at;
    const word = WORD.exec(text)?.[0];
    if (word !== undefined) {
      const meant = PYTHON.get(word);
      if (meant) fail(`${word} is Python. JSON writes ${meant}.`);
      if (!WORDS.has(word)) fail(`“${word}” is no value: a text needs double quotes.`);
      at += word.length;
      return { kind: "plain", value: /** @type {any} */ (WORDS.get(word)), text: word };
    }
    const number = NUMBER.exec(text)?.[0];
    if (number === undefined) fail(`a value should stand here, and there is ${named()}.`);
    const end = at + number.length;
    if (/[\d.eE+_]/.test(text[end] ?? "")) fail(`a number that JSON does not know: it starts with ${number}${text[end]}.`);
    at = end;
    return { kind: "plain", value: Number(number), text: number };
  }

  function string() {
    const start = at;
    let out = "";
    for (at += 1; text[at] !== '"'; at += 1) {
      const letter = text[at];
      if (letter === undefined || letter === "\n" || letter === "\r") fail("a text starts here, and its line ends without a closing quote.", start);
      if (letter !== "\\") {
        if (letter < " ") fail("a tab or another sign that can't be seen, inside a text.");
        out += letter;
        continue;
      }
      const next = text[(at += 1)] ?? "";
      const code = /^[0-9a-fA-F]{4}/.exec(text.slice(at + 1, at + 5))?.[0];
      if (next === "u" && code) {
        out += String.fromCharCode(parseInt(code, 16));
        at += 4;
      } else if (ESCAPES.has(next)) out += ESCAPES.get(next);
      else fail(`\\${next} means nothing in a JSON text.`, at - 1);
    }
    at += 1;
    return out;
  }

  /** What ends a part, or a comma before the next. @param {string} end @param {string} what */
  function more(end, what) {
    space();
    if (text[at] === end) {
      at += 1;
      return false;
    }
    if (text[at] !== ",") fail(`${what === "field" ? "after a field" : "after a value"} a comma or “${end}” should stand, and there is ${named()}.`);
    const comma = at;
    at += 1;
    space();
    if (text[at] === end) fail(`a comma before the closing “${end}”. JSON allows none there: take it out.`, comma);
    return true;
  }

  /** @param {number} depth @returns {Read} */
  function object(depth) {
    /** @type {Field[]} */
    const fields = [];
    at += 1;
    space();
    if (text[at] === "}") {
      at += 1;
      return { kind: "object", fields };
    }
    do {
      space();
      if (text[at] === "'") fail("a single quote. JSON writes names in double quotes.");
      if (text[at] !== '"') fail(`the name of a field, in double quotes, should stand here, and there is ${named()}.`);
      const name = string();
      space();
      if (text[at] !== ":") fail(`a colon should follow the name, and there is ${named()}.`);
      at += 1;
      space();
      fields.push({ name, value: value(depth + 1) });
    } while (more("}", "field"));
    return { kind: "object", fields };
  }

  /** @param {number} depth @returns {Read} */
  function list(depth) {
    /** @type {Read[]} */
    const values = [];
    at += 1;
    space();
    if (text[at] === "]") {
      at += 1;
      return { kind: "list", values };
    }
    do {
      space();
      values.push(value(depth + 1));
    } while (more("]", "value"));
    return { kind: "list", values };
  }

  space();
  if (at >= text.length) throw new Error("There is nothing to read yet.");
  const found = value(0);
  space();
  if (at < text.length) fail(`the configuration has ended, and there is more: ${named()}.`);
  return found;
}

/**
 * A value as JavaScript has it; of a name that stands twice the last one counts, as in Python.
 * @param {Read} read
 * @returns {any}
 */
export function plain(read) {
  if (read.kind === "list") return read.values.map(plain);
  if (read.kind === "plain") return read.value;
  // No prototype: a field may be called __proto__.
  const out = Object.create(null);
  for (const { name, value } of read.fields) out[name] = plain(value);
  return out;
}
