// Messages of PostgreSQL's extended query protocol (PostgreSQL documentation, "Message Formats", version 3.0), each call
// one buffer, so that it is one write: name, parameters and the order to run them.

/** A parameter; everything goes as text, arrays in the form of array literals. */
export type Parameter = string | number | boolean | null | undefined | Uint8Array | readonly Parameter[];

// Execute of the unnamed portal without a limit of rows.
const EXECUTE = Buffer.from([0x45, 0, 0, 0, 9, 0, 0, 0, 0, 0]);
// The same, then Sync.
const RUN = Buffer.from([...EXECUTE, 0x53, 0, 0, 0, 4]);
const BIND = 0x42;
const CLOSE = 0x43;
const PARSE = 0x50;
const STATEMENT = 0x53;

/** Bind of a prepared statement to the unnamed portal with parameters and results as text, Execute and Sync. */
export const bindAndRun = (name: string, parameters: readonly Parameter[]): Buffer => bind(name, parameters, RUN);

/** The same without Sync: what follows up to the next one is in the same transaction. */
export const bindAndExecute = (name: string, parameters: readonly Parameter[]): Buffer =>
  bind(name, parameters, EXECUTE);

function bind(name: string, parameters: readonly Parameter[], end: Buffer): Buffer {
  const texts = parameters.map(textOf);
  // Type, length, names with their ends, no formats, number of parameters, no formats of results.
  let size = 1 + 4 + 1 + (name.length + 1) + 2 + 2 + 2;
  for (const text of texts) size += 4 + (text === null ? 0 : Buffer.byteLength(text));
  const bytes = Buffer.allocUnsafe(size + end.length);
  bytes[0] = BIND;
  bytes.writeInt32BE(size - 1, 1);
  bytes[5] = 0;
  let at = writeName(bytes, name, 6);
  bytes.writeInt16BE(0, at);
  // Up to 65,535, which is why the number is unsigned.
  bytes.writeUInt16BE(texts.length, at + 2);
  at += 4;
  for (const text of texts) {
    const length = text === null ? -1 : bytes.write(text, at + 4);
    bytes.writeInt32BE(length, at);
    at += 4 + Math.max(0, length);
  }
  bytes.writeInt16BE(0, at);
  end.copy(bytes, size);
  return bytes;
}

/** Parse of a text under a name (ASCII); PostgreSQL finds the types of its parameters. */
export function parseStatement(name: string, text: string): Buffer {
  const size = 1 + 4 + (name.length + 1) + (Buffer.byteLength(text) + 1) + 2;
  const bytes = Buffer.allocUnsafe(size);
  bytes[0] = PARSE;
  bytes.writeInt32BE(size - 1, 1);
  let at = writeName(bytes, name, 5);
  at += bytes.write(text, at);
  bytes[at] = 0;
  bytes.writeInt16BE(0, at + 1);
  return bytes;
}

/** Close of a prepared statement (ASCII name); not an error where there is none. */
export function closeStatement(name: string): Buffer {
  const size = 1 + 4 + 1 + (name.length + 1);
  const bytes = Buffer.allocUnsafe(size);
  bytes[0] = CLOSE;
  bytes.writeInt32BE(size - 1, 1);
  bytes[5] = STATEMENT;
  writeName(bytes, name, 6);
  return bytes;
}

/** Writes ASCII text and its end; gives the position after it. */
function writeName(bytes: Buffer, name: string, at: number): number {
  const end = at + bytes.write(name, at, 'latin1');
  bytes[end] = 0;
  return end + 1;
}

function textOf(value: Parameter): string | null {
  if (typeof value === 'string') return value;
  if (value === null || value === undefined) return null;
  if (value instanceof Uint8Array) return `\\x${Buffer.from(value).toString('hex')}`;
  if (Array.isArray(value)) return arrayLiteral(value);
  return String(value);
}

/** PostgreSQL documentation, section 8.15.6: elements in quotes may hold anything, quotes and backslashes escaped. */
function arrayLiteral(values: readonly Parameter[]): string {
  const elements = values.map((value) => {
    if (Array.isArray(value)) return arrayLiteral(value);
    const text = textOf(value);
    return text === null ? 'NULL' : `"${text.replace(/[\\"]/g, '\\$&')}"`;
  });
  return `{${elements.join()}}`;
}
