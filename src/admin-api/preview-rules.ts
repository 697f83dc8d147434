// Parses row rules that an administrator tries before they are in force.
import { hash } from 'node:crypto';
import type { Static } from 'typebox';
import { type Detail, validationFailed } from '../errors.ts';
import type { PreviewRules } from '../model/trial.ts';
import { parseSchemaDocument } from '../schema/document.ts';
import { getRowRules } from '../schema/entities.ts';
import { RowRulesShape, type SchemaDocument } from '../schema/format.ts';
import { member } from '../schema/renames.ts';
import { makeReport } from '../schema/report.ts';
import { Type } from '../schema/type.ts';
import type { Databases } from '../store/databases.ts';
import { loadWorkspaceRow } from '../store/documents.ts';
import { requireValue, workspaceDeleted } from './access.ts';
import { MAX_ENTITIES, notAnEntity } from './scopes.ts';

/** Shape of row rules by entity in a body. */
export const PreviewRulesShape = Type.Unsafe<Readonly<Record<string, Static<typeof RowRulesShape>>>>({
  type: 'object',
  additionalProperties: { ...RowRulesShape, description: 'As of the row rules of an entity; []: none.' },
  maxProperties: MAX_ENTITIES,
  description: 'Row rules by entity, to be tried in place of those in force.',
});

/** Parses the rules of a body like those of a schema document; 400 with every mistake in them. */
export async function parsePreviewRules(
  databases: Databases,
  workspaceId: string,
  rules: Static<typeof PreviewRulesShape>,
): Promise<PreviewRules> {
  const row = await requireValue(
    loadWorkspaceRow(databases.forWorkspace({ id: workspaceId }), workspaceId),
    workspaceDeleted,
  );
  const { document } = row;
  const mistakes = findUnknownEntities(rules, document);
  if (mistakes.length > 0) throw validationFailed(mistakes);
  const changedEntities = Object.entries(rules).map(([name, rowRules]) => [
    name,
    { ...member(document.entities, name), rowRules },
  ]);
  const entities = { ...document.entities, ...Object.fromEntries(changedEntities) };
  const parsed = parseSchemaDocument({ entities }, document);
  if (!parsed.ok) throw validationFailed(parsed.details.map(inBody));
  const previewEntities = Object.entries(parsed.document.entities).filter(([name]) => Object.hasOwn(rules, name));
  const byEntity = new Map(previewEntities.map(([name, entity]) => [name, getRowRules(entity)]));
  return { byEntity, key: hash('sha256', JSON.stringify([...byEntity]), 'base64url') };
}

/** Returns a mistake for each name that no entity has. */
function findUnknownEntities(rules: Static<typeof PreviewRulesShape>, { entities }: SchemaDocument): readonly Detail[] {
  const report = makeReport({ rules: rules });
  for (const name of Object.keys(rules)) {
    if (member(entities, name) === undefined) {
      report(['rules', name], 'REFERENCE_NOT_FOUND', notAnEntity(name, Object.keys(entities), report));
    }
  }
  return report.details();
}

/** Maps a path of the document (`entities.orders.rowRules.0.column`) to one of the body (`rules.orders.0.column`). */
function inBody(detail: Detail): Detail {
  const [, name, rest = ''] = /^entities\.([^.]+)\.rowRules(.*)$/.exec(detail.field ?? '') ?? [];
  return name === undefined ? detail : { ...detail, field: `rules.${name}${rest}` };
}
