// /signing-keys: the keys of internal tokens, for the operator. Listed without their private halves, and rotated.
import type { StoredSigningKey } from '../../catalog/signing-keys.ts';
import type { Route } from '../../http/routes.ts';
import type { Reply } from '../../response/reply.ts';
import { ADMIN_PREFIX, type AdminRooms, adminRoute, requireOperator } from './access.ts';
import { flag, single, time } from './exchange.ts';

export interface SigningKeyRooms {
  readonly signingKeys: {
    readonly list: () => Promise<readonly StoredSigningKey[]>;
    readonly rotate: (revoke: boolean) => Promise<void>;
  };
}

export function signingKeyRoutes(rooms: AdminRooms & SigningKeyRooms): Route[] {
  const keys = rooms.signingKeys;
  const listed = async (): Promise<Reply> => single((await keys.list()).map(show));
  return [
    adminRoute('GET', `${ADMIN_PREFIX}/signing-keys`, [], async (request) => {
      await requireOperator(rooms, request);
      return listed();
    }),
    adminRoute('POST', `${ADMIN_PREFIX}/signing-keys/rotate`, ['revoke'], async (request) => {
      await requireOperator(rooms, request);
      await keys.rotate(flag(request, 'revoke'));
      await rooms.announced();
      return listed();
    }),
  ];
}

function show({ kid, createdAt, rotatedAt, expiresAt }: StoredSigningKey) {
  return {
    kid,
    state: rotatedAt === null ? 'signing' : 'verifying',
    createdAt: time(createdAt),
    rotatedAt: time(rotatedAt),
    expiresAt: time(expiresAt),
  };
}
