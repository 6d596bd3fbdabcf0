// Write what the page's training gives, for torch to compare (test_train.py): node train_dump.mjs CASES.json FOLDER
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { checked, masks } from "../../src/widgets/math/design.js";
import { draw, LEXICON, RULES, TAGS, WORDS } from "../../src/widgets/math/grammar.js";
import { CEILINGS } from "../../src/widgets/math/playground.js";
import { uniforms } from "../../src/widgets/math/random.js";
import { adam, backward, build, forward, stream } from "../../src/widgets/math/train.js";

const [cases, folder] = process.argv.slice(2);
const numbers = [];
const about = JSON.parse(readFileSync(cases, "utf8")).map(({ choices, seed, batch, steps, rate, parts }) => {
  const uniform = uniforms(stream(seed, "batches"));
  let drawn = 0;
  const model = build(choices.design ? { ...choices, sight: masks(checked(choices.design)) } : choices, seed);
  const losses = [];
  const batches = [];
  numbers.push(model.values.slice());
  for (let step = 0; step <= steps; step++) {
    const sentences = Array.from({ length: batch }, () => draw(() => uniform(drawn++)));
    const among = sentences.reduce((n, { words }) => n + words.length, 0);
    let loss = 0;
    // A step may be taken in parts, so that no frame of the page waits for a whole one.
    for (let from = 0; from < batch; from += Math.ceil(batch / parts)) {
      const part = sentences.slice(from, from + Math.ceil(batch / parts));
      loss += backward(forward(model, part.map(({ words }) => words)), part.map(({ tags }) => tags), among);
    }
    losses.push(loss);
    batches.push(sentences.map(({ words, tags }) => [words.map((i) => WORDS[i]), tags.map((i) => TAGS[i])]));
    if (step === 0) numbers.push(model.slopes.slice());
    if (step < steps) adam(model, rate);
  }
  numbers.push(model.values.slice());
  return { losses, batches, shapes: [...model.parameters].map(([name, { shape }]) => [name, shape]) };
});
writeFileSync(join(folder, "about.json"), JSON.stringify({ grammar: { RULES, LEXICON, TAGS }, ceilings: CEILINGS, about }));
writeFileSync(join(folder, "numbers.bin"), Buffer.concat(numbers.map((part) => Buffer.from(part.buffer))));
