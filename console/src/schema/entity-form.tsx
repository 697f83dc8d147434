// Form for one entity of the draft: name and settings, fields, relations, indexes.
import { Button, Checkbox, Fieldset, Group, Stack } from '@mantine/core';
import { useState } from 'react';
import type { ErrorDetail } from '../api/api-error.ts';
import { useAddress } from '../shell/use-address.ts';
import { CommitInput } from './commit-input.tsx';
import { entityPath, findFreeName, listColumns, listEntityNames, renameMember } from './edits.ts';
import { FieldForm, summarizeField } from './field-form.tsx';
import { checkName, createSetter, type EntityFormState, getError, getValue } from './form-state.ts';
import { EmptyNote, Heading } from './heading.tsx';
import { IndexesForm } from './indexes-form.tsx';
import { asText, listMembers, setAt } from './json-value.ts';
import { MemberRow } from './member-row.tsx';
import { RelationForm, summarizeRelation } from './relation-form.tsx';
import { SettingsForm } from './settings-form.tsx';
import type { DraftState } from './use-draft.ts';

export interface EntityFormProps {
  readonly state: DraftState;
  readonly name: string;
  readonly details: readonly ErrorDetail[];
  /** Whether it was just added to the draft. */
  readonly isAdded: boolean;
}

export function EntityForm({ state, name, details, isAdded }: EntityFormProps) {
  const { read, write } = useAddress();
  const path = entityPath(name);
  const form: EntityFormState = {
    state,
    path,
    details,
    open: read('open'),
    setOpen: (open) => write({ entity: name, open }),
  };
  const set = createSetter(form);
  const others = listEntityNames(state.value).filter((one) => one !== name);
  const rename = (next: string): void => {
    state.setValue(renameMember(state.value, path, next, state.current.document));
    write({ entity: next });
  };
  const remove = (): void => {
    state.setValue(setAt(state.value, path, undefined));
    write({ entity: undefined, open: undefined });
  };
  const former = asText(getValue(form, ['renamedFrom']));
  return (
    <Fieldset variant="unstyled" disabled={!state.isReadable} aria-label={`Entity ${name}`}>
      <Stack gap="md">
        <Group align="end" gap="sm">
          <CommitInput
            label="Entity name"
            value={name}
            refuse={checkName(others)}
            onCommit={rename}
            isAdded={isAdded}
            description={former === '' ? undefined : `renamed from ${former}`}
            error={getError(form, [])}
          />
          <CommitInput
            label="Description"
            value={asText(getValue(form, ['description']))}
            onCommit={(text) => set(['description'], text === '' ? undefined : text)}
            error={getError(form, ['description'])}
            flex={1}
            miw={200}
          />
          <Button variant="default" color="red" onClick={remove}>
            Remove entity
          </Button>
        </Group>
        <Checkbox
          label="Timestamps: createdAt and updatedAt, set by the server"
          checked={getValue(form, ['timestamps']) === true}
          onChange={(event) => set(['timestamps'], event.currentTarget.checked ? true : undefined)}
        />
        <Fields form={form} />
        <Relations form={form} />
        <IndexesForm form={form} />
        <SettingsForm form={form} />
      </Stack>
    </Fieldset>
  );
}

/** Lists the names of fields, relations and relation columns, which must all differ within an entity. */
const listOtherNames = (form: EntityFormState, but: string): readonly string[] => [
  ...new Set(
    [
      'id',
      ...listColumns(getValue(form, [])),
      ...listMembers(getValue(form, ['relations'])).map(([name]) => name),
    ].filter((name) => name !== but),
  ),
];

function Fields({ form }: { readonly form: EntityFormState }) {
  const [added, setAdded] = useState<string>();
  const fields = listMembers(getValue(form, ['fields']));
  const add = (): void => {
    const name = findFreeName('field', listOtherNames(form, ''));
    createSetter(form)(['fields', name], { type: 'string' });
    form.setOpen(`fields.${name}`);
    setAdded(name);
  };
  return (
    <section aria-label="Fields">
      <Heading title="Fields" action="New field" onAct={add} />
      {fields.map(([name, field], index) => (
        <MemberRow
          key={name}
          form={form}
          part="fields"
          name={name}
          isAdded={name === added}
          others={listOtherNames(form, name)}
          summary={summarizeField(field)}
          isFirst={index === 0}
          isLast={index === fields.length - 1}
        >
          <FieldForm form={form} name={name} />
        </MemberRow>
      ))}
      {fields.length === 0 && <EmptyNote of="fields: a record has its id only" />}
    </section>
  );
}

function Relations({ form }: { readonly form: EntityFormState }) {
  const [added, setAdded] = useState<string>();
  const relations = listMembers(getValue(form, ['relations']));
  const add = (): void => {
    const name = findFreeName('relation', listOtherNames(form, ''));
    const [first = ''] = listEntityNames(form.state.value);
    createSetter(form)(['relations', name], { kind: 'belongsTo', entity: first });
    form.setOpen(`relations.${name}`);
    setAdded(name);
  };
  return (
    <section aria-label="Relations">
      <Heading title="Relations" action="New relation" onAct={add} />
      {relations.map(([name, relation], index) => (
        <MemberRow
          key={name}
          form={form}
          part="relations"
          name={name}
          isAdded={name === added}
          others={listOtherNames(form, name)}
          summary={summarizeRelation(name, relation)}
          isFirst={index === 0}
          isLast={index === relations.length - 1}
        >
          <RelationForm form={form} name={name} />
        </MemberRow>
      ))}
      {relations.length === 0 && <EmptyNote of="relations" />}
    </section>
  );
}
