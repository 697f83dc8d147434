// Permissions of the page. Controls that write use `useMayWrite`, screens of administration `useMayAdminister`.
import { useQuery } from '@tanstack/react-query';
import { getPermissions, sessionQuery } from '../api/session.ts';
import { useViewAsAnywhere, type ViewAs } from '../api/view-as.ts';
import { useCurrentWorkspace } from './use-address.ts';

/** Returns the user whose records are displayed in this workspace, or undefined for those of the session. */
export function useViewAs(): ViewAs | undefined {
  const viewAs = useViewAsAnywhere();
  const workspace = useCurrentWorkspace();
  return viewAs !== undefined && workspace?.org === viewAs.workspace.org && workspace.ws === viewAs.workspace.ws
    ? viewAs
    : undefined;
}

function usePermissions() {
  const { data: session } = useQuery(sessionQuery);
  const workspace = useCurrentWorkspace();
  return session === undefined || workspace === undefined ? null : getPermissions(session, workspace);
}

/** Returns whether records of this workspace may be written: by the credential, and without "View as". */
export function useMayWrite(): boolean {
  const permissions = usePermissions();
  return useViewAs() === undefined && (permissions === 'OWNER' || permissions === 'READ_WRITE');
}

/**
 * Returns whether the user may see and change schema, access and settings of this workspace; false while "View as" is
 * active.
 */
export function useMayAdminister(): boolean {
  const isOwner = useIsOwner();
  return useViewAs() === undefined && isOwner;
}

/** Returns whether the session is that of an owner, regardless of "View as". */
export const useIsOwner = (): boolean => usePermissions() === 'OWNER';
