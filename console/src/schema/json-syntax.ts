// Position of the first syntax error in JSON. The messages of JSON.parse differ between browsers and often lack the
// position.

interface SyntaxProblem {
  readonly message: string;
  readonly at: number;
}

const VALUE =
  /"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?|true|false|null/y;
const NAME = /"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y;
const SPACE = /[ \t\r\n]*/y;

/** Returns the first error, or undefined if the text is JSON (RFC 8259). `at` is an offset into the text. */
export function findSyntaxError(text: string): SyntaxProblem | undefined {
  let at = 0;
  const take = (pattern: RegExp): boolean => {
    pattern.lastIndex = at;
    const isMatch = pattern.exec(text) !== null;
    if (isMatch) at = pattern.lastIndex;
    return isMatch;
  };
  const skip = (character: string): boolean => {
    take(SPACE);
    if (text[at] !== character) return false;
    at += 1;
    take(SPACE);
    return true;
  };
  // Open brackets, innermost last. A list instead of recursion: texts may be nested deeper than the stack.
  const open: ('}' | ']')[] = [];
  const mistake = (message: string): SyntaxProblem => ({ message, at });
  take(SPACE);
  for (;;) {
    // A value begins here.
    if (skip('{')) {
      if (!skip('}')) {
        open.push('}');
        if (!take(NAME)) return mistake('a name in quotation marks is expected');
        if (!skip(':')) return mistake(': is expected');
        continue;
      }
    } else if (skip('[')) {
      if (!skip(']')) {
        open.push(']');
        continue;
      }
    } else if (!take(VALUE)) return mistake('a value is expected');
    // After a value the enclosing brackets may close.
    while (open.length > 0 && skip(open.at(-1) as string)) open.pop();
    take(SPACE);
    const within = open.at(-1);
    if (within === undefined) return at === text.length ? undefined : mistake('the document has ended here');
    if (!skip(',')) return mistake(`, or ${within} is expected`);
    if (within === '}') {
      if (!take(NAME)) return mistake('a name in quotation marks is expected');
      if (!skip(':')) return mistake(': is expected');
    }
  }
}
