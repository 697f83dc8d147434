// What a search finds, in plain JavaScript: texts as lists of words, terms that they satisfy or not.

export interface ModelSearch {
  readonly words: readonly string[];
  readonly phrases: readonly (readonly string[])[];
  readonly without: readonly (readonly string[])[];
  /** The last word of it may go on. */
  readonly unfinished: readonly string[] | undefined;
}

/** Small letters and digits without accents; of the letters that tests use. */
function plainWords(text: string): string[] {
  const plain = text.normalize('NFD').replaceAll(/\p{M}/gu, '').toLowerCase();
  return (
    plain
      .replaceAll('ß', 'ss')
      .replaceAll('ø', 'o')
      .replaceAll('ς', 'σ')
      .match(/[\p{L}\p{Nd}]+/gu) ?? []
  );
}

/** As it would be typed. */
export function typed({ words, phrases, without, unfinished }: ModelSearch): string {
  return [
    ...without.map((phrase) => `-"${phrase.join(' ')}"`),
    ...phrases.map((phrase) => `"${phrase.join(' ')}"`),
    ...words.map((word) => `"${word}"`),
    ...(unfinished === undefined ? [] : [`"${unfinished.join(' ')}`]),
  ].join(' ');
}

/** `texts`: those of the searchable fields, in their order. */
export function isFound(texts: readonly (string | null)[], search: ModelSearch): boolean {
  const found = texts.flatMap((text) => plainWords(text ?? ''));
  const isThere = (phrase: readonly string[], isUnfinished = false): boolean => {
    const wanted = plainWords(phrase.join(' '));
    return found.some((_, start) =>
      wanted.every((word, at) => {
        const here = found[start + at];
        return isUnfinished && at === wanted.length - 1 ? here?.startsWith(word) === true : here === word;
      }),
    );
  };
  return (
    search.words.every((word) => isThere([word])) &&
    search.phrases.every((phrase) => isThere(phrase)) &&
    !search.without.some((phrase) => isThere(phrase)) &&
    (search.unfinished === undefined || isThere(search.unfinished, true))
  );
}
