// `_export`: a list of the entity -> the stream of a file. Planned again when the workspace turns out to be another one
// before a byte was sent.

import type { Readable } from 'node:stream';
import { versionInForce } from '../../catalog/load-workspace.ts';
import { isStaleSnapshot } from '../../db/pg-error.ts';
import type { Session } from '../../db/pool.ts';
import type { Databases } from '../../directory/databases.ts';
import { serviceUnavailable } from '../../errors.ts';
import type { Field } from '../../model/entity.ts';
import { planExport } from '../../plan/plan.ts';
import { type ExportRequest, parseExportRequest } from '../../request/record-request.ts';
import { csvFile, ndjsonFile } from '../../response/export-file.ts';
import type { Reply } from '../../response/reply.ts';
import { bindQuery, compile } from '../../sql/compile.ts';
import type { EntityContext } from '../context.ts';
import { recordError } from '../record-error.ts';
import { type Export, type ExportLimits, openExport } from './export-stream.ts';
import type { TakeTurn } from './take-turn.ts';

export interface ExportStage {
  readonly databases: Databases;
  readonly maxResponseBytes: number;
  readonly limits: Pick<ExportLimits, 'timeoutMs' | 'stallMs' | 'floor'>;
  readonly takeTurn: TakeTurn;
}

const ATTEMPTS = 3;
/** The workspace has changed since an export was planned. */
const CHANGED = new Error('changed');

export async function exportRecords(stage: ExportStage, context: EntityContext): Promise<Reply> {
  const request = parseExportRequest(context.call.query);
  for (let current = context, attempt = 1; ; attempt++) {
    try {
      return await openAs(stage, current, request);
    } catch (error) {
      if (error !== CHANGED) throw error;
      if (attempt >= ATTEMPTS) throw serviceUnavailable('The schema is changing at the moment; retry');
      current = await context.refresh();
    }
  }
}

/** Throws CHANGED when the workspace is not as it was planned for. */
async function openAs(stage: ExportStage, context: EntityContext, request: ExportRequest): Promise<Reply> {
  const { entity, principal } = context;
  const plan = planExport(request, entity, context);
  const statement = compile(plan, { maxResponseBytes: stage.maxResponseBytes });
  const { text, values } = bindQuery(statement, { principal });
  const fields = plan.projection.outputs.flatMap((output): Field[] => (output.kind === 'column' ? [output.field] : []));
  const file = request.format === 'csv' ? csvFile(fields, request.formulas) : ndjsonFile(fields);
  const stream = await open(stage, context, { query: { text, values }, file });
  return {
    status: 200,
    headers: { 'Content-Disposition': `attachment; filename="${entity.name}.${request.format}"` },
    body: {
      kind: 'stream',
      contentType: request.format === 'csv' ? 'text/csv; charset=utf-8; header=present' : 'application/x-ndjson',
      stream,
    },
  };
}

async function open(
  { databases, limits, takeTurn }: ExportStage,
  context: EntityContext,
  what: Pick<Export, 'query' | 'file'>,
): Promise<Readable> {
  const { entity, workspace, signal, deadline } = context;
  const confirm = async (session: Session): Promise<void> => {
    if ((await versionInForce(session, workspace.id)) !== workspace.version) throw CHANGED;
  };
  const ended = await takeTurn(context);
  const own = { ...limits, caller: signal, deadline: deadline.at, place: context.place };
  return openExport(databases.of(workspace), { ...what, confirm, limits: own, ended }).catch((error) => {
    // Nothing was sent: the request is planned again from the new snapshot.
    if (error === CHANGED || isStaleSnapshot(error)) throw error;
    throw recordError(error, workspace, entity.name);
  });
}
