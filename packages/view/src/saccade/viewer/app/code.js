// @ts-check
/** Python code told apart in colour and weight: keywords, strings, numbers, comments. */

const WORDS = "False None True and as assert async await break class continue def del elif else except finally for from global if import in is lambda nonlocal not or pass raise return try while with yield";
const PIECES = new RegExp(`(?<comment>#[^\\n]*)|(?<string>("""|''')[\\s\\S]*?\\3|[rbfu]{0,2}(?:"(?:[^"\\\\\\n]|\\\\.)*"|'(?:[^'\\\\\\n]|\\\\.)*'))|(?<number>\\b\\d+(?:\\.\\d+)?\\b)|(?<word>\\b(?:${WORDS.replaceAll(" ", "|")})\\b)`, "g");
const MAX_CODE = 20000;

/** @param {string} code @param {number} offset added to places @returns {{ start: number, end: number, name: string }[]} */
export function codePieces(code, offset = 0) {
  const found = [];
  for (const match of code.slice(0, MAX_CODE).matchAll(PIECES)) {
    const name = Object.entries(match.groups ?? {}).find(([, text]) => text !== undefined)?.[0] ?? "";
    found.push({ start: offset + match.index, end: offset + match.index + match[0].length, name: `code-${name}` });
  }
  return found;
}
