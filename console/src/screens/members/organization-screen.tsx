// Members of an organization, who have their role in all of its workspaces.
import { Button } from '@mantine/core';
import { useParams } from '@tanstack/react-router';
import { useState } from 'react';
import { organizationPath } from '../../api/organizations.ts';
import { Members } from '../../members/members.tsx';
import { Trail } from '../../shared-schemas/trail.tsx';
import { CopyReadAs } from '../../shell/copy-as.tsx';
import { ScreenFrame } from '../../shell/screen-frame.tsx';
import { quoteShell } from '../../snippets/snippets.ts';

export function Screen() {
  const { org = '' } = useParams({ strict: false }) as { readonly org?: string };
  const [isAdding, setAdding] = useState(false);
  const path = organizationPath(org, '/members');
  return (
    <>
      <Trail org={org} here="Members" />
      <ScreenFrame
        title="Members"
        actions={
          <>
            <CopyReadAs path={path} wda={`members list --organization ${quoteShell(org)}`} />
            <Button onClick={() => setAdding(true)}>Add member</Button>
          </>
        }
      >
        <Members path={path} isAdding={isAdding} onClose={() => setAdding(false)} />
      </ScreenFrame>
    </>
  );
}
