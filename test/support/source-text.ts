// TypeScript text as the architecture test looks at it: what a file imports, and its code without comments, strings and
// regular expressions. A scanner of a page: the code is formatted, so a `/` after an operator starts an expression.
import { globSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';

export interface Import {
  /** Package name or `node:…`; for our own files their path below src/. */
  readonly target: string;
  readonly isOwn: boolean;
  /** Nothing of it is left at run time. */
  readonly isType: boolean;
  readonly isDynamic: boolean;
}

interface StringLiteral {
  /** Expressions in a template are left out. */
  readonly text: string;
  /** The tag before a template, '' for none. */
  readonly tag: string;
}

export interface Source {
  /** Below src/. */
  readonly path: string;
  /** Folder below src/, or the name of a file that lies in none. */
  readonly module: string;
  readonly text: string;
  readonly imports: readonly Import[];
  /** Comments, strings and regular expressions blanked; what stands in `${}` is code. */
  readonly code: string;
  readonly strings: readonly StringLiteral[];
}

/** Every source file of the project. */
export function readSources(folder: string): Source[] {
  return globSync('**/*.{ts,tsx}', { cwd: folder })
    .sort()
    .map((path) => parseSource(path, readFileSync(join(folder, path), 'utf8')));
}

export function parseSource(path: string, text: string): Source {
  const { code, strings, bare } = blank(text);
  const module = path.includes('/') ? (path.split('/')[0] as string) : path;
  return { path, module, text, imports: importsOf(path, bare, code), code, strings };
}

const STATIC = /\b(?:import|export)\b(\s+type\b)?(?:[^;'"]*?\bfrom)?\s*['"]([^'"]+)['"]/g;
const DYNAMIC = /\bimport\(\s*['"]([^'"]+)['"]\s*\)/g;

/** `bare` has strings and no comments, `code` neither, at the same places. */
function importsOf(path: string, bare: string, code: string): Import[] {
  const found: Import[] = [];
  for (const [pattern, isDynamic] of [
    [STATIC, false],
    [DYNAMIC, true],
  ] as const) {
    for (const match of bare.matchAll(pattern)) {
      // A string that talks of imports is none.
      if (!/^(import|export)/.test(code.slice(match.index))) continue;
      const specifier = (isDynamic ? match[1] : match[2]) as string;
      const isOwn = specifier.startsWith('.');
      const target = isOwn ? normalize(join(dirname(path), specifier)) : packageOf(specifier);
      found.push({ target, isOwn, isType: !isDynamic && match[1] !== undefined, isDynamic });
    }
  }
  return found;
}

function packageOf(specifier: string): string {
  if (specifier.startsWith('node:')) return specifier;
  return specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/');
}

/** After one of these a slash starts a regular expression, not a division. */
const BEFORE_REGEX = /(?:^|[=(,:[!&|?{};<>+*%~^-]|\b(?:return|typeof|case|in|of|await|throw|yield|else|do))\s*$/;

function blank(text: string): { code: string; bare: string; strings: StringLiteral[] } {
  let code = '';
  let bare = '';
  const strings: StringLiteral[] = [];
  let index = 0;

  const blanked = (piece: string): string => piece.replaceAll(/[^\n]/g, ' ');
  const keep = (length: number): void => {
    const piece = text.slice(index, index + length);
    code += piece;
    bare += piece;
    index += length;
  };
  const hide = (length: number, isString: boolean): void => {
    const piece = text.slice(index, index + length);
    code += blanked(piece);
    bare += isString ? piece : blanked(piece);
    index += length;
  };
  const matchAt = (pattern: RegExp): string | undefined => {
    pattern.lastIndex = index;
    return pattern.exec(text)?.[0];
  };

  /** A template from its backquote on; expressions in it are code. */
  function template(): void {
    const tag = /(\w+)\s*(?:<[^<>]*>)?\s*$/.exec(code.slice(-60))?.[1] ?? '';
    let content = '';
    hide(1, true);
    for (;;) {
      const part = matchAt(/(?:[^`\\$]|\\[\s\S]|\$(?!\{))*/y) ?? '';
      content += part;
      hide(part.length, true);
      if (text[index] === '$') {
        keep(2);
        scan('}');
        keep(1);
      } else {
        hide(1, true);
        strings.push({ text: content, tag });
        return;
      }
    }
  }

  /** Code up to the closing brace, which it leaves; to the end without one. */
  function scan(end: '}' | undefined): void {
    let depth = 0;
    while (index < text.length) {
      const character = text[index] as string;
      if (end !== undefined && depth === 0 && character === end) return;
      if (character === '{') depth++;
      if (character === '}') depth--;
      const comment = matchAt(/\/\/[^\n]*|\/\*[\s\S]*?\*\//y);
      if (comment !== undefined) hide(comment.length, false);
      else if (character === '`') template();
      else if (character === "'" || character === '"') {
        const literal = matchAt(/'(?:[^'\\\n]|\\[\s\S])*'|"(?:[^"\\\n]|\\[\s\S])*"/y) ?? character;
        strings.push({ text: literal.slice(1, -1), tag: '' });
        hide(literal.length, true);
      } else if (character === '/' && BEFORE_REGEX.test(code.slice(-60))) {
        const regex = matchAt(/\/(?:[^/\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\/[a-z]*/y) ?? character;
        hide(regex.length, false);
      } else keep(1);
    }
  }

  scan(undefined);
  return { code, bare, strings };
}
