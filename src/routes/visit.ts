// One request of the data API whose principal was admitted to an entity, and what its operations share: reading the
// body, running a statement, the entity tag.
import { hash } from 'node:crypto';
import type { Config } from '../config.ts';
import { isStaleSnapshot, translateError, type WriteKind } from '../db/pg-error.ts';
import type { Database, Lane, Row } from '../db/pool.ts';
import { unsupportedMediaType } from '../errors.ts';
import type { RawRequest } from '../http/raw-request.ts';
import type { Entity } from '../model/entity.ts';
import type { Principal } from '../model/principal.ts';
import type { Workspace } from '../model/workspace.ts';
import { isJsonType, parseBody } from '../request/body.ts';
import type { Reply } from '../response/reply.ts';
import { bindQuery, type Inputs, type Statement } from '../sql/compile.ts';

export interface Visit {
  readonly raw: RawRequest;
  readonly workspace: Workspace;
  readonly principal: Principal;
  readonly entity: Entity;
}

export interface OperationRooms {
  readonly config: Config;
  readonly db: Database;
}

/** `_import` and `_export`. */
export interface TransferHandlers {
  readonly importRecords: (visit: Visit) => Promise<Reply>;
  readonly exportRecords: (visit: Visit) => Promise<Reply>;
}

/** Runs a statement; the database's refusals become ours, all but that of a stale snapshot. */
export async function runFor(
  visit: Visit,
  db: Database,
  statement: Statement,
  inputs: Inputs,
  lane: Lane,
  kind: WriteKind,
): Promise<readonly Row[]> {
  try {
    return await db.run(bindQuery(statement, inputs), lane, statement.cost, visit.workspace.id);
  } catch (error) {
    if (isStaleSnapshot(error)) throw error;
    throw translateError(error, visit.workspace, visit.entity.name, kind);
  }
}

/** The JSON value of the body; 415, 413 or 400. */
export async function jsonBody(raw: RawRequest, maxBytes: number): Promise<unknown> {
  if (!isJsonType(raw.headers['content-type'])) throw unsupportedMediaType('application/json');
  return parseBody(await raw.body(maxBytes));
}

/** Row version and representation. With related records in it, the text itself is what tells two apart. */
export function entityTag(version: string, statement: Statement, data: string): string {
  return `${version}.${statement.tag ?? hash('sha1', data, 'base64url')}`;
}
