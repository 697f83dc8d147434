// Finds the field of a PostgreSQL constraint by the constraint's name: for constraints in the snapshot, and for those
// that a running migration has created and no snapshot has yet.
import type { Entity, Field } from './entity.ts';
import { type DerivedKind, derivedName, nextName } from './physical-name.ts';
import type { ConstraintOwner, Workspace } from './workspace.ts';

export interface Violated extends ConstraintOwner {
  /** Whether it is a check that is about to become `not null`. */
  readonly isNull: boolean;
}

const KINDS: readonly DerivedKind[] = ['uq', 'fk', 'ck_range', 'ck_length', 'ck_enum', 'ck_null'];

// Name without room for the number of a shard: its beginning, and a hash.
const CUT_ON_NODE = /^(.{36,})_[0-9a-f]{8}$/;

/** Returns the field, or undefined if the name is not one of ours. */
export function findConstraintOwner(
  constraint: string | undefined,
  workspace: Pick<Workspace, 'constraints' | 'entities'>,
): Violated | undefined {
  if (constraint === undefined) return undefined;
  const owner = workspace.constraints.get(constraint);
  if (owner !== undefined) return { ...owner, isNull: false };
  for (const [name, owner] of workspace.constraints)
    if (nextName(name) === constraint) return { ...owner, isNull: false };
  const cut = CUT_ON_NODE.exec(constraint)?.[1];
  const like = cut === undefined ? [] : [...workspace.constraints].filter(([name]) => name.startsWith(cut));
  // Only the hash would distinguish several candidates: better none than a wrong one.
  if (like.length > 1) return undefined;
  for (const [, owner] of like) return { ...owner, isNull: false };
  for (const entity of workspace.entities.values()) {
    const owner = ofOneColumn(constraint, entity) ?? ofNewColumn(constraint, entity);
    if (owner !== undefined) return owner;
  }
  return undefined;
}

/**
 * Finds a new constraint on an existing column; its name may be cut, so it is derived again rather than parsed. It has
 * the other of two alternating names, or a numbered one while both are taken.
 */
function ofOneColumn(constraint: string, entity: Entity): Violated | undefined {
  for (const field of entity.fields.values()) {
    for (const kind of KINDS) {
      const name = derivedName(entity.table.name, [field.column], kind);
      if (name === constraint || nextName(name) === constraint || constraint.startsWith(`${name}$`)) {
        return makeViolation(entity, [field], kind);
      }
    }
  }
  return undefined;
}

/** Finds `orders$total$17$uq`: a constraint on a column that will replace another. */
function ofNewColumn(constraint: string, entity: Entity): Violated | undefined {
  const start = `${entity.table.name}$`;
  if (!constraint.startsWith(start)) return undefined;
  const parts = constraint.slice(start.length).split('$');
  if (parts.at(-1) === 'next') parts.pop();
  const kind = KINDS.find((each) => each === parts.at(-1));
  const byColumn = new Map([...entity.fields.values()].map((field) => [field.column, field]));
  const fields = parts.flatMap((word, index) => {
    if (/^[0-9]/.test(word)) return [];
    const next = parts[index + 1];
    return (
      (next === undefined ? undefined : byColumn.get(`${word}$${next}`)) ??
      entity.fields.get(word) ??
      byColumn.get(word) ??
      []
    );
  });
  return fields.length === 0 ? undefined : makeViolation(entity, fields, kind);
}

function makeViolation(entity: Entity, fields: readonly Field[], kind: DerivedKind | undefined): Violated {
  return {
    entity: entity.name,
    kind: kind === 'uq' ? 'unique' : kind === 'fk' ? 'reference' : 'check',
    fields: fields.map((field) => field.name),
    relation: fields[0]?.relation,
    isNull: kind === 'ck_null',
  };
}

/** Returns the field of a column, which may have another name: `total$17` may just have replaced `total`. */
export function fieldOfColumn(column: string | undefined, entity: Entity | undefined): string | null {
  if (column === undefined || entity === undefined) return null;
  const field = [...entity.fields.values()].find((each) => each.column === column);
  return (field ?? entity.fields.get(column.split('$')[0] as string))?.name ?? null;
}
