// Entity of a screen. After a rename or drop by another user it stays on the screen, with the typed text.
import { Alert } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { type EntityDocument, schemaQuery } from '../api/schema.ts';
import type { WorkspaceRef } from '../api/workspace.ts';

/** Returns the entity; with `isGone` the schema has it no longer, and `entity` is the last version. */
export function useEntity({ org, ws }: WorkspaceRef, name: string) {
  const schema = useQuery(schemaQuery({ org, ws }));
  const key = `${org}/${ws}/${name}`;
  const [last, setLast] = useState<{ readonly key: string; readonly entity: EntityDocument }>();
  const there = schema.data?.entities.get(name);
  if (there !== undefined && last?.entity !== there) setLast({ key, entity: there });
  const entity = there ?? (last?.key === key ? last.entity : undefined);
  return { schema, entity, isGone: entity !== undefined && there === undefined };
}

export function MissingEntityAlert() {
  return (
    <Alert role="alert" color="yellow" variant="light" p="xs" mb="sm">
      The workspace has no entity of this name any more: someone has renamed or dropped it. Your changes are still here,
      but are not saved.
    </Alert>
  );
}
