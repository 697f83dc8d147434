// Pagination and search by name for lists that are no grids. Both are in the address bar.
import { Group, Pagination, Text, TextInput } from '@mantine/core';
import type { ReactNode } from 'react';
import { formatCount } from '../format/amount.ts';
import { useAddress } from './use-address.ts';

/** Rows of a page: two screens at most. */
export const PAGE_SIZE = 50;

// Shortest list with a search.
const FEW = 12;

/** Hook with the page of the address bar, from 0, and its setter. */
export function usePage(): readonly [page: number, go: (page: number) => void] {
  const { read, write } = useAddress();
  const page = Math.max(0, Math.trunc(Number(read('page') ?? 0)) || 0);
  return [page, (next) => write({ page: next === 0 ? undefined : String(next) })];
}

export interface PageLinksProps {
  readonly total: number;
  readonly size?: number;
  readonly page: number;
  readonly onPage: (page: number) => void;
}

/** Page links; nothing for a single page. */
export function PageLinks({ total, size = PAGE_SIZE, page, onPage }: PageLinksProps) {
  if (total <= size) return null;
  return (
    <Group mt="sm" gap="sm" component="nav" aria-label="Pages">
      <Pagination
        size="sm"
        total={Math.ceil(total / size)}
        value={page + 1}
        onChange={(next) => onPage(next - 1)}
        getControlProps={(control) => ({ 'aria-label': control === 'next' ? 'Next page' : 'Previous page' })}
        getItemProps={(item) => ({ 'aria-label': `Page ${item}` })}
      />
      <Text size="xs" c="dimmed">
        {formatCount(page * size + 1)} to {formatCount(Math.min((page + 1) * size, total))} of {formatCount(total)}
      </Text>
    </Group>
  );
}

export interface SearchableList<T> {
  readonly page: readonly T[];
  /** Search input; nothing for short lists. */
  readonly searchField: ReactNode;
  readonly pageLinks: ReactNode;
}

/** Hook for a list that is fully loaded: filters it by name, and returns one page. */
export function useSearchableList<T>(
  items: readonly T[],
  getName: (item: T) => string,
  label = 'Find in this list',
): SearchableList<T> {
  const { read, write } = useAddress();
  const [page, go] = usePage();
  const typed = read('find') ?? '';
  const query = typed.trim().toLowerCase();
  const matches = items.filter((item) => getName(item).toLowerCase().includes(query));
  const last = Math.max(0, Math.ceil(matches.length / PAGE_SIZE) - 1);
  const at = Math.min(page, last);
  return {
    page: matches.slice(at * PAGE_SIZE, (at + 1) * PAGE_SIZE),
    searchField: items.length > FEW && (
      <TextInput
        aria-label={label}
        placeholder={`Find one of ${formatCount(items.length)}`}
        value={typed}
        onChange={({ currentTarget: { value } }) => write({ find: value === '' ? undefined : value, page: undefined })}
        maw={320}
        mb="xs"
      />
    ),
    pageLinks:
      items.length > 0 && matches.length === 0 ? (
        <Text size="sm">No matches.</Text>
      ) : (
        <PageLinks total={matches.length} page={at} onPage={go} />
      ),
  };
}
