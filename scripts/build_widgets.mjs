// Build the figures: one ES module each, for live kernels and for the book's pages, and three classic scripts:
// the pages' host, the book's search, and what sets formulas while the book is built.
//   node scripts/build_widgets.mjs [OUT]     OUT: another root to write to (a test compares it with the committed files)
import { readdirSync, readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build, transform } from "esbuild";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const out = process.argv[2] ?? root;
const source = join(root, "src/widgets");
const figures = readdirSync(source).filter((file) => file.endsWith(".js") && file !== "host.js");
/** Read style sheets as text, without their comments and spaces, and for the phones of 2022 without nesting: every
 * figure carries the whole sheet. */
const css = {
  name: "css",
  setup: (/** @type {import("esbuild").PluginBuild} */ given) =>
    given.onLoad({ filter: /\.css$/ }, async ({ path }) => ({
      contents: (await transform(readFileSync(path, "utf8"), { loader: "css", minify: true, target: "safari16" })).code,
      loader: "text",
    })),
};
const common = {
  absWorkingDir: root,
  bundle: true,
  minify: true,
  charset: "utf8",
  target: "es2022",
  plugins: [css],
  legalComments: "none",
};

for (const file of figures) {
  await build({
    ...common,
    entryPoints: [join(source, file)],
    format: "esm",
    outfile: join(out, "src/attnbook/static", basename(file)),
  });
}
// A classic script: browsers load it from file:// too, which they refuse for modules.
await build({ ...common, entryPoints: [join(source, "host.js")], format: "iife", outfile: join(out, "_static/attnlab.js") });
// The book's own, each with the library that it uses and that library's licence. Readers load the search, and have its notice
// in a file beside it.
const MINISEARCH = "MiniSearch, copyright 2022 Luca Ongaro, MIT licence: licences/minisearch.txt";
const temml = readFileSync(join(root, "node_modules/temml/LICENSE"), "utf8").trim();
for (const [file, notice] of [["search.js", MINISEARCH], ["formulas.js", `Temml:\n${temml}\n`]]) {
  await build({
    ...common,
    entryPoints: [join(root, "src/book", file)],
    format: "iife",
    banner: { js: `/* With ${notice}*/` },
    outfile: join(out, "_ext/attnlab_book", file),
  });
}
