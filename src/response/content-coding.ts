// Accept-Encoding (RFC 9110 section 12.5.3): whether a response may be compressed.

/** Returns whether the client accepts gzip; `q=0` refuses a coding. */
export const acceptsGzip = (header: string | undefined): boolean => accepts(header, ['gzip', 'x-gzip']);

/** Returns whether the client accepts brotli (RFC 7932). */
export const acceptsBrotli = (header: string | undefined): boolean => accepts(header, ['br']);

function accepts(header: string | undefined, names: readonly string[]): boolean {
  const codings = new Map(
    (header ?? '').split(',').map((text) => {
      const [name = '', ...parameters] = text.split(';').map((part) => part.trim().toLowerCase());
      const isExcluded = parameters.some((parameter) => /^q=0(?:\.0*)?$/.test(parameter));
      return [name, !isExcluded] as const;
    }),
  );
  const coding = [...names, '*'].find((name) => codings.has(name));
  return coding !== undefined && codings.get(coding) === true;
}
