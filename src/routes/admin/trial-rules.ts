// Row rules that an administrator tries before they are in force.
import { hash } from 'node:crypto';
import type { Static } from 'typebox';
import { loadWorkspaceRow } from '../../catalog/documents.ts';
import type { Databases } from '../../directory/databases.ts';
import { parseSchemaDocument } from '../../document/document.ts';
import { rowRulesOf } from '../../document/entities.ts';
import { RowRulesShape, type SchemaDocument } from '../../document/format.ts';
import { member } from '../../document/renames.ts';
import { makeReport } from '../../document/report.ts';
import { Type } from '../../document/type.ts';
import { type Detail, validationFailed } from '../../errors.ts';
import type { TrialRules } from '../../model/trial.ts';
import { noWorkspaceAnyMore, required } from './access.ts';
import { MAX_ENTITIES, notAnEntity } from './scopes.ts';

/** In a body. */
export const RulesToTry = Type.Unsafe<Readonly<Record<string, Static<typeof RowRulesShape>>>>({
  type: 'object',
  additionalProperties: { ...RowRulesShape, description: 'As of the row rules of an entity; []: none.' },
  maxProperties: MAX_ENTITIES,
  description: 'Row rules by entity, to be tried in place of those in force.',
});

/** The rules of a body, checked as those of a schema document are; 400 with every mistake in them. */
export async function rulesToTry(
  databases: Databases,
  workspaceId: string,
  asked: Static<typeof RulesToTry>,
): Promise<TrialRules> {
  const row = await required(loadWorkspaceRow(databases.of({ id: workspaceId }), workspaceId), noWorkspaceAnyMore);
  const { document } = row;
  const unknown = strangers(asked, document);
  if (unknown.length > 0) throw validationFailed(unknown);
  const changed = Object.entries(asked).map(([name, rowRules]) => [
    name,
    { ...member(document.entities, name), rowRules },
  ]);
  const entities = { ...document.entities, ...Object.fromEntries(changed) };
  const parsed = parseSchemaDocument({ entities }, document);
  if (!parsed.ok) throw validationFailed(parsed.details.map(inBody));
  const named = Object.entries(parsed.document.entities).filter(([name]) => Object.hasOwn(asked, name));
  const byEntity = new Map(named.map(([name, entity]) => [name, rowRulesOf(entity)]));
  return { byEntity, key: hash('sha256', JSON.stringify([...byEntity]), 'base64url') };
}

/** Names that are none of an entity. */
function strangers(asked: Static<typeof RulesToTry>, { entities }: SchemaDocument): readonly Detail[] {
  const report = makeReport({ rules: asked });
  for (const name of Object.keys(asked)) {
    if (member(entities, name) === undefined) {
      report(['rules', name], 'REFERENCE_NOT_FOUND', notAnEntity(name, Object.keys(entities), report));
    }
  }
  return report.details();
}

/** `entities.orders.rowRules.0.column` is `rules.orders.0.column` there; what is not of the rules stays. */
function inBody(detail: Detail): Detail {
  const [, name, rest = ''] = /^entities\.([^.]+)\.rowRules(.*)$/.exec(detail.field ?? '') ?? [];
  return name === undefined ? detail : { ...detail, field: `rules.${name}${rest}` };
}
