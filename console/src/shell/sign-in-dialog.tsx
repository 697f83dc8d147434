// Dialog that cannot be closed before one has signed in again.
import { Modal } from '@mantine/core';
import { SignInForm } from './sign-in-form.tsx';

export default function SignInDialog({ onSignedIn }: { readonly onSignedIn: () => void }) {
  return (
    <Modal
      opened
      onClose={() => undefined}
      withCloseButton={false}
      closeOnEscape={false}
      closeOnClickOutside={false}
      title="Sign in again"
      zIndex={1000}
    >
      <SignInForm reason="The session has ended. What you typed is still here." onSignedIn={onSignedIn} />
    </Modal>
  );
}
