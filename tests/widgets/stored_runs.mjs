// Makes the curve that the playground and the figure of `five_minutes` begin with, that of the word alone, by the figure's own engine; tests run it again and compare.
//   node tests/widgets/stored_runs.mjs
import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { checked, start } from "../../src/widgets/math/playground.js";

/** Another seed than the figure's own: what is trained in the page is not traced. */
const [SEED, STEPS] = [1, 342];
const RUNS = [{ context: "alone" }];

export const made = () =>
  RUNS.map((given) => {
    const choices = checked(given, "A");
    const run = start(choices, SEED);
    while (run.model.steps < STEPS || run.curve.at(-1).step < STEPS) run.work.next();
    return { choices, curve: run.curve.map(({ step, accuracy }) => [step, Number(accuracy.toFixed(2))]) };
  });

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const rows = made().map((run) => `  ${JSON.stringify(run)},\n`).join("");
  writeFileSync(
    new URL("../../src/widgets/math/stored.js", import.meta.url),
    `// Runs of seed ${SEED}, [step, per cent right] each time one looked. Made by tests/widgets/stored_runs.mjs, which says how.\n` +
      `/** @type {{ choices: import("./playground.js").Choices, curve: [number, number][] }[]} */\nexport const STORED = [\n${rows}];\n`,
  );
}
