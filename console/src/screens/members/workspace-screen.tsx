// Members of a workspace.
import { Button } from '@mantine/core';
import { useState } from 'react';
import { AccessLayout } from '../../access/access-layout.tsx';
import { adminPath } from '../../api/workspace.ts';
import { Members } from '../../members/members.tsx';

export function Screen() {
  const [isAdding, setAdding] = useState(false);
  return (
    <AccessLayout title="Members" noun="members" actions={<Button onClick={() => setAdding(true)}>Add member</Button>}>
      {(workspace) => (
        <Members path={adminPath(workspace, '/members')} isAdding={isAdding} onClose={() => setAdding(false)} />
      )}
    </AccessLayout>
  );
}
