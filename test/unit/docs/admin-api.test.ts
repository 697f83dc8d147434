// docs/reference/admin-api.md against the routes: each is there with its summary and who may, the request that stands below
// it is the example of the route, and the answer is as the OpenAPI document says.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { ACCESS_LABELS } from '../../../src/admin-api/describe.ts';
import type { AdminRoute } from '../../../src/admin-api/route.ts';
import { answerPlace, mistakesOf } from '../../support/admin-document.ts';
import { ADMIN_ROUTES, routeName } from '../../support/admin-routes.ts';

const PAGE = readFileSync(join(import.meta.dirname, '..', '..', '..', 'docs', 'reference', 'admin-api.md'), 'utf8');

/** `GET /organizations/{org}` */
const titleOf = (route: AdminRoute): string => routeName(route).replaceAll(/:(\w+)/g, '{$1}');

interface Section {
  readonly says: string;
  readonly request: string;
  readonly body: string;
  readonly answer: string;
}

/** In place of a body that is no JSON. */
const BYTES = '(the bytes of the file)';

const SECTIONS = new Map<string, Section>(
  PAGE.split(/^### /m)
    .slice(1)
    .map((text) => {
      const [title = '', says = '', ...blocks] = text.trimEnd().split('\n\n');
      const [asked = '', answer = ''] = blocks.map((block) => block.replaceAll(/^ {4}/gm, ''));
      const [request = '', ...body] = asked.split('\n');
      return [title.replaceAll('`', ''), { says, request, body: body.join('\n'), answer }];
    }),
);

test('every route is on the page, and nothing else', () => {
  assert.deepEqual([...SECTIONS.keys()].sort(), ADMIN_ROUTES.map(titleOf).sort());
});

for (const route of ADMIN_ROUTES) {
  const title = titleOf(route);
  test(`the page shows ${title} as it is`, () => {
    const section = SECTIONS.get(title);
    assert.ok(section !== undefined);
    const { summary, query: known, body, responses } = route.describe;
    assert.equal(section.says, `${summary}. ${ACCESS_LABELS[route.access]}.`);
    const [method, target = ''] = section.request.split(' ');
    const [path, query = ''] = target.split('?');
    assert.equal(method, route.method);
    assert.match(`/api/admin/v1${path}`, new RegExp(`^${route.pattern.replaceAll(/:\w+/g, '[^/]+')}$`));
    for (const name of new URLSearchParams(query).keys()) assert.ok(name in known, name);
    if (body?.type === undefined) {
      assert.deepEqual(section.body === '' ? undefined : JSON.parse(section.body), body?.example);
      assert.equal(section.body === '', body === undefined);
    } else assert.equal(section.body, BYTES);
    const [, status = '', answer = ''] = /^(\d+)(?: ([\s\S]*))?$/.exec(section.answer) ?? [];
    assert.ok(status in responses, status);
    const content = responses[Number(status)];
    if (content === null) assert.equal(answer, '');
    else if (content?.type !== undefined) assert.equal(answer, BYTES);
    else
      assert.equal(
        mistakesOf(JSON.parse(answer), ...answerPlace(route, Number(status), 'application/json')),
        undefined,
      );
  });
}
