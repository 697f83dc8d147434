// Form for a relation, by its kind.
import { NativeSelect } from '@mantine/core';
import type { Json } from '../api/json.ts';
import { changeRelationKind, entityPath, getKeyColumn, listEntityNames } from './edits.ts';
import { RELATION_KINDS, RELATION_MEMBERS, type RelationKind } from './field-types.ts';
import { createSetter, type EntityFormState, getError, getValue } from './form-state.ts';
import { asText, getAt, listMembers } from './json-value.ts';
import { MemberCheckbox, MemberText } from './member-inputs.tsx';
import classes from './schema.module.css';

/** Summarizes a relation on one line: `belongsTo customers, stored in customerId, required`. */
export function summarizeRelation(name: string, relation: Json): string {
  const of = (member: string): string => asText(getAt(relation, [member]));
  return [
    `${of('kind')} ${of('entity')}`,
    of('kind') === 'belongsTo' ? `stored in ${getKeyColumn(name, relation)}` : '',
    of('inverse') === '' ? '' : `other side of ${of('inverse')}`,
    of('through') === '' ? '' : `through ${of('through')}`,
    getAt(relation, ['required']) === true ? 'required' : '',
    getAt(relation, ['unique']) === true ? 'unique' : '',
    of('onDelete') === '' ? '' : `on delete ${of('onDelete')}`,
  ]
    .filter((part) => part !== '')
    .join(', ');
}

export function RelationForm({ form, name }: { readonly form: EntityFormState; readonly name: string }) {
  const { state, path } = form;
  const here = ['relations', name];
  const set = createSetter(form);
  const of = (member: string): Json | undefined => getValue(form, [...here, member]);
  const mistake = (member: string): string | undefined => getError(form, [...here, member]);
  const kind = asText(of('kind'));
  const memberNames = Object.hasOwn(RELATION_MEMBERS, kind) ? RELATION_MEMBERS[kind as RelationKind] : [];
  const entities = listEntityNames(state.value);
  /** Lists the belongsTo relations of another entity, which `inverse`, `from` and `to` name. */
  const listStored = (entity: string): readonly string[] =>
    listMembers(getAt(state.value, [...entityPath(entity), 'relations']))
      .filter(([, one]) => getAt(one, ['kind']) === 'belongsTo')
      .map(([relation]) => relation);
  const choice = (member: string, label: string, choices: readonly string[]) => {
    const value = asText(of(member));
    const all = choices.includes(value) ? choices : [value, ...choices];
    return (
      <NativeSelect
        label={label}
        size="xs"
        data={all.map((one) => ({ value: one, label: one === '' ? 'choose' : one }))}
        value={value}
        error={mistake(member)}
        onChange={({ currentTarget: { value: next } }) => set([...here, member], next === '' ? undefined : next)}
      />
    );
  };
  const flag = (member: string, label: string) => <MemberCheckbox form={form} path={[...here, member]} label={label} />;
  return (
    <div className={classes.form}>
      <NativeSelect
        label="Kind"
        size="xs"
        data={[...RELATION_KINDS]}
        value={kind}
        error={mistake('kind')}
        onChange={({ currentTarget }) =>
          state.setValue(changeRelationKind(state.value, [...path, ...here], currentTarget.value as RelationKind))
        }
      />
      {choice('entity', 'Entity', entities)}
      {memberNames.includes('inverse') && choice('inverse', 'Inverse', listStored(asText(of('entity'))))}
      {memberNames.includes('through') && choice('through', 'Through', entities)}
      {memberNames.includes('from') && choice('from', 'From (this entity)', listStored(asText(of('through'))))}
      {memberNames.includes('to') && choice('to', 'To (other entity)', listStored(asText(of('through'))))}
      {memberNames.includes('onDelete') && choice('onDelete', 'On delete', ['', 'restrict', 'cascade', 'setNull'])}
      {memberNames.includes('column') && (
        <MemberText form={form} path={[...here, 'column']} label="Stored in" placeholder={`${name}Id`} />
      )}
      <MemberText form={form} path={[...here, 'description']} label="Description" />
      {memberNames.includes('required') && flag('required', 'Required')}
      {memberNames.includes('unique') && flag('unique', 'Unique')}
    </div>
  );
}
