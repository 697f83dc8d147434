// docs/reference/admin-api.md against the routes: each is there with its summary and who may, and the request and the
// answer that stand below it have the shapes of the route.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { makeReport } from '../../../src/document/report.ts';
import { checkShape } from '../../../src/document/shape.ts';
import type { May } from '../../../src/routes/admin/access.ts';
import { NOTHING } from '../../../src/routes/admin/answer.ts';
import type { AdminRoute } from '../../../src/routes/admin/route.ts';
import { ADMIN_ROUTES, routeName } from '../../support/admin-routes.ts';

const PAGE = readFileSync(join(import.meta.dirname, '..', '..', '..', 'docs', 'reference', 'admin-api.md'), 'utf8');

const MAY: Readonly<Record<May, string>> = {
  anyone: 'Anyone',
  operator: 'The operator',
  administrator: 'The operator, and owners for their own',
  workspace: 'The operator and owners',
};

/** `GET /organizations/{org}` */
const titleOf = (route: AdminRoute): string => routeName(route).replaceAll(/:(\w+)/g, '{$1}');

interface Section {
  readonly says: string;
  readonly request: string;
  readonly body: string;
  readonly answer: string;
}

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
    assert.equal(section.says, `${route.summary}. ${MAY[route.may]}.`);
    const [method, target = ''] = section.request.split(' ');
    const [path, query = ''] = target.split('?');
    assert.equal(method, route.method);
    assert.match(`/api/admin/v1${path}`, new RegExp(`^${route.pattern.replaceAll(/:\w+/g, '[^/]+')}$`));
    for (const name of new URLSearchParams(query).keys()) assert.ok(name in route.query, name);
    if (route.body === undefined) assert.equal(section.body, '');
    else assert.deepEqual(mistakes(route.body, section.body), []);
    const [, status, answer = ''] = /^(\d+)(?: ([\s\S]*))?$/.exec(section.answer) ?? [];
    if (route.answer === NOTHING) assert.deepEqual([status, answer], ['204', '']);
    else assert.deepEqual(mistakes(route.answer, answer), [], section.answer);
  });
}

function mistakes(shape: Parameters<typeof checkShape>[0], text: string): unknown[] {
  const value: unknown = JSON.parse(text);
  const report = makeReport(value);
  checkShape(shape, value, report);
  return report.details();
}
