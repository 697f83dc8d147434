// Messages of PostgreSQL's extended query protocol (PostgreSQL documentation, "Message Formats", version 3.0). Each call makes
// one buffer of several messages, so that it is one write.

/** A parameter; everything is sent as text, arrays as array literals. */
export type Parameter = string | number | boolean | null | undefined | Uint8Array | readonly Parameter[];

// Execute of the unnamed portal without a limit of rows.
const EXECUTE = Buffer.from([0x45, 0, 0, 0, 9, 0, 0, 0, 0, 0]);
// Execute, then Sync.
const RUN = Buffer.from([...EXECUTE, 0x53, 0, 0, 0, 4]);
const BIND = 0x42;
const CLOSE = 0x43;
const PARSE = 0x50;
const STATEMENT = 0x53;

/** Builds Bind of a prepared statement to the unnamed portal with parameters and results as text, Execute and Sync. */
export const bindAndRun = (name: string, parameters: readonly Parameter[]): Buffer => bind(name, parameters, RUN);

/** Builds the same without Sync: messages up to the next Sync are in the same transaction. */
export const bindAndExecute = (name: string, parameters: readonly Parameter[]): Buffer =>
  bind(name, parameters, EXECUTE);

function bind(name: string, parameters: readonly Parameter[], end: Buffer): Buffer {
  const texts = parameters.map(toText);
  // Type, length, names with their ends, no formats, number of parameters, no formats of results.
  let size = 1 + 4 + 1 + (name.length + 1) + 2 + 2 + 2;
  for (const text of texts) size += 4 + (text === null ? 0 : Buffer.byteLength(text));
  const bytes = Buffer.allocUnsafe(size + end.length);
  bytes[0] = BIND;
  bytes.writeInt32BE(size - 1, 1);
  bytes[5] = 0;
  let offset = writeName(bytes, name, 6);
  bytes.writeInt16BE(0, offset);
  // Up to 65,535, which is why the number is unsigned.
  bytes.writeUInt16BE(texts.length, offset + 2);
  offset += 4;
  for (const text of texts) {
    const length = text === null ? -1 : bytes.write(text, offset + 4);
    bytes.writeInt32BE(length, offset);
    offset += 4 + Math.max(0, length);
  }
  bytes.writeInt16BE(0, offset);
  end.copy(bytes, size);
  return bytes;
}

/** Builds Parse of a text under a name (ASCII); PostgreSQL infers the types of its parameters. */
export function parseStatement(name: string, text: string): Buffer {
  const size = 1 + 4 + (name.length + 1) + (Buffer.byteLength(text) + 1) + 2;
  const bytes = Buffer.allocUnsafe(size);
  bytes[0] = PARSE;
  bytes.writeInt32BE(size - 1, 1);
  let offset = writeName(bytes, name, 5);
  offset += bytes.write(text, offset);
  bytes[offset] = 0;
  bytes.writeInt16BE(0, offset + 1);
  return bytes;
}

/** Builds Close of a prepared statement (ASCII name); not an error if it does not exist. */
export function closeStatement(name: string): Buffer {
  const size = 1 + 4 + 1 + (name.length + 1);
  const bytes = Buffer.allocUnsafe(size);
  bytes[0] = CLOSE;
  bytes.writeInt32BE(size - 1, 1);
  bytes[5] = STATEMENT;
  writeName(bytes, name, 6);
  return bytes;
}

/** Writes ASCII text and its end; returns the position after it. */
function writeName(bytes: Buffer, name: string, offset: number): number {
  const end = offset + bytes.write(name, offset, 'latin1');
  bytes[end] = 0;
  return end + 1;
}

function toText(value: Parameter): string | null {
  if (typeof value === 'string') return value;
  if (value === null || value === undefined) return null;
  if (value instanceof Uint8Array) return `\\x${Buffer.from(value).toString('hex')}`;
  if (Array.isArray(value)) return arrayLiteral(value);
  return String(value);
}

/** Formats an array (PostgreSQL documentation, section 8.15.6): elements in quotes, with quotes and backslashes escaped. */
function arrayLiteral(values: readonly Parameter[]): string {
  const elements = values.map((value) => {
    if (Array.isArray(value)) return arrayLiteral(value);
    const text = toText(value);
    return text === null ? 'NULL' : `"${text.replace(/[\\"]/g, '\\$&')}"`;
  });
  return `{${elements.join()}}`;
}
