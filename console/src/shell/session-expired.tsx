// Sign-in dialog after a session has ended: nothing below is unmounted, and the rejected request is sent once more.
import { lazy, Suspense, useEffect, useRef, useState } from 'react';
import { queryClient } from '../api/query-client.ts';
import { request, setRequestListeners } from '../api/request.ts';
import { trackLoading } from './new-build.ts';

const SignInDialog = lazy(() => trackLoading(import('./sign-in-dialog.tsx')));

export function SessionExpiredDialog() {
  const [isOpen, setOpen] = useState(false);
  const waiting = useRef<(() => void)[]>([]);
  useEffect(() => {
    setRequestListeners({
      signInAgain: () =>
        new Promise((resolve) => {
          waiting.current.push(resolve);
          // The login screen has its own form.
          if (!location.pathname.endsWith('/login')) setOpen(true);
        }),
    });
  }, []);
  useEffect(() => {
    if (!isOpen) return;
    // A person signs in with the provider in another tab, and comes back to this one.
    const look = (): void =>
      void request({ path: '/admin/v1/session', signsInAgain: false }).then(finish, () => undefined);
    addEventListener('focus', look);
    return () => removeEventListener('focus', look);
  });
  const finish = (): void => {
    setOpen(false);
    for (const resume of waiting.current.splice(0)) resume();
    void queryClient.invalidateQueries({ queryKey: ['session'] });
  };
  return <Suspense>{isOpen && <SignInDialog onSignedIn={finish} />}</Suspense>;
}
