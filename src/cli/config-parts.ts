// Describes the parts of a workspace that a configuration file has besides its schema: its identity provider, agents, keys,
// clients and webhooks, each with its path and the forms and defaults of its members.

import type {
  AgentSettings,
  NewApiKey,
  NewIdentityProvider,
  NewOAuthClient,
  NewWebhook,
} from '../../admin-types/admin-api.d.ts';
import { isObject } from './schema-file.ts';

export type Values = Readonly<Record<string, unknown>>;

/** Member of a part: its check, the description of its form, and its default; without one it is required. */
export interface Member {
  readonly accepts: (value: unknown) => boolean;
  readonly form: string;
  readonly default?: unknown;
  /** Whether an empty value means the same as none. */
  readonly isBlankable?: true;
}

/** Part that a workspace has once or not at all: GET, PUT and DELETE of one path. `Body`: that of the PUT. */
export interface Part<Body = Record<string, unknown>> {
  readonly label: string;
  readonly path: string;
  readonly members: Readonly<Record<keyof Body, Member>>;
  /** Whether every workspace has the part, with these defaults and without a DELETE. */
  readonly isAlwaysPresent?: true;
}

/** List of named items of a workspace: GET and POST of one path, DELETE below it. `Body`: that of the POST. */
export interface List<Body = Record<string, unknown>> extends Part<Omit<Body, 'name'>> {
  /** Member that the path of an item ends with. */
  readonly id: string;
  /** Members that only the response to a creation has. */
  readonly secrets: readonly string[];
  /** Command that deletes an item, without its id. */
  readonly deleteCommand: string;
  /** Whether a PUT of its path changes an item; else one that differs is replaced. */
  readonly isChangeable?: true;
}

const text: Member = { accepts: (value) => typeof value === 'string' && value.trim() !== '', form: 'text' };
const flag: Member = { accepts: (value) => typeof value === 'boolean', form: 'true or false' };
const object: Member = { accepts: isObject, form: 'an object' };
const moment: Member = {
  accepts: (value) =>
    typeof value === 'string' && /T.*(?:Z|[+-]\d\d:\d\d)$/.test(value) && !Number.isNaN(Date.parse(value)),
  form: 'a time with Z or an offset, such as 2030-01-01T00:00:00Z',
};

// An exported key whose entities are all deleted has an empty list, and must not become a key for all entities.
export const names: Member = {
  accepts: (value) => Array.isArray(value) && value.every((name) => typeof name === 'string'),
  form: 'a list of names of entities',
};

const makeChoice = (...choices: readonly string[]): Member => ({
  accepts: (value) => choices.some((choice) => choice === value),
  form: `${choices.slice(0, -1).join(', ')} or ${choices.at(-1)}`,
});

const makeNullable = ({ accepts, form }: Member): Member => ({
  accepts: (value) => value === null || accepts(value),
  form,
  default: null,
});

const keyPermissions = makeChoice('OWNER', 'READ_WRITE', 'READ_ONLY', 'GRANTS');

/** Members of keys and clients that act as a role. */
export const grantMembers = {
  roles: { ...makeNullable({ ...names, form: 'a list of roles' }), isBlankable: true },
  claims: { ...makeNullable(object), isBlankable: true },
} as const;

const identityProvider: Part<NewIdentityProvider> = {
  label: 'identity provider',
  path: '/identity-provider',
  members: {
    issuerUrl: text,
    jwksUri: makeNullable(text),
    audience: makeNullable(text),
    roleClaim: makeNullable(text),
    requiredClaims: makeNullable(object),
    defaultPermissions: makeChoice('READ_WRITE', 'READ_ONLY'),
    enabled: { ...flag, default: true },
  },
};

const mcp: Part<AgentSettings> = {
  label: 'settings of agents',
  path: '/mcp',
  members: {
    enabled: { ...flag, default: true },
    writes: { ...makeChoice('off', 'confirm', 'on'), default: 'off' },
    entities: makeNullable(names),
  },
  isAlwaysPresent: true,
};

const apiKeys: List<NewApiKey> = {
  label: 'API key',
  path: '/api-keys',
  members: {
    permissions: keyPermissions,
    entities: makeNullable(names),
    expiresAt: makeNullable(moment),
    ...grantMembers,
  },
  id: 'id',
  secrets: ['key'],
  deleteCommand: 'wda key revoke',
};

const oauthClients: List<NewOAuthClient> = {
  label: 'OAuth client',
  path: '/oauth-clients',
  members: { permissions: keyPermissions, entities: makeNullable(names), ...grantMembers },
  id: 'clientId',
  secrets: ['clientId', 'clientSecret'],
  deleteCommand: 'wda client delete',
};

// Without headers, whose values are secret: those of the server stay.
const webhooks: List<Omit<NewWebhook, 'headers'>> = {
  label: 'webhook',
  path: '/webhooks',
  members: {
    url: text,
    entities: makeNullable(names),
    types: {
      ...names,
      form: 'a list of created, updated, removed and schema',
      default: ['created', 'removed', 'updated'],
    },
    fields: makeNullable({ ...names, form: 'a list of names of fields' }),
    filter: makeNullable(object),
    previous: { ...flag, default: false },
    maxBatch: { accepts: (value) => Number.isInteger(value), form: 'a number from 1 to 100', default: 1 },
    ordering: { ...makeChoice('relaxed', 'strict'), default: 'relaxed' },
    enabled: { ...flag, default: true },
  },
  id: 'id',
  secrets: ['secret'],
  deleteCommand: 'wda webhook delete',
  isChangeable: true,
};

export const PARTS: Readonly<Record<string, Part>> = { identityProvider, mcp };
export const LISTS: Readonly<Record<string, List>> = { apiKeys, oauthClients, webhooks };

/**
 * Returns all members of a part with defaults, without those that may be blank and are; times and lists of names get one
 * form.
 */
export function complete({ members }: Part, values: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(members).flatMap(([name, member]) => {
      const value = values[name] ?? member.default ?? null;
      if (member.isBlankable === true && Object.keys(value ?? {}).length === 0) return [];
      if (Array.isArray(value)) return [[name, value.toSorted()]];
      const isMoment = typeof value === 'string' && moment.accepts(value);
      return [[name, isMoment ? new Date(value).toISOString() : value]];
    }),
  );
}
