// Form for the settings of an entity: read defaults, the changes that are kept, and the language of its searchable fields.
import { Autocomplete, Checkbox, NativeSelect, Text } from '@mantine/core';
import type { Json } from '../api/json.ts';
import { ChooseNames } from './choose-names.tsx';
import { CommitInput } from './commit-input.tsx';
import { entityPath, listColumns } from './edits.ts';
import { formatInput, parseInteger } from './field-values.ts';
import { createSetter, type EntityFormState, getValue, listErrors } from './form-state.ts';
import { asText, asTexts, getAt, isList, listMembers, setAt } from './json-value.ts';
import classes from './schema.module.css';

const LISTS = [
  ['defaultExpand', 'Expanded by default', 'Relations, with dots for nested ones'],
  ['expandable', 'Expandable relations', 'None chosen: all'],
  ['defaultFields', 'Default fields', '* is every column'],
] as const;

/** Lists the relations of an entity, and those of the entities that they lead to, with a dot. */
function listPaths(form: EntityFormState): readonly string[] {
  const relations = (entity: Json | undefined) => listMembers(getAt(entity, ['relations']));
  return relations(getValue(form, [])).flatMap(([name, relation]) => [
    name,
    ...relations(getAt(form.state.value, entityPath(asText(getAt(relation, ['entity']))))).map(
      ([nested]) => `${name}.${nested}`,
    ),
  ]);
}

const CHANGES = [
  { value: 'off', label: 'not kept' },
  { value: 'feed', label: 'feed' },
  { value: 'history', label: 'history' },
];

export function SettingsForm({ form }: { readonly form: EntityFormState }) {
  const set = createSetter(form);
  const setting = (name: string, value: Json | undefined): void => {
    const next = setAt(getValue(form, ['settings']) ?? {}, [name], value);
    // A missing `settings` keeps the current ones; `{}` clears them.
    set(['settings'], next);
  };
  const changes = asText(getValue(form, ['settings', 'changes'])) || 'off';
  const columns = listColumns(getValue(form, []));
  const paths = listPaths(form);
  const label = asText(getValue(form, ['settings', 'label']));
  const setLabel = (text: string): void => {
    if (text.trim() !== label) setting('label', text.trim() === '' ? undefined : text.trim());
  };
  const mistake = (name: string): string | undefined => listErrors(form, ['settings', name])[0]?.message;
  return (
    <section aria-label="Settings">
      <Text component="h2" size="sm" fw={600} mb={4}>
        Settings
      </Text>
      <div className={classes.form}>
        {LISTS.map(([name, label, description]) => (
          <ChooseNames
            key={name}
            label={label}
            description={description}
            value={asTexts(getValue(form, ['settings', name]))}
            names={name === 'defaultFields' ? ['*', 'id', ...columns] : paths}
            error={mistake(name)}
            onChange={(names) => setting(name, names.length === 0 ? undefined : names)}
          />
        ))}
        <Autocomplete
          key={label}
          label="Label"
          size="xs"
          description="The field that names a record, or several as in {firstName} {lastName}; none: guessed"
          data={[...columns]}
          defaultValue={label}
          error={mistake('label')}
          limit={100}
          spellCheck={false}
          onBlur={({ currentTarget: { value } }) => setLabel(value)}
          onOptionSubmit={setLabel}
          onKeyDown={({ key, currentTarget: { value } }) => key === 'Enter' && setLabel(value)}
        />
        <CommitInput
          label="Maximum expand depth"
          description="1 to 10; not given: 3"
          value={formatInput(getValue(form, ['settings', 'maxExpandDepth']))}
          error={mistake('maxExpandDepth')}
          onCommit={(text) => setting('maxExpandDepth', parseInteger(text.trim()))}
        />
        <NativeSelect
          label="Changes of records"
          description="Kept for feeds, or for longer as history"
          data={CHANGES}
          value={changes}
          error={mistake('changes')}
          onChange={({ currentTarget: { value } }) => setting('changes', value === 'off' ? undefined : value)}
        />
        {changes !== 'off' && (
          <ChooseNames
            label="Fields left out of changes"
            description="Their values are never stored with changes"
            value={asTexts(getValue(form, ['settings', 'changesOmit']))}
            names={columns}
            error={mistake('changesOmit')}
            onChange={(names) => setting('changesOmit', names.length === 0 ? undefined : names)}
          />
        )}
        {changes === 'history' && (
          <CommitInput
            label="Days of history"
            description="1 to 36500; not given: the default of the server"
            value={formatInput(getValue(form, ['settings', 'historyDays']))}
            error={mistake('historyDays')}
            onCommit={(text) => setting('historyDays', parseInteger(text.trim()))}
          />
        )}
        {changes === 'history' && (
          <Checkbox
            label="Users of the identity provider may read history"
            checked={getValue(form, ['settings', 'historyForUsers']) === true}
            error={mistake('historyForUsers')}
            onChange={(event) => setting('historyForUsers', event.currentTarget.checked ? true : undefined)}
          />
        )}
        <CommitInput
          label="Search language"
          description="Of the searchable fields"
          placeholder="simple"
          value={asText(getValue(form, ['searchLanguage']))}
          error={listErrors(form, ['searchLanguage'])[0]?.message}
          onCommit={(text) => set(['searchLanguage'], text === '' ? undefined : text)}
        />
      </div>
      {(isList(getValue(form, ['rowRules'])) || isList(getValue(form, ['grants']))) && (
        <Text size="xs" c="dimmed" mt={4}>
          Row rules and grants are changed under Access.
        </Text>
      )}
    </section>
  );
}
