// Form for the settings of an entity: read defaults, and the language of its searchable fields.
import { Text } from '@mantine/core';
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

export function SettingsForm({ form }: { readonly form: EntityFormState }) {
  const set = createSetter(form);
  const setting = (name: string, value: Json | undefined): void => {
    const next = setAt(getValue(form, ['settings']) ?? {}, [name], value);
    // A missing `settings` keeps the current ones; `{}` clears them.
    set(['settings'], next);
  };
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
          description="The field that names a record; not given: name, title, label, email, else the first string"
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
