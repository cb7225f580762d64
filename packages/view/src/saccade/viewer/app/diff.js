// @ts-check
/** What two texts share, word by word. */

const MAX_WORDS = 2000;

/** The longest common run of words. @param {string} a @param {string} b @returns {{ op: "same" | "a" | "b", text: string }[]} */
export function wordDiff(a, b) {
  const [left, right] = [wordsIn(a), wordsIn(b)];
  const columns = right.length + 1;
  const lengths = new Uint16Array((left.length + 1) * columns);
  for (let i = left.length - 1; i >= 0; i -= 1) {
    for (let j = right.length - 1; j >= 0; j -= 1) {
      lengths[i * columns + j] = left[i] === right[j] ? lengths[(i + 1) * columns + j + 1] + 1 : Math.max(lengths[(i + 1) * columns + j], lengths[i * columns + j + 1]);
    }
  }
  /** @type {{ op: "same" | "a" | "b", text: string }[]} */
  const parts = [];
  const add = (/** @type {"same" | "a" | "b"} */ op, /** @type {string} */ text) => {
    const last = parts[parts.length - 1];
    if (last?.op === op) last.text += text;
    else parts.push({ op, text });
  };
  let [i, j] = [0, 0];
  while (i < left.length || j < right.length) {
    if (i < left.length && j < right.length && left[i] === right[j]) {
      add("same", left[i]);
      i += 1;
      j += 1;
    } else if (j >= right.length || (i < left.length && lengths[(i + 1) * columns + j] >= lengths[i * columns + j + 1])) {
      add("a", left[i]);
      i += 1;
    } else {
      add("b", right[j]);
      j += 1;
    }
  }
  return parts;
}

/** @param {string} text */
function wordsIn(text) {
  return (text.match(/\s+|[\p{L}\p{N}_]+|./gsu) ?? []).slice(0, MAX_WORDS);
}
