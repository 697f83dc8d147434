// The states of a migration as values. Each state is one piece of work; how that work ended is an event, and `next` says
// which state follows. The runner does the work and decides nothing. docs/architecture.md shows the table.
import type { MigrationError } from '../store/migrations.ts';

/** A step that could not be made, or a migration that was impossible; `step`: its index in the steps, if one was at work. */
export interface Failure {
  readonly error: MigrationError;
  readonly step?: number;
}

/** The end of a migration that does not succeed. */
export type Setback =
  | { readonly how: 'failed'; readonly failure: Failure }
  /** Somebody asked for it. */
  | { readonly how: 'cancelled' }
  /** The server stopped, or the process or its connection was lost. */
  | { readonly how: 'interrupted' };

/** What the control tables say of a migration that has not ended: nothing is made before they say `running`. */
export type StoredState = 'pending' | 'running';

export type State =
  | { readonly name: 'pending' }
  | { readonly name: 'preparing' }
  | { readonly name: 'closing' }
  | { readonly name: 'switching' }
  /** `error`: what was thrown; undefined when the process that could tell is gone. */
  | { readonly name: 'stopping'; readonly stored: StoredState; readonly error: unknown }
  | { readonly name: 'reverting'; readonly setback: Setback }
  | { readonly name: 'concluding'; readonly stored: StoredState; readonly setback: Setback }
  /** Nobody works on it: what it made is there, and closed gates are closed. */
  | { readonly name: 'abandoned'; readonly stored: StoredState }
  | { readonly name: 'ended'; readonly how: 'succeeded' | Setback['how'] };

/** States with work to do by whoever holds the lock of the workspace. */
export type WorkingState = Exclude<State, { readonly name: 'abandoned' | 'ended' }>;
export type EndState = Extract<State, { readonly name: 'ended' }>;

export type Event =
  | { readonly name: 'cleared' }
  | { readonly name: 'obstructed'; readonly failure: Failure }
  | { readonly name: 'prepared' }
  | { readonly name: 'closed' }
  | { readonly name: 'switched' }
  | { readonly name: 'threw'; readonly error: unknown }
  | { readonly name: 'failed'; readonly failure: Failure }
  | { readonly name: 'cancelled' }
  | { readonly name: 'interrupted' }
  | { readonly name: 'reverted' }
  | { readonly name: 'stuck'; readonly failure: Failure }
  | { readonly name: 'recorded' }
  | { readonly name: 'lost' }
  | { readonly name: 'found' };

/** What a state works on, for people. */
export const STATES: Readonly<Record<State['name'], string>> = {
  pending: 'looks for what makes the change impossible, then stores `running`',
  preparing: 'makes beside the requests what takes long; nothing with `blocking`',
  closing: '`blocking`: closes the gates of the entities that the switch holds up',
  switching: 'one transaction: the new shape, the new document, open gates, `succeeded`',
  stopping: 'opens the gates, finds out why the work has ended',
  reverting: 'takes back what was made',
  concluding: 'stores how it ended',
  abandoned: 'none: its process or its connection is gone, and the next holder of the lock goes on',
  ended: 'none',
};

/** When an event comes, for people. */
export const EVENTS: Readonly<Record<Event['name'], string>> = {
  cleared: 'nothing makes the change impossible',
  obstructed: 'records or names in the database make it impossible',
  prepared: 'all that takes long is there',
  closed: 'no process lets a request through to a closed entity',
  switched: 'the transaction is committed',
  threw: 'the work ended with an error, as a cancel and a stop of the server make it do',
  failed: 'the error was neither of the two below',
  cancelled: 'somebody has asked for the end',
  interrupted: 'the server stops, or has stopped',
  reverted: 'nothing is left',
  stuck: 'something made outside of the API depends on what should go',
  recorded: 'the end is stored',
  lost: 'the process is gone',
  found: 'somebody has the lock of the workspace and finds the migration open',
};

const PREPARING: State = { name: 'preparing' };
const CLOSING: State = { name: 'closing' };
const SWITCHING: State = { name: 'switching' };

const stopping =
  (stored: StoredState) =>
  ({ error }: { readonly error: unknown }): State => ({ name: 'stopping', stored, error });
const abandoned = (stored: StoredState) => (): State => ({ name: 'abandoned', stored });
const toEndState = (how: 'succeeded' | Setback['how']): State => ({ name: 'ended', how });

/** Where nothing was made, nothing is taken back, and no lock is asked for. */
const toSetbackState = (stored: StoredState, setback: Setback): State =>
  stored === 'pending' ? { name: 'concluding', stored, setback } : { name: 'reverting', setback };

const concluding = (setback: Setback): State => ({ name: 'concluding', stored: 'running', setback });

type ByName<Union, Name> = Extract<Union, { readonly name: Name }>;
type Transitions = {
  readonly [S in State['name']]: {
    readonly [E in Event['name']]?: (event: ByName<Event, E>, state: ByName<State, S>) => State;
  };
};

/** An event that a state does not list cannot come in it. */
const TRANSITIONS: Transitions = {
  pending: {
    cleared: () => PREPARING,
    obstructed: ({ failure }) => toSetbackState('pending', { how: 'failed', failure }),
    threw: stopping('pending'),
    lost: abandoned('pending'),
  },
  preparing: { prepared: () => CLOSING, threw: stopping('running'), lost: abandoned('running') },
  closing: { closed: () => SWITCHING, threw: stopping('running'), lost: abandoned('running') },
  // When the answer to the commit is lost, only the control tables know whether it was made. If it was, they say
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
    // Foreign objects depend on it, so it can never be dropped; that must not block the workspace.
    stuck: ({ failure }) => concluding({ how: 'failed', failure }),
    threw: abandoned('running'),
    lost: abandoned('running'),
  },
  concluding: {
    recorded: (_, { setback }) => toEndState(setback.how),
    threw: (_, { stored }) => ({ name: 'abandoned', stored }),
    lost: (_, { stored }) => ({ name: 'abandoned', stored }),
  },
  abandoned: { found: (_, { stored }) => ({ name: 'stopping', stored, error: undefined }) },
  ended: {},
};

/** The state after an event. Throws when the event cannot come in this state: a mistake of ours. */
export function next(state: State, event: Event): State {
  const transition = TRANSITIONS[state.name][event.name] as ((event: Event, state: State) => State) | undefined;
  if (transition === undefined) throw new Error(`a migration that is ${state.name} cannot be ${event.name}`);
  return transition(event, state);
}

export const PENDING: WorkingState = { name: 'pending' };

export const isWorking = (state: State): state is WorkingState => state.name !== 'abandoned' && state.name !== 'ended';

export type StoredEnd = 'succeeded' | 'failed' | 'cancelled';

/** What the control tables call an end. */
export const toStoredEnd = (how: EndState['how']): StoredEnd => (how === 'interrupted' ? 'failed' : how);
