// Form for indexes over several fields.
import { Button, Checkbox, Group, MultiSelect } from '@mantine/core';
import type { Json } from '../api/json.ts';
import { listColumns } from './edits.ts';
import { createSetter, type EntityFormState, getValue, listErrors } from './form-state.ts';
import { EmptyNote, Heading } from './heading.tsx';
import { asTexts, getAt, isList } from './json-value.ts';

export function IndexesForm({ form }: { readonly form: EntityFormState }) {
  const value = getValue(form, ['indexes']);
  const indexes: readonly Json[] = isList(value) ? value : [];
  const set = createSetter(form);
  const entity = getValue(form, []);
  const columns = [
    ...listColumns(entity),
    ...(getAt(entity, ['timestamps']) === true ? ['createdAt', 'updatedAt'] : []),
  ];
  const setAll = (next: readonly Json[]): void => set(['indexes'], next.length === 0 ? undefined : next);
  const change = (index: number, member: string, next: Json | undefined): void =>
    set(['indexes', String(index), member], next);
  return (
    <section aria-label="Indexes">
      <Heading title="Indexes" action="New index" onAct={() => setAll([...indexes, { fields: columns.slice(0, 1) }])} />
      {indexes.map((one, index) => {
        const fields = asTexts(getAt(one, ['fields']));
        return (
          <Group key={index} align="end" gap="sm" mb={6}>
            <MultiSelect
              label={`Fields of index ${index + 1}`}
              size="xs"
              miw={260}
              searchable
              data={[...new Set([...columns, ...fields])]}
              value={[...fields]}
              error={listErrors(form, ['indexes', String(index)])[0]?.message}
              onChange={(next) => change(index, 'fields', next)}
            />
            <Checkbox
              label="Unique"
              mb={6}
              checked={getAt(one, ['unique']) === true}
              onChange={(event) => change(index, 'unique', event.currentTarget.checked ? true : undefined)}
            />
            <Button variant="default" onClick={() => setAll(indexes.filter((_, place) => place !== index))}>
              Remove index {index + 1}
            </Button>
          </Group>
        );
      })}
      {indexes.length === 0 && <EmptyNote of="indexes over several fields" />}
    </section>
  );
}
