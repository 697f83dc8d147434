// Notice about changed records that the filter excludes now. They stay in the list until the user hides them, so that no
// row vanishes while it is edited.
import { Button } from '@mantine/core';
import { Icon } from '../../shell/icon.tsx';

export interface FilteredOutProps {
  readonly count: number;
  readonly onHide: () => void;
  readonly onKeep: () => void;
}

export function FilteredOut({ count, onHide, onKeep }: FilteredOutProps) {
  return (
    <div role="status" className="records-line records-notice">
      {count > 0 && (
        <>
          <Icon name="warning" />
          <span>
            {count === 1
              ? '1 changed record no longer matches the filter.'
              : `${count} changed records no longer match the filter.`}
          </span>
          <Button variant="default" size="compact-xs" onClick={onHide}>
            Hide
          </Button>
          <Button variant="subtle" size="compact-xs" onClick={onKeep}>
            Keep in the list
          </Button>
        </>
      )}
    </div>
  );
}
