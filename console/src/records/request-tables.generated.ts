// Generated from the tables in src/request by `npm run generate`.
export type ListParameter =
  | 'page'
  | 'size'
  | 'sort'
  | 'filter'
  | 'or'
  | 'search'
  | 'distinct'
  | 'expand'
  | 'fields'
  | 'count'
  | 'after'
  | 'versions'
  | 'preview'
  | 'changes';

export const COUNT_MODES = ['exact', 'estimated', 'none'] as const;

export interface OperatorForm {
  readonly name: string;
  readonly label: string;
  readonly takes: 'none' | 'one' | 'two' | 'many';
  readonly needs: 'nothing' | 'order' | 'text';
}

export const OPERATORS: readonly OperatorForm[] = [
  { name: 'eq', label: 'is', takes: 'one', needs: 'nothing' },
  { name: 'ne', label: 'is not', takes: 'one', needs: 'nothing' },
  { name: 'gt', label: 'more than', takes: 'one', needs: 'order' },
  { name: 'gte', label: 'at least', takes: 'one', needs: 'order' },
  { name: 'lt', label: 'less than', takes: 'one', needs: 'order' },
  { name: 'lte', label: 'at most', takes: 'one', needs: 'order' },
  { name: 'in', label: 'is one of', takes: 'many', needs: 'nothing' },
  { name: 'nin', label: 'is none of', takes: 'many', needs: 'nothing' },
  { name: 'between', label: 'between', takes: 'two', needs: 'order' },
  { name: 'contains', label: 'contains', takes: 'one', needs: 'text' },
  { name: 'startsWith', label: 'starts with', takes: 'one', needs: 'text' },
  { name: 'endsWith', label: 'ends with', takes: 'one', needs: 'text' },
  { name: 'ieq', label: 'is, whatever the case', takes: 'one', needs: 'text' },
  { name: 'matches', label: 'matches', takes: 'one', needs: 'text' },
  { name: 'isNull', label: 'is NULL', takes: 'none', needs: 'nothing' },
  { name: 'notNull', label: 'is not NULL', takes: 'none', needs: 'nothing' },
];
