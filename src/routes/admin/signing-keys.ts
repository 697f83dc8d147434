// /signing-keys: the keys of internal tokens, for the operator. Listed without their private halves, and rotated.
import type { Static } from 'typebox';
import type { WriteActivity } from '../../directory/activity.ts';
import type { StoredSigningKey } from '../../directory/signing-keys.ts';
import { Type } from '../../document/type.ts';
import { closed, data, listOf, oneOf, orNull, single, Time, time } from './answer.ts';
import { flag } from './query.ts';
import { type AdminRooms, type AdminRoute, routeMaker } from './route.ts';

export interface SigningKeyRooms {
  readonly signingKeys: {
    readonly list: () => Promise<readonly StoredSigningKey[]>;
    readonly rotate: (revoke: boolean, note: WriteActivity) => Promise<void>;
  };
}

const Shown = closed(
  {
    kid: Type.String({ description: 'Its name in the head of tokens and in the key set.' }),
    state: oneOf('signing', 'verifying'),
    createdAt: Time,
    rotatedAt: orNull(Time),
    expiresAt: orNull(Time),
  },
  { title: 'SigningKey' },
);

export function signingKeyRoutes(rooms: AdminRooms & SigningKeyRooms): AdminRoute[] {
  const keys = rooms.signingKeys;
  const route = routeMaker(rooms);
  return [
    route({
      id: 'signingKeys.list',
      method: 'GET',
      path: '/signing-keys',
      may: 'operator',
      summary: 'The keys that sign or verify tokens, without their private halves',
      description: 'The newest first; it signs. The others verify until the last token of theirs has expired.',
      refuses: {},
      answers: { 200: data(listOf(Shown)) },
      handle: async () => single((await keys.list()).map(show)),
    }),
    route({
      id: 'signingKeys.rotate',
      method: 'POST',
      path: '/signing-keys/rotate',
      may: 'operator',
      changes: 'everything',
      activity: 'written',
      summary: 'Lets a new key sign; with revoke, all tokens signed so far end',
      description: 'Without `revoke` tokens of the key so far work until they expire.',
      refuses: {},
      query: { revoke: flag('End all tokens signed so far: for a key that somebody has seen.') },
      answers: { 200: data(listOf(Shown)) },
      async handle({ query: { revoke }, note }) {
        const { write } = await note.ahead({ subject: 'signing keys', details: { revoke } });
        await keys.rotate(revoke, write);
        return single((await keys.list()).map(show));
      },
    }),
  ];
}

function show({ kid, createdAt, rotatedAt, expiresAt }: StoredSigningKey): Static<typeof Shown> {
  return {
    kid,
    state: rotatedAt === null ? 'signing' : 'verifying',
    createdAt: time(createdAt),
    rotatedAt: time(rotatedAt),
    expiresAt: time(expiresAt),
  };
}
