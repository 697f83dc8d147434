// Every error of src/errors.ts, and of the errors.ts of each folder, by the name of its constructor: its words, and the file
// whose scenarios are answered with them. A constructor without a line does not compile; a file that is not answered so fails
// at its end (use.ts), and test/unit/errors.test.ts holds the words against the constructor. So none of them can stand here
// without being so.
import assert from 'node:assert/strict';
import { join, relative } from 'node:path';
import * as auth from '../../src/auth/errors.ts';
import * as backup from '../../src/backup/errors.ts';
import * as citus from '../../src/citus/errors.ts';
import * as console from '../../src/console-api/errors.ts';
import * as records from '../../src/data-api/errors.ts';
import type { ApiError, Reason } from '../../src/errors.ts';
import * as shared from '../../src/errors.ts';
import * as mcp from '../../src/mcp/errors.ts';
import * as migrate from '../../src/migrations/errors.ts';
import * as plan from '../../src/plan/errors.ts';
import * as request from '../../src/request/errors.ts';
import { isCluster } from './citus.ts';
import { perFile, testFile } from './test-file.ts';

const errors = {
  ...shared,
  ...auth,
  ...backup,
  ...citus,
  ...console,
  ...mcp,
  ...migrate,
  ...plan,
  ...records,
  ...request,
};

type Constructor = {
  [Name in keyof typeof errors]: (typeof errors)[Name] extends (...given: never[]) => ApiError ? Name : never;
}[keyof typeof errors];

/** Their callers give the words. */
type Wordless =
  | 'badRequest'
  | 'unauthorized'
  | 'forbidden'
  | 'notFound'
  | 'validationFailed'
  | 'conflict'
  | 'serviceUnavailable';

/** No request is meant to get it: test/unit/response/error-body.test.ts has what makes it. */
type Unwanted = 'internalError';

export interface Refusal {
  /** Below test/. */
  readonly file: string;
  readonly words: string | RegExp;
  readonly made: () => ApiError;
  /** Its test is skipped on a cluster. */
  readonly isOfPlain?: true;
}

const details = [{ field: 'weight', code: 'DESTRUCTIVE', message: 'drop field weight of notes' }] as const;
const gate = { blocksReads: true, blocksWrites: true, retryAfterSeconds: 1 };
const CONFLICT = {
  code: 'DATA_CONFLICT',
  message: '2 records stand in the way in notes: there are records without text',
  entity: 'notes',
  field: 'text',
  count: 2,
  sampleIds: [3, 4],
};
const BACKUPS = 'api/admin/backup.test.ts';
// On a cluster only.
const MOVES = 'cluster/moves.test.ts';
const MOUNTS = 'console/api-mounts.test.ts';
const FORGED = 'api/access/external-forged.test.ts';
const TOKENS = 'api/access/external-tokens.test.ts';
const FEED = 'api/events/feed.test.ts';
const BULK = 'api/writing/bulk.test.ts';
const MATCHING = 'api/writing/matching.test.ts';
const LINKS = 'api/writing/links.test.ts';
const ERRORS = 'api/requests/errors.test.ts';
const HOSTILE = 'api/requests/hostile.test.ts';

export const REFUSALS: Readonly<Record<Exclude<Constructor, Wordless | Unwanted>, Refusal>> = {
  unknownParameter: {
    file: ERRORS,
    words: /^Unknown query parameter [\w.]+\.( Did you mean [^?]+\?)? Known: \w+/,
    made: () => errors.unknownParameter('sizes', 'size', ['size']),
  },
  noSuchWorkspace: {
    file: 'api/admin/rights.test.ts',
    words: /^Workspace \S+ does not exist(\. Did you mean \S+\?)?$/,
    made: () => errors.noSuchWorkspace('acme/shp', 'acme/shop'),
  },
  repeatedParameter: {
    file: 'api/reading/paging.test.ts',
    words: 'Query parameter size may be given only once',
    made: () => errors.repeatedParameter('size'),
  },
  noCluster: {
    file: 'api/admin/rights.test.ts',
    isOfPlain: true,
    words: /^The database is not a Citus cluster: .+$/,
    made: () => errors.noCluster(),
  },
  unknownNode: {
    file: MOVES,
    words: /^The cluster has no node \S+ for workspaces\.( Did you mean \S+\?)? Known: \S+:\d+/,
    made: () => errors.unknownNode('a:1', null, ['a:5432']),
  },
  nodesUnavailable: {
    file: MOVES,
    words: /^A node of the cluster does not answer: \S+:\d+; retry when it is back$/,
    made: () => errors.nodesUnavailable(['a:5432']),
  },
  workspaceUnavailable: {
    file: MOVES,
    words: 'The part of the database that has this workspace is not reachable; retry',
    made: () => errors.workspaceUnavailable(),
  },
  workspaceMoves: {
    file: MOVES,
    words: 'The workspace is being moved to another node of the cluster; retry after that has ended',
    made: () => errors.workspaceMoves(),
  },
  backupForeign: {
    file: BACKUPS,
    words: 'This is no backup: the file does not begin as those of wda backup do. Nothing was changed',
    made: () => errors.backupForeign(),
  },
  backupDamaged: {
    file: BACKUPS,
    words: /^The backup is damaged: .+\. Nothing was changed$/,
    made: () => errors.backupDamaged('it is cut off after 9 bytes'),
  },
  backupNewer: {
    file: BACKUPS,
    words:
      /^The backup was written by a newer version \(.+, form \d+\); this one reads forms up to 1: restore it there\. Nothing was changed$/,
    made: () => errors.backupNewer('9.9.9', 2, 1),
  },
  backupUnfit: {
    file: BACKUPS,
    words: /^The backup has records of \w+ that do not fit its schema\. Nothing was changed$/,
    made: () => errors.backupUnfit('orders'),
  },
  documentTooLong: {
    file: BACKUPS,
    words:
      /^The backup has a schema document of more than \d+ bytes: start the server with a higher WDA_MAX_BODY_BYTES\. Nothing was changed$/,
    made: () => errors.documentTooLong(2_097_152),
  },
  workspaceInTheWay: {
    file: BACKUPS,
    words:
      'Workspace acme/shop exists already, and a restore replaces nothing: restore under another name (as=acme/<another>, or --as acme/<another> on the command line)',
    made: () => errors.workspaceInTheWay({ organization: 'acme', slug: 'shop' }),
  },
  notEmptyForRestore: {
    file: BACKUPS,
    words:
      /^A backup of a whole instance is restored into an empty one\. This one has: .+\. Restore it with a server on a new database, or .+\. Nothing was changed$/,
    made: () => errors.notEmptyForRestore(['acme/shop']),
  },
  asIsForWorkspaces: {
    file: BACKUPS,
    words: 'as and replace are for the backup of one workspace; this is one of a whole instance',
    made: () => errors.asIsForWorkspaces(),
  },
  workspaceChanged: {
    file: 'api/admin/restore-in-place.test.ts',
    words: 'Workspace acme/shop was renamed or deleted meanwhile. Nothing was changed',
    made: () => errors.workspaceChanged('acme', 'shop'),
  },
  asAndReplace: {
    file: 'api/admin/restore-in-place.test.ts',
    words:
      'as and replace cannot be used together: replace gives the workspace of the file the name of the one that it replaces',
    made: () => errors.asAndReplace(),
  },
  notAnAddress: {
    file: BACKUPS,
    words: 'as must be <organization>/<workspace>, such as acme/shop, not shop',
    made: () => errors.notAnAddress('as', 'shop'),
  },
  sessionEnded: {
    file: MOUNTS,
    words: 'No session: sign in again',
    made: () => errors.sessionEnded(),
  },
  sessionNotHere: {
    file: MOUNTS,
    words: 'What you have signed in with is not valid here',
    made: () => errors.sessionNotHere(),
  },
  sessionOnly: {
    file: MOUNTS,
    words: 'Below /console/api a session is needed; Authorization is for the same paths below /api',
    made: () => errors.sessionOnly(),
  },
  foreignPage: {
    file: MOUNTS,
    words: 'Below /console/api only the page of the console may ask; programs use the same paths below /api',
    made: () => errors.foreignPage(),
  },
  notByThePage: {
    file: MOUNTS,
    words: 'Below /console/api a change needs the header X-Console: 1',
    made: () => errors.notByThePage(),
  },
  malformedId: {
    file: 'api/requests/methods.test.ts',
    words: /^Id .+ is malformed: an integer is needed$/,
    made: () => errors.malformedId('x'),
  },
  resourceMismatch: {
    file: 'api/agents/oauth.test.ts',
    words: /^Token is not for agents: its aud must have http\S+\/_mcp, or the configured audience$/,
    made: () => errors.resourceMismatch('https://api.example.com/api/v1/acme/shop/_mcp'),
  },
  agentsMayNotWrite: {
    file: 'api/agents/writing.test.ts',
    words: /^Nothing may be written here: \S/,
    made: () => errors.agentsMayNotWrite('your credential may only read'),
  },
  confirmationRefused: {
    file: 'api/agents/writing.test.ts',
    words: /^The confirmation does not fit: /,
    made: () => errors.confirmationRefused(),
  },
  noSuchEntities: {
    file: 'api/agents/entities.test.ts',
    words: /^entities: there is no entity \w+\.( Did you mean \w+\?)? Known: /,
    made: () => errors.noSuchEntities('order', 'orders', ['orders']),
  },
  agentsNotServed: {
    file: 'api/agents/protocol.test.ts',
    words: 'This workspace is not served to agents',
    made: () => errors.agentsNotServed(),
  },
  foreignOrigin: {
    file: 'api/agents/protocol.test.ts',
    words: /^Pages of \S+ may not use this server: (WDA_CORS_ORIGINS|corsOrigins) does not list them$/,
    made: () => errors.foreignOrigin('https://app.example.com', 'WDA_CORS_ORIGINS'),
  },
  schemaTooLong: {
    file: 'api/admin/document-size.test.ts',
    words: /^The schema document would have more than \d+ bytes with its settings and row rules: nothing was changed$/,
    made: () => errors.schemaTooLong(2_097_152),
  },
  resultTooLarge: {
    file: 'api/agents/reading.test.ts',
    words: /^The result has \d+ bytes, and \d+ are the most\. Ask for less: fewer fields, /,
    made: () => errors.resultTooLarge(70_000, 65_536),
  },
  unknownName: {
    file: 'api/reading/selection.test.ts',
    words: /^Unknown field \w+ on entity \w+\.( Did you mean \w+\?)? Known: \w+, /,
    made: () => errors.unknownName('field', 'nmae', 'tags', 'name', ['id', 'name']),
  },
  notExpandable: {
    file: 'api/reading/settings.test.ts',
    words: /^Relationship \w+ is not expandable\. Allowed: /,
    made: () => errors.notExpandable('items', ['customer']),
  },
  expandTooDeep: {
    file: 'api/reading/selection.test.ts',
    words: /^Expand depth exceeds maximum of \d+: \w+(\.\w+)+$/,
    made: () => errors.expandTooDeep(5, 'a.b.c.d.e.f'),
  },
  reportTooLarge: {
    file: 'api/access/access-report.test.ts',
    words: /^The report would be larger than \d+ bytes\. Ask for one entity, by entity=$/,
    made: () => errors.reportTooLarge(5),
  },
  responseTooLarge: {
    file: HOSTILE,
    words: /^The response would be larger than 33554432 bytes\. Narrow it: a smaller size, fewer fields /,
    made: () => errors.responseTooLarge(33554432),
  },
  replayTooLarge: {
    file: 'api/writing/idempotency.test.ts',
    words: /^The request was done before, .* larger than \d+ bytes\. Read them by their ids$/,
    made: () => errors.replayTooLarge(5),
  },
  recordTooLarge: {
    file: HOSTILE,
    words:
      'The record would be larger than an answer may be, with all its fields. Nothing was written: make a field of it smaller',
    made: () => errors.recordTooLarge(undefined),
  },
  recordsTooLarge: {
    file: 'api/writing/bulk-refusals.test.ts',
    words:
      'The records together would be larger than an answer may be. Nothing was written: ask for their ids alone (return=minimal), or send fewer records at once',
    made: () => errors.recordsTooLarge(undefined),
  },
  tooManyKeys: {
    file: 'api/writing/idempotency-limits.test.ts',
    words:
      'The workspace has as many idempotency keys as it may have (WDA_IDEMPOTENCY_MAX_KEYS); they are removed when they expire. Send the write later, or without a key',
    made: () => errors.tooManyKeys(),
  },
  idsUsedUp: {
    file: HOSTILE,
    words: /^The ids of lines are used up: the last one given is 9007199254740991, as after an import of such an id\. /,
    made: () => errors.idsUsedUp('lines', undefined),
  },
  tooManyRecords: {
    file: BULK,
    words: 'The request names 1001 records, and 1000 are the most; send them in parts',
    made: () => errors.tooManyRecords(1001, 1000),
  },
  changesOff: {
    file: FEED,
    words:
      /^(\w+ keeps no changes|No entity that you can read keeps changes)\. An owner turns it on by "changes": "feed" in the settings of (the|an) entity$/,
    made: () => errors.changesOff('orders'),
  },
  changesUnavailable: {
    file: FEED,
    words:
      /^Changes of \w+ cannot be read with your role: grants\.\d+ of the entity depends on other records or on the time, so that a change alone does not show whether it holds$/,
    made: () => errors.changesUnavailable('tickets', 0),
  },
  notCursor: {
    file: FEED,
    words:
      /^after is not a cursor of this feed: take meta\.cursor of a response with the same entities, types, fields and filter, or now, or oldest$/,
    made: () => errors.notCursor(),
  },
  changesNotKept: {
    file: 'cluster/record-changes.test.ts',
    words: /^On a cluster of Citus no changes of records are kept: leave "changes" of \w+ off$/,
    made: () => errors.changesNotKept('orders'),
  },
  historyOff: {
    file: 'api/events/history.test.ts',
    words: /^\w+ keeps no history\. An owner turns it on by "changes": "history" in the settings of the entity$/,
    made: () => errors.historyOff('orders'),
  },
  historyNotForUsers: {
    file: 'api/events/history.test.ts',
    words: /^Users may not read the history of \w+$/,
    made: () => errors.historyNotForUsers('orders'),
  },
  cursorExpired: {
    file: FEED,
    words: 'Changes after this place are not all kept any more: read the records again',
    made: () => errors.cursorExpired({ oldest: null, restart: '/x' }),
  },
  viewChanged: {
    file: FEED,
    words: 'You see other records than when this cursor was given: read the records again',
    made: () => errors.viewChanged({ oldest: null, restart: '/x' }),
  },
  notGranted: {
    file: 'api/access/grants.test.ts',
    words: /^You may not (create|update|delete) records of \w+$/,
    made: () => errors.notGranted('update', 'tickets'),
  },
  fieldNotGranted: {
    file: 'api/access/grants.test.ts',
    words: /^You may not write \w+ of \w+$/,
    made: () => errors.fieldNotGranted('priority', 'tickets'),
  },
  valuesNotGranted: {
    file: 'api/access/grants.test.ts',
    words: /^You may not create records of \w+ with these values$/,
    made: () => errors.valuesNotGranted('tickets'),
  },
  recordsNotFound: {
    file: BULK,
    words: /^Records not found: \d+(, \d+)*$/,
    made: () => errors.recordsNotFound(['7', '9']),
  },
  recordsChanged: {
    file: BULK,
    words: /^Records have changed since they were read \(\d+, counted from 0\): read them again and repeat the change$/,
    made: () => errors.recordsChanged([{ index: 1, field: null, code: 'STALE_VERSION', message: 'has changed' }]),
  },
  methodNotAllowed: {
    file: 'api/requests/methods.test.ts',
    words: /^Method [A-Z]+ is not allowed here\. Allowed: [A-Z]+(, [A-Z]+)*$/,
    made: () => errors.methodNotAllowed('PUT', ['GET', 'POST']),
  },
  payloadTooLarge: {
    file: ERRORS,
    words: 'The request body is larger than 4096 bytes',
    made: () => errors.payloadTooLarge(4096),
  },
  unsupportedMediaType: {
    file: ERRORS,
    words: 'The request body must be sent with Content-Type: application/json',
    made: () => errors.unsupportedMediaType('application/json'),
  },
  rateLimited: {
    file: 'api/requests/limits.test.ts',
    words: /^Too many requests; retry after \d+ seconds$/,
    made: () => errors.rateLimited(7),
  },
  missingCredential: {
    file: 'api/access/credentials.test.ts',
    words: 'A credential is needed: send Authorization: Bearer <credential>',
    made: errors.missingCredential,
  },
  invalidCredential: {
    file: 'api/access/credentials.test.ts',
    words: 'The credential is not valid here',
    made: errors.invalidCredential,
  },
  workspaceRenamed: {
    file: 'api/admin/renamed-workspace.test.ts',
    words: /^The workspace is \S+ now$/,
    made: () => errors.workspaceRenamed('acme/new', '/api/v1/acme/old/notes?size=1', 4),
  },
  workspaceSuspended: {
    file: 'api/admin/workspace-states.test.ts',
    words: 'The workspace is suspended: nothing is read or written in it until the operator of the server activates it',
    made: errors.workspaceSuspended,
  },
  quotaExceeded: {
    file: 'api/admin/limits.test.ts',
    words:
      /^The workspace may have \d+ records \(maxRecords\) and has \d+: nothing was added\. Delete some, or ask the operator of the server for more$/,
    made: () => errors.quotaExceeded('maxRecords', 5, 5),
  },
  workspaceRateLimited: {
    file: 'api/admin/limits.test.ts',
    words: /^The workspace may have 3 requests a minute \(maxRequestsPerMinute\); retry after \d+ seconds$/,
    made: () => errors.workspaceRateLimited(20, 3),
  },
  workspaceReadOnly: {
    file: 'api/admin/workspace-states.test.ts',
    words: 'The workspace is read-only: nothing is written in it until the operator of the server activates it',
    made: errors.workspaceReadOnly,
  },
  readOnly: {
    file: 'api/access/credentials.test.ts',
    words: 'READ_ONLY permissions - data modifications are not allowed',
    made: errors.readOnly,
  },
  deletesOutside: {
    file: 'api/access/scopes.test.ts',
    words: 'Deleting records of customers would change records that the credential does not reach',
    made: () => errors.deletesOutside('customers'),
  },
  noIdentityProvider: {
    file: TOKENS,
    words: 'No external identity provider configured for this workspace',
    made: errors.noIdentityProvider,
  },
  issuerMismatch: {
    file: FORGED,
    words: 'Token issuer does not match configured identity provider',
    made: errors.issuerMismatch,
  },
  audienceMismatch: {
    file: FORGED,
    words: 'Token audience does not match configured audience',
    made: errors.audienceMismatch,
  },
  workspaceMismatch: {
    file: 'api/access/required-claims.test.ts',
    words: 'Token is not for this workspace',
    made: errors.workspaceMismatch,
  },
  tokenExpired: { file: FORGED, words: 'Token has expired', made: errors.tokenExpired },
  jwksNotDiscovered: {
    file: TOKENS,
    words: 'Failed to discover JWKS endpoint for issuer',
    made: errors.jwksNotDiscovered,
  },
  missingSub: { file: FORGED, words: 'Token is missing the sub claim', made: errors.missingSub },
  missingExp: { file: FORGED, words: 'Token is missing the exp claim', made: errors.missingExp },
  signatureInvalid: { file: FORGED, words: 'Token signature is invalid', made: errors.signatureInvalid },
  tokenNotYetValid: { file: FORGED, words: 'Token is not valid yet', made: errors.tokenNotYetValid },
  notAJwt: { file: FORGED, words: 'Token is not a valid JWT', made: errors.notAJwt },
  unknownEntity: {
    file: 'api/requests/methods.test.ts',
    words: /^Entity \w+ does not exist\.( Did you mean \w+\?)? Known: \w+, /,
    made: () => errors.unknownEntity('tag', 'tags', ['orders', 'tags']),
  },
  recordNotFound: { file: ERRORS, words: 'Record not found', made: errors.recordNotFound },
  notUnique: {
    file: 'api/writing/records.test.ts',
    words: 'A record with this email exists already',
    made: () => errors.notUnique('email', undefined),
  },
  recordsStillReferenced: {
    file: 'api/writing/bulk.test.ts',
    words: 'Records cannot be deleted, as others refer to them by orders.customer: 1',
    made: () => errors.recordsStillReferenced(['1'], 'orders.customer', []),
  },
  tooManyMatches: {
    file: MATCHING,
    words: /^\d+ records match, and max is \d+\. Nothing was written$/,
    made: () => errors.tooManyMatches(3, 2),
  },
  tooManyJobs: {
    file: 'api/writing/jobs.test.ts',
    words: 'A workspace has at most 10 jobs that have not ended: wait for one, or cancel one',
    made: () => errors.tooManyJobs(10),
  },
  tooManyLinks: {
    file: LINKS,
    words: /^The write is about \d+ links of many-to-many relations, and one request makes or compares \d+ at most$/,
    made: () => errors.tooManyLinks(2, 1),
  },
  linksNotSkipped: {
    file: LINKS,
    words: 'conflict=skip takes no relations in a request of many records: write them in another one',
    made: errors.linksNotSkipped,
  },
  matchWithVersion: {
    file: MATCHING,
    words: 'If-Match is for one record, and a filter finds many',
    made: errors.matchWithVersion,
  },
  stillReferenced: {
    file: 'api/writing/records.test.ts',
    words: /^The record cannot be deleted: records of \w+ refer to this one by \w+$/,
    made: () => errors.stillReferenced({ entity: 'orders', relation: 'customer' }, undefined),
  },
  usersDocumentRefused: {
    file: 'api/description/document-roles.test.ts',
    words: 'Only owners may ask for the OpenAPI document of other users',
    made: records.usersDocumentRefused,
  },
  upsertWithVersion: {
    file: 'api/writing/upsert.test.ts',
    words: 'If-Match does not go together with onConflict: update the record by its id to ask for a version of it',
    made: errors.upsertWithVersion,
  },
  preconditionFailed: {
    file: 'api/writing/records.test.ts',
    words: 'The record has changed since it was read: read it again and repeat the change',
    made: errors.preconditionFailed,
  },
  changedMeanwhile: {
    file: 'api/admin/tags.test.ts',
    words:
      /^Another request has changed the [a-z ]+ meanwhile, so nothing was done: read again, and repeat the change$/,
    made: () => errors.changedMeanwhile('schema document'),
  },
  migrationInProgress: {
    file: 'schema-changes/blocking.test.ts',
    words: 'Table orders is being migrated; retry after the migration completes',
    made: () => errors.migrationInProgress('orders', gate),
  },
  anotherMigrationRuns: {
    file: 'schema-changes/migrations.test.ts',
    words: 'Another migration of this workspace is running; retry after it has ended',
    made: errors.anotherMigrationRuns,
  },
  rolloutInProgress: {
    file: 'api/admin/rollouts.test.ts',
    words: 'A rollout of this schema has not ended: wait for its end, or cancel it',
    made: errors.rolloutInProgress,
  },
  destructiveChange: {
    file: 'schema-changes/schema-document.test.ts',
    words: /^The change destroys data \(drop .+\)\. Repeat it with allowDestructive=true if that is meant$/,
    made: () => errors.destructiveChange(details),
  },
  followsSharedSchema: {
    file: 'api/admin/shared-schemas.test.ts',
    words:
      /^The workspace follows shared schema \S+ \(version \d+\): publish a version of that and roll it out, or end it with "follows": null$/,
    made: () => errors.followsSharedSchema({ schema: 'helpdesk', version: 3 }),
  },
  recordsInTheWay: {
    file: 'api/admin/shared-schemas.test.ts',
    words: /^\d+ records? stands? in the way in \S+: .+ \(ids \d+(, \d+)*\)\. Nothing was changed$/,
    made: () => errors.recordsInTheWay(CONFLICT),
  },
  databaseUnavailable: {
    file: 'api/operation/database-away.test.ts',
    words: 'The database is not reachable at the moment; retry',
    made: errors.databaseUnavailable,
  },
  tooManyOperations: {
    file: 'api/writing/batch.test.ts',
    words: 'The batch has 101 operations, and 100 are the most; send it in parts',
    made: () => errors.tooManyOperations(101, 100),
  },
  keyReused: {
    file: 'api/writing/idempotency.test.ts',
    words: 'The Idempotency-Key was used for another request: its body or its query was different. Send a new key',
    made: errors.keyReused,
  },
  keyInUse: {
    file: 'api/writing/idempotency.test.ts',
    isOfPlain: true,
    words: 'The request with this Idempotency-Key is still being answered; retry',
    made: () => errors.keyInUse(undefined),
  },
  writeUnknown: {
    file: 'api/writing/lost-writes.test.ts',
    words:
      'The connection to the database was lost: the write may have been done, whole. Look before you send it again',
    made: () => errors.writeUnknown(undefined),
  },
  queryTimeout: {
    file: 'api/operation/busy.test.ts',
    words:
      'The request took too long and was stopped. Narrow it: filter on an indexed field, a smaller size, count=none',
    made: errors.queryTimeout,
  },
};

export const saysSo = (message: string, { words }: Refusal): boolean =>
  typeof words === 'string' ? message === words : words.test(message);

/** The reason of the error with this message. */
export const reasonFor = (message: string): Reason | undefined =>
  Object.values(REFUSALS)
    .find((refusal) => saysSo(message, refusal))
    ?.made().reason;

const answered = perFile(() => new Set<string>());

/** Remembers the words of a refusal that a test was answered with; of anything else nothing. */
export function noteAnswer(text: string): void {
  const message = /^\{"error":\{"code":"\w+","message":("(?:[^"\\]|\\.)*")/.exec(text)?.[1];
  if (message !== undefined) noteMessage(JSON.parse(message));
}

export function noteMessage(message: string): void {
  answered().add(message);
}

/** Fails when the file that runs was not answered with all that stands above beside its name. */
export function assertAnswered(): void {
  // Who asks for some of its tests has not all of its answers.
  if (process.execArgv.some((option) => /^--test-(name|skip|only)/.test(option))) return;
  const file = relative(join(import.meta.dirname, '..'), testFile());
  // Their tests are skipped.
  if (file.startsWith('cluster/') && !isCluster) return;
  const missing = Object.entries(REFUSALS)
    .filter(([, refusal]) => refusal.file === file && !(isCluster && refusal.isOfPlain))
    .filter(([, refusal]) => ![...answered()].some((message) => saysSo(message, refusal)))
    .map(([name]) => name);
  assert.deepEqual(missing, [], `no test of ${file} was answered so`);
}
