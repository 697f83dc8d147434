// /signing-keys: lists (without private keys) and rotates the keys of internal tokens, for the operator.
import type { Static } from 'typebox';
import { Type } from '../schema/type.ts';
import type { WriteActivity } from '../store/activity.ts';
import type { StoredSigningKey } from '../store/signing-keys.ts';
import { flag } from './query.ts';
import { arrayShape, data, enumShape, formatTime, nullableShape, objectShape, respondData, Time } from './response.ts';
import { type AdminRoute, type AdminServices, routeMaker } from './route.ts';

export interface SigningKeyServices {
  readonly signingKeys: {
    readonly list: () => Promise<readonly StoredSigningKey[]>;
    readonly rotate: (revoke: boolean, audit: WriteActivity) => Promise<void>;
  };
}

const SigningKeyResponse = objectShape(
  {
    kid: Type.String({ description: 'Its name in the head of tokens and in the key set.' }),
    state: enumShape('signing', 'verifying'),
    createdAt: Time,
    rotatedAt: nullableShape(Time),
    expiresAt: nullableShape(Time),
  },
  { title: 'SigningKey' },
);

export function signingKeyRoutes(services: AdminServices & SigningKeyServices): AdminRoute[] {
  const keys = services.signingKeys;
  const route = routeMaker(services);
  return [
    route({
      id: 'signingKeys.list',
      method: 'GET',
      path: '/signing-keys',
      access: 'operator',
      summary: 'The keys that sign or verify tokens, without their private halves',
      description: 'The newest first; it signs. The others verify until the last token of theirs has expired.',
      errors: {},
      responses: { 200: data(arrayShape(SigningKeyResponse)) },
      handle: async () => respondData((await keys.list()).map(toResponse)),
    }),
    route({
      id: 'signingKeys.rotate',
      method: 'POST',
      path: '/signing-keys/rotate',
      access: 'operator',
      changes: 'everything',
      activity: 'written',
      summary: 'Lets a new key sign; with revoke, all tokens signed so far end',
      description: 'Without `revoke` tokens of the key so far work until they expire.',
      errors: {},
      query: { revoke: flag('End all tokens signed so far: for a key that somebody has seen.') },
      responses: { 200: data(arrayShape(SigningKeyResponse)) },
      async handle({ query: { revoke }, audit }) {
        const { write } = await audit.prepare({ subject: 'signing keys', details: { revoke } });
        await keys.rotate(revoke, write);
        return respondData((await keys.list()).map(toResponse));
      },
    }),
  ];
}

function toResponse({ kid, createdAt, rotatedAt, expiresAt }: StoredSigningKey): Static<typeof SigningKeyResponse> {
  return {
    kid,
    state: rotatedAt === null ? 'signing' : 'verifying',
    createdAt: formatTime(createdAt),
    rotatedAt: formatTime(rotatedAt),
    expiresAt: formatTime(expiresAt),
  };
}
