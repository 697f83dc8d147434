// Accept-Encoding (RFC 9110 section 12.5.3): whether an answer may be sent compressed.

/** True when the client takes gzip; a coding with `q=0` is one that it does not take. */
export function acceptsGzip(header: string | undefined): boolean {
  const codings = new Map(
    (header ?? '').split(',').map((text) => {
      const [name = '', ...parameters] = text.split(';').map((part) => part.trim().toLowerCase());
      const isRefused = parameters.some((parameter) => /^q=0(?:\.0*)?$/.test(parameter));
      return [name, !isRefused] as const;
    }),
  );
  return codings.get('gzip') ?? codings.get('x-gzip') ?? codings.get('*') ?? false;
}
