// The end of a statement that has failed. PostgreSQL tells of the error and goes on in the same bytes. The coordinator of a
// cluster that has stopped a statement tells of it at once, and may then wait for a node that has fallen silent as long as
// that is: it stops the statement there, too, and hears nothing. Its connection is of no more use.
import type { OpenedConnection } from './connect.ts';

/** How long the rest may be on its way. */
export const ENDING_MS = 500;

export const STUCK = 'Connection terminated: its server does not go on after an error';

interface Wire {
  readonly readyForQuery: boolean;
  readonly connection: NodeJS.EventEmitter;
}

const wireOf = ({ client }: Pick<OpenedConnection, 'client'>): Wire => client as unknown as Wire;

/** Calls each time that the server waits for the next statement. */
export function onReady(connection: Pick<OpenedConnection, 'client'>, listener: () => void): void {
  wireOf(connection).connection.on('readyForQuery', listener);
}

/** After an error on a connection that runs one statement at a time: false when its server does not go on. */
export async function goesOn(connection: Pick<OpenedConnection, 'client'>): Promise<boolean> {
  const wire = wireOf(connection);
  if (wire.readyForQuery) return true;
  return new Promise((resolve) => {
    const told = (goesOn: boolean): void => {
      clearTimeout(timer);
      wire.connection.off('readyForQuery', onReady);
      resolve(goesOn);
    };
    const onReady = (): void => told(true);
    const timer = setTimeout(() => told(false), ENDING_MS);
    wire.connection.on('readyForQuery', onReady);
  });
}
