// Question for each removed and similar added member: whether it was renamed.
import { Alert, Button, Group, Text } from '@mantine/core';
import { useMemo, useState } from 'react';
import { applyRename, findRenames, type RenameCandidate } from '../../schema/renames.ts';
import type { DraftState } from '../../schema/use-draft.ts';
import { announce } from '../../shell/live-region.tsx';

const getKey = ({ path, from }: RenameCandidate): string => `${path.join('.')} ${from}`;

const LOST = { entity: 'all of its records', field: 'its values', relation: 'what it refers to' } as const;

export function RenameQuestions({ state }: { readonly state: DraftState }) {
  const [denied, setDenied] = useState<ReadonlySet<string>>(new Set());
  const candidates = useMemo(() => findRenames(state.current.document, state.value), [state.current, state.value]);
  const questions = candidates.filter((one) => !denied.has(getKey(one)));
  return questions.map((one) => {
    const { kind, path, from, to } = one;
    const where = kind === 'entity' ? '' : ` of ${path[1]}`;
    const accept = (): void => {
      state.setValue(applyRename(state.value, one));
      announce(`${from} is renamed to ${to}`);
    };
    return (
      <Alert key={getKey(one)} color="accent" variant="light" p="xs" title="Was this renamed?" role="alert">
        <Text size="sm">
          The {kind} <b>{from}</b>
          {where} went, and <b>{to}</b> came. If it is the same under another name, it keeps {LOST[kind]}; if not, they
          are lost.
        </Text>
        <Group gap="xs" mt={6}>
          <Button size="compact-xs" onClick={accept}>
            Yes, {from} is {to} now
          </Button>
          <Button size="compact-xs" variant="default" onClick={() => setDenied(new Set(denied).add(getKey(one)))}>
            No, drop {from}
          </Button>
        </Group>
      </Alert>
    );
  });
}
