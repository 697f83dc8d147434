// The members of a relation, by its kind.
import { Checkbox, NativeSelect } from '@mantine/core';
import type { Json } from '../api/json.ts';
import { CommitInput } from './commit-input.tsx';
import { columnOf, entityNames, entityPath, withKind } from './edits.ts';
import { RELATION_KINDS, RELATION_MEMBERS, type RelationKind } from './field-types.ts';
import { type EntityFormState, mistakeAt, setter, valueBelow } from './form-state.ts';
import { at, membersOf, textOf } from './json-value.ts';
import classes from './schema.module.css';

/** What a relation is, in a line: `belongsTo customers, stored in customerId, required`. */
export function relationSummary(name: string, relation: Json): string {
  const of = (member: string): string => textOf(at(relation, [member]));
  return [
    `${of('kind')} ${of('entity')}`,
    of('kind') === 'belongsTo' ? `stored in ${columnOf(name, relation)}` : '',
    of('inverse') === '' ? '' : `other side of ${of('inverse')}`,
    of('through') === '' ? '' : `through ${of('through')}`,
    at(relation, ['required']) === true ? 'required' : '',
    at(relation, ['unique']) === true ? 'unique' : '',
    of('onDelete') === '' ? '' : `on delete ${of('onDelete')}`,
  ]
    .filter((part) => part !== '')
    .join(', ');
}

export function RelationForm({ form, name }: { readonly form: EntityFormState; readonly name: string }) {
  const { state, path } = form;
  const here = ['relations', name];
  const set = setter(form);
  const of = (member: string): Json | undefined => valueBelow(form, [...here, member]);
  const mistake = (member: string): string | undefined => mistakeAt(form, [...here, member]);
  const kind = textOf(of('kind'));
  const known = Object.hasOwn(RELATION_MEMBERS, kind) ? RELATION_MEMBERS[kind as RelationKind] : [];
  const entities = entityNames(state.value);
  /** belongsTo relations of another entity: what `inverse`, `from` and `to` name. */
  const stored = (entity: string): readonly string[] =>
    membersOf(at(state.value, [...entityPath(entity), 'relations']))
      .filter(([, one]) => at(one, ['kind']) === 'belongsTo')
      .map(([relation]) => relation);
  const choice = (member: string, label: string, choices: readonly string[]) => {
    const value = textOf(of(member));
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
  const flag = (member: string, label: string) => (
    <Checkbox
      label={label}
      checked={of(member) === true}
      error={mistake(member)}
      onChange={(event) => set([...here, member], event.currentTarget.checked ? true : undefined)}
    />
  );
  return (
    <div className={classes.form}>
      <NativeSelect
        label="Kind"
        size="xs"
        data={[...RELATION_KINDS]}
        value={kind}
        error={mistake('kind')}
        onChange={({ currentTarget }) =>
          state.setValue(withKind(state.value, [...path, ...here], currentTarget.value as RelationKind))
        }
      />
      {choice('entity', 'Entity', entities)}
      {known.includes('inverse') && choice('inverse', 'Inverse', stored(textOf(of('entity'))))}
      {known.includes('through') && choice('through', 'Through', entities)}
      {known.includes('from') && choice('from', 'From (this entity)', stored(textOf(of('through'))))}
      {known.includes('to') && choice('to', 'To (other entity)', stored(textOf(of('through'))))}
      {known.includes('onDelete') && choice('onDelete', 'On delete', ['', 'restrict', 'cascade', 'setNull'])}
      {known.includes('column') && (
        <CommitInput
          label="Stored in"
          placeholder={`${name}Id`}
          value={textOf(of('column'))}
          error={mistake('column')}
          onCommit={(text) => set([...here, 'column'], text === '' ? undefined : text)}
        />
      )}
      <CommitInput
        label="Description"
        value={textOf(of('description'))}
        error={mistake('description')}
        onCommit={(text) => set([...here, 'description'], text === '' ? undefined : text)}
      />
      {known.includes('required') && flag('required', 'Required')}
      {known.includes('unique') && flag('unique', 'Unique')}
    </div>
  );
}
