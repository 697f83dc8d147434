// A large workspace as a file of types, and calls on it.

interface LargeOptions {
  readonly entities: number;
  readonly relations: number;
  readonly calls: number;
  /** Three levels of expansion, instead of two with filters and sorts. */
  readonly isDeep: boolean;
}

const COLUMNS = ['string', 'number', 'string | null', "'open' | 'paid' | null", 'number | null', 'boolean | null'];

export function largeTypes({ entities, relations, calls, isDeep }: LargeOptions): { schema: string; calls: string } {
  const each = <T>(count: number, make: (index: number) => T): T[] =>
    Array.from({ length: count }, (_, index) => make(index));
  const entity = (index: number): string => {
    const columns = each(16, (column) => `/** Column ${column} */ c${column}: ${COLUMNS[column % COLUMNS.length]};`);
    const name = (step: number): string => `'e${(index + step) % entities}'`;
    const links = each(
      relations,
      (at) => `r${at}: ${[name(at + 1), `${name(at * 7 + 1)}[]`, `${name(at + 3)} | null`][at % 3]};`,
    );
    return `e${index}: {
      row: { id: number; ${columns.join('\n')} };
      create: { ${columns.join('\n').replaceAll(': number', ': DigitsIn')} };
      update: Partial<Large['e${index}']['create']>;
      relations: { ${links.join('\n')} };
    };`;
  };
  const wide = `filter: { c3: 'open', c1: { gte: 20 } }, sort: 'c2,desc', fields: ['id', 'c0'], expand: {
    r0: { fields: ['c0'] },
    r1: { size: 5, sort: 'c1,desc', filter: { c1: { gt: 1 } }, fields: ['c1'], expand: { r2: true } } }`;
  const deep = `expand: { r0: { expand: { r1: { fields: ['c1'], expand: { r2: true } } } } }`;
  const seen = isDeep ? 'r0.r1[0]?.r2?.c0' : 'r1[0]?.r2?.c0';
  return {
    schema: `import type { DigitsIn } from 'workspace-data-client';\nexport interface Large {\n${each(entities, entity).join('\n')}\n}\n`,
    calls: `import { createClient } from 'workspace-data-client';
import type { Large } from './large.js';
const large = createClient<Large>({ url: '', workspace: 'a/b', credential: '' });
${each(calls, (call) => `(await large.entity('e${(call * 2) % entities}').list({ ${isDeep ? deep : wide} })).data[0]?.${seen};`).join('\n')}
`,
  };
}
