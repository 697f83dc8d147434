// What the page may do here. Controls that write ask `useMayWrite`, screens of administration `useMayAdminister`.
import { useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { useSyncExternalStore } from 'react';
import { permissionsIn, sessionQuery } from '../api/session.ts';
import { getViewAs, subscribeViewAs, type ViewAs } from '../api/view-as.ts';
import type { WorkspaceRef } from '../api/workspace.ts';

/** The workspace of the address bar. */
export function usePlace(): WorkspaceRef | undefined {
  const { org, ws } = useParams({ strict: false }) as { readonly org?: string; readonly ws?: string };
  return org === undefined || ws === undefined ? undefined : { org, ws };
}

/** Whose records are shown, in whichever workspace; undefined: those of the session. */
export const useViewAsAnywhere = (): ViewAs | undefined => useSyncExternalStore(subscribeViewAs, getViewAs);

/** Whose records are shown in the workspace of the address bar; undefined: those of the session. */
export function useViewAs(): ViewAs | undefined {
  const viewAs = useViewAsAnywhere();
  const place = usePlace();
  return viewAs !== undefined && place?.org === viewAs.place.org && place.ws === viewAs.place.ws ? viewAs : undefined;
}

function usePermissions() {
  const { data: session } = useQuery(sessionQuery);
  const place = usePlace();
  return session === undefined || place === undefined ? null : permissionsIn(session, place);
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
