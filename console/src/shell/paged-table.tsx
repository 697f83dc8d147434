// Table with one page of a list of the server. The page is in the address bar.
import { Text } from '@mantine/core';
import type { UseQueryResult } from '@tanstack/react-query';
import type { Paged } from '../api/organizations.ts';
import { DataTable, type DataTableProps } from './data-table.tsx';
import { ErrorAlert } from './error-alert.tsx';
import { PAGE_SIZE, PageLinks, usePage } from './pagination.tsx';

export interface PagedTableProps<Row> extends Omit<DataTableProps<Row>, 'rows' | 'isBusy'> {
  /** Answer for the page of the address bar. */
  readonly query: UseQueryResult<Paged<Row>>;
  /** Text in place of a table without rows. */
  readonly empty: string;
  /** Rows of a page. */
  readonly size?: number;
}

export function PagedTable<Row>({ query, empty, size = PAGE_SIZE, ...table }: PagedTableProps<Row>) {
  const [page, go] = usePage();
  const { data, error, refetch, isPlaceholderData } = query;
  return (
    <>
      <ErrorAlert error={error} onRetry={() => void refetch()} />
      {data?.total === 0 && <Text size="sm">{empty}</Text>}
      {data !== undefined && data.total > 0 && <DataTable {...table} rows={data.list} isBusy={isPlaceholderData} />}
      <PageLinks total={data?.total ?? 0} size={size} page={page} onPage={go} />
    </>
  );
}
