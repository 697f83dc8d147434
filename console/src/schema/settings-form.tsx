// Form for the settings of an entity: read defaults, the changes that are kept, and the language of its searchable fields.
import { Checkbox, NativeSelect, Text } from '@mantine/core';
import type { Json } from '../api/json.ts';
import { CommitInput } from './commit-input.tsx';
import { CommitLines } from './commit-lines.tsx';
import { formatInput, parseInteger } from './field-values.ts';
import { createSetter, type EntityFormState, getValue, listErrors } from './form-state.ts';
import { asText, asTexts, isList, setAt } from './json-value.ts';
import classes from './schema.module.css';

const LISTS = [
  ['defaultExpand', 'Expanded by default', 'Relations, with dots for nested ones'],
  ['expandable', 'Expandable relations', 'None named: all'],
  ['defaultFields', 'Default fields', '* is every column'],
] as const;

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
  const mistake = (name: string): string | undefined => listErrors(form, ['settings', name])[0]?.message;
  return (
    <section aria-label="Settings">
      <Text component="h2" size="sm" fw={600} mb={4}>
        Settings
      </Text>
      <div className={classes.form}>
        {LISTS.map(([name, label, description]) => (
          <CommitLines
            key={name}
            label={label}
            description={description}
            value={asTexts(getValue(form, ['settings', name]))}
            error={mistake(name)}
            onCommit={(lines) => setting(name, lines.length === 0 ? undefined : lines)}
          />
        ))}
        <CommitInput
          label="Label"
          description="The field that names a record, or fields in braces: {firstName} {lastName}; not given: guessed by names and unique texts"
          value={asText(getValue(form, ['settings', 'label']))}
          error={mistake('label')}
          onCommit={(text) => setting('label', text.trim() === '' ? undefined : text.trim())}
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
          <CommitLines
            label="Fields left out of changes"
            description="Their values are never stored with changes"
            value={asTexts(getValue(form, ['settings', 'changesOmit']))}
            error={mistake('changesOmit')}
            onCommit={(lines) => setting('changesOmit', lines.length === 0 ? undefined : lines)}
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
