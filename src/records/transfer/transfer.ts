// `_import` and `_export`: files in and out of an entity, streamed, through the same plans and the same doors as single
// records.
import type { Keys } from '../../beside/keys.ts';
import type { Config } from '../../config.ts';
import type { Databases } from '../../directory/databases.ts';
import type { TransferHandlers } from '../router.ts';
import { type ExportStage, exportRecords } from './export-records.ts';
import { type ImportStage, importRecords } from './import-records.ts';
import { makeTakeTurn } from './take-turn.ts';

export interface TransferDeps {
  readonly config: Config;
  readonly databases: Databases;
  readonly keys: Keys;
  /** The snapshot of the workspace is stale: load it again. */
  readonly changed?: (workspaceId: string) => void;
}

export function makeTransferHandlers({
  config,
  databases,
  keys,
  changed = () => undefined,
}: TransferDeps): TransferHandlers {
  const takeTurn = makeTakeTurn(config);
  const timeoutMs = config.transferTimeoutMs;
  const seconds = config.floorSeconds;
  const imports: ImportStage = {
    databases,
    timeoutMs,
    changed,
    limits: { maxBytes: config.maxImportBytes, maxRowBytes: config.maxBodyBytes },
    floor: { bytesPerSecond: config.importFloor, seconds },
    takeTurn,
    keys,
    waitMs: config.statementTimeoutMs,
  };
  const exports: ExportStage = {
    databases,
    maxResponseBytes: config.maxResponseBytes,
    limits: { timeoutMs, stallMs: config.bodyTimeoutMs, floor: { bytesPerSecond: config.exportFloor, seconds } },
    takeTurn,
  };
  return {
    importRecords: (context) => importRecords(imports, context),
    exportRecords: (context) => exportRecords(exports, context),
  };
}
