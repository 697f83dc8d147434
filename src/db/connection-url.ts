// DATABASE_URL as a value: its hosts, which of them will do, and what the driver needs to know. The driver's own parser
// takes one host, lets `options` replace ours, and passes over what it does not know, so a mistyped `sslmode` would go
// unnoticed.

import { readFileSync } from 'node:fs';
import type pg from 'pg';
import { closest } from '../model/closest.ts';

export interface DatabaseHost {
  /** Name, address (IPv6 without brackets), or the folder of a socket. */
  readonly host: string;
  readonly port: number;
}

/** Which of several servers may be used; libpq has the names. `primary`: not in recovery; `read-write`: takes writes, too. */
export type TargetSession = 'any' | 'read-write' | 'primary';

export interface DatabaseAddress {
  /** In the order in which they are to be tried; never empty. */
  readonly hosts: readonly DatabaseHost[];
  readonly target: TargetSession;
  /** For the driver: user, password, database, TLS, and the first of the hosts. */
  readonly config: Omit<pg.ClientConfig, 'options' | 'connectionString'>;
  /** Settings that the URL asks for, as in `-c geqo=off`; ours follow them. */
  readonly options: string | undefined;
}

/** What is wrong with a URL, each in a sentence that goes on after the URL's name. Never holds a password. */
export class DatabaseUrlError extends Error {
  readonly mistakes: readonly string[];
  constructor(mistakes: readonly string[]) {
    super(mistakes.map((mistake) => `The URL of the database ${mistake}`).join('\n'));
    this.name = 'DatabaseUrlError';
    this.mistakes = mistakes;
  }
}

const EXAMPLE = 'postgres://user:password@host:5432/database';
const CHARACTERS = '; in user and password the characters / ? @ : % are written %2F %3F %40 %3A %25';
const DEFAULT_PORT = 5432;
const TARGETS = ['any', 'read-write', 'primary'] as const;
const SSL_MODES = ['disable', 'prefer', 'require', 'verify-ca', 'verify-full', 'no-verify'] as const;
const PARAMETERS = [
  'host',
  'port',
  'user',
  'password',
  'dbname',
  'target_session_attrs',
  'options',
  'application_name',
  'sslmode',
  'ssl',
  'sslrootcert',
  'sslcert',
  'sslkey',
  'sslnegotiation',
  'uselibpqcompat',
  'channel_binding',
];
// They say how a client waits or speaks, and this one has ways of its own.
const WITHOUT_EFFECT = [
  'client_encoding',
  'connect_timeout',
  'fallback_application_name',
  'gssencmode',
  'keepalives',
  'keepalives_count',
  'keepalives_idle',
  'keepalives_interval',
  'sslcompression',
  'sslsni',
  'tcp_user_timeout',
];

type Refuse = (mistake: string) => void;
type Parameters = Readonly<Record<string, string | undefined>>;

/** Parses a `postgres://` URL. `readFile` gives the text of a certificate. Throws DatabaseUrlError with all mistakes. */
export function parseDatabaseUrl(
  text: string,
  readFile: (path: string) => string = (path) => readFileSync(path, 'utf8'),
): DatabaseAddress {
  const mistakes: string[] = [];
  const refuse = (mistake: string): void => void mistakes.push(mistake);
  const end = (): void => {
    if (mistakes.length > 0) throw new DatabaseUrlError(mistakes);
  };
  const parts = /^postgres(?:ql)?:\/\/(?:([^/?]*)@)?([^/?]*)(?:\/([^?@]*))?(?:\?(.*))?$/s.exec(text);
  if (parts === null) refuse(`must look like ${EXAMPLE}${CHARACTERS}`);
  end();
  const [, login = '', authority = '', path = '', query = ''] = parts as RegExpExecArray;
  const listed = authority === '' ? [] : authority.split(',').map((part) => hostAndPort(part, refuse));
  // What comes next is named in the refusals, and may be the end of a password.
  end();

  const parameters = parametersOf(query, refuse);
  const hosts = pairHosts(
    parameters.host?.split(',') ?? listed.map(({ host }) => host),
    // A socket folder stands in the query, and its port often before it: postgres://user@localhost:5433/db?host=/run.
    parameters.port?.split(',') ?? (listed.length === 0 ? [''] : listed.map(({ port }) => port)),
    refuse,
  );
  const colon = login.indexOf(':');
  const user = parameters.user ?? decode('user', colon === -1 ? login : login.slice(0, colon), refuse);
  const password = parameters.password ?? decode('password', colon === -1 ? '' : login.slice(colon + 1), refuse);
  const database = parameters.dbname ?? decode('database', path, refuse);
  const target =
    oneOf('target_session_attrs', TARGETS, parameters, refuse) ?? (hosts.length > 1 ? 'read-write' : 'any');
  const tls = tlsOf(parameters, readFile, refuse);
  end();
  return {
    hosts,
    target,
    config: {
      ...hosts[0]!,
      ...(user === '' ? {} : { user }),
      ...(password === '' ? {} : { password }),
      ...(database === '' ? {} : { database }),
      ...(parameters.application_name ? { application_name: parameters.application_name } : {}),
      ...tls,
    },
    options: parameters.options?.trim() || undefined,
  };
}

/** The address in a form of the driver: its URL where it has one, else its own host and options. */
export function addressOf({ connectionString, options, ...config }: pg.ClientConfig): DatabaseAddress {
  if (connectionString !== undefined) {
    const address = parseDatabaseUrl(connectionString);
    return { ...address, config: { ...config, ...address.config }, options: address.options ?? options };
  }
  const only = { host: config.host ?? 'localhost', port: config.port ?? DEFAULT_PORT };
  return { hosts: [only], target: 'any', config: { ...config, ...only }, options };
}

/** Where the database is, for logs: `host:port` of each server, without user and password. */
export function shownAddress(connection: pg.ClientConfig): string {
  return addressOf(connection)
    .hosts.map(({ host, port }) => (host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`))
    .join(',');
}

function parametersOf(query: string, refuse: Refuse): Parameters {
  const parameters: Record<string, string> = {};
  for (const [name, value] of new URLSearchParams(query)) {
    if (WITHOUT_EFFECT.includes(name)) continue;
    if (!PARAMETERS.includes(name)) {
      const shown = /^[A-Za-z_]{1,40}$/.test(name) ? `the parameter ${name}` : 'a parameter';
      const suggestion = closest(name, PARAMETERS);
      const hint = suggestion === null ? '.' : `; did you mean ${suggestion}?`;
      refuse(`has ${shown}, which does not exist${hint} Known: ${PARAMETERS.join(', ')}`);
    } else if (name in parameters) {
      refuse(`has the parameter ${name} twice`);
    } else {
      if (value.includes('\0')) refuse(`has a zero byte in ${name}`);
      parameters[name] = value;
    }
  }
  return parameters;
}

// A per cent sign that begins no code stands for itself: passwords are often pasted as they are.
function decode(what: string, text: string, refuse: Refuse): string {
  try {
    const decoded = decodeURIComponent(text.replace(/%(?![0-9a-f]{2})/gi, '%25'));
    if (decoded.includes('\0')) refuse(`has a zero byte in its ${what}`);
    return decoded;
  } catch {
    refuse(`has a ${what} that is not UTF-8 when decoded; a per cent sign is written %25`);
    return '';
  }
}

/** `a`, `a:5432`, `[::1]:5433` or `%2Frun%2Fpostgresql:5432`. */
function hostAndPort(text: string, refuse: Refuse): { readonly host: string; readonly port: string } {
  const parts = /^(?:\[([^[\]]*)\]|([^:[\]]*))(?::(\d{0,5}))?$/.exec(text);
  if (parts === null) refuse(`has a host that is not name, name:port or [IPv6 address]:port${CHARACTERS}`);
  return { host: decode('host', parts?.[1] ?? parts?.[2] ?? '', refuse), port: parts?.[3] ?? '' };
}

function pairHosts(names: readonly string[], ports: readonly string[], refuse: Refuse): readonly DatabaseHost[] {
  if (names.length === 0) refuse(`names no host; it looks like ${EXAMPLE}`);
  else if (ports.length !== 1 && ports.length !== names.length) {
    refuse(
      `has ${ports.length} ports for ${names.length} ${names.length === 1 ? 'host' : 'hosts'}; give one for all or one for each`,
    );
  }
  return names.map((name, index) => {
    const host = name.trim().replace(/^\[(.*)\]$/, '$1');
    if (host === '') refuse('has a host without a name in its list');
    const text = (ports.length === 1 ? ports[0] : ports[index])?.trim() || String(DEFAULT_PORT);
    const port = /^\d{1,5}$/.test(text) ? Number(text) : 0;
    if (port < 1 || port > 65_535) refuse(`has the port ${text}; a port is a number from 1 to 65535`);
    return { host, port };
  });
}

function oneOf<T extends string>(
  name: string,
  values: readonly T[],
  parameters: Parameters,
  refuse: Refuse,
): T | undefined {
  const text = parameters[name];
  if (text === undefined || text === '') return undefined;
  const value = values.find((known) => known === text);
  if (value === undefined) refuse(`has ${name}=${text}, which must be one of ${values.join(', ')}`);
  return value;
}

/**
 * The driver's reading of `sslmode`: all but `disable` and `no-verify` check the certificate and the name in it. With
 * `uselibpqcompat=true` they mean what libpq means.
 */
function tlsOf(
  parameters: Parameters,
  readFile: (path: string) => string,
  refuse: Refuse,
): Pick<pg.ClientConfig, 'ssl' | 'sslnegotiation' | 'enableChannelBinding'> {
  const mode = oneOf('sslmode', SSL_MODES, parameters, refuse);
  const flag = oneOf('ssl', ['true', '1', 'false', '0', 'no-verify'], parameters, refuse);
  const negotiation = oneOf('sslnegotiation', ['postgres', 'direct'], parameters, refuse);
  const asLibpq = oneOf('uselibpqcompat', ['true', 'false'], parameters, refuse) === 'true';
  const binding = oneOf('channel_binding', ['disable', 'prefer', 'require'], parameters, refuse);
  const file = (name: string): string | undefined => {
    const path = parameters[name];
    // `system`: the authorities that Node.js knows.
    if (!path || (name === 'sslrootcert' && path === 'system')) return undefined;
    try {
      return readFile(path);
    } catch (error) {
      refuse(`has ${name}=${path}, which cannot be read (${(error as NodeJS.ErrnoException).code ?? 'unknown error'})`);
      return undefined;
    }
  };
  const files = { ca: file('sslrootcert'), cert: file('sslcert'), key: file('sslkey') };
  const given = Object.fromEntries(Object.entries(files).filter(([, text]) => text !== undefined));
  const others = {
    ...(negotiation === undefined ? {} : { sslnegotiation: negotiation }),
    ...(binding === undefined || binding === 'disable' ? {} : { enableChannelBinding: true }),
  };

  const off = mode === undefined ? flag === 'false' || flag === '0' : mode === 'disable';
  const isAsked = mode !== undefined || flag !== undefined || negotiation === 'direct' || Object.keys(given).length > 0;
  if (off && negotiation === 'direct') refuse('has sslnegotiation=direct, which needs TLS, and turns TLS off');
  if (off) return { ...others, ssl: false };
  if (!isAsked && parameters.sslrootcert !== 'system') return others;
  if (mode === 'no-verify' || (mode === undefined && flag === 'no-verify')) {
    return { ...others, ssl: { ...given, rejectUnauthorized: false } };
  }
  if (asLibpq && (mode === 'prefer' || (mode === 'require' && files.ca === undefined))) {
    return { ...others, ssl: { ...given, rejectUnauthorized: false } };
  }
  if (asLibpq && (mode === 'require' || mode === 'verify-ca')) {
    if (files.ca === undefined) refuse('has sslmode=verify-ca, which needs sslrootcert=/path/of/the/authority.pem');
    return { ...others, ssl: { ...given, checkServerIdentity: () => undefined } };
  }
  return { ...others, ssl: { ...given } };
}

// The ways to a database: to PostgreSQL itself, and for requests perhaps through a pooler.

/**
 * What stands between us and PostgreSQL. `session`: a pooler that takes no start-up options, and gives a connection its
 * backend until it ends. `transaction`: one that gives it a backend for each transaction.
 */
export type Pooler = 'none' | 'session' | 'transaction';

/** What the driver needs to know, and what stands in between (nothing, by default). */
export interface Route extends pg.ClientConfig {
  readonly pooler?: Pooler;
}

/** The same database on another server: with the same credentials and settings. */
export function routeTo(route: Route, host: DatabaseHost): Route {
  const { config, options } = addressOf(route);
  return { ...config, host: host.host, port: host.port, ...(options === undefined ? {} : { options }) };
}

/** The two are one but for a pooler in transaction mode. */
export interface Routes {
  /** For requests: transactions that need nothing of a session. */
  readonly connection: Route;
  /** For what needs a connection that is its own. */
  readonly direct: Route;
}
