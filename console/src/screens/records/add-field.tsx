// Button at the right end of the grid that adds a field: its name, its type and the plan in one popover.
import { ActionIcon, Popover } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { lazy, Suspense, useState } from 'react';
import { workspaceQuery } from '../../api/organizations.ts';
import type { EntityRef } from '../../records/requests.ts';
import { Icon } from '../../shell/icon.tsx';
import { useMayAdminister } from '../../shell/permissions.ts';

const FieldForm = lazy(async () => ({ default: (await import('./field-form.tsx')).FieldForm }));

/** For owners, except where a shared schema has the fields. */
export function AddField({ entityRef }: { readonly entityRef: EntityRef }) {
  const mayAdminister = useMayAdminister();
  const settings = useQuery({ ...workspaceQuery(entityRef), enabled: mayAdminister }).data;
  const [isOpen, setOpen] = useState(false);
  if (!mayAdminister || settings === undefined || settings.follows != null) return null;
  return (
    <Popover opened={isOpen} onChange={setOpen} position="bottom-end" withinPortal trapFocus width={320} shadow="md">
      <Popover.Target>
        <ActionIcon
          aria-label="Add a field"
          title="Add a field"
          aria-haspopup="dialog"
          variant="default"
          className="records-add"
          onClick={() => setOpen(!isOpen)}
        >
          <Icon name="plus" />
        </ActionIcon>
      </Popover.Target>
      <Popover.Dropdown aria-label="Add a field" p="sm">
        <Suspense>
          <FieldForm entityRef={entityRef} onClose={() => setOpen(false)} />
        </Suspense>
      </Popover.Dropdown>
    </Popover>
  );
}
