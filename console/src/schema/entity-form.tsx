// One entity of the draft: its name and settings, fields, relations, indexes.
import { Button, Checkbox, Fieldset, Group, Stack } from '@mantine/core';
import { useState } from 'react';
import type { Detail } from '../api/api-error.ts';
import { useAddress } from '../shell/use-address.ts';
import { CommitInput } from './commit-input.tsx';
import { columnsOf, entityNames, entityPath, freeName, withName } from './edits.ts';
import { FieldForm, fieldSummary } from './field-form.tsx';
import { type EntityFormState, mistakeAt, nameRefusal, setter, valueBelow } from './form-state.ts';
import { Heading, None } from './heading.tsx';
import { IndexesForm } from './indexes-form.tsx';
import { membersOf, textOf, withAt } from './json-value.ts';
import { MemberRow } from './member-row.tsx';
import { RelationForm, relationSummary } from './relation-form.tsx';
import { SettingsForm } from './settings-form.tsx';
import type { DraftState } from './use-draft.ts';

export interface EntityFormProps {
  readonly state: DraftState;
  readonly name: string;
  readonly details: readonly Detail[];
  /** It is in the draft since a moment. */
  readonly isAdded: boolean;
}

export function EntityForm({ state, name, details, isAdded }: EntityFormProps) {
  const [read, write] = useAddress();
  const path = entityPath(name);
  const form: EntityFormState = {
    state,
    path,
    details,
    open: read('open'),
    setOpen: (open) => write({ entity: name, open }),
  };
  const set = setter(form);
  const others = entityNames(state.value).filter((one) => one !== name);
  const rename = (next: string): void => {
    state.setValue(withName(state.value, path, next, state.inForce.document));
    write({ entity: next });
  };
  const remove = (): void => {
    state.setValue(withAt(state.value, path, undefined));
    write({ entity: undefined, open: undefined });
  };
  const former = textOf(valueBelow(form, ['renamedFrom']));
  return (
    <Fieldset variant="unstyled" disabled={!state.isReadable} aria-label={`Entity ${name}`}>
      <Stack gap="md">
        <Group align="end" gap="sm">
          <CommitInput
            label="Entity name"
            value={name}
            refuse={nameRefusal(others)}
            onCommit={rename}
            isAdded={isAdded}
            description={former === '' ? undefined : `renamed from ${former}`}
            error={mistakeAt(form, [])}
          />
          <CommitInput
            label="Description"
            value={textOf(valueBelow(form, ['description']))}
            onCommit={(text) => set(['description'], text === '' ? undefined : text)}
            error={mistakeAt(form, ['description'])}
            flex={1}
            miw={200}
          />
          <Button variant="default" color="red" onClick={remove}>
            Remove entity
          </Button>
        </Group>
        <Checkbox
          label="Timestamps: createdAt and updatedAt, set by the server"
          checked={valueBelow(form, ['timestamps']) === true}
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

/** Names of fields and relations, and of the fields that store these: all of an entity are different. */
const takenIn = (form: EntityFormState, but: string): readonly string[] => [
  ...new Set(
    [
      'id',
      ...columnsOf(valueBelow(form, [])),
      ...membersOf(valueBelow(form, ['relations'])).map(([name]) => name),
    ].filter((name) => name !== but),
  ),
];

function Fields({ form }: { readonly form: EntityFormState }) {
  const [added, setAdded] = useState<string>();
  const fields = membersOf(valueBelow(form, ['fields']));
  const add = (): void => {
    const name = freeName('field', takenIn(form, ''));
    setter(form)(['fields', name], { type: 'string' });
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
          taken={takenIn(form, name)}
          summary={fieldSummary(field)}
          isFirst={index === 0}
          isLast={index === fields.length - 1}
        >
          <FieldForm form={form} name={name} />
        </MemberRow>
      ))}
      {fields.length === 0 && <None of="fields: a record has its id only" />}
    </section>
  );
}

function Relations({ form }: { readonly form: EntityFormState }) {
  const [added, setAdded] = useState<string>();
  const relations = membersOf(valueBelow(form, ['relations']));
  const add = (): void => {
    const name = freeName('relation', takenIn(form, ''));
    const [first = ''] = entityNames(form.state.value);
    setter(form)(['relations', name], { kind: 'belongsTo', entity: first });
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
          taken={takenIn(form, name)}
          summary={relationSummary(name, relation)}
          isFirst={index === 0}
          isLast={index === relations.length - 1}
        >
          <RelationForm form={form} name={name} />
        </MemberRow>
      ))}
      {relations.length === 0 && <None of="relations" />}
    </section>
  );
}
