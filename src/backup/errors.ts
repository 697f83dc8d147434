// Errors of backups and restores.
import { ApiError, badRequest, conflict, listNames, shorten } from '../errors.ts';

const UNCHANGED = 'Nothing was changed';

/** Builds the error of a file that is no backup of this product. */
export const backupForeign = (): ApiError =>
  new ApiError(
    'BACKUP_UNKNOWN_FORMAT',
    `This is no backup: the file does not begin as those of wda backup do. ${UNCHANGED}`,
  );

/** `what`: a clause that names the damage. */
export const backupDamaged = (what: string): ApiError =>
  new ApiError('BACKUP_DAMAGED', `The backup is damaged: ${what}. ${UNCHANGED}`);

/** `version`: version of the server that has written the file. */
export const backupNewer = (version: string, format: number, most: number): ApiError =>
  new ApiError(
    'BACKUP_NEWER',
    `The backup was written by a newer version (${shorten(version)}, form ${format}); this one reads forms up to ${most}: restore it there. ${UNCHANGED}`,
  );

/** Builds the error of a file whose checksums are right and whose content is invalid. */
export const backupUnfit = (entity: string, cause?: unknown): ApiError =>
  new ApiError(
    'BACKUP_INCONSISTENT',
    `The backup has records of ${shorten(entity)} that do not fit its schema. ${UNCHANGED}`,
    {
      cause,
    },
  );

export const workspaceInTheWay = ({
  organization,
  slug,
}: {
  readonly organization: string;
  readonly slug: string;
}): ApiError =>
  new ApiError(
    'WORKSPACE_EXISTS',
    `Workspace ${organization}/${slug} exists already, and a restore replaces nothing: restore under another name (as=${organization}/<another>, or --as ${organization}/<another> on the command line)`,
  );

/** `content`: paths of existing objects. */
export const notEmptyForRestore = (content: Iterable<string>): ApiError =>
  new ApiError(
    'INSTANCE_NOT_EMPTY',
    `A backup of a whole instance is restored into an empty one. This one has: ${listNames(content)}. Restore it with a server on a new database, or single workspaces from backups of their own (wda backup -w). ${UNCHANGED}`,
  );

export const asIsForWorkspaces = (): ApiError =>
  new ApiError(
    'BACKUP_OF_INSTANCE',
    'as and replace are for the backup of one workspace; this is one of a whole instance',
  );

export const asAndReplace = (): ApiError =>
  badRequest(
    'INVALID_PARAMETER',
    'as and replace cannot be used together: replace gives the workspace of the file the name of the one that it replaces',
  );

export const workspaceChanged = (organization: string, slug: string): ApiError =>
  conflict('WORKSPACE_CHANGED', `Workspace ${organization}/${slug} was renamed or deleted meanwhile. ${UNCHANGED}`);

/** `most`: limit of a schema document in bytes. */
export const documentTooLong = (most: number): ApiError =>
  new ApiError(
    'BACKUP_SCHEMA_TOO_LARGE',
    `The backup has a schema document of more than ${most} bytes: start the server with a higher WDA_MAX_BODY_BYTES. ${UNCHANGED}`,
  );
