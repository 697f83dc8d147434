// A club of 37 players: every type that sorts, with ties and nulls in each, and two to-one relations to sort across.
import type { TestServer, TestWorkspace } from './server.ts';

export const CLUB_SCHEMA = {
  entities: {
    teams: { fields: { name: { type: 'string' }, rank: { type: 'integer' } } },
    players: {
      fields: {
        name: { type: 'string' },
        score: { type: 'integer' },
        weight: { type: 'float' },
        worth: { type: 'decimal' },
        active: { type: 'boolean' },
        born: { type: 'date' },
        seenAt: { type: 'datetime' },
        key: { type: 'uuid' },
        level: { type: 'enum', values: ['low', 'high', 'a,b'] },
        big: { type: 'bigint', required: true, default: 0 },
        code: { type: 'string', required: true, default: '' },
      },
      relations: {
        team: { kind: 'belongsTo', entity: 'teams' },
        friend: { kind: 'belongsTo', entity: 'players', onDelete: 'setNull' },
        fans: { kind: 'hasMany', entity: 'players', inverse: 'friend' },
      },
    },
  },
};

// Few values of each, so that there are ties, and nulls in every nullable field.
const cycle = <T>(values: readonly T[], index: number): T => values[index % values.length] as T;
const PLAYERS = Array.from({ length: 37 }, (_, index) => ({
  name: cycle(['Zoë', 'ada', null, 'Ada', 'éva', 'z', 'ß', '', '日本', '🙂', "o'x"], index),
  score: cycle([3, null, -1, 3, 0, 7, 7], index),
  weight: cycle([0.1, 1e300, null, -2.5, 5e-324, 0.30000000000000004], index),
  worth: cycle(['10.50', '10.5', null, '99999999999999999999.000000001', '-3'], index),
  active: cycle([true, null, false], index),
  born: cycle(['2000-01-01', '1999-12-31', null, '2000-02-29'], index),
  seenAt: cycle(['2026-01-01T00:00:00Z', '2026-01-01T00:00:00.001Z', null, '0001-01-01T00:00:00Z'], index),
  key: cycle(['00000000-0000-4000-8000-000000000001', null, 'ffffffff-ffff-4fff-bfff-ffffffffffff'], index),
  level: cycle(['low', 'a,b', null, 'high'], index),
  big: cycle([0, 1, '9007199254740993', '-9223372036854775808'], index),
  code: cycle(['x', 'X', '', 'y'], index),
  teamId: cycle([1, 2, null, 3, 4], index),
  friendId: index === 0 || index % 6 === 5 ? null : Math.floor(index / 2) + 1,
}));

export async function makePlayers(server: TestServer): Promise<TestWorkspace> {
  const workspace = await server.workspace('acme/club', CLUB_SCHEMA);
  await workspace.create('teams', [
    { name: 'Reds', rank: 2 },
    { name: 'Blues', rank: null },
    { name: null, rank: 1 },
    { name: 'Reds', rank: 2 },
  ]);
  await workspace.create('players', PLAYERS);
  return workspace;
}
