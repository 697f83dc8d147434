// OpenAPI document -> file of types.
import assert from 'node:assert/strict';
import { stripTypeScriptTypes } from 'node:module';
import { test } from 'node:test';
import { isDescription, typeFile } from '../../../src/cli/type-file.ts';
import { smallDescription } from '../../support/small-description.ts';

const FILE = `// Types of the workspace acme/my-shop, written by \`wda types\`: do not edit, write it again.
// HASH
import type { Digits, DigitsIn } from 'workspace-data-client';

export interface MyShop {
  customers: {
    row: {
      id: number;
      /** Given name *\\/ and family name */ name: string;
      balance: Digits | null;
      visits: Digits;
    };
    create: {
      name: string;
      balance?: DigitsIn | null;
      /** Left out: 0. */ visits?: DigitsIn;
    };
    update: {
      name?: string;
    };
    relations: Record<never, never>;
  };
  /** What was ordered */
  orders: {
    row: {
      id: number;
      status: 'open' | 'it\\'s' | 'a\\\\b' | null;
      total: number;
      weight: number;
      /** Anything */ details: unknown;
      gift: boolean;
      customerId: number;
      'full-text': string;
    };
    create: {
      total: DigitsIn;
      customerId: number;
    };
    update: Partial<MyShop['orders']['create']>;
    relations: {
      customer: 'customers';
      gifted: 'orders' | null;
      parts: 'orders'[];
    };
  };
  logs: {
    row: {
      id: number;
    };
    create: never;
    update: never;
    relations: Record<never, never>;
  };
}
`;

const withoutHash = (text: string): string => text.replace(/^\/\/ [\w-]{22}$/m, '// HASH');

test('an interface of a workspace', () => assert.equal(withoutHash(typeFile(smallDescription())), FILE));

test('columns and relations may be called as what every object has', () => {
  const text = { type: ['string', 'null'] };
  const relations = { valueOf: { entity: 'constructor', isList: false, isNullable: true } };
  const file = typeFile({
    'x-wda': { organization: 'acme', workspace: 'odd' },
    components: {
      schemas: {
        'constructor.Read': {
          properties: { constructor: text, toString: text, hasOwnProperty: text, valueOf: {} },
          'x-wda': { entity: 'constructor', relations },
        },
      },
    },
  });
  const row = file.slice(file.indexOf('row: {'), file.indexOf('};'));
  assert.deepEqual(row.match(/\w+(?=: string)/g), ['constructor', 'toString', 'hasOwnProperty']);
  assert.match(file, /relations: \{\s+valueOf: 'constructor' \| null;/);
});

test('line breaks in names, values and descriptions stay within their literals and comments', () => {
  const odd = "a\nb\r\u2028\u2029\u0000'\\";
  const file = typeFile({
    'x-wda': { organization: 'acme\nx', workspace: 'odd\nx' },
    components: {
      schemas: {
        [`${odd}.Read`]: {
          description: odd,
          properties: { [odd]: { type: 'string', enum: [odd], description: `${odd}*/` } },
          'x-wda': { entity: odd, relations: { [`${odd}s`]: { entity: odd, isList: true, isNullable: false } } },
        },
      },
    },
  });
  const literal = String.raw`'a\u000ab\u000d\u2028\u2029\u0000\'\\'`;
  assert.equal(file.split(literal).length - 1, 4, file);
  assert.equal(file.split('\n').length, 17, file);
  // Throws for text that is no TypeScript.
  stripTypeScriptTypes(file);
});

test('what a role may not read, or not write, is not in its types', () => {
  const id = { type: 'integer', minimum: 1, maximum: 9 };
  const file = typeFile(
    {
      'x-wda': { organization: 'acme', workspace: 'desk' },
      components: {
        schemas: {
          // Only made.
          reports: { properties: { id }, 'x-wda': { entity: 'reports', relations: {}, mayHideWritten: true } },
          'reports.Create': { properties: {} },
          'notes.Read': {
            properties: { id, text: { type: 'string' }, report: {}, parts: {} },
            'x-wda': {
              entity: 'notes',
              mayHideWritten: true,
              relations: {
                report: { entity: 'reports', isList: false, isNullable: true, isEmpty: true },
                parts: { entity: 'parts', isList: true, isNullable: false, isEmpty: true },
              },
            },
          },
          'notes.Update': { properties: { text: { type: 'string' } } },
        },
      },
    },
    { roles: ['customer', 'a\nb'] },
  );
  assert.match(file, /^\/\/ Types of the workspace acme\/desk for customer, a b, written by /);
  assert.equal(
    file.slice(file.indexOf('export')),
    `export interface Desk {
  reports: {
    row: {
      id: number;
    };
    create: {
    };
    update: never;
    written: { id: number };
    relations: Record<never, never>;
  };
  notes: {
    row: {
      id: number;
      text: string;
    };
    create: never;
    update: {
      text?: string;
    };
    written: Desk['notes']['row'] | { id: number };
    relations: {
      report: null;
      parts: never[];
    };
  };
}
`,
  );
});

test('the hash is that of the types, not that of where they come from', () => {
  const hash = (text: string): string => text.split('\n')[1] ?? '';
  const [one, other, changed] = [smallDescription(), smallDescription(), smallDescription()];
  other.info.title = 'Another';
  changed.components.schemas['orders.Read'].properties = { id: { type: 'integer' } } as never;
  assert.equal(hash(typeFile(one)), hash(typeFile(other)));
  assert.notEqual(hash(typeFile(one)), hash(typeFile(changed)));
});

test('names of interfaces', () => {
  const named = (workspace: string): string | undefined => {
    const description = { ...smallDescription(), 'x-wda': { organization: 'a', workspace } };
    return /interface (\w+)/.exec(typeFile(description))?.[1];
  };
  assert.deepEqual(['shop', 'my-2nd-shop', '2024', 'a--b'].map(named), ['Shop', 'My2ndShop', 'Workspace2024', 'AB']);
  assert.match(typeFile(smallDescription(), { name: 'Other' }), /interface Other \{[\s\S]*Partial<Other\['orders'\]/);
});

test('what is an OpenAPI document of a workspace', () => {
  assert.ok(isDescription(smallDescription()));
  for (const other of [null, [], {}, 'text', { openapi: '3.1.1', components: {} }]) assert.ok(!isDescription(other));
});
