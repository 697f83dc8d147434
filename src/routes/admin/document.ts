// /openapi.json: what is served outside the data API, as an OpenAPI document.
import { anything, NOTHING } from './answer.ts';
import { fixed } from './fixed.ts';
import { type AdminRooms, type AdminRoute, routeMaker } from './route.ts';

export interface AdminDocumentRooms {
  /** Called once, at the first request. */
  readonly adminDocument: () => unknown;
}

export function documentRoutes(rooms: AdminRooms & AdminDocumentRooms): AdminRoute[] {
  const document = fixed(() => rooms.adminDocument());
  const route = routeMaker(rooms);
  return [
    route({
      id: 'server.describe',
      method: 'GET',
      path: '/openapi.json',
      // It is the same for everybody, and says nothing about anybody's data.
      may: 'anyone',
      summary: 'This description as an OpenAPI document',
      description: 'OpenAPI 3.1. Everything that is served outside the data API.',
      refuses: {},
      answers: { 200: anything('An OpenAPI document.'), 304: NOTHING },
      handle: async ({ ifNoneMatch }) => document.answerTo(ifNoneMatch),
    }),
  ];
}
