// Every state and every event of a migration, and the section of docs/architecture.md that shows how they go together:
// `node test/support/migration-states.ts` writes it.
import { readFileSync, writeFileSync } from 'node:fs';
import {
  EVENTS,
  type Event,
  next,
  type Setback,
  STATES,
  type State,
  type StoredState,
} from '../../src/migrations/state.ts';
import type { MigrationError } from '../../src/store/migrations.ts';
import { PAGE } from './modules.ts';

const ERROR: MigrationError = {
  code: 'DATA_CONFLICT',
  message: '',
  entity: null,
  field: null,
  count: 3,
  sampleIds: [],
};
export const FAILURE = { error: ERROR, step: 1 };
export const STUCK = { error: { ...ERROR, code: 'DEPENDENT_OBJECTS' } };

const STORED: readonly StoredState[] = ['pending', 'running'];
export const SETBACKS: readonly Setback[] = [
  { how: 'failed', failure: FAILURE },
  { how: 'cancelled' },
  { how: 'interrupted' },
];

const SAMPLES: { readonly [Name in State['name']]: readonly Extract<State, { readonly name: Name }>[] } = {
  pending: [{ name: 'pending' }],
  preparing: [{ name: 'preparing' }],
  closing: [{ name: 'closing' }],
  switching: [{ name: 'switching' }],
  stopping: STORED.map((stored) => ({ name: 'stopping', stored, error: undefined })),
  reverting: SETBACKS.map((setback) => ({ name: 'reverting', setback })),
  concluding: STORED.flatMap((stored) => SETBACKS.map((setback) => ({ name: 'concluding', stored, setback }) as const)),
  abandoned: STORED.map((stored) => ({ name: 'abandoned', stored })),
  ended: (['succeeded', 'failed', 'cancelled', 'interrupted'] as const).map((how) => ({ name: 'ended', how })),
};

/** Every state, with all that can be different about it. */
export const ALL_STATES: readonly State[] = Object.values(SAMPLES).flat();

const PAYLOADS: { readonly [Name in Event['name']]?: object } = {
  impossible: { failure: FAILURE },
  failed: { failure: FAILURE },
  irreversible: { failure: STUCK },
  threw: { error: undefined },
};

export const ALL_EVENTS: readonly Event[] = Object.keys(EVENTS).map(
  (name) => ({ name, ...PAYLOADS[name as Event['name']] }) as Event,
);

/** As the page shows it: before the control tables say `running`, nothing is made. */
export function nameOf(state: State): string {
  return 'stored' in state && state.stored === 'pending' ? `${state.name} (nothing made)` : state.name;
}

/** Undefined when the event cannot come. */
export function attempt(state: State, event: Event): State | undefined {
  try {
    return next(state, event);
  } catch {
    return undefined;
  }
}

/** Names of states with the names of events between them. */
function arrows(): ReadonlyMap<string, ReadonlyMap<string, ReadonlySet<string>>> {
  const all = new Map<string, Map<string, Set<string>>>();
  for (const state of ALL_STATES) {
    const from = all.getOrInsert(state.name, new Map());
    for (const event of ALL_EVENTS) {
      const to = attempt(state, event);
      if (to !== undefined) from.getOrInsert(to.name, new Set()).add(event.name);
    }
  }
  return all;
}

function renderStates(): string {
  const rows = [...arrows().keys()].map((name) => `| \`${name}\` | ${STATES[name as State['name']]} |`);
  return ['| State | Its work |', '|---|---|', ...rows].join('\n');
}

/** Without `lost`, which leads from every state with work to `abandoned`. */
function renderDrawing(): string {
  const lines = [...arrows()].flatMap(([name, targets]) =>
    [...targets].flatMap(([to, events]) => {
      const shown = [...events].filter((event) => event !== 'lost');
      return shown.length === 0 ? [] : [`    ${name} --> ${to}: ${shown.join(', ')}`];
    }),
  );
  return ['```mermaid', 'stateDiagram-v2', '    [*] --> pending', ...lines, '    ended --> [*]', '```'].join('\n');
}

const BEGIN = '<!-- states: written by test/support/migration-states.ts -->';
const END = '<!-- end of states -->';

/** The page with drawing and table as they must be. */
export function withStates(page: string): string {
  const [before, rest] = page.split(BEGIN) as [string, string | undefined];
  if (rest === undefined || !rest.includes(END)) throw new Error(`${PAGE} has no place for the states of a migration`);
  const after = rest.slice(rest.indexOf(END));
  return `${before}${BEGIN}\n\n${renderDrawing()}\n\n${renderStates()}\n\n${after}`;
}

if (import.meta.main) writeFileSync(PAGE, withStates(readFileSync(PAGE, 'utf8')));
