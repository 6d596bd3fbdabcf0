// The book's search, on a book of four pages: words, slips, other names, what counts more.
import assert from "node:assert/strict";
import test from "node:test";
import { Book, excerpt } from "../../src/book/finding.js";
import { findable, likeness, places, slip, stem, telling, tells } from "../../src/book/words.js";

const GIVEN = {
  pages: [
    ["06.html", "06 Masking", "chapter", [
      ["", "", "What a token may look at.", "", ""],
      ["rows", "The row with nothing to see", "Softmax of an empty row gives NaN.", "empty row", ""],
    ]],
    ["07.html", "07 Multi-head attention", "chapter", [
      ["", "", "Several heads, each with its own weights.", "", "W Q"],
      ["fewer", "Fewer keys and values", "With grouped-query attention several heads share one key.", "grouped-query attention", ""],
    ]],
    ["13.html", "13 What it costs", "chapter", [
      ["tiles", "The softmax that never sees its row", "FlashAttention works on tiles. The attention is exact.", "FlashAttention", "sqrt d"],
      ["pairs", "What all pairs buy", "Each token meets each: attention compares all pairs.", "", ""],
    ]],
    ["glossary.html", "Glossary", "glossary", [
      ["", "", "Each term.", "", ""],
      ["term-GQA", "grouped-query attention (GQA)", "Several heads share one key.", "", ""],
      ["term-Flash", "FlashAttention", "A fused kernel.", "", ""],
    ]],
  ],
  same: [["grouped-query attention", "GQA"]],
  asked: { quadratic: ["all pairs"], "a slow thing": ["tiles"], GQA: ["Fewer keys and values"], hidden: ["Masking"] },
  alone: { "α": "What all pairs buy", F: ["FlashAttention", "What all pairs buy"] },
  sources: [
    ["refs.html#id1", "Tiles of attention for all of us", "Doe, 2020.", "13.html#tiles"],
    ["refs.html#id2", "Pairs", "Doe et al., 2017.", "13.html#pairs"],
    ["refs.html#id3", "Rows", "Roe and Mask, 2019.", "06.html#rows"],
  ],
};
const BOOK = Book.of(GIVEN);
/** Lines of code by place; *Take it with you* has nothing else. @type {Parameters<Book["takeUpCode"]>[0]} */
const CODE = { lines: [
  ["06.html#rows", "s = q @ k.transpose(-2, -1) / math.sqrt(d)\np = s.masked_fill(~seen, -torch.inf).softmax(-1)"],
  ["07.html#take-it-with-you", "def heads(q, k):\nreturn F.scaled_dot_product_attention(q, k, v, is_causal=True)", "Take it with you"],
  ["13.html#tiles", "tile = scores.view(2, -1).softmax(-1)\nsome = torch.multinomial(p, 1)"],
], numbered: { "exercise 6.2": ["06.html#ex-rows", "Exercise 6.2 (Rows)", "Which row is empty?"], "equation 6.1": ["06.html#eq", "Equation (6.1)", "Rows"] } };
/** An answer to single words, each as rare as the other. @param {string[]} words */
const wanted = (...words) => ({ stems: new Set(words), phrases: [], wanted: words.map((word) => ({ own: [[word]], others: /** @type {string[]} */ ([]), rare: 1 })) });
const first = (/** @type {string} */ question) => BOOK.ask(question).found[0]?.at;

test("one form for one word", () => {
  for (const words of ["mask masks masked masking", "query queries queried", "saturate saturated saturating saturation", "map maps mapped mapping", "key keys", "bias biased", "normalise normalize normalisation normalizations", "colour colors"])
    assert.equal(new Set(words.split(" ").map(stem)).size, 1, words);
  assert.notEqual(stem("mass"), stem("mask"));
  assert.equal(stem("GQA"), "gqa");
});

test("a name in several pieces is found by its pieces and by the whole", () => {
  assert.deepEqual(findable("FlashAttention"), { single: ["flash", "attention"], whole: ["flashattention"] });
  assert.deepEqual(findable("multi-head"), { single: ["multi", "head"], whole: ["multihead"] });
  assert.deepEqual(findable("RoPE and n², ω"), { single: ["rope", "n2", "omega"], whole: [] });
  assert.deepEqual(telling("Θ and θ"), ["theta", "theta"]);
  assert.deepEqual(telling("Why is √d there?"), ["sqrt", "d"]);
  assert.deepEqual(telling("what is it"), ["what", "is", "it"], "something is better than nothing");
  assert.deepEqual(telling("how does attention work"), ["attention"]);
  assert.deepEqual(telling("How much memory does a 7B model need?"), ["memory", "7b", "model"]);
  for (const question of ["", "how much ", "what does"]) assert.equal(tells(question), false, question);
  assert.equal(tells("how much memory"), true);
});

test("one slip, and no more", () => {
  for (const other of ["softmx", "softmaxx", "softmox", "sotfmax", "oftmax"]) assert.ok(slip("softmax", other) && slip(other, "softmax"), other);
  for (const other of ["softmax", "sftmx", "maxsoft", "softener"]) assert.ok(!slip("softmax", other), other);
  assert.ok(likeness("perplexxityy", "perplexity") > likeness("perplexxityy", "complexity"));
});

test("a name is found however it is written", () => {
  for (const question of ["flash attention", "FlashAttention", "flash-attention", "flashattention", "Flash atention", "flashattenton"]) assert.equal(first(question), "13.html#tiles", question);
  for (const question of ["multi head", "multihead", "Multi-Head", "multi-haed"]) assert.equal(first(question), "07.html", question);
});

test("a term asked for in one word is explained", () => {
  for (const question of ["flash attention", "flashattention"]) assert.deepEqual([BOOK.ask(question).meanings[0]?.at, BOOK.ask(question).defined], ["glossary.html#term-Flash", true], question);
});

test("a name of code comes first where it stands word for word, and is marked in one piece", () => {
  const parted = ["key", "Key value heads", "Each head has a key and a value.", "", "num"];
  const book = Book.of({ ...GIVEN, pages: [["03.html", "03 Keys", "chapter", [parted]], ["some.html", "Read", "chapter", [["one", "One thing", "Change num_key_value_heads to 64, and a head has its key.", "", ""]]]] });
  const answer = book.ask("num_key_value_heads");
  assert.deepEqual([answer.found[0].at, answer.whole], ["some.html#one", true]);
  assert.deepEqual(excerpt(answer.found[0].text, answer).filter(({ hit }) => hit)[0].text, "num_key_value_heads");
});

test("where a place has every word, what has the commonest alone is not found", () => {
  const found = (/** @type {string} */ question) => BOOK.ask(question).found.map(({ at }) => at);
  assert.ok(found("attention").includes("13.html#pairs"));
  assert.deepEqual(found("flash attention"), ["13.html#tiles"]);
  assert.ok(found("zebrafish attention").includes("13.html#pairs"), "the other word is nowhere");
});

test("short names and other names", () => {
  assert.equal(first("GQA"), "07.html#fewer");
  assert.equal(first("why is attention quadratic"), "13.html#pairs");
  assert.equal(first("slow thing"), "13.html#tiles");
  const meant = (/** @type {string} */ question) => BOOK.ask(question).meanings.map(({ title }) => title);
  assert.deepEqual(meant("what is GQA"), ["grouped-query attention (GQA)"]);
  assert.deepEqual(meant("flash attention"), ["FlashAttention"]);
  assert.deepEqual(meant("attention"), []);
  for (const question of ["difference between flash attention and GQA", "How is flash attention different from GQA?"])
    assert.deepEqual(meant(question), ["FlashAttention", "grouped-query attention (GQA)"]);
  // Of a word that the book has nowhere that is told, and the rest is explained.
  assert.deepEqual(meant("difference between flash attention and a zebra"), ["FlashAttention"]);
  const { lost, whole } = BOOK.ask("difference between flash attention and a zebra");
  assert.deepEqual([lost, whole], [["zebra"], false]);
  assert.deepEqual(meant("grouped query"), ["grouped-query attention (GQA)"], "attention goes without saying");
  assert.equal(BOOK.ask("grouped query").defined, true);
  assert.equal(first("FlashAttention vs masking"), "13.html#tiles");
  assert.equal(BOOK.ask("FlashAttention vs masking").found[1].at, "06.html", "one side of what is asked apart");
  assert.deepEqual([first("α"), first("alpha")], ["13.html#pairs", "13.html#pairs"]);
  assert.notEqual(first("alpha tiles"), "13.html#pairs", "asked alone");
});

test("code is found as it is written, by most of it, or by its rarest call, and marked", () => {
  const book = Book.of({ ...GIVEN, coded: "code.js", called: ["masked_fill", "multinomial"] });
  assert.ok(book.wantsCode("q @ k") && book.wantsCode("what does multinomial do") && !book.wantsCode("what is a mask"));
  book.takeUpCode(CODE);
  assert.ok(!book.wantsCode("q @ k"), "it is there");
  /** @param {string} question */
  const lines = (question) => book.ask(question).found.filter(({ hits }) => hits).map(({ at, text, hits }) => [at, ...(hits ?? []).map(([from, until]) => text.slice(from, until))]);
  // Spaces, quotes and large letters do not matter; the last name may be unfinished.
  assert.deepEqual(lines("Q@k.transpose( -2,-1 )"), [["06.html#rows", "q @ k.transpose(-2, -1)"]]);
  assert.deepEqual(lines("is_causal=Tr"), [["07.html#take-it-with-you", "is_causal=True"]]);
  assert.equal(book.ask("is_causal=True").found[0].title, "Take it with you");
  // What is defined comes before what is used, and what most of it says before the rest.
  assert.deepEqual(lines("scaled_dot_product_attention is_causal"), [["07.html#take-it-with-you", "scaled_dot_product_attention", "is_causal"]]);
  assert.deepEqual(lines("F.softmax(tile, dim=-1)"), [["13.html#tiles", "tile", "softmax"]]);
  assert.deepEqual(lines("weights.masked_fill(hidden, nothing)"), [["06.html#rows", "masked_fill"]]);
  // A method is no name, and a sentence no code, but for the code in it.
  assert.deepEqual(lines("x.seen()"), []);
  assert.deepEqual(lines("what does multinomial do"), [["13.html#tiles", "multinomial"]]);
  assert.deepEqual(lines("why is is_causal=True here"), [["07.html#take-it-with-you", "is_causal=True"]]);
  assert.deepEqual(lines("what a token may look at"), []);
  // What the book has nowhere is no reason to show where its module stands.
  assert.deepEqual(book.ask("torch.bmm").found, []);
});

test("what has a number is found by it", () => {
  const book = Book.of({ ...GIVEN, coded: "code.js" });
  assert.ok(["exercise 6.2", "eq. (6.1)", `chapter ${7}`].every((question) => book.wantsCode(question)) && !book.wantsCode("an exercise"));
  book.takeUpCode(CODE);
  const first = (/** @type {string} */ question) => book.ask(question).found[0]?.at;
  for (const question of ["exercise 6.2", "Ex. 6.2", "ex 06.2 solution"]) assert.equal(first(question), "06.html#ex-rows", question);
  for (const question of ["equation 6.1", "eq (6.1)", "eqn 6.1"]) assert.equal(first(question), "06.html#eq", question);
  for (const question of [`chapter ${7}`, `how long does chapter ${"07"} take`]) assert.equal(first(question), "07.html", question);
  assert.notEqual(first("exercise 9.9"), "06.html#ex-rows");
});

test("a message of an error leads to what it is about, and one that no place is about says so", () => {
  const book = Book.of({ ...GIVEN, errors: [["shapes? cannot|must match", ["What all pairs buy"]], ["", ["Fewer keys and values"]]] });
  const asked = (/** @type {string} */ question) => {
    const { found, error, read, lost } = book.ask(question);
    return [found.map(({ title }) => title), error, read.length + lost.length];
  };
  assert.deepEqual(asked("RuntimeError: mat1 and mat2 shapes cannot be multiplied (4x8 and 16x8)"), [["What all pairs buy"], false, 0]);
  assert.deepEqual(asked("AttributeError: 'Maskk' has no attribute 'row'"), [["Fewer keys and values"], true, 0]);
  assert.equal(book.ask("an empty row").found[0].title, "The row with nothing to see");
});

test("who it is that does something is no part of what is asked", () => {
  assert.equal(first("why do transformers need rows"), "06.html#rows");
  assert.deepEqual(BOOK.ask("why do transformers need rows").lost, []);
  assert.deepEqual(BOOK.ask("zebras need rows").lost, ["zebras"]);
});

test("pages of code and about the book come last where nothing says all, and code answers who asks for code", () => {
  const book = Book.of({
    pages: [
      ["a.html", "01 A", "chapter", [["", "", "Attention looks back.", "", ""], ["old", "Long ago", "Attention in the past.", "", ""]]],
      ["code.html", "Modules", "reference", [["module", "lab.drawings.annals", "Draws attention.", "", ""]]],
      ["how.html", "How we test", "about", [["", "", "A machine invents tests of attention.", "", ""]]],
    ],
    same: [],
    asked: { annals: ["Long ago"] },
  });
  const found = (/** @type {string} */ question) => book.ask(question).found.map(({ at }) => at);
  assert.equal(book.ask("attention inventing zebras").whole, false);
  assert.deepEqual(found("attention inventing zebras").slice(0, 2).sort(), ["a.html", "a.html#old"]);
  assert.equal(found("annals of attention")[0], "a.html#old");
  assert.ok(found("drawings of attention")[0].startsWith("a.html"), "its module's name alone is no answer");
  assert.equal(book.ask("drawings of attention").whole, false);
  assert.equal(found("lab.drawings.annals")[0], "code.html#module");
  assert.equal(book.ask("lab.drawings.annals").whole, true);
});

test("what is called just so comes first, by its own name or another, and a source by its title", () => {
  const found = (/** @type {string} */ question) => BOOK.ask(question).found.map(({ at }) => at);
  assert.equal(first("hidden"), "06.html");
  assert.equal(first(`chapter ${6}`), "06.html");
  assert.equal(first("the row with nothing to see"), "06.html#rows");
  assert.equal(BOOK.ask("flash attention").defined, true, "no section is called so");
  assert.equal(BOOK.ask("GQA").defined, false, "a section is meant by it");
  assert.deepEqual(found("tiles of attention for all of us").slice(0, 2), ["refs.html#id1", "13.html#tiles"]);
  assert.deepEqual(found("Tiles of attention for").slice(0, 2), ["refs.html#id1", "13.html#tiles"]);
  assert.notEqual(first("tiles of"), "refs.html#id1", "a thing, not a title");
});

test("a letter asked alone leads to a term, and to what else it is led", () => {
  const { meanings, defined, found } = BOOK.ask("F");
  assert.deepEqual([meanings.map(({ at }) => at), defined, found[0].at], [["glossary.html#term-Flash"], true, "13.html#pairs"]);
  assert.deepEqual(BOOK.ask("F tiles").meanings, []);
});

test("an author’s name leads to what the bibliography lists, the oldest first, and to what tells of it", () => {
  const found = (/** @type {string} */ question) => BOOK.ask(question).found.map(({ at }) => at);
  for (const question of ["doe", "Doe et al"])
    assert.deepEqual(found(question).slice(0, 4), ["refs.html#id2", "refs.html#id1", "13.html#pairs", "13.html#tiles"], question);
  for (const [question, at] of [["Doe et al., 2017", "id2"], ["doe (2020)", "id1"], ["roe", "id3"]]) assert.equal(first(question), `refs.html#${at}`, question);
  assert.equal(first("mask"), "refs.html#id3", "the second of two");
  assert.ok(!found("doe tiles").some((at) => at.startsWith("refs")), "a name alone");
});

test("what was read otherwise is told, and so is what was not found", () => {
  assert.deepEqual(BOOK.ask("sofmtax row").read, [["sofmtax", "softmax"]]);
  assert.deepEqual(BOOK.ask("empty row").read, []);
  assert.equal(BOOK.ask("empty row").whole, true);
  assert.equal(BOOK.ask("empty zebrafish").whole, false);
  assert.deepEqual(BOOK.ask("zebrafish").found, []);
  assert.equal(BOOK.nearest("flashattn")[0].at, "glossary.html#term-Flash");
  assert.deepEqual(BOOK.nearest("zzqx"), [], "two letters in common are no likeness");
});

test("a word counts while it is written", () => {
  for (const end of [2, 4, 6, 8]) assert.equal(first("grouped-".slice(0, end)), "07.html#fewer");
});

test("words and whole names are marked where they stand", () => {
  const marked = (/** @type {string} */ text, /** @type {string[]} */ stems, /** @type {string[][]} */ ...phrases) => places(text, new Set(stems), phrases).map(([from, until]) => text.slice(from, until));
  assert.deepEqual(marked("Masks hide; a mask-like thing", ["mask"]), ["Masks", "mask"]);
  assert.deepEqual(marked("FlashAttention, attention", ["flash", "attent"]), ["Flash", "Attention", "attention"]);
  assert.deepEqual(marked("FlashAttention, attention", ["flash", "attent", "flashattent"]), ["FlashAttention", "attention"]);
  assert.deepEqual(marked("1/√d_k, d", ["d"]), ["√d_k", "d"]);
  assert.deepEqual(marked("query, grouped-query attention", [], ["group", stem("query"), "attent"]), ["grouped-query attention"]);
  const text = `${"x ".repeat(200)}the mask hides${" y".repeat(200)}`;
  const cut = excerpt(text, wanted("mask"));
  assert.deepEqual(cut.filter(({ hit }) => hit), [{ text: "mask", hit: true }]);
  assert.ok(cut.map((piece) => piece.text).join("").length < 340);
});

test("an excerpt is the whole sentence in which most stands, or the first", () => {
  const text = "Masks are cheap to have. A head that looks ahead leaks, and a mask of −∞ before the softmax stops the leak. … Rows 1 and 2 are empty. Why so?";
  const cut = (/** @type {string[]} */ stems, length = 40) => excerpt(text, wanted(...stems), length).map((piece) => piece.text).join("");
  assert.equal(cut(["mask", "leak"]), "A head that looks ahead leaks, and a mask of −∞ before the softmax stops the leak.");
  assert.equal(cut(["row"]), "Rows 1 and 2 are empty. Why so?");
  assert.equal(cut(["mask"]), "Masks are cheap to have.");
  assert.equal(cut([], 20), "Masks are cheap to have.");
  // One word of two is less than enough but where the first says nothing; and so is what every place has.
  assert.equal(cut(["mask", "row"]), "Masks are cheap to have.");
  assert.equal(cut(["row", "zebra"]), "Rows 1 and 2 are empty. Why so?");
  assert.equal(cut(["row", "zebra", "lion"]), "Masks are cheap to have.");
  const asked = wanted("row", "zebra");
  asked.wanted[1].rare = 0;
  assert.match(excerpt(text, asked, 40)[0].text, /^Rows|^$/);
});

test("of a slip one word is read, and no other is marked", () => {
  const book = Book.of({
    pages: [["a.html", "A", "chapter", [["", "", "Flash. Flash. A flash of attention.", "", ""], ["fish", "Fish", "Fish pay attention.", "", ""]]]],
    same: [],
    asked: {},
  });
  const { read, stems } = book.ask("flsh atention");
  assert.deepEqual(read, [["flsh", "flash"], ["atention", "attention"]]);
  assert.ok(!stems.has("fish"));
});

test("an excerpt holds the last word of another name where nothing else is said, and a few words take the next sentence along", () => {
  const asked = { ...wanted("quadratic"), wanted: [{ own: [["quadratic"]], others: ["pair"], rare: 1 }] };
  const text = "There are cheaper ways to hear of others, as all know. … It multiplies for the pairs of all its tokens, one by one.";
  const said = (/** @type {string} */ from, /** @type {any} */ of, length = 20) => excerpt(from, of, length).map((piece) => piece.text).join("");
  assert.equal(said(text, asked), "It multiplies for the pairs of all its tokens, one by one.");
  const riddle = "A head costs its width times n. The h cancels. So many heads cost as much as a single one of them.";
  assert.equal(said(riddle, wanted("cancel")), "The h cancels. So many heads cost as much as a single one of them.");
});

test("a book taken up in turns lets a page answer, and then answers as one taken up at once", async () => {
  let ran = 0;
  const beside = setInterval(() => ran++, 0).unref();
  // Many more sections than a turn has time for.
  const pages = Array.from({ length: 400 }, (_, i) => [`${i}.html`, `Page ${i}`, "page", GIVEN.pages[i % 3][3]]);
  const large = { ...GIVEN, pages: [...GIVEN.pages, ...pages] };
  const [book, once] = [await Book.inTurns(/** @type {any} */ (large)), Book.of(/** @type {any} */ (large))];
  clearInterval(beside);
  assert.ok(ran > 1, `something else ran ${ran} times`);
  for (const question of ["attention", "GQA", "hidden row", "all pears"]) assert.deepEqual(book.ask(question), once.ask(question));
});
