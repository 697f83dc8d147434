// A filter tree written out for tables, values in brackets: `a.b eq [1]`, `(x | y)`, `!x`. Values of `_query` are JSON.
import type { FilterTree } from '../../../src/request/filter.ts';

export function filterText(tree: FilterTree | undefined): string {
  if (tree === undefined) return 'undefined';
  if (tree.kind === 'not') return `!${filterText(tree.member)}`;
  if (tree.kind !== 'compare') return `(${tree.members.map(filterText).join(tree.kind === 'and' ? ' & ' : ' | ')})`;
  const values = tree.values.map((value) => (value.kind === 'text' ? `[${value.text}]` : JSON.stringify(value.value)));
  return [tree.path.join('.'), tree.operator, ...values].join(' ');
}
