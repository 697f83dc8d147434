// Permissions of the page. Controls that write use `useMayWrite`, screens of administration `useMayAdminister`.
import { useQuery } from '@tanstack/react-query';
import { permissionsIn, sessionQuery } from '../api/session.ts';
import { useViewAsAnywhere, type ViewAs } from '../api/view-as.ts';
import { useCurrentWorkspace } from './use-address.ts';

/** User whose records are shown in this workspace, or undefined for those of the session. */
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
  return session === undefined || workspace === undefined ? null : permissionsIn(session, workspace);
}

/** Whether records of this workspace may be written: by the credential, and nobody is viewed as. */
export function useMayWrite(): boolean {
  const permissions = usePermissions();
  return useViewAs() === undefined && (permissions === 'OWNER' || permissions === 'READ_WRITE');
}

/** Whether the schema, the access and the settings of this workspace may be seen and changed: not those of a user. */
export function useMayAdminister(): boolean {
  const isOwner = useIsOwner();
  return useViewAs() === undefined && isOwner;
}

/** Whether the session is that of an owner here, whoever is viewed as. */
export const useIsOwner = (): boolean => usePermissions() === 'OWNER';
