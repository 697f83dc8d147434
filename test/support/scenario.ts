// API tests as values: who sends what, what must come back, and what must not.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Answer, TestWorkspace } from './server.ts';

export interface Scenario {
  /** The rule that the scenario shows, as a sentence. */
  readonly name: string;
  /** Whose credential; `none` sends none, any other text is sent as it is. */
  readonly as?: 'owner' | 'readOnly' | 'readWrite' | 'none' | string;
  readonly method?: string;
  /** Below /api/v1/{organization}/{workspace}/ */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  readonly status: number;
  /** Of a refusal. */
  readonly code?: string;
  readonly message?: string | RegExp;
  /** Of error.details: each as `field CODE`, in any order. */
  readonly details?: readonly string[];
  /** Exactly `data` of the answer. */
  readonly data?: unknown;
  /** Members that `meta` must have, among others. */
  readonly meta?: Readonly<Record<string, unknown>>;
  /** Text that must not appear anywhere in the answer. */
  readonly absent?: readonly string[];
  readonly check?: (answer: Answer) => void | Promise<void>;
}

// Nothing of these may ever reach a client.
export const INTERNALS = /\bselect\b.*\bfrom\b|pg_|SQLSTATE|\bat .*\.ts:\d+|node:internal|wda\./i;

/** Registers one test per scenario. */
export function runScenarios(workspace: TestWorkspace, scenarios: readonly Scenario[]): void {
  for (const scenario of scenarios) {
    test(scenario.name, async () => {
      await check(workspace, scenario);
    });
  }
}

async function check(workspace: TestWorkspace, scenario: Scenario): Promise<void> {
  const answer = await workspace.call(scenario.path, {
    method: scenario.method ?? 'GET',
    credential: credentialOf(workspace, scenario.as ?? 'owner'),
    headers: scenario.headers ?? {},
    body: scenario.body,
  });
  assert.equal(answer.status, scenario.status, answer.text);
  if (answer.status >= 400) assert.doesNotMatch(answer.text, INTERNALS);
  const { error, data, meta } = answer.json ?? {};
  if (scenario.code !== undefined) assert.equal(error?.code, scenario.code, answer.text);
  if (typeof scenario.message === 'string') assert.equal(error?.message, scenario.message);
  else if (scenario.message !== undefined) assert.match(error?.message ?? '', scenario.message);
  if (scenario.details !== undefined) {
    const found = (error?.details ?? []).map(
      (detail: { field: string; code: string }) => `${detail.field} ${detail.code}`,
    );
    assert.deepEqual(found.sort(), [...scenario.details].sort());
  }
  if ('data' in scenario) assert.deepEqual(data, scenario.data);
  for (const [name, value] of Object.entries(scenario.meta ?? {}))
    assert.deepEqual(meta?.[name], value, `meta.${name}`);
  for (const text of scenario.absent ?? [])
    assert.ok(!answer.text.includes(text), `${text} must not appear in ${answer.text}`);
  await scenario.check?.(answer);
}

function credentialOf(workspace: TestWorkspace, as: string): string | null {
  switch (as) {
    case 'owner':
      return workspace.key;
    case 'readOnly':
      return workspace.readOnlyKey;
    case 'readWrite':
      return workspace.readWriteKey;
    case 'none':
      return null;
    default:
      return as;
  }
}
