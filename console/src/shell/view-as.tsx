// "View as" in the banner: shows the records as a user of the identity provider sees them, until "Leave".
import { ActionIcon, Button, Group, Text } from '@mantine/core';
import { lazy, Suspense, useState } from 'react';
import { describeUser, useViewAsAnywhere } from '../api/view-as.ts';
import type { WorkspaceRef } from '../api/workspace.ts';
import { hasUnsavedChanges } from './drafts.ts';
import { Icon } from './icon.tsx';
import { trackLoading } from './new-build.ts';
import { useIsOwner, useViewAs } from './permissions.ts';
import { ReturnFocus } from './return-focus.tsx';

import { changeViewAs } from './use-begin-view-as.ts';

// The dialogs are not part of the first load.
const ViewAsDialog = lazy(() => trackLoading(import('./view-as-form.tsx')));
const DiscardDialog = lazy(async () => ({
  default: (await trackLoading(import('./discard-dialog.tsx'))).DiscardDialog,
}));

/** Line of the banner with the displayed user and the button that leaves. */
export function ViewAsLine() {
  const current = useViewAsAnywhere();
  const isHere = useViewAs() !== undefined;
  const [isAsking, setAsking] = useState(false);
  if (current === undefined) return null;
  const { org, ws } = current.workspace;
  const leave = (): void => (hasUnsavedChanges() ? setAsking(true) : changeViewAs(undefined));
  return (
    <Group px="sm" gap="sm" wrap="nowrap" h={32} className="viewing-as">
      <Icon name="eye" />
      <Text size="xs" truncate flex={1} title={describeUser(current)}>
        Viewing {isHere ? '' : `${org}/${ws} `}as <bdi>{describeUser(current)}</bdi>; nothing can be changed
      </Text>
      <Button size="compact-xs" variant="default" onClick={leave}>
        Leave
      </Button>
      <Suspense>
        {isAsking && (
          <DiscardDialog
            isOpen
            onKeep={() => setAsking(false)}
            onDiscard={() => {
              setAsking(false);
              changeViewAs(undefined);
            }}
          />
        )}
      </Suspense>
    </Group>
  );
}

export function ViewAsButton({ workspace }: { readonly workspace: WorkspaceRef }) {
  const [isOpen, setOpen] = useState(false);
  const isOwner = useIsOwner();
  const open = (): void => setOpen(true);
  if (!isOwner || useViewAsAnywhere() !== undefined) return null;
  return (
    <>
      <Button
        variant="default"
        size="compact-xs"
        onClick={open}
        leftSection={<Icon name="eye" size={14} />}
        visibleFrom="sm"
      >
        View as
      </Button>
      <ActionIcon color="gray" onClick={open} aria-label="View as" hiddenFrom="sm">
        <Icon name="eye" />
      </ActionIcon>
      <Suspense>
        {isOpen && (
          <ReturnFocus>
            <ViewAsDialog workspace={workspace} onClose={() => setOpen(false)} />
          </ReturnFocus>
        )}
      </Suspense>
    </>
  );
}
