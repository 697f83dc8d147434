// A table that scrolls to the side on a narrow page. Where nothing in it takes the focus, it does itself, or the keys could not
// scroll it.
import { Table } from '@mantine/core';
import type { ReactNode } from 'react';

export interface WideTableProps {
  readonly label: string;
  /** Pixels below which it scrolls. */
  readonly minWidth: number;
  readonly children: ReactNode;
}

export function WideTable({ label, minWidth, children }: WideTableProps) {
  return (
    <Table.ScrollContainer
      minWidth={minWidth}
      scrollAreaProps={{ viewportProps: { tabIndex: 0, role: 'region', 'aria-label': label } }}
    >
      {children}
    </Table.ScrollContainer>
  );
}
