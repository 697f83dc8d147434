// Form for a field with the attributes of its type.
import { NativeSelect, Textarea } from '@mantine/core';
import type { Json } from '../api/json.ts';
import { CommitInput } from './commit-input.tsx';
import { CommitLines } from './commit-lines.tsx';
import { changeFieldType } from './edits.ts';
import { FIELD_TYPES, getDefaultKeyword, listAttributes } from './field-types.ts';
import { formatInput, parseInput, parseInteger } from './field-values.ts';
import { createSetter, type EntityFormState, getError, getValue } from './form-state.ts';
import { asText, asTexts, getAt, isList } from './json-value.ts';
import { MemberCheckbox, MemberText } from './member-inputs.tsx';
import classes from './schema.module.css';

/** Summarizes a field on one line: `decimal(12, 2), required, default 0`. */
export function summarizeField(field: Json): string {
  const of = (name: string): Json | undefined => getAt(field, [name]);
  const size = [of('precision') ?? of('maxLength'), of('scale')].filter((one) => one !== undefined).map(formatInput);
  const values = isList(of('values')) ? `(${asTexts(of('values')).join(', ')})` : '';
  return [
    `${asText(of('type'))}${size.length > 0 ? `(${size.join(', ')})` : ''}${values}`,
    of('required') === true ? 'required' : '',
    of('unique') === true ? 'unique' : '',
    of('index') === 'substring' ? 'substring index' : of('index') === true ? 'index' : '',
    of('searchable') === true ? 'searchable' : '',
    of('min') === undefined ? '' : `min ${formatInput(of('min'))}`,
    of('max') === undefined ? '' : `max ${formatInput(of('max'))}`,
    of('default') === undefined ? '' : `default ${formatInput(of('default'))}`,
  ]
    .filter((part) => part !== '')
    .join(', ');
}

interface FieldFormProps {
  readonly form: EntityFormState;
  readonly name: string;
}

export function FieldForm({ form, name }: FieldFormProps) {
  const here = ['fields', name];
  const set = createSetter(form);
  const of = (member: string): Json | undefined => getValue(form, [...here, member]);
  const mistake = (member: string): string | undefined => getError(form, [...here, member]);
  const type = asText(of('type'));
  const attributes = listAttributes(type);
  const isText = type === 'string' || type === 'text';
  const flag = (member: string, label: string) => <MemberCheckbox form={form} path={[...here, member]} label={label} />;
  const input = (member: string, label: string, parse: (text: string) => Json | undefined) => (
    <MemberText form={form} path={[...here, member]} label={label} format={formatInput} parse={parse} />
  );
  return (
    <>
      <div className={classes.form}>
        <NativeSelect
          label="Type"
          size="xs"
          data={FIELD_TYPES.includes(type as never) ? [...FIELD_TYPES] : [type, ...FIELD_TYPES]}
          value={type}
          error={mistake('type')}
          onChange={(event) =>
            form.state.setValue(changeFieldType(form.state.value, [...form.path, ...here], event.currentTarget.value))
          }
        />
        {attributes.includes('maxLength') && input('maxLength', 'Maximum length', parseInteger)}
        {attributes.includes('precision') && input('precision', 'Precision', parseInteger)}
        {attributes.includes('scale') && input('scale', 'Scale', parseInteger)}
        {attributes.includes('min') && input('min', 'Min', (text) => parseInput(type, text))}
        {attributes.includes('max') && input('max', 'Max', (text) => parseInput(type, text))}
        <Default form={form} name={name} type={type} />
        {type !== 'json' && <IndexSelect form={form} name={name} isText={isText} />}
        <MemberText form={form} path={[...here, 'description']} label="Description" />
      </div>
      {attributes.includes('values') && (
        <CommitLines
          label="One value per line"
          value={asTexts(of('values'))}
          error={mistake('values')}
          onCommit={(values) => set([...here, 'values'], values)}
        />
      )}
      <div className={classes.form} style={{ marginTop: 8 }}>
        {flag('required', 'Required')}
        {type !== 'json' && flag('unique', 'Unique')}
        {attributes.includes('searchable') && flag('searchable', 'Searchable')}
      </div>
    </>
  );
}

function Default({ form, name, type }: FieldFormProps & { readonly type: string }) {
  const here = ['fields', name, 'default'];
  const value = getValue(form, here);
  const error = getError(form, here);
  const set = (text: string): void => createSetter(form)(here, parseInput(type, text));
  const choices =
    type === 'boolean' ? ['true', 'false'] : type === 'enum' ? asTexts(getValue(form, ['fields', name, 'values'])) : [];
  if (choices.length > 0) {
    const entry = formatInput(value);
    return (
      <NativeSelect
        label="Default"
        size="xs"
        data={[{ value: '', label: 'none' }, ...(entry === '' || choices.includes(entry) ? [] : [entry]), ...choices]}
        value={entry}
        error={error}
        onChange={(event) => set(event.currentTarget.value)}
      />
    );
  }
  const word = getDefaultKeyword(type);
  if (type === 'json')
    return (
      <Textarea
        key={formatInput(value)}
        label="Default, JSON"
        autosize
        defaultValue={value === undefined ? '' : formatInput(value)}
        error={error}
        onBlur={(event) => set(event.currentTarget.value.trim())}
      />
    );
  return (
    <CommitInput
      label={word === undefined ? 'Default' : `Default, or ${word}`}
      value={formatInput(value)}
      error={error}
      onCommit={set}
    />
  );
}

function IndexSelect({ form, name, isText }: FieldFormProps & { readonly isText: boolean }) {
  const here = ['fields', name, 'index'];
  const value = getValue(form, here);
  return (
    <NativeSelect
      label="Index"
      size="xs"
      data={[
        { value: '', label: 'none' },
        { value: 'true', label: 'for filters and sorts' },
        ...(isText ? [{ value: 'substring', label: 'for substring filters' }] : []),
      ]}
      value={value === true ? 'true' : asText(value)}
      error={getError(form, here)}
      onChange={({ currentTarget: { value: next } }) =>
        createSetter(form)(here, next === '' ? undefined : next === 'true' ? true : next)
      }
    />
  );
}
