import { ActivityList } from '../../shell/activity-list.tsx';
import { ScreenFrame } from '../../shell/screen-frame.tsx';
import { useWorkspace } from '../../shell/use-address.ts';

export function Screen() {
  return (
    <ScreenFrame title="Activity">
      <ActivityList workspace={useWorkspace()} />
    </ScreenFrame>
  );
}
