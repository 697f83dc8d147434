// Guard of unsaved changes: leaving the screen needs a confirmation.
import { useBlocker } from '@tanstack/react-router';
import { useEffect, useRef } from 'react';
import type { Search } from '../address.ts';
import { DiscardDialog } from './discard-dialog.tsx';
import { addDraft } from './drafts.ts';

export interface UnsavedChangesGuardProps {
  readonly isDirty: boolean;
  /** Returns whether the draft survives at an address, such as another tab of the screen. */
  readonly keeps?: (pathname: string) => boolean;
  /** Parameter of the address that names what is edited: another value is another draft. */
  readonly parameter?: string;
}

/** Asks "Discard changes?" before another address, and before the tab closes, while there is a draft. */
export function UnsavedChangesGuard({ isDirty, keeps, parameter }: UnsavedChangesGuardProps) {
  const isDiscarded = useRef(false);
  const { status, proceed, reset } = useBlocker({
    shouldBlockFn: ({ current, next }) => {
      const read = (search: unknown) => (parameter === undefined ? undefined : (search as Search)[parameter]);
      const isLeaving = current.pathname !== next.pathname || read(current.search) !== read(next.search);
      return isDirty && isLeaving && keeps?.(next.pathname) !== true;
    },
    enableBeforeUnload: () => isDirty && !isDiscarded.current,
    withResolver: true,
  });
  useEffect(() => {
    if (!isDirty) return;
    isDiscarded.current = false;
    return addDraft();
  }, [isDirty]);
  const discard = (): void => {
    // The next screen may reload the page while this one is still mounted: that needs no second confirmation.
    isDiscarded.current = true;
    proceed?.();
  };
  return <DiscardDialog isOpen={status === 'blocked'} onKeep={() => reset?.()} onDiscard={discard} />;
}
