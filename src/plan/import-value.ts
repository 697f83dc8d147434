// One value of an import -> text of its column, or the mistake in it. Follows the bodies of single writes, but takes
// more forms, as files have them: the `cell` of a type reads the texts.
import type { Field } from '../model/entity.ts';
import { type Decoded, decodeValue, fieldType, parseStored } from '../model/field-types.ts';

/** Decodes a CSV cell that is not empty. */
export function decodeCell(field: Field, text: string): Decoded {
  const decoded = parseStored(field, text);
  return field.role === 'id' ? checkedId(decoded) : decoded;
}

/** Decodes the value of a member of an NDJSON line, not null. */
export function decodeMember(field: Field, value: unknown): Decoded {
  if (typeof value === 'string' && fieldType(field.type).json === 'string') return decodeCell(field, value);
  const decoded = decodeValue(field, value);
  return field.role === 'id' ? checkedId(decoded) : decoded;
}

function checkedId(decoded: Decoded): Decoded {
  if (!decoded.ok) return decoded;
  const id = BigInt(decoded.value);
  return id >= 1n && id <= BigInt(Number.MAX_SAFE_INTEGER)
    ? decoded
    : { ok: false, code: 'OUT_OF_RANGE', message: `must be from 1 to ${Number.MAX_SAFE_INTEGER}` };
}
