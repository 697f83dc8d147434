// Input for a value of a condition or of a new record: a literal, a claim of the token, the current time, or null.
import { Autocomplete, Group, NativeSelect, TextInput } from '@mantine/core';
import type { Json } from '../api/json.ts';
import type { RecordColumn } from '../records/fields.ts';
import { listEnumValues } from '../records/value.ts';
import {
  formatLiteral,
  formatLiterals,
  getClaim,
  getSource,
  parseLiteral,
  parseLiterals,
  type Source,
  startValue,
} from './grants.ts';

const LABELS: Readonly<Record<Source, string>> = {
  value: 'value',
  claim: 'claim',
  now: 'current time',
  null: 'NULL',
};

export interface ValueInputProps {
  /** Name of the value for screen readers: `Value`, or of which field. */
  readonly label: string;
  readonly value: Json | undefined;
  /** Column that the value is for, or undefined if it is not known. */
  readonly column: RecordColumn | undefined;
  /** Whether it is a list of literals. */
  readonly isList?: boolean;
  readonly sources: readonly Source[];
  /** Claims to suggest. */
  readonly claims: readonly string[];
  readonly error: string | undefined;
  readonly onChange: (value: Json) => void;
}

export function ValueInput(props: ValueInputProps) {
  const { label, value, isList = false, sources, claims, error, onChange } = props;
  const source = getSource(value);
  return (
    <Group gap={6} align="start" wrap="wrap" flex="1 1 220px">
      {sources.length > 1 && (
        <NativeSelect
          aria-label={`${label}: from`}
          size="xs"
          value={source}
          data={sources.map((one) => ({ value: one, label: LABELS[one] }))}
          onChange={(event) => {
            const next = event.currentTarget.value as Source;
            onChange(isList && next === 'value' ? [] : startValue(next));
          }}
        />
      )}
      {source === 'claim' && (
        <Autocomplete
          aria-label={`${label}: claim`}
          placeholder="Claim, such as company_id"
          size="xs"
          flex="1 1 130px"
          data={[...claims]}
          value={getClaim(value)}
          onChange={(claim) => onChange({ claim })}
          error={error}
          spellCheck={false}
        />
      )}
      {source === 'value' && <Literal {...props} />}
    </Group>
  );
}

function Literal({ label, value, column, isList = false, error, onChange }: ValueInputProps) {
  const type = column?.type ?? 'string';
  if (isList)
    return (
      <TextInput
        aria-label={label}
        placeholder="a,b,c (\, is a comma)"
        flex="1 1 130px"
        value={formatLiterals(value)}
        onChange={(event) => onChange(parseLiterals(event.currentTarget.value, type))}
        error={error}
        spellCheck={false}
      />
    );
  const choices = type === 'boolean' ? ['true', 'false'] : listEnumValues(column?.field);
  const text = formatLiteral(value);
  if (choices.length > 0)
    return (
      <NativeSelect
        aria-label={label}
        size="xs"
        flex="1 1 110px"
        value={text}
        data={[...new Set(['', ...choices, text])]}
        onChange={(event) => onChange(parseLiteral(event.currentTarget.value, type))}
        error={error}
      />
    );
  return (
    <TextInput
      aria-label={label}
      placeholder={type === 'datetime' ? '2026-01-31T12:00:00Z' : type === 'date' ? '2026-01-31' : ''}
      flex="1 1 130px"
      value={text}
      onChange={(event) => onChange(parseLiteral(event.currentTarget.value, type))}
      error={error}
      dir="auto"
      spellCheck={false}
    />
  );
}
