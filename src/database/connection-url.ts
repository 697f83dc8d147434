// Parses DATABASE_URL: its hosts, the kind of server wanted, and the driver's configuration. The driver's own parser takes one
// host, lets `options` replace ours, and ignores unknown parameters, so a mistyped `sslmode` would go unnoticed.

import { readFileSync } from 'node:fs';
import type pg from 'pg';
import { closest } from '../model/closest.ts';

export interface DatabaseHost {
  /** Name, address (IPv6 without brackets), or the folder of a socket. */
  readonly host: string;
  readonly port: number;
}

/** Kind of server that may be used, in libpq's names. `primary`: not in recovery; `read-write`: takes writes, too. */
export type TargetSession = 'any' | 'read-write' | 'primary';

export interface DatabaseAddress {
  /** Hosts in the order in which they are to be tried; never empty. */
  readonly hosts: readonly DatabaseHost[];
  readonly target: TargetSession;
  /** Configuration of the driver: user, password, database, TLS, and the first of the hosts. */
  readonly config: Omit<pg.ClientConfig, 'options' | 'connectionString'>;
  /** Settings in the URL, as in `-c geqo=off`; ours follow and override them. */
  readonly options: string | undefined;
}

/** Mistakes in a URL, each a sentence that follows the URL's name. Never holds a password. */
export class DatabaseUrlError extends Error {
  readonly mistakes: readonly string[];
  constructor(mistakes: readonly string[]) {
    super(mistakes.map((mistake) => `The URL of the database ${mistake}`).join('\n'));
    this.name = 'DatabaseUrlError';
    this.mistakes = mistakes;
  }
}

const EXAMPLE = 'postgres://user:password@host:5432/database';
const ENCODING_HINT = '; in user and password the characters / ? @ : % are written %2F %3F %40 %3A %25';
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
// libpq's parameters for how a client waits and talks; this driver has its own ways.
const IGNORED_PARAMETERS = [
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

type AddMistake = (mistake: string) => void;
type Parameters = Readonly<Record<string, string | undefined>>;

/** Parses a `postgres://` URL. `readFile` returns the text of a certificate. Throws DatabaseUrlError with all mistakes. */
export function parseDatabaseUrl(
  text: string,
  readFile: (path: string) => string = (path) => readFileSync(path, 'utf8'),
): DatabaseAddress {
  const mistakes: string[] = [];
  const addMistake = (mistake: string): void => void mistakes.push(mistake);
  const throwIfInvalid = (): void => {
    if (mistakes.length > 0) throw new DatabaseUrlError(mistakes);
  };
  const parts = /^postgres(?:ql)?:\/\/(?:([^/?]*)@)?([^/?]*)(?:\/([^?@]*))?(?:\?(.*))?$/s.exec(text);
  if (parts === null) addMistake(`must look like ${EXAMPLE}${ENCODING_HINT}`);
  throwIfInvalid();
  const [, login = '', authority = '', path = '', query = ''] = parts as RegExpExecArray;
  const authorityHosts = authority === '' ? [] : authority.split(',').map((part) => parseHost(part, addMistake));
  // Later mistakes quote the rest of the URL, which may be the end of a password.
  throwIfInvalid();

  const parameters = parseParameters(query, addMistake);
  const hosts = pairHosts(
    parameters.host?.split(',') ?? authorityHosts.map(({ host }) => host),
    // A socket folder is in the query, and its port often before it: postgres://user@localhost:5433/db?host=/run.
    parameters.port?.split(',') ?? (authorityHosts.length === 0 ? [''] : authorityHosts.map(({ port }) => port)),
    addMistake,
  );
  const colon = login.indexOf(':');
  const user = parameters.user ?? decode('user', colon === -1 ? login : login.slice(0, colon), addMistake);
  const password = parameters.password ?? decode('password', colon === -1 ? '' : login.slice(colon + 1), addMistake);
  const database = parameters.dbname ?? decode('database', path, addMistake);
  const target =
    parseEnum('target_session_attrs', TARGETS, parameters, addMistake) ?? (hosts.length > 1 ? 'read-write' : 'any');
  const tls = parseTls(parameters, readFile, addMistake);
  throwIfInvalid();
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

/** Returns the address of a driver configuration: from its URL if it has one, else from its own host and options. */
export function resolveAddress({ connectionString, options, ...config }: pg.ClientConfig): DatabaseAddress {
  if (connectionString !== undefined) {
    const address = parseDatabaseUrl(connectionString);
    return { ...address, config: { ...config, ...address.config }, options: address.options ?? options };
  }
  const endpoint = { host: config.host ?? 'localhost', port: config.port ?? DEFAULT_PORT };
  return { hosts: [endpoint], target: 'any', config: { ...config, ...endpoint }, options };
}

/** Formats the address for logs: `host:port` of each server, without user and password. */
export function formatAddress(connection: pg.ClientConfig): string {
  return resolveAddress(connection)
    .hosts.map(({ host, port }) => (host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`))
    .join(',');
}

function parseParameters(query: string, addMistake: AddMistake): Parameters {
  const parameters: Record<string, string> = {};
  for (const [name, value] of new URLSearchParams(query)) {
    if (IGNORED_PARAMETERS.includes(name)) continue;
    if (!PARAMETERS.includes(name)) {
      const label = /^[A-Za-z_]{1,40}$/.test(name) ? `the parameter ${name}` : 'a parameter';
      const suggestion = closest(name, PARAMETERS);
      const hint = suggestion === null ? '.' : `; did you mean ${suggestion}?`;
      addMistake(`has ${label}, which does not exist${hint} Known: ${PARAMETERS.join(', ')}`);
    } else if (name in parameters) {
      addMistake(`has the parameter ${name} twice`);
    } else {
      if (value.includes('\0')) addMistake(`has a zero byte in ${name}`);
      parameters[name] = value;
    }
  }
  return parameters;
}

// A per cent sign that starts no code is literal: passwords are often pasted unencoded.
function decode(label: string, text: string, addMistake: AddMistake): string {
  try {
    const decoded = decodeURIComponent(text.replace(/%(?![0-9a-f]{2})/gi, '%25'));
    if (decoded.includes('\0')) addMistake(`has a zero byte in its ${label}`);
    return decoded;
  } catch {
    addMistake(`has a ${label} that is not UTF-8 when decoded; a per cent sign is written %25`);
    return '';
  }
}

/** Parses `a`, `a:5432`, `[::1]:5433` or `%2Frun%2Fpostgresql:5432`. */
function parseHost(text: string, addMistake: AddMistake): { readonly host: string; readonly port: string } {
  const parts = /^(?:\[([^[\]]*)\]|([^:[\]]*))(?::(\d{0,5}))?$/.exec(text);
  if (parts === null) addMistake(`has a host that is not name, name:port or [IPv6 address]:port${ENCODING_HINT}`);
  return { host: decode('host', parts?.[1] ?? parts?.[2] ?? '', addMistake), port: parts?.[3] ?? '' };
}

function pairHosts(
  names: readonly string[],
  ports: readonly string[],
  addMistake: AddMistake,
): readonly DatabaseHost[] {
  if (names.length === 0) addMistake(`names no host; it looks like ${EXAMPLE}`);
  else if (ports.length !== 1 && ports.length !== names.length) {
    addMistake(
      `has ${ports.length} ports for ${names.length} ${names.length === 1 ? 'host' : 'hosts'}; give one for all or one for each`,
    );
  }
  return names.map((name, index) => {
    const host = name.trim().replace(/^\[(.*)\]$/, '$1');
    if (host === '') addMistake('has a host without a name in its list');
    const text = (ports.length === 1 ? ports[0] : ports[index])?.trim() || String(DEFAULT_PORT);
    const port = /^\d{1,5}$/.test(text) ? Number(text) : 0;
    if (port < 1 || port > 65_535) addMistake(`has the port ${text}; a port is a number from 1 to 65535`);
    return { host, port };
  });
}

function parseEnum<T extends string>(
  name: string,
  values: readonly T[],
  parameters: Parameters,
  addMistake: AddMistake,
): T | undefined {
  const text = parameters[name];
  if (text === undefined || text === '') return undefined;
  const value = values.find((candidate) => candidate === text);
  if (value === undefined) addMistake(`has ${name}=${text}, which must be one of ${values.join(', ')}`);
  return value;
}

/**
 * Parses the TLS parameters as the driver does: all values of `sslmode` but `disable` and `no-verify` check the certificate
 * and the name in it. With `uselibpqcompat=true` they mean the same as in libpq.
 */
function parseTls(
  parameters: Parameters,
  readFile: (path: string) => string,
  addMistake: AddMistake,
): Pick<pg.ClientConfig, 'ssl' | 'sslnegotiation' | 'enableChannelBinding'> {
  const mode = parseEnum('sslmode', SSL_MODES, parameters, addMistake);
  const flag = parseEnum('ssl', ['true', '1', 'false', '0', 'no-verify'], parameters, addMistake);
  const negotiation = parseEnum('sslnegotiation', ['postgres', 'direct'], parameters, addMistake);
  const isLibpqCompatible = parseEnum('uselibpqcompat', ['true', 'false'], parameters, addMistake) === 'true';
  const binding = parseEnum('channel_binding', ['disable', 'prefer', 'require'], parameters, addMistake);
  const readCertificate = (name: string): string | undefined => {
    const path = parameters[name];
    // `system`: the authorities that Node.js knows.
    if (!path || (name === 'sslrootcert' && path === 'system')) return undefined;
    try {
      return readFile(path);
    } catch (error) {
      addMistake(
        `has ${name}=${path}, which cannot be read (${(error as NodeJS.ErrnoException).code ?? 'unknown error'})`,
      );
      return undefined;
    }
  };
  const files = {
    ca: readCertificate('sslrootcert'),
    cert: readCertificate('sslcert'),
    key: readCertificate('sslkey'),
  };
  const certificates = Object.fromEntries(Object.entries(files).filter(([, text]) => text !== undefined));
  const commonOptions = {
    ...(negotiation === undefined ? {} : { sslnegotiation: negotiation }),
    ...(binding === undefined || binding === 'disable' ? {} : { enableChannelBinding: true }),
  };

  const isDisabled = mode === undefined ? flag === 'false' || flag === '0' : mode === 'disable';
  const isTlsRequested =
    mode !== undefined || flag !== undefined || negotiation === 'direct' || Object.keys(certificates).length > 0;
  if (isDisabled && negotiation === 'direct')
    addMistake('has sslnegotiation=direct, which needs TLS, and turns TLS off');
  if (isDisabled) return { ...commonOptions, ssl: false };
  if (!isTlsRequested && parameters.sslrootcert !== 'system') return commonOptions;
  if (mode === 'no-verify' || (mode === undefined && flag === 'no-verify')) {
    return { ...commonOptions, ssl: { ...certificates, rejectUnauthorized: false } };
  }
  if (isLibpqCompatible && (mode === 'prefer' || (mode === 'require' && files.ca === undefined))) {
    return { ...commonOptions, ssl: { ...certificates, rejectUnauthorized: false } };
  }
  if (isLibpqCompatible && (mode === 'require' || mode === 'verify-ca')) {
    if (files.ca === undefined) addMistake('has sslmode=verify-ca, which needs sslrootcert=/path/of/the/authority.pem');
    return { ...commonOptions, ssl: { ...certificates, checkServerIdentity: () => undefined } };
  }
  return { ...commonOptions, ssl: { ...certificates } };
}

// Routes to a database: to PostgreSQL itself, and for requests perhaps through a pooler.

/**
 * Kind of pooler in front of PostgreSQL. `session`: takes no start-up options, and a connection has its backend until it ends.
 * `transaction`: a connection has a backend for each transaction.
 */
export type Pooler = 'none' | 'session' | 'transaction';

/** Configuration of the driver, and the kind of pooler (none by default). */
export interface Route extends pg.ClientConfig {
  readonly pooler?: Pooler;
}

/** Builds the route to the same database on another server, with the same credentials and settings. */
export function buildRoute(route: Route, host: DatabaseHost): Route {
  const { config, options } = resolveAddress(route);
  return { ...config, host: host.host, port: host.port, ...(options === undefined ? {} : { options }) };
}

/** Routes of requests and of sessions, which differ only with a pooler in transaction mode. */
export interface Routes {
  /** Route of requests: transactions that need nothing of a session. */
  readonly connection: Route;
  /** Route of work that needs a connection of its own. */
  readonly direct: Route;
}
