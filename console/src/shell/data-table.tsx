// Table by a list of columns. It scrolls sideways on a narrow page, also by keyboard.
import { Table } from '@mantine/core';
import type { Key, ReactNode } from 'react';

export interface TableColumn<Row> {
  /** Heading; that of a column of buttons is invisible and says Actions. */
  readonly title: string;
  readonly cell: (row: Row) => ReactNode;
  /** Aligns numbers to the end, without wrapping. */
  readonly isNumeric?: boolean;
  /** Marks the cell that names its row. */
  readonly isRowHeader?: boolean;
  readonly minWidth?: number;
  readonly className?: string | undefined;
}

export interface DataTableProps<Row> {
  /** Accessible name of the table. */
  readonly label: string;
  readonly rows: readonly Row[];
  readonly columns: readonly (TableColumn<Row> | false)[];
  readonly rowKey: (row: Row, index: number) => Key;
  readonly rowProps?: (row: Row) => { readonly title?: string | undefined; readonly className?: string | undefined };
  /** Width in pixels below which it scrolls. */
  readonly minWidth?: number;
  readonly maxWidth?: number;
  readonly isBusy?: boolean;
  readonly hasHead?: boolean;
  readonly spacing?: number;
}

export function DataTable<Row>(props: DataTableProps<Row>) {
  const { label, rows, rowKey, rowProps, minWidth, maxWidth, isBusy, hasHead = true, spacing = 4 } = props;
  const columns = props.columns.filter((column) => column !== false);
  const table = (
    <Table aria-label={label} verticalSpacing={spacing} aria-busy={isBusy} {...(maxWidth && { maw: maxWidth })}>
      {hasHead && (
        <Table.Thead>
          <Table.Tr>
            {columns.map(({ title, isNumeric, minWidth: miw }) => (
              <Table.Th
                key={title}
                {...(title === '' && { 'aria-label': 'Actions' })}
                {...(isNumeric && { ta: 'right' })}
                {...(miw && { miw })}
              >
                {title !== '' && <bdi>{title}</bdi>}
              </Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
      )}
      <Table.Tbody>
        {rows.map((row, index) => (
          <Table.Tr key={rowKey(row, index)} {...rowProps?.(row)}>
            {columns.map(({ title, cell, isNumeric, isRowHeader, className = '' }) =>
              isRowHeader ? (
                <Table.Th key={title} scope="row" fw={400} className={className}>
                  {cell(row)}
                </Table.Th>
              ) : (
                <Table.Td
                  key={title}
                  className={className}
                  {...(isNumeric && { ta: 'right', style: { whiteSpace: 'nowrap' } })}
                >
                  {cell(row)}
                </Table.Td>
              ),
            )}
          </Table.Tr>
        ))}
      </Table.Tbody>
    </Table>
  );
  return minWidth === undefined ? table : <ScrollableTable {...{ label, minWidth, maxWidth }}>{table}</ScrollableTable>;
}

interface ScrollableTableProps {
  readonly label: string;
  readonly minWidth: number;
  readonly maxWidth?: number | undefined;
  readonly children: ReactNode;
}

/** The region is focusable, or keys could not scroll a table without controls. */
const ScrollableTable = ({ label, minWidth, maxWidth, children }: ScrollableTableProps) => (
  <Table.ScrollContainer
    minWidth={minWidth}
    {...(maxWidth && { maw: maxWidth })}
    scrollAreaProps={{ viewportProps: { tabIndex: 0, role: 'region', 'aria-label': label } }}
  >
    {children}
  </Table.ScrollContainer>
);

export type PropertyRows = readonly (readonly [name: string, value: ReactNode])[];

/** Table of property names with their values. */
export const PropertyTable = ({ label, rows }: { readonly label: string; readonly rows: PropertyRows }) => (
  <Table aria-label={label} variant="vertical" layout="auto" withTableBorder>
    <Table.Tbody>
      {rows.map(([name, value]) => (
        <Table.Tr key={name}>
          <Table.Th scope="row">{name}</Table.Th>
          <Table.Td>{value}</Table.Td>
        </Table.Tr>
      ))}
    </Table.Tbody>
  </Table>
);
