// When a sentence is written beside what moves.

/**
 * What is said of a state, and written once the motion that leads there has ended: a number beside a mark may run with
 * it, a sentence may not be first. What was still to be said then never is.
 * @param {(words: string) => void} say
 * @returns {(words: string, motion?: Animation) => void} without a motion it is written at once
 */
export function inTime(say) {
  let turn = 0;
  return (words, motion) => {
    const own = ++turn;
    const write = () => own === turn && say(words);
    if (motion) motion.addEventListener("finish", write);
    else write();
  };
}
