// Alert for a draft after another user changed the schema: shows both changes and merges them.
import { Alert, Button, Group, Radio, Stack, Text } from '@mantine/core';
import { useMemo, useState } from 'react';
import { type Json, stringifyExact } from '../api/json.ts';
import { announce } from '../shell/live-region.tsx';
import { DifferenceView } from './difference-view.tsx';
import { type Conflict, mergeDocuments, takeTheirs } from './merge.ts';
import type { DraftState } from './use-draft.ts';

/** Renders if the document in force is not the one that the draft started from. */
export function OutdatedDraft({ state }: { readonly state: DraftState }) {
  const { base, value, current, draft, isReadable } = state;
  const both = useMemo(() => mergeDocuments(base, value, current.document), [base, value, current]);
  const [theirs, setTheirs] = useState<ReadonlySet<string>>(new Set());
  if (!state.isOutdated) return null;
  const merge = (): void => {
    const conflicts = both.conflicts.filter(({ path }) => theirs.has(path.join('.')));
    state.rebase(takeTheirs(both.value, conflicts));
    announce('Both changes are in the draft');
  };
  const choose = ({ path }: Conflict, whose: string): void => {
    const next = new Set(theirs);
    if (whose === 'theirs') next.add(path.join('.'));
    else next.delete(path.join('.'));
    setTheirs(next);
  };
  return (
    <Alert role="alert" color="yellow" variant="light" my="sm" title="The schema changed while you were editing">
      <Stack gap="xs">
        <Text size="sm">Someone applied these changes after you started your draft. Merge them into it.</Text>
        <DifferenceView before={base} after={current.document} format={draft.format} label="Changes by others" />
        {both.conflicts.map((conflict) => (
          <Radio.Group
            key={conflict.path.join('.')}
            label={`Both of you changed ${conflict.path.slice(1).join('.')}`}
            value={theirs.has(conflict.path.join('.')) ? 'theirs' : 'mine'}
            onChange={(whose) => choose(conflict, whose)}
          >
            <Radio size="xs" mt={4} value="mine" label={`Keep mine: ${formatBrief(conflict.mine)}`} />
            <Radio size="xs" mt={4} value="theirs" label={`Take theirs: ${formatBrief(conflict.theirs)}`} />
          </Radio.Group>
        ))}
        <Group gap="xs">
          <Button onClick={merge} disabled={!isReadable}>
            Merge
          </Button>
          <Button variant="default" onClick={state.discard}>
            Discard my draft
          </Button>
        </Group>
      </Stack>
    </Alert>
  );
}

const MAX_SHOWN = 120;

function formatBrief(value: Json | undefined): string {
  if (value === undefined) return 'without it';
  const text = stringifyExact(value);
  return text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text;
}
