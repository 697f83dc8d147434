// Paths of a workspace in the API and in the address bar.

/** Slugs of the address bar. */
export interface WorkspaceRef {
  readonly org: string;
  readonly ws: string;
}

/** Returns the path of a workspace in the data API, below /console/api. */
export const dataPath = ({ org, ws }: WorkspaceRef, rest = ''): string =>
  `/v1/${encodeURIComponent(org)}/${encodeURIComponent(ws)}${rest}`;

/** Returns the path of a workspace in the admin API, below /console/api. */
export const adminPath = ({ org, ws }: WorkspaceRef, rest = ''): string =>
  `/admin/v1/organizations/${encodeURIComponent(org)}/workspaces/${encodeURIComponent(ws)}${rest}`;

/** Returns the address of a screen of a workspace. */
export const screenPath = ({ org, ws }: WorkspaceRef, rest = ''): string => `/${org}/${ws}${rest}`;
