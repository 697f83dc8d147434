// Layouts of the records other than the grid. Each is a script of its own, loaded when it is opened.
import './views.css';
import { lazy, Suspense } from 'react';
import type { LayoutProps } from './layout-props.ts';
import { useReloadLayouts } from './summary-line.tsx';
import type { Layout } from './view-state.ts';

const Board = lazy(async () => ({ default: (await import('./board.tsx')).Board }));
const Calendar = lazy(async () => ({ default: (await import('./calendar.tsx')).Calendar }));
const ChartView = lazy(async () => ({ default: (await import('./chart-view.tsx')).ChartView }));

const VIEWS = new Map<Layout, typeof Board>([
  ['board', Board],
  ['calendar', Calendar],
  ['chart', ChartView],
]);

/** Returns whether a layout is one of these; others are shown as a grid. */
export const hasLayoutView = (layout: Layout): boolean => VIEWS.has(layout);

export function LayoutView({ revision, ...props }: LayoutProps & { readonly revision: number }) {
  const View = VIEWS.get(props.presentation.layout) ?? Board;
  useReloadLayouts(props.entityRef, revision);
  return (
    <Suspense fallback={<div className="layout" aria-busy="true" />}>
      <div className="layout">
        <View {...props} />
      </div>
    </Suspense>
  );
}
