// Validates settings and row rules of a schema document: every path and column that they name exists and may be used.
import { DEFAULT_MAX_EXPAND_DEPTH, EVERY_COLUMN, isTextual, MAX_STEPS } from '../model/entity.ts';
import { isStorable } from '../model/exact-json.ts';
import { findTemplateMistake, isLabelTemplate, listLabelFields } from '../model/label.ts';
import { checkColumn, missing } from './relations.ts';
import type { Path, Report } from './report.ts';
import type { DocumentView, EntityView } from './view.ts';

// Lists are a level of their own; grants refuse deeper conditions.
const MAX_CONDITION_DEPTH = 40;
// Most characters of a label, which stands on one line.
const MAX_LABEL = 500;

export function checkSettings(entity: EntityView, document: DocumentView, report: Report): void {
  const settings = entity.document.settings;
  if (settings === undefined) return;
  const path = [...entity.path, 'settings'];
  each(settings.expandable, (name, at) => {
    if (!entity.relations.has(name) && !entity.opaque) {
      report([...path, 'expandable', at], 'REFERENCE_NOT_FOUND', noRelation(name, entity, report));
    }
  });
  const depth = settings.maxExpandDepth ?? DEFAULT_MAX_EXPAND_DEPTH;
  const steps = new Set<string>();
  each(settings.defaultExpand, (text, at) => {
    const names = text.split('.');
    for (let length = 1; length <= names.length && steps.size <= MAX_STEPS; length++) {
      steps.add(names.slice(0, length).join('.'));
    }
    checkExpandPath({ location: [...path, 'defaultExpand', at], names }, depth, entity, document, report);
  });
  if (steps.size > MAX_STEPS) {
    report([...path, 'defaultExpand'], 'OUT_OF_RANGE', `must follow at most ${MAX_STEPS} relations`);
  }
  if (typeof settings.label === 'string') checkLabel([...path, 'label'], settings.label, entity, report);
  each(settings.changesOmit, (name, at) => {
    checkOmitted([...path, 'changesOmit', at], name, entity, report);
  });
  each(settings.defaultFields, (text, at) => {
    checkFieldPath([...path, 'defaultFields', at], text, entity, document, report);
  });
}

/** Requires an own field that no reader of changes needs: no id, no column of a relation or row rule. */
function checkOmitted(location: Path, name: string, entity: EntityView, report: Report): void {
  if (!entity.columns.has(name)) {
    if (!entity.opaque)
      report(location, 'REFERENCE_NOT_FOUND', missing('field', name, entity.columns.keys(), report, entity.name));
  } else if (name === 'id' || !(entity.fields.has(name) || isServerSet(name, entity))) {
    report(
      location,
      'INVALID',
      `must be a field, and ${name} is ${name === 'id' ? 'the id' : 'the field of a relation'}`,
    );
  } else if (entity.document.rowRules?.some((rule) => rule?.column === name)) {
    report(location, 'INVALID', `must be no column of a row rule, and ${name} is one`);
  } else if (entity.document.grants?.some((grant) => compares(grant?.where, name))) {
    report(location, 'INVALID', `must be no field that a grant compares, and ${name} is one`);
  }
}

/** Returns whether a condition, whose form is checked elsewhere, compares the field. */
function compares(node: unknown, name: string, depth = 0): boolean {
  if (typeof node !== 'object' || node === null || depth > MAX_CONDITION_DEPTH) return false;
  if ('field' in node) return node.field === name;
  return Object.values(node).some((member) => compares(member, name, depth + 1));
}

/** Requires a text, or a template of fields, as a name for people is displayed whole. */
function checkLabel(location: Path, label: string, entity: EntityView, report: Report): void {
  const isTemplate = isLabelTemplate(label);
  const mistake = isTemplate ? findTemplateMistake(label) : undefined;
  if (mistake !== undefined) report(location, 'INVALID', mistake);
  else if (label.length > MAX_LABEL) report(location, 'INVALID', `must have at most ${MAX_LABEL} characters`);
  else for (const name of listLabelFields(label)) checkLabelField(location, name, entity, report, isTemplate);
}

function checkLabelField(
  location: Path,
  name: string,
  entity: EntityView,
  report: Report,
  isInTemplate: boolean,
): void {
  const type = entity.columns.get(name);
  if (type === undefined) {
    if (entity.columns.has(name) || entity.opaque) return;
    report(location, 'REFERENCE_NOT_FOUND', missing('field', name, entity.columns.keys(), report, entity.name));
  } else if (isInTemplate && type === 'json') {
    report(location, 'INVALID', `must have fields that are no json, and ${name} is json`);
  } else if (!isInTemplate && !isTextual(type)) {
    report(location, 'INVALID', `must be a field of type string or text, and ${name} is ${type}`);
  }
}

function each(list: readonly string[] | null | undefined, check: (text: string, at: number) => void): void {
  // Lists have holes where an entry was no string.
  list?.forEach((text: string | undefined, at) => {
    if (text !== undefined) check(text, at);
  });
}

/** Checks each level of the path against the whitelist of its entity. */
function checkExpandPath(
  { location, names }: { readonly location: Path; readonly names: readonly string[] },
  depth: number,
  root: EntityView,
  document: DocumentView,
  report: Report,
): void {
  if (names.length > depth) {
    report(location, 'OUT_OF_RANGE', `${names.join('.')} is deeper than the maximum expand depth of ${depth}`);
    return;
  }
  let entity: EntityView | undefined = root;
  for (const name of names) {
    if (entity === undefined) return;
    const relation = entity.relations.get(name);
    if (relation === undefined) {
      if (!entity.opaque) report(location, 'REFERENCE_NOT_FOUND', noRelation(name, entity, report));
      return;
    }
    if (!isAllowed(name, entity)) {
      report(location, 'INVALID', `relation ${name} is not in the expandable relations of ${entity.name}`);
      return;
    }
    entity = relation.entity === undefined ? undefined : document.get(relation.entity);
  }
}

/** A whitelist with an unknown name is reported itself, and allows everything here. */
function isAllowed(name: string, entity: EntityView): boolean {
  const allowed = entity.document.settings?.expandable;
  return !Array.isArray(allowed) || allowed.includes(name) || allowed.some((other) => !entity.relations.has(other));
}

function checkFieldPath(location: Path, text: string, root: EntityView, document: DocumentView, report: Report): void {
  const names = text.split('.');
  let entity: EntityView | undefined = root;
  for (const [index, name] of names.entries()) {
    if (entity === undefined) return;
    const relation = entity.relations.get(name);
    if (relation !== undefined) {
      entity = relation.entity === undefined ? undefined : document.get(relation.entity);
      continue;
    }
    if (index === names.length - 1 && (name === EVERY_COLUMN || entity.columns.has(name))) return;
    if (entity.opaque) return;
    if (index < names.length - 1) {
      report(location, 'REFERENCE_NOT_FOUND', noRelation(name, entity, report));
    } else {
      const all = [...entity.columns.keys(), ...entity.relations.keys()];
      report(location, 'REFERENCE_NOT_FOUND', missing('field or relation', name, all, report, entity.name));
    }
    return;
  }
}

const noRelation = (name: string, entity: EntityView, report: Report): string =>
  missing('relation', name, entity.relations.keys(), report, entity.name);

export function checkRowRules(entity: EntityView, report: Report): void {
  entity.document.rowRules?.forEach((rule, position, rules) => {
    if (rule?.column === undefined) return;
    const path = [...entity.path, 'rowRules', position];
    const location = [...path, 'column'];
    if (isServerSet(rule.column, entity)) {
      report(location, 'INVALID', `${rule.column} is set by the server, so no rule can set it for a user`);
    } else checkColumn(location, rule.column, entity, report, 'a row rule');
    if (rule.claim !== undefined && !isStorable(rule.claim)) {
      report([...path, 'claim'], 'INVALID', 'must not contain NUL characters or lone surrogates');
    }
    const first = rules.findIndex((other) => other?.column === rule.column && other.claim === rule.claim);
    if (first < position) report(path, 'INVALID', `is the same rule as rowRules.${first}`);
  });
}

/** Returns whether the server writes the column, so that no rule can set it; by id, rules only find records. */
function isServerSet(column: string, entity: EntityView): boolean {
  return entity.document.timestamps === true && !entity.fields.has(column) && /^(created|updated)At$/.test(column);
}
