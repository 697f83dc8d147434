// Table by a list of columns. On a narrow page a row is a card with a line for each column; between, it scrolls sideways.
import { Table } from '@mantine/core';
import type { CSSProperties, Key, ReactNode } from 'react';
import classes from './data-table.module.css';
import { ScrollBox } from './scroll-box.tsx';

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
    // A row that is drawn as a block is none for screen readers without its role.
    <Table
      role="table"
      aria-label={label}
      verticalSpacing={spacing}
      aria-busy={isBusy}
      className={`${classes.table} ${minWidth === undefined ? '' : classes.wide}`}
      style={{ '--width': `${minWidth}px` } as CSSProperties}
      {...(maxWidth && { maw: maxWidth })}
    >
      {hasHead && (
        <Table.Thead role="rowgroup">
          <Table.Tr role="row">
            {columns.map(({ title, isNumeric, minWidth: miw }) => (
              <Table.Th
                key={title}
                role="columnheader"
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
      <Table.Tbody role="rowgroup">
        {rows.map((row, index) => (
          <Table.Tr role="row" key={rowKey(row, index)} {...rowProps?.(row)}>
            {columns.map(({ title, cell, isNumeric, isRowHeader, className = '' }) =>
              isRowHeader ? (
                <Table.Th key={title} role="rowheader" scope="row" fw={400} className={className}>
                  {cell(row)}
                </Table.Th>
              ) : (
                <Table.Td
                  key={title}
                  role="cell"
                  className={className}
                  {...(hasHead && title !== '' && { 'data-title': title })}
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
  return minWidth === undefined ? table : <ScrollBox label={label}>{table}</ScrollBox>;
}

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
