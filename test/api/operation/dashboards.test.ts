// Every figure that the dashboard and the alerts of deploy/ ask for is one that a running server shows.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { parse } from 'yaml';
import { isCluster } from '../../support/citus.ts';
import { useServer } from '../../support/resources.ts';

const server = useServer();
const read = (name: string): string => readFileSync(join(import.meta.dirname, '../../../deploy', name), 'utf8');

interface Panel {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly targets?: readonly { readonly expr: string }[];
}

const { panels } = JSON.parse(read('grafana.json')) as { panels: readonly Panel[] };
const rules = (parse(read('alerts.yaml')) as { groups: { rules: { alert: string; expr: string }[] }[] }).groups.flatMap(
  (group) => group.rules,
);

/** Names of metrics in an expression of Prometheus: words that are neither functions, nor in quotes, nor labels. */
const metricsOf = (expression: string): readonly string[] =>
  [
    ...expression
      .replaceAll(/"[^"]*"|\[[^\]]*\]|\s*\b(?:by|without) \([^)]*\)\s*/g, '')
      .matchAll(/(?<!\w)[a-z_]\w*(?=[{\s)]|$)/g),
  ].map(([name]) => name);

test('metrics are found in expressions', () => {
  assert.deepEqual(metricsOf('sum by (le, kind) (rate(a_total{job="x",kind=~"5.."}[5m])) / b > 0.1'), ['a_total', 'b']);
});

/** Figures that this server need not show: blackbox_exporter asks /readyz from outside, the others are of a cluster. */
const elsewhere = ['probe_success', ...(isCluster ? [] : ['wda_cluster_nodes', 'wda_workspace_moves_total'])];

test('the figures of dashboard and alerts are in /metrics', async () => {
  const text = await (await fetch(`${server.url}/metrics`)).text();
  const types = new Map([...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name = '', type = '']) => [name, type]));
  const shown = [...types].flatMap(([name, type]) =>
    type === 'histogram' ? ['bucket', 'sum', 'count'].map((part) => `${name}_${part}`) : [name],
  );
  const expressions = [
    ...panels.flatMap(({ targets }) => targets ?? []).map(({ expr }) => expr),
    ...rules.map(({ expr }) => expr),
  ];
  const asked = new Set(expressions.flatMap(metricsOf));
  assert.ok(asked.size > 15);
  assert.deepEqual(
    [...asked].filter((name) => !shown.includes(name) && !elsewhere.includes(name)),
    [],
  );
  // Each figure of ours has its place.
  assert.deepEqual(
    shown.filter((name) => /^wda_/.test(name) && !/_(?:sum|count)$/.test(name) && !asked.has(name)),
    [],
  );
});

test('what only grows is a counter, and nothing else is', async () => {
  const text = await (await fetch(`${server.url}/metrics`)).text();
  const types = [...text.matchAll(/^# TYPE (wda_\S+) (\S+)$/gm)].map(([, name = '', type]) => [name, type] as const);
  assert.ok(types.some(([, type]) => type === 'counter'));
  for (const [name, type] of types) assert.equal(type === 'counter', name.endsWith('_total'), name);
});

test('panels have a number, a title and a figure of their own', () => {
  const graphs = panels.filter(({ type }) => type !== 'row');
  assert.equal(new Set(panels.map(({ id }) => id)).size, panels.length);
  assert.equal(new Set(panels.map(({ title }) => title)).size, panels.length);
  assert.ok(graphs.every(({ targets = [] }) => targets.length > 0));
  assert.equal(new Set(rules.map(({ alert }) => alert)).size, rules.length);
});
