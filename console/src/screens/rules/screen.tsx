// Screen for row rules: what users of the identity provider see of each entity. Changes are a draft until they are
// saved; the tester compares the records that a user sees now and with the draft.

import { Alert, Button, Group, Stack, Text } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { AccessLayout } from '../../access/access-layout.tsx';
import { ConflictDialog } from '../../access/conflict-dialog.tsx';
import { formatRules, type RulesByEntity, setRules } from '../../access/rules.ts';
import { rulesQuery, saveRules } from '../../access/rules-api.ts';
import type { RowRule } from '../../api/types.ts';
import type { WorkspaceRef } from '../../api/workspace.ts';
import { pluralize } from '../../format/amount.ts';
import { CopyAs } from '../../shell/copy-as.tsx';
import { ErrorAlert } from '../../shell/error-alert.tsx';
import { announce } from '../../shell/live-region.tsx';
import { UnsavedChangesGuard } from '../../shell/unsaved-changes.tsx';
import { createAdminCall } from '../../snippets/admin.ts';
import { Matrix } from './matrix.tsx';
import { Tester } from './tester.tsx';

export function Screen() {
  return (
    <AccessLayout title="Row rules" noun="schema">
      {(workspace) => <Rules workspace={workspace} />}
    </AccessLayout>
  );
}

interface Conflict {
  readonly entity: string;
  readonly theirs: readonly RowRule[];
}

function Rules({ workspace }: { readonly workspace: WorkspaceRef }) {
  const rules = useQuery(rulesQuery(workspace));
  const [draft, setDraft] = useState<RulesByEntity>(new Map());
  // Rules that the draft started from: newer ones are compared when it is saved.
  const [inForce, setInForce] = useState(rules.data);
  const { saving, conflict, settle, close } = useSave(workspace, { inForce, setInForce, draft, setDraft });
  if (rules.data !== inForce && draft.size === 0 && !saving.isPending) setInForce(rules.data);
  if (inForce === undefined) return <ErrorAlert error={rules.error} onRetry={() => void rules.refetch()} />;
  return (
    <Stack gap="lg">
      <Text size="sm">
        A rule shows users of the identity provider only the records whose column equals a claim of their token. Several
        rules of an entity hold together. Keys and clients are not held to them, except those with the permissions
        GRANTS.
      </Text>
      <Matrix
        workspace={workspace}
        inForce={inForce}
        draft={draft}
        error={saving.error}
        onChange={(entity, next) => setDraft(setRules(draft, inForce, entity, next))}
        onChangeAll={(all) =>
          setDraft([...all].reduce((next, [entity, rules]) => setRules(next, inForce, entity, rules), draft))
        }
      />
      {draft.size > 0 && (
        <Alert role="group" aria-label="Unsaved rules" color="accent" variant="light" p="xs">
          <Group gap="sm">
            <Text size="sm" role="status">
              Unsaved rules of {pluralize(draft.size, 'entity', 'entities')}: nothing has changed for users yet
            </Text>
            <Button size="compact-sm" loading={saving.isPending} onClick={() => saving.mutate(inForce)}>
              Save rules
            </Button>
            <Button size="compact-sm" variant="default" onClick={() => setDraft(new Map())}>
              Discard changes
            </Button>
            <CopyAs
              label="Copy the change as"
              call={() =>
                [...draft].map(([entity, rules]) =>
                  createAdminCall(
                    { origin: location.origin, ...workspace },
                    {
                      method: 'PUT',
                      rest: `/entities/${encodeURIComponent(entity)}/row-rules`,
                      body: JSON.stringify(rules),
                    },
                  ),
                )
              }
            />
          </Group>
        </Alert>
      )}
      <Tester workspace={workspace} inForce={inForce} draft={draft} />
      <UnsavedChangesGuard isDirty={draft.size > 0} />
      {conflict !== undefined && (
        <ConflictDialog
          draft={`${conflict.entity}\n${formatRules(draft.get(conflict.entity) ?? []) || 'no rules'}`}
          current={`${conflict.entity}\n${formatRules(conflict.theirs) || 'no rules'}`}
          onClose={close}
          onKeepDraft={() => settle(conflict, 'mine')}
          onTakeCurrent={() => settle(conflict, 'theirs')}
        />
      )}
    </Stack>
  );
}

interface Drafted {
  readonly inForce: RulesByEntity | undefined;
  readonly setInForce: (next: RulesByEntity) => void;
  readonly draft: RulesByEntity;
  readonly setDraft: (next: RulesByEntity) => void;
}

/** Saves entity by entity, and stops at the first edit conflict or error. */
function useSave(workspace: WorkspaceRef, { inForce, setInForce, draft, setDraft }: Drafted) {
  const queries = useQueryClient();
  const [conflict, setConflict] = useState<Conflict>();
  const { queryKey } = rulesQuery(workspace);
  const put = (next: RulesByEntity): void => {
    queries.setQueryData(queryKey, next);
    setInForce(next);
  };
  const saving = useMutation({
    mutationFn: async (base: RulesByEntity) => {
      const current = new Map(base);
      const remaining = new Map(draft);
      try {
        for (const [entity, rules] of draft) {
          const theirs = await saveRules(workspace, entity, rules, current.get(entity) ?? []);
          if (theirs !== undefined) return { entity, theirs };
          current.set(entity, rules);
          remaining.delete(entity);
        }
      } finally {
        put(current);
        setDraft(remaining);
      }
      return undefined;
    },
    onSuccess: (conflict) => {
      setConflict(conflict);
      if (conflict === undefined) announce('Rules saved');
    },
  });
  return {
    saving,
    conflict,
    close: () => setConflict(undefined),
    settle({ entity, theirs }: Conflict, whose: 'mine' | 'theirs'): void {
      const base = new Map(inForce).set(entity, theirs);
      put(base);
      setConflict(undefined);
      if (whose === 'mine') saving.mutate(base);
      else {
        const next = new Map(draft);
        next.delete(entity);
        setDraft(next);
      }
    },
  };
}
