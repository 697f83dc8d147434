// Who changed what in this workspace.
import { useParams } from '@tanstack/react-router';
import type { WorkspaceRef } from '../../api/workspace.ts';
import { ActivityList } from '../../shell/activity-list.tsx';
import { ScreenFrame } from '../../shell/screen-frame.tsx';

export function Screen() {
  return (
    <ScreenFrame title="Activity">
      <ActivityList place={useParams({ strict: false }) as WorkspaceRef} />
    </ScreenFrame>
  );
}
