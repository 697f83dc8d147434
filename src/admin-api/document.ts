// /openapi.json: OpenAPI document of everything that is served outside the data API.

import { anyShape, NOTHING } from './response.ts';
import { type AdminRoute, type AdminServices, routeMaker } from './route.ts';
import { makeStaticDocument } from './tag.ts';

export interface DocumentServices {
  /** Builds the document; called once, at the first request. */
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
      // Same for every client, without data of a workspace.
      access: 'anyone',
      summary: 'This description as an OpenAPI document',
      description: 'OpenAPI 3.1. Everything that is served outside the data API.',
      errors: {},
      responses: { 200: anyShape('An OpenAPI document.'), 304: NOTHING },
      handle: async ({ ifNoneMatch }) => document.respondTo(ifNoneMatch),
    }),
  ];
}
