// /openapi.json: what is served outside the data API, as an OpenAPI document.

import { anyShape, NOTHING } from './response.ts';
import { type AdminRoute, type AdminServices, routeMaker } from './route.ts';
import { makeStaticDocument } from './tag.ts';

export interface DocumentServices {
  /** Called once, at the first request. */
  readonly adminDocument: () => unknown;
}

export function documentRoutes(services: AdminServices & DocumentServices): AdminRoute[] {
  const document = makeStaticDocument(() => services.adminDocument());
  const route = routeMaker(services);
  return [
    route({
      id: 'server.describe',
      method: 'GET',
      path: '/openapi.json',
      // It is the same for everybody, and says nothing about anybody's data.
      access: 'anyone',
      summary: 'This description as an OpenAPI document',
      description: 'OpenAPI 3.1. Everything that is served outside the data API.',
      errors: {},
      responses: { 200: anyShape('An OpenAPI document.'), 304: NOTHING },
      handle: async ({ ifNoneMatch }) => document.respondTo(ifNoneMatch),
    }),
  ];
}
