// Dialogs that keys open on every screen: Ctrl+K the command palette, Ctrl+/ and ? the shortcuts. They are loaded when they are opened.
import { lazy, Suspense, useEffect, useState } from 'react';
import type { PaletteProps } from './command-palette.tsx';
import { trackLoading } from './new-build.ts';
import { ReturnFocus } from './return-focus.tsx';
import { isTyping, shortcutsStore } from './shortcuts.ts';

const CommandPalette = lazy(() => trackLoading(import('./command-palette.tsx')));
const ShortcutsDialog = lazy(() => trackLoading(import('./shortcuts-dialog.tsx')));

export function PageDialogs(props: PaletteProps) {
  const [isPaletteOpen, setPaletteOpen] = useState(false);
  const hasShortcuts = shortcutsStore.use();
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      const hasControl = event.ctrlKey || event.metaKey;
      const isPaletteKey = event.key.toLowerCase() === 'k' && hasControl;
      const isHelpKey = hasControl ? event.key === '/' : event.key === '?' && !isTyping(event.target);
      if (!isPaletteKey && !isHelpKey) return;
      event.preventDefault();
      if (isPaletteKey) setPaletteOpen((was) => !was);
      else shortcutsStore.set(true);
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, []);
  return (
    <Suspense>
      {isPaletteOpen && (
        <ReturnFocus>
          <CommandPalette {...props} onClose={() => setPaletteOpen(false)} />
        </ReturnFocus>
      )}
      {hasShortcuts && (
        <ReturnFocus>
          <ShortcutsDialog onClose={() => shortcutsStore.set(false)} />
        </ReturnFocus>
      )}
    </Suspense>
  );
}
