// PostgreSQL's own way to stop what a connection does (PostgreSQL documentation, "Canceling Requests in Progress"): by the
// number and the secret that the connection was told when it opened, on a connection of its own. Behind a pooler this is the
// only way that cannot hit somebody else: the pooler knows which backend the connection has at the moment, if any.
import type { Socket } from 'node:net';
import pg from 'pg';

const TIMEOUT_MS = 3000;

/** What the driver's client has beyond its types. */
interface Told {
  readonly host: string;
  readonly port: number;
  readonly ssl: unknown;
  readonly sslNegotiation: string;
  readonly processID: number;
  readonly secretKey: number;
  readonly connection: { readonly stream: Socket };
}

/** What the driver's connection has beyond its types. */
interface Wire extends NodeJS.EventEmitter {
  readonly stream: Socket;
  connect(portOrPath: number | string, host?: string): void;
  requestSsl(): void;
  cancel(processID: number, secretKey: number): void;
}

/** Resolves when the request was taken; nobody says whether it stopped anything. Rejects when it could not be sent. */
export function requestCancel(client: pg.Client): Promise<void> {
  const { host, port, ssl, sslNegotiation, processID, secretKey, connection } = client as unknown as Told;
  const wire = new pg.Connection({ ssl, sslNegotiation } as pg.ConnectionConfig) as unknown as Wire;
  return new Promise<void>((resolve, reject) => {
    const send = (): void => wire.cancel(processID, secretKey);
    wire.once('connect', () => {
      if (!ssl) send();
      else if (sslNegotiation !== 'direct') wire.requestSsl();
    });
    wire.once('sslconnect', send);
    wire.once('end', resolve);
    wire.on('error', reject);
    wire.stream.setTimeout(TIMEOUT_MS, () => wire.stream.destroy(new Error('a cancel request was not taken in time')));
    if (host.startsWith('/')) wire.connect(`${host}/.s.PGSQL.${port}`);
    // Of several poolers behind one name, the one that has the connection; a certificate is for the name.
    else wire.connect(port, ssl ? host : (connection.stream.remoteAddress ?? host));
  });
}
