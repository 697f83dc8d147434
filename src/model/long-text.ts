// Texts that stay the bytes that PostgreSQL sent: decoding and encoding a page of 260 kB costs more than the rest of its request.

/** A long text as UTF-8. */
export interface LongText {
  readonly bytes: Uint8Array;
  /** Returns the memory of the bytes, which must not be read after that: others are written there. */
  readonly release: () => void;
}

export type Text = string | LongText;
