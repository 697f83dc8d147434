// Letters of names as ASCII, for slugs and names of fields. Pure.

// Letters that Unicode does not decompose into a letter of ASCII and marks.
const LETTERS: ReadonlyMap<string, string> = new Map([
  ['ß', 'ss'],
  ['ẞ', 'SS'],
  ['æ', 'ae'],
  ['Æ', 'AE'],
  ['œ', 'oe'],
  ['Œ', 'OE'],
  ['ø', 'o'],
  ['Ø', 'O'],
  ['đ', 'd'],
  ['Đ', 'D'],
  ['ð', 'd'],
  ['Ð', 'D'],
  ['þ', 'th'],
  ['Þ', 'TH'],
  ['ł', 'l'],
  ['Ł', 'L'],
  ['ı', 'i'],
]);

/** Removes the accents of Latin letters: `Söhne` becomes `Sohne`. Other scripts stay. */
export const removeAccents = (text: string): string =>
  [...text.normalize('NFKD')]
    .map((letter) => LETTERS.get(letter) ?? letter)
    .join('')
    .replace(/\p{M}/gu, '');

const LONGEST_SLUG = 63;

/** Derives a slug from a name: `[a-z0-9-]`, 63 characters at most; empty if the name has no letter of ASCII. */
export const suggestSlug = (name: string): string =>
  removeAccents(name)
    .toLowerCase()
    // An apostrophe is inside a word.
    .replace(/['’]/g, '')
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-/, '')
    .slice(0, LONGEST_SLUG)
    .replace(/-$/, '');
