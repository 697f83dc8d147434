// Aggregates over paths that lead through a record which is not there: nothing is joined to it, also when a condition says
// which record that would be.

import { prepare, use, useServer } from '../../support/resources.ts';
import { runScenarios } from '../../support/scenario.ts';

const server = useServer();
const house = use(() =>
  server.workspace('acme/house', {
    entities: {
      rooms: {
        fields: { word: { type: 'string' } },
        relations: {
          holder: { kind: 'hasOne', entity: 'people', inverse: 'office' },
          residents: { kind: 'hasMany', entity: 'people', inverse: 'home' },
        },
      },
      people: {
        fields: { name: { type: 'string' } },
        relations: {
          home: { kind: 'belongsTo', entity: 'rooms' },
          office: { kind: 'belongsTo', entity: 'rooms', unique: true },
        },
      },
    },
  }),
);
prepare(async () => {
  await house.create('rooms', [{ word: 'one' }, { word: 'two' }, { word: 'three' }, { word: 'four' }]);
  await house.create('people', [
    { name: 'Ann', homeId: 4, officeId: 2 },
    { name: 'Ben', homeId: 2, officeId: 3 },
    { name: 'Cy', homeId: 3, officeId: 1 },
  ]);
});

runScenarios(house, [
  {
    name: 'nobody has the office at home, so there is no office of theirs',
    path: 'people/_aggregate?select=count,count:home.holder.office.word&group=home.holder.office.id&filter=homeId,eq,4',
    status: 200,
    data: [{ 'home.holder.office.id': null, count: 1, 'count:home.holder.office.word': 0 }],
  },
  {
    name: 'and where somebody has, it is that one',
    path: 'people/_aggregate?select=count,max:home.holder.office.word&group=home.holder.office.id&filter=homeId,eq,2',
    status: 200,
    data: [{ 'home.holder.office.id': 2, count: 1, 'max:home.holder.office.word': 'two' }],
  },
]);
