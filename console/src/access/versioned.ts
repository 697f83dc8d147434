// What the server has, with the version that a change of it is based on.
export interface Versioned<T> {
  readonly value: T;
  /** For If-Match; undefined where the server tells none. */
  readonly etag: string | undefined;
}
