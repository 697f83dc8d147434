// Tab with the entities of the draft as forms: a list, and the selected entity.
import { Button, Text } from '@mantine/core';
import { useMemo } from 'react';
import type { ErrorDetail } from '../../api/api-error.ts';
import { listEntities } from '../../schema/diagram.ts';
import { entityPath, findFreeName } from '../../schema/edits.ts';
import { EntityForm } from '../../schema/entity-form.tsx';
import { EntityList } from '../../schema/entity-list.tsx';
import { isSame, setAt, getAt as valueAt } from '../../schema/json-value.ts';
import classes from '../../schema/schema.module.css';
import type { DraftState } from '../../schema/use-draft.ts';
import { useAddress } from '../../shell/use-address.ts';

export interface EntitiesTabProps {
  readonly state: DraftState;
  readonly details: readonly ErrorDetail[];
  /** Entity that was just added to the draft, whose name takes the focus. */
  readonly added: string | undefined;
  readonly onAdded: (name: string) => void;
}

export default function EntitiesTab({ state, details, added, onAdded }: EntitiesTabProps) {
  const { read, write } = useAddress();
  const { value, current } = state;
  const entities = useMemo(() => listEntities(value), [value]);
  const names = entities.map(({ name }) => name);
  const parameter = read('entity');
  const at = parameter !== undefined && names.includes(parameter) ? parameter : names[0];
  const invalid = new Set(details.map(({ field }) => field?.split('.')[1] ?? ''));
  const marks = new Map(
    names.flatMap((name): [string, string][] => {
      const before = valueAt(current.document, entityPath(name));
      if (before === undefined) return [[name, 'new']];
      return isSame(before, valueAt(value, entityPath(name))) ? [] : [[name, 'changed']];
    }),
  );
  const add = (): void => {
    const name = findFreeName('entity', names);
    state.setValue(setAt(value, entityPath(name), { fields: {} }));
    write({ entity: name, open: undefined });
    onAdded(name);
  };
  return (
    <div className={classes.columns}>
      <div>
        <EntityList
          label="Entities"
          entities={entities}
          at={at}
          onChoose={(entity) => write({ entity, open: undefined })}
          invalid={invalid}
          marks={marks}
        />
        <Button mt="xs" variant="default" onClick={add} disabled={!state.isReadable}>
          New entity
        </Button>
      </div>
      {at === undefined ? (
        <Text size="sm" c="dimmed">
          No entities yet.
        </Text>
      ) : (
        <EntityForm key={at} state={state} name={at} details={details} isAdded={at === added} />
      )}
    </div>
  );
}
