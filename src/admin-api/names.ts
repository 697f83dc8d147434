// Shapes of names of organizations, workspaces, keys and clients.

import type { KeyPermissions as AnyPermissions } from '../model/principal.ts';
import { SLUG_PATTERN } from '../schema/format.ts';
import { Type } from '../schema/type.ts';
import { enumShape, nullableShape, objectShape } from './response.ts';

export const Slug = Type.String({
  pattern: SLUG_PATTERN,
  description: 'Its name in URLs.',
  examples: ['acme'],
});
export const DisplayName = Type.String({ minLength: 1, maxLength: 200, description: 'Its name for people.' });

/** Shape of the permissions of keys and OAuth clients. */
export const KeyPermissions = Type.Unsafe<AnyPermissions>({
  type: 'string',
  enum: ['OWNER', 'READ_WRITE', 'READ_ONLY', 'GRANTS'],
  description:
    'OWNER administers the workspace, too; the others have its records only, GRANTS what the grants of its roles allow.',
});

/** Shape of an actor in responses. */
export const ActorShape = objectShape(
  {
    kind: enumShape('operator', 'person', 'key', 'client', 'user', 'server'),
    id: Type.String({ description: 'Id of the person, the key or the client, never the credential.', examples: ['1'] }),
    name: Type.String({ description: 'Its name at that time.' }),
    subject: Type.Optional(Type.String({ description: 'Of a person: the subject at the OpenID provider (`sub`).' })),
  },
  { title: 'Actor' },
);

export const CreatedBy = { ...nullableShape(ActorShape), description: 'null: the first start of the server made it.' };
