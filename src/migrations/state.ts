// The states of a migration as values. Each state is one piece of work; its outcome is an event, and `next` returns the
// following state. The runner does the work and decides nothing. docs/architecture.md shows the table.
import type { MigrationError } from '../store/migrations.ts';

/** A step that failed, or a migration that was impossible; `step`: index of the step that ran, if any. */
export interface Failure {
  readonly error: MigrationError;
  readonly step?: number;
}

/** The end of a migration that does not succeed. */
export type Setback =
  | { readonly how: 'failed'; readonly failure: Failure }
  /** A client cancelled it. */
  | { readonly how: 'cancelled' }
  /** The server stopped, or the process or its connection was lost. */
  | { readonly how: 'interrupted' };

/** State of an open migration in the control tables: no object is created before `running` is stored. */
export type StoredState = 'pending' | 'running';

export type State =
  | { readonly name: 'pending' }
  | { readonly name: 'preparing' }
  | { readonly name: 'closing' }
  | { readonly name: 'switching' }
  /** `error`: the error that was thrown, or undefined if the process is gone. */
  | { readonly name: 'stopping'; readonly stored: StoredState; readonly error: unknown }
  | { readonly name: 'reverting'; readonly setback: Setback }
  | { readonly name: 'concluding'; readonly stored: StoredState; readonly setback: Setback }
  /** No process works on it: the objects that it created exist, and closed gates stay closed. */
  | { readonly name: 'abandoned'; readonly stored: StoredState }
  | { readonly name: 'ended'; readonly how: 'succeeded' | Setback['how'] };

/** States whose work needs the lock of the workspace. */
export type WorkingState = Exclude<State, { readonly name: 'abandoned' | 'ended' }>;
export type EndState = Extract<State, { readonly name: 'ended' }>;

export type Event =
  | { readonly name: 'cleared' }
  | { readonly name: 'impossible'; readonly failure: Failure }
  | { readonly name: 'prepared' }
  | { readonly name: 'closed' }
  | { readonly name: 'switched' }
  | { readonly name: 'threw'; readonly error: unknown }
  | { readonly name: 'failed'; readonly failure: Failure }
  | { readonly name: 'cancelled' }
  | { readonly name: 'interrupted' }
  | { readonly name: 'reverted' }
  | { readonly name: 'irreversible'; readonly failure: Failure }
  | { readonly name: 'recorded' }
  | { readonly name: 'lost' }
  | { readonly name: 'discovered' };

/** Descriptions of the states for documentation. */
export const STATES: Readonly<Record<State['name'], string>> = {
  pending: 'looks for what makes the change impossible, then stores `running`',
  preparing: 'while requests go on, creates and fills new columns, constraints and indexes; nothing with `blocking`',
  closing: '`blocking`: closes the gates of the entities that the switch holds up',
  switching: 'one transaction: the new shape, the new document, open gates, `succeeded`',
  stopping: 'opens the gates, finds out why the work has ended',
  reverting: 'drops what was created',
  concluding: 'stores how it ended',
  abandoned: 'none: its process or its connection is gone, and the next holder of the lock goes on',
  ended: 'none',
};

/** Descriptions of the events for documentation. */
export const EVENTS: Readonly<Record<Event['name'], string>> = {
  cleared: 'nothing makes the change impossible',
  impossible: 'records or names in the database prevent the change',
  prepared: 'all that takes long is there',
  closed: 'no process lets a request through to a closed entity',
  switched: 'the transaction is committed',
  threw: 'the work ended with an error, as a cancel and a stop of the server make it do',
  failed: 'the error was neither of the two below',
  cancelled: 'a client has asked for the end',
  interrupted: 'the server stops, or has stopped',
  reverted: 'nothing is left',
  irreversible: 'something that was made outside of the API depends on what must be dropped',
  recorded: 'the end is stored',
  lost: 'the process is gone',
  discovered: 'another session has the lock of the workspace and finds the migration not ended',
};

const PREPARING: State = { name: 'preparing' };
const CLOSING: State = { name: 'closing' };
const SWITCHING: State = { name: 'switching' };

const stopping =
  (stored: StoredState) =>
  ({ error }: { readonly error: unknown }): State => ({ name: 'stopping', stored, error });
const abandoned = (stored: StoredState) => (): State => ({ name: 'abandoned', stored });
const toEndState = (how: 'succeeded' | Setback['how']): State => ({ name: 'ended', how });

/** Skips the revert, and its locks, when no object was created. */
const toSetbackState = (stored: StoredState, setback: Setback): State =>
  stored === 'pending' ? { name: 'concluding', stored, setback } : { name: 'reverting', setback };

const concluding = (setback: Setback): State => ({ name: 'concluding', stored: 'running', setback });

type ByName<Union, Name> = Extract<Union, { readonly name: Name }>;
type Transitions = {
  readonly [S in State['name']]: {
    readonly [E in Event['name']]?: (event: ByName<Event, E>, state: ByName<State, S>) => State;
  };
};

/** Transitions by state; an event that a state does not list cannot occur in it. */
const TRANSITIONS: Transitions = {
  pending: {
    cleared: () => PREPARING,
    impossible: ({ failure }) => toSetbackState('pending', { how: 'failed', failure }),
    threw: stopping('pending'),
    lost: abandoned('pending'),
  },
  preparing: { prepared: () => CLOSING, threw: stopping('running'), lost: abandoned('running') },
  closing: { closed: () => SWITCHING, threw: stopping('running'), lost: abandoned('running') },
  // When the answer to the commit is lost, only the control tables have the outcome. After a commit they have
  // `succeeded`, and the next holder of the lock does not find the migration open.
  switching: { switched: () => toEndState('succeeded'), threw: stopping('running'), lost: abandoned('running') },
  stopping: {
    failed: ({ failure }, { stored }) => toSetbackState(stored, { how: 'failed', failure }),
    cancelled: (_, { stored }) => toSetbackState(stored, { how: 'cancelled' }),
    interrupted: (_, { stored }) => toSetbackState(stored, { how: 'interrupted' }),
    threw: (_, { stored }) => ({ name: 'abandoned', stored }),
    lost: (_, { stored }) => ({ name: 'abandoned', stored }),
  },
  reverting: {
    reverted: (_, { setback }) => concluding(setback),
    // A foreign object depends on it, so it can never be dropped; that must not block the workspace.
    irreversible: ({ failure }) => concluding({ how: 'failed', failure }),
    threw: abandoned('running'),
    lost: abandoned('running'),
  },
  concluding: {
    recorded: (_, { setback }) => toEndState(setback.how),
    threw: (_, { stored }) => ({ name: 'abandoned', stored }),
    lost: (_, { stored }) => ({ name: 'abandoned', stored }),
  },
  abandoned: { discovered: (_, { stored }) => ({ name: 'stopping', stored, error: undefined }) },
  ended: {},
};

/** Returns the state after an event. Throws for an event that cannot occur in this state, which is a bug. */
export function next(state: State, event: Event): State {
  const transition = TRANSITIONS[state.name][event.name] as ((event: Event, state: State) => State) | undefined;
  if (transition === undefined) throw new Error(`a migration that is ${state.name} cannot be ${event.name}`);
  return transition(event, state);
}

export const PENDING: WorkingState = { name: 'pending' };

export const isWorking = (state: State): state is WorkingState => state.name !== 'abandoned' && state.name !== 'ended';

export type StoredEnd = 'succeeded' | 'failed' | 'cancelled';

/** Returns the stored name of an end. */
export const toStoredEnd = (how: EndState['how']): StoredEnd => (how === 'interrupted' ? 'failed' : how);
