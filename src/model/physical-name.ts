// Names of everything in PostgreSQL that the schema document does not name itself. Tables and columns carry the names
// of the document; derived names hold a `$`, which no name of a document may, so the two never meet.

export type DerivedKind = 'pk' | 'uq' | 'fk' | 'ix' | 'ck_range' | 'ck_length' | 'ck_enum';

// PostgreSQL cuts names at 63 bytes; all our names are ASCII.
const MAX_NAME = 63;

/** `orders$status$ix`; too long ones are cut and end in a hash of the whole. */
export function derivedName(entity: string, parts: readonly string[], kind: DerivedKind): string {
  return fit([entity, ...parts, kind].join('$'));
}

/** PostgreSQL schema of a workspace: readable in psql, unique by its id. */
export function databaseSchemaName(workspaceId: string, slug: string): string {
  return fit(`ws${workspaceId}_${slug.replaceAll('-', '_')}`);
}

function fit(name: string): string {
  return name.length <= MAX_NAME ? name : `${name.slice(0, MAX_NAME - 9)}$${hash(name)}`;
}

/** FNV-1a, 32 bits: short and the same in every process; the readable part in front makes a collision harmless in practice. */
function hash(text: string): string {
  let value = 0x811c9dc5;
  for (let index = 0; index < text.length; index++) value = Math.imul(value ^ text.charCodeAt(index), 0x01000193);
  return (value >>> 0).toString(16).padStart(8, '0');
}
