// Notice about records that came since the list was loaded, and the switch of live rows.
import { Button, Switch } from '@mantine/core';
import { pluralize } from '../../format/amount.ts';
import { Icon } from '../../shell/icon.tsx';
import type { Live } from './use-live.ts';

export interface LiveNoticeProps {
  readonly live: Live;
  readonly onShow: () => void;
}

export function LiveNotice({ live: { rows }, onShow }: LiveNoticeProps) {
  const { createdCount, isOutdated } = rows;
  return (
    <div role="status" className="records-line records-notice">
      {(createdCount > 0 || isOutdated) && (
        <>
          <Icon name="plus" />
          <span>{isOutdated ? 'Records have changed.' : pluralize(createdCount, 'new record')}</span>
          <Button variant="default" size="compact-xs" onClick={onShow}>
            {isOutdated ? 'Reload' : 'Show'}
          </Button>
        </>
      )}
    </div>
  );
}

/** Switch of live rows, with the reason while they are not. */
export function LiveSwitch({ live: { isOn, setOn, reason } }: { readonly live: Live }) {
  return (
    <span className="records-line">
      {isOn !== undefined && (
        <Switch label="Live" checked={isOn} onChange={(event) => setOn(event.currentTarget.checked)} />
      )}
      <span role="status">{reason === undefined ? '' : `Not live: ${reason}`}</span>
    </span>
  );
}
