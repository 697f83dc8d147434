// What tests of imports and exports share: a schema with a field of every type, and ways to send files and to read answers.
import assert from 'node:assert/strict';
import { prepare, useServer } from './resources.ts';
import type { Answer, TestServer, TestWorkspace } from './server.ts';

export const TRANSFER_SCHEMA = {
  entities: {
    people: {
      fields: {
        name: { type: 'string', required: true, maxLength: 200 },
        email: { type: 'string', unique: true },
        age: { type: 'integer', min: 0, max: 150 },
        points: { type: 'bigint' },
        balance: { type: 'decimal', precision: 12, scale: 2 },
        ratio: { type: 'float' },
        active: { type: 'boolean', default: true },
        born: { type: 'date' },
        seenAt: { type: 'datetime' },
        token: { type: 'uuid' },
        extra: { type: 'json' },
        mood: { type: 'enum', values: ['good', 'bad'], default: 'good' },
        note: { type: 'text' },
      },
      relations: {
        boss: { kind: 'belongsTo', entity: 'people' },
        team: { kind: 'belongsTo', entity: 'teams' },
      },
      timestamps: true,
    },
    teams: { fields: { name: { type: 'string', required: true }, city: { type: 'string' } } },
    stays: {
      fields: { room: { type: 'integer' }, day: { type: 'date' } },
      indexes: [{ fields: ['room', 'day'], unique: true }],
    },
    marks: {},
  },
};

export const CSV = 'text/csv';
export const NDJSON = 'application/x-ndjson';

/** The counts of an import that went well. */
export async function imported(answer: Answer | Promise<Answer>): Promise<unknown> {
  const { status, text, json } = await answer;
  assert.equal(status, 200, text);
  return json.data;
}

/** Status, code and the details as `row field CODE`. */
export function refusal({ status, json, text }: Answer): unknown[] {
  assert.ok(json?.error !== undefined, text);
  return [status, json.error.code, ...(json.error.details ?? []).map(detailText)];
}

function detailText({ row, field, code }: { row?: number; field: string | null; code: string }): string {
  return `${row} ${field} ${code}`;
}

interface Transfers {
  readonly server: TestServer;
  readonly workspace: () => TestWorkspace;
  /** Gives the group of tests that calls it a workspace of its own. */
  readonly freshWorkspace: () => void;
  /** Imports the body into the entity. */
  readonly load: (entity: string, body: string | Uint8Array, query?: string, type?: string) => Promise<Answer>;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into records as they expect them to be
  readonly recordsOf: (entity: string, query?: string) => Promise<any[]>;
  readonly countOf: (entity: string) => Promise<number>;
}

/** A server for the tests of a file. */
export function useTransfers(env: Readonly<Record<string, string>> = {}): Transfers {
  const server = useServer(env);
  let workspace: TestWorkspace;
  let count = 0;
  return {
    server,
    workspace: () => workspace,
    freshWorkspace() {
      prepare(async () => {
        workspace = await server.workspace(`acme/files-${++count}`, TRANSFER_SCHEMA);
      });
    },
    load: (entity, body, query = '', type = CSV) =>
      workspace.call(`${entity}/_import${query}`, { method: 'POST', headers: { 'content-type': type }, body }),
    async recordsOf(entity, query = '') {
      const { json, text } = await workspace.call(`${entity}?size=1000${query}`);
      assert.ok(Array.isArray(json?.data), text);
      return json.data;
    },
    countOf: async (entity) => (await workspace.call(`${entity}?size=1`)).json.meta.totalElements,
  };
}
