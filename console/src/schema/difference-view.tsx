// Unified diff of two documents.
import { Text } from '@mantine/core';
import { useMemo } from 'react';
import type { Json } from '../api/json.ts';
import { diffLines, type Line } from './difference.ts';
import classes from './schema.module.css';
import { type Format, printText } from './text.ts';

export interface DifferenceViewProps {
  readonly before: Json;
  readonly after: Json;
  readonly format: Format;
  readonly label: string;
}

const SIGNS = { same: ' ', added: '+', removed: '-' } as const;

/** Both are printed by one formatter first, so that only their content differs. */
export function DifferenceView({ before, after, format, label }: DifferenceViewProps) {
  const hunks = useMemo(() => diffLines(printText(format, before), printText(format, after)), [before, after, format]);
  if (hunks.length === 0)
    return (
      <Text size="sm" c="dimmed">
        No difference.
      </Text>
    );
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls has to be reached by the keyboard (WCAG 2.1.1)
    <section className={classes.difference} aria-label={label} tabIndex={0}>
      <div>
        {hunks.flatMap((hunk, index) => [
          <span key={`at ${index}`} className={classes.gap}>
            {printHunkHeader(hunk)}
          </span>,
          ...hunk.map((line) => <DifferenceLine key={`${line.before}/${line.after}`} {...line} />),
        ])}
      </div>
    </section>
  );
}

/** Prints the header of a hunk, as in `diff -u`. */
function printHunkHeader(hunk: readonly Line[]): string {
  const first = (side: 'before' | 'after'): number => hunk.find((line) => line[side] !== undefined)?.[side] ?? 0;
  const lines = (side: 'before' | 'after'): number => hunk.filter((line) => line[side] !== undefined).length;
  return `@@ -${first('before')},${lines('before')} +${first('after')},${lines('after')} @@`;
}

function DifferenceLine({ kind, text }: Line) {
  const line = `${SIGNS[kind]} ${text}`;
  if (kind === 'added') return <ins>{line}</ins>;
  return kind === 'removed' ? <del>{line}</del> : <span>{line}</span>;
}
