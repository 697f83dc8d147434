// One went and one like it came: the question whether it is the same under another name.
import { Alert, Button, Group, Text } from '@mantine/core';
import { useMemo, useState } from 'react';
import { type Renaming, renamingsOf, withRenaming } from '../../schema/renames.ts';
import type { DraftState } from '../../schema/use-draft.ts';
import { say } from '../../shell/live-region.tsx';

const keyOf = ({ path, from }: Renaming): string => `${path.join('.')} ${from}`;

const LOST = { entity: 'all of its records', field: 'its values', relation: 'what it refers to' } as const;

export function Renamings({ state }: { readonly state: DraftState }) {
  const [denied, setDenied] = useState<ReadonlySet<string>>(new Set());
  const found = useMemo(() => renamingsOf(state.inForce.document, state.value), [state.inForce, state.value]);
  const asked = found.filter((one) => !denied.has(keyOf(one)));
  return asked.map((one) => {
    const { kind, path, from, to } = one;
    const where = kind === 'entity' ? '' : ` of ${path[1]}`;
    const accept = (): void => {
      state.setValue(withRenaming(state.value, one));
      say(`${from} is renamed to ${to}`);
    };
    return (
      <Alert key={keyOf(one)} color="accent" variant="light" p="xs" title="Was this renamed?" role="alert">
        <Text size="sm">
          The {kind} <b>{from}</b>
          {where} went, and <b>{to}</b> came. If it is the same under another name, it keeps {LOST[kind]}; if not, they
          are lost.
        </Text>
        <Group gap="xs" mt={6}>
          <Button size="compact-xs" onClick={accept}>
            Yes, {from} is {to} now
          </Button>
          <Button size="compact-xs" variant="default" onClick={() => setDenied(new Set(denied).add(keyOf(one)))}>
            No, drop {from}
          </Button>
        </Group>
      </Alert>
    );
  });
}
