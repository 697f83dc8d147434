// Result files: JSON with the figures of a mode line by line, from which docs/performance.md has its pictures. A run replaces
// the lines that it has measured, so that a table may be measured in pieces.

import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import type { Report } from './measure.ts';

export type Line = Report['lines'][number] & { readonly measuredOn: string };

export type ResultFile = { readonly lines: readonly Line[] };

export const readResults = (file: string): ResultFile => JSON.parse(readFileSync(file, 'utf8')) as ResultFile;

export function writeResults(file: string, { lines }: Report): void {
  const earlier = existsSync(file) ? readResults(file).lines : [];
  const measuredOn = new Date().toISOString().slice(0, 10);
  const names = new Set(lines.map(({ name }) => name));
  const all = [...earlier.filter(({ name }) => !names.has(name)), ...lines.map((line) => ({ ...line, measuredOn }))];
  writeFileSync(file, `${JSON.stringify({ lines: all } satisfies ResultFile, undefined, 2)}\n`);
}
