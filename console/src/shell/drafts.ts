// Count of the unsaved drafts of the page.

let drafts = 0;

/** Returns whether a reload would lose anything on the page. */
export const hasUnsavedChanges = (): boolean => drafts > 0;

/** Counts a draft until the returned function is called. */
export function addDraft(): () => void {
  drafts++;
  // Loaded now: when the session has ended, the server may have another build, and a reload would lose the draft.
  void import('./sign-in-dialog.tsx').catch(() => undefined);
  return () => void drafts--;
}
