// The words of the code: names that may not come back, with the term of the field to use instead, and how comments begin.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { parseSource, readSources, type Source } from './support/source-text.ts';

const ROOT = join(import.meta.dirname, '..');

/** Parts of names (`visitOf` has the parts `visit` and `of`), each with the word to use. */
const BANNED: Readonly<Record<string, string>> = {
  beside: 'workspace schema, internal',
  borrower: 'bulkhead, limiter',
  conduct: 'circuit breaker',
  desk: 'context',
  guest: 'request',
  house: 'services',
  journey: 'context, request',
  lane: 'pool',
  patience: 'timeout, retry options',
  presence: 'registry',
  room: 'services, folder, capacity',
  rooms: 'services, folders',
  standpoint: 'context',
  stranger: 'unauthenticated, anonymous',
  viewpoint: 'context',
  visit: 'context',
  visitor: 'context, session',
};

/** Participles and adverbs that are no name by themselves: they say what happened to a thing and not which thing it is. */
const BARE = new Set(
  'again ahead asked away found freed given kept known made meant near noted once said shown stamped taken told wanted'.split(
    ' ',
  ),
);

/** Names that users see in answers, so they stay. */
const PUBLIC_NAMES: readonly string[] = ['src/admin-api/settings.ts: asked'];

const COMMENT_STARTS = /^(?:Of|What|Those|Whose|As|Whoever|That)\b/;
const COMMENT_WORDS = /\b(?:beside|behind|anew|begun|nobody|somebody)\b/i;

/** Words of the screens that have another one in the field: diagram, fix, invalid, redo, no downtime, conflicting records. */
const SCREEN_WORDS = /\b(?:pictures?|mend|mistaken|do again|requests go on|in the way)\b/i;

/** Texts of the user of Unix systems whose name is such a word. */
const PUBLIC_TEXTS = /\ba user nobody\b/;

const SOURCES = ['src', 'console/src', 'client/src'].flatMap((folder) =>
  readSources(join(ROOT, folder))
    .filter(({ path }) => !/\.generated\.|\.d\.ts$/.test(path))
    .map((source) => ({ ...source, path: `${folder}/${source.path}` })),
);

const splitName = (name: string): string[] =>
  name
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replaceAll('_', ' ')
    .toLowerCase()
    .split(' ')
    .filter((part) => part !== '');

/** Names that a file declares: constants, functions, types, members and parameters. */
function collectNames({ code }: Pick<Source, 'code'>): Set<string> {
  const declared = code.matchAll(
    /\b(?:const|let|function|class|interface|type)\s+([A-Za-z_$][\w$]*)|([A-Za-z_$][\w$]*)\??(?=:\s)|[{,(]\s*([A-Za-z_$][\w$]*)(?=\s*[,})=])/g,
  );
  return new Set([...declared].map(([, declaration, member, binding]) => declaration ?? member ?? binding ?? ''));
}

function findBadNames(source: Pick<Source, 'code'>): string[] {
  const functions = [
    ...source.code.matchAll(
      /\bfunction\*?\s+(\w*[a-z]Of)\b|\bconst\s+(\w*[a-z]Of)\s*(?::[^=]*)?=\s*(?:async\s*)?(?:<|\()/g,
    ),
  ];
  const participles = [...source.code.matchAll(/\bfunction\*?\s+([a-z]+ed)\b(?<!need|feed|seed|embed)/g)];
  return [
    ...participles.map(([, name]) => `${name}: a function is a verb (check, invert, select …)`),
    ...functions.map(
      ([, declared, constant]) => `${declared ?? constant}: a function is a verb (get, find, build, parse …)`,
    ),
    ...[...collectNames(source)].flatMap((name) => {
      if (BARE.has(name)) return [`${name}: name the thing, not what happened to it`];
      const part = splitName(name).find((one) => Object.hasOwn(BANNED, one));
      return part === undefined ? [] : [`${name}: ${BANNED[part]}`];
    }),
  ];
}

/** Each comment of a file as one line of text; a block of `//` lines is one comment. */
function readComments(text: string, { code }: Pick<Source, 'code'>): string[] {
  const comments: string[] = [];
  const lines = text.split('\n');
  let block = '';
  let offset = 0;
  for (const line of lines) {
    const match = /(?<=^|\s)(?:\/\/|\/\*\*?|\*(?!\/))\s?(.*?)(?:\*\/)?$/.exec(line);
    // Where the scanner left code or a string, there is no comment.
    const isBlank = match !== null && code.slice(offset + match.index, offset + match.index + 2).trim() === '';
    const isLine = /^\s*(?:\/\/|\/\*|\*)/.test(line);
    if (match !== null && isBlank && isLine) {
      const starts = /^\s*\/\*/.test(line) || block === '';
      if (starts && block !== '') comments.push(block);
      block = starts ? (match[1] as string) : `${block} ${match[1]}`;
    } else {
      if (block !== '') comments.push(block);
      block = '';
    }
    offset += line.length + 1;
  }
  if (block !== '') comments.push(block);
  return comments.map((comment) => comment.trim()).filter((comment) => comment !== '');
}

function findBadComments(text: string, source: Source): string[] {
  return readComments(text, source).flatMap((comment) => {
    if (COMMENT_STARTS.test(comment)) return [`begin with a verb or a noun: ${comment.slice(0, 60)}`];
    const word = COMMENT_WORDS.exec(comment.replaceAll(/`[^`]*`/g, ''))?.[0];
    return word === undefined ? [] : [`say it without "${word}": ${comment.slice(0, 60)}`];
  });
}

/** Texts of more than one word, which are served or printed; in a page of the console also those between its elements. */
function findBadTexts({ path, code, strings }: Pick<Source, 'path' | 'code' | 'strings'>): string[] {
  const texts = strings.flatMap(({ text, tag }) => (tag === '' && text.includes(' ') ? [text] : []));
  return [...texts, ...(path.endsWith('.tsx') ? code.split('\n') : [])].flatMap((text) => {
    const word =
      COMMENT_WORDS.exec(text.replace(PUBLIC_TEXTS, ''))?.[0] ??
      (path.startsWith('console/') ? SCREEN_WORDS.exec(text)?.[0] : undefined);
    return word === undefined ? [] : [`${path}: say it without "${word}": ${text.trim().slice(0, 60)}`];
  });
}

test('names are words of the field', () => {
  const bad = SOURCES.flatMap((source) => findBadNames(source).map((mistake) => `${source.path}: ${mistake}`));
  assert.deepEqual(
    bad.filter((mistake) => !PUBLIC_NAMES.some((name) => mistake.startsWith(`${name}:`))),
    [],
  );
});

test('comments begin with a verb or a noun', () => {
  const bad = SOURCES.flatMap((source) =>
    findBadComments(readFileSync(join(ROOT, source.path), 'utf8'), source).map(
      (mistake) => `${source.path}: ${mistake}`,
    ),
  );
  assert.deepEqual(bad, []);
});

test('texts that are served or printed have the words of comments', () =>
  assert.deepEqual(SOURCES.flatMap(findBadTexts), []));

test('a name or a comment that is none of the field is found', () => {
  const parse = (text: string) => parseSource('src/a.ts', text);
  const names = [
    'function placeOf(x: string) {}',
    'const found = rows[0];',
    'function load(visitor: Visitor) {}',
    'function narrowed(scope: Scope) {}',
  ];
  for (const text of names) assert.notDeepEqual(findBadNames(parse(text)), [], text);
  assert.deepEqual(findBadNames(parse('function findPlace(row: Row): Place { return row.place; }')), []);
  const comments = ['/** Of an entity. */', '// What is stored.', '/** Tables beside records. */', '// Nobody waits.'];
  for (const text of comments) assert.notDeepEqual(findBadComments(text, parse(text)), [], text);
  assert.deepEqual(
    findBadComments('/** Returns the row, or undefined. */', parse('/** Returns the row, or undefined. */')),
    [],
  );
  for (const [path, text, count] of [
    ['src/a.ts', "const text = 'Nobody waits';", 1],
    ['src/a.ts', 'const text = `a table behind another`;', 1],
    ['src/a.ts', "const name = 'nobody'; const behind = 1;", 0],
    ['src/a.ts', "const text = 'neither root nor a user nobody is there';", 0],
    ['src/a.tsx', '<Text>{strategy}, begun <DateTime /></Text>', 1],
    ['console/src/a.tsx', '<Text>3 records are in the way</Text>', 1],
    ['src/a.ts', "const text = '3 records are in the way';", 0],
  ] as const)
    assert.equal(findBadTexts(parseSource(path, text)).length, count, text);
});
