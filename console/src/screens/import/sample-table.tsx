// Table with the first rows of a file and the control of each column.
import { ScrollArea, Table, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import type { Sample } from '../../transfer/sample.ts';

const SHOWN_ROWS = 8;
const LONGEST = 60;

export interface SampleTableProps {
  readonly sample: Sample;
  /** Renders the control below the header of a column. */
  readonly control: (header: string, at: number) => ReactNode;
}

export function SampleTable({ sample, control }: SampleTableProps) {
  return (
    <ScrollArea viewportProps={{ tabIndex: 0, role: 'region', 'aria-label': 'First rows of the file' }}>
      <Table aria-label="First rows of the file" withTableBorder verticalSpacing={4}>
        <Table.Thead>
          <Table.Tr>
            {sample.headers.map((header, at) => (
              <Table.Th key={at} miw={160} style={{ verticalAlign: 'top' }}>
                <Text size="sm" fw={600} dir="auto" truncate maw={240}>
                  {header}
                </Text>
                {control(header, at)}
              </Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {sample.rows.slice(0, SHOWN_ROWS).map((row, at) => (
            <Table.Tr key={at}>
              {sample.headers.map((_, column) => (
                <Table.Td key={column} dir="auto">
                  {cut(row[column] ?? '')}
                </Table.Td>
              ))}
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </ScrollArea>
  );
}

const cut = (text: string): string => (text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text);
