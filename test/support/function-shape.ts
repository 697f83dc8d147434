// How long the functions of a source are, and how many parameters they take, read from its code without comments and
// strings (source-text.ts). A scanner of half a page: the code is formatted, so a function ends at the indentation of its
// first line.

interface FunctionShape {
  /** Number of the line on which it begins. */
  readonly line: number;
  /** Lines from its first to its last, or parameters by position. */
  readonly size: number;
}

const KEYWORDS = /^(?:if|for|while|switch|catch|return|await|throw|case|function|new|typeof|yield|super)$/;
/** The first line of a function with a body. */
const HEAD = /\bfunction\b|=> \{$|^\s+(?:(?:async|get|set|static) )*\*?[#\w]+(?:<.*>)?\(.*\{$/;

/** Each function, closures among them, with its number of lines. */
export function functionLengths(code: string): FunctionShape[] {
  const lines = code.split('\n');
  return lines.flatMap((line, at): FunctionShape[] => {
    const [, indent = '', word = ''] = /^(\s*)(\w*)/.exec(line) ?? [];
    if (!HEAD.test(line) || (KEYWORDS.test(word) && word !== 'function' && !line.endsWith('=> {'))) return [];
    const end = lines.findIndex(
      (other, index) => index > at && other.startsWith(`${indent}}`) && !other.trimEnd().endsWith('{'),
    );
    return end < 0 ? [] : [{ line: at + 1, size: end - at + 1 }];
  });
}

/** Each function and signature with its number of parameters. */
export function parameterCounts(code: string): FunctionShape[] {
  const found: FunctionShape[] = [];
  for (const { index } of code.matchAll(/\(/g)) {
    const end = closing(code, index);
    const before = /(?:(\bfunction\*?(?: \w+)?)|(?:^|\n)\s+(?:async )?([#\w]+))(?:<[^()]*>)?$/.exec(
      code.slice(0, index),
    );
    const after = code.slice(end + 1, end + 200);
    const isNamed = before !== null && !KEYWORDS.test(before[2] ?? '') && /^\s*[:{]/.test(after);
    if (!isNamed && !/^(?:: [^=;(){}]+)? =>/.test(after)) continue;
    found.push({ line: code.slice(0, index).split('\n').length, size: countOf(code.slice(index + 1, end)) });
  }
  return found;
}

/** The place of the bracket that closes the one at `open`. */
function closing(code: string, open: number): number {
  let depth = 0;
  for (let at = open; at < code.length; at++) {
    if (code[at] === '(') depth++;
    else if (code[at] === ')' && --depth === 0) return at;
  }
  return code.length;
}

/** Members of a list, with or without a comma at its end. */
function countOf(list: string): number {
  const text = list.trim().replace(/,$/, '');
  if (text === '') return 0;
  let depth = 0;
  let count = 1;
  for (const character of text.replaceAll('=>', '')) {
    if ('([{<'.includes(character)) depth++;
    else if (')]}>'.includes(character)) depth--;
    else if (character === ',' && depth === 0) count++;
  }
  return count;
}
