// The entities of the draft as forms: a list of them, and the one that is chosen.
import { Button, Text } from '@mantine/core';
import { useMemo, useState } from 'react';
import type { Detail } from '../../api/api-error.ts';
import { entitiesOf } from '../../schema/diagram.ts';
import { entityPath, freeName } from '../../schema/edits.ts';
import { EntityForm } from '../../schema/entity-form.tsx';
import { EntityList } from '../../schema/entity-list.tsx';
import { isSame, at as valueAt, withAt } from '../../schema/json-value.ts';
import classes from '../../schema/schema.module.css';
import type { DraftState } from '../../schema/use-draft.ts';
import { useAddress } from '../../shell/use-address.ts';

export function EntitiesTab({ state, details }: { readonly state: DraftState; readonly details: readonly Detail[] }) {
  const [read, write] = useAddress();
  const [added, setAdded] = useState<string>();
  const { value, inForce } = state;
  const entities = useMemo(() => entitiesOf(value), [value]);
  const names = entities.map(({ name }) => name);
  const asked = read('entity');
  const at = asked !== undefined && names.includes(asked) ? asked : names[0];
  const mistaken = new Set(details.map(({ field }) => field?.split('.')[1] ?? ''));
  const marks = new Map(
    names.flatMap((name): [string, string][] => {
      const before = valueAt(inForce.document, entityPath(name));
      if (before === undefined) return [[name, 'new']];
      return isSame(before, valueAt(value, entityPath(name))) ? [] : [[name, 'changed']];
    }),
  );
  const add = (): void => {
    const name = freeName('entity', names);
    state.setValue(withAt(value, entityPath(name), { fields: {} }));
    write({ entity: name, open: undefined });
    setAdded(name);
  };
  return (
    <div className={classes.columns}>
      <div>
        <EntityList
          label="Entities"
          entities={entities}
          at={at}
          onChoose={(entity) => write({ entity, open: undefined })}
          mistaken={mistaken}
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
