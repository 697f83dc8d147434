// Versions of a shared schema as values: a document is checked against the version before it, without a database.

import type { Detail } from '../errors.ts';
import { NO_NAMES } from '../model/physical-name.ts';
import { parseSchemaDocument } from '../schema/document.ts';
import { buildEntities } from '../schema/entities.ts';
import { EMPTY_DOCUMENT, type SchemaDocument } from '../schema/format.ts';
import { assignIdentities, type FormerNames, type Identities, NO_IDENTITIES } from '../schema/identities.ts';
import type { Renames } from '../schema/renames.ts';
import type { VersionStep } from '../store/shared-schemas.ts';
import { diffDocuments } from './diff.ts';
import { assignNames } from './names.ts';

/** A version by which workspaces are made and changed. */
export interface Version {
  readonly document: SchemaDocument;
  readonly identities: Identities;
}

export const NO_VERSION: Version = { document: EMPTY_DOCUMENT, identities: NO_IDENTITIES };

export type NextVersion =
  | { readonly ok: true; readonly version: Version; readonly steps: readonly VersionStep[] }
  | { readonly ok: false; readonly details: readonly Detail[] };

// Names of the database do not show: a version is in force nowhere yet.
const NOWHERE = {
  names: NO_NAMES,
  databaseSchema: '',
  empty: new Set<string>(),
  strategy: 'online',
  reserved: new Set<string>(),
  change: '0',
  extensions: { trigrams: '' },
} as const;

/** Makes the next version of a document as a client writes it, or returns all reasons why it cannot be one. */
export function makeVersion(body: unknown, before: Version = NO_VERSION): NextVersion {
  const parsed = parseSchemaDocument(body, before.document);
  if (!parsed.ok) return parsed;
  const { document, renames } = parsed;
  const change = diffDocuments({ ...NOWHERE, inForce: before.document, requested: document, renames });
  if (!change.ok) return change;
  const steps = change.operations.map(
    ({ entity, kind, description, destructive, opens, grants }): VersionStep => ({
      entity,
      kind,
      description,
      destructive,
      ...(opens === undefined ? {} : { opens }),
      ...(grants === undefined ? {} : { grants }),
    }),
  );
  const former = findFormerNames(before.document, document, renames);
  return {
    ok: true,
    version: { document, identities: assignIdentities(before.identities, document, former, renames) },
    steps,
  };
}

/** Finds what the migration from one document to the next keeps. */
function findFormerNames(before: SchemaDocument, document: SchemaDocument, renames: Renames): FormerNames {
  const { reserved, change } = NOWHERE;
  const { origins } = assignNames(buildEntities(before, ''), document, renames, reserved, change);
  const entities = [...buildEntities(document, '').values()];
  return {
    entities: new Map(entities.map(({ name }) => [name, origins.entities.get(name)?.name])),
    columns: new Map(
      entities.map(({ name, fields }) => {
        const formerFields = origins.fields.get(name);
        return [name, new Map([...fields.keys()].map((field) => [field, formerFields?.get(field)?.name]))];
      }),
    ),
  };
}
