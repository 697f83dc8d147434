// Paths of a workspace in the API and in the address bar.

/** Slugs of the address bar. */
export interface WorkspaceRef {
  readonly org: string;
  readonly ws: string;
}

/** Path of the data API of a workspace, below the console's door. */
export const dataPath = ({ org, ws }: WorkspaceRef, rest = ''): string =>
  `/v1/${encodeURIComponent(org)}/${encodeURIComponent(ws)}${rest}`;

/** Path of the admin API of a workspace, below the console's door. */
export const adminPath = ({ org, ws }: WorkspaceRef, rest = ''): string =>
  `/admin/v1/organizations/${encodeURIComponent(org)}/workspaces/${encodeURIComponent(ws)}${rest}`;

/** Address of a screen of a workspace. */
export const screenPath = ({ org, ws }: WorkspaceRef, rest = ''): string => `/${org}/${ws}${rest}`;
