// Charts that are pinned to the overview of a workspace, each as its saved view has it.
import './views.css';
import { Anchor, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { WorkspaceSchema } from '../api/schema.ts';
import type { View } from '../api/types.ts';
import { screenPath, type WorkspaceRef } from '../api/workspace.ts';
import { parseListQuery } from '../records/list-query.ts';
import { useTimeZone } from '../shell/time-zone.tsx';
import { ChartPanel } from './chart-panel.tsx';
import { toViewSearch } from './view-state.ts';
import { viewsQuery } from './views-api.ts';

/** Number of charts of an overview: each is a request that reads the records that it counts. */
const MOST_CHARTS = 12;

export interface PinnedChartsProps {
  readonly workspace: WorkspaceRef;
  readonly schema: WorkspaceSchema;
}

export function PinnedCharts({ workspace, schema }: PinnedChartsProps) {
  const { data } = useQuery(viewsQuery(workspace));
  const views = data?.filter(({ overview, layout }) => overview && layout === 'chart') ?? [];
  if (views.length === 0) return null;
  return (
    <section aria-label="Charts" className="pinned-charts">
      {views.slice(0, MOST_CHARTS).map((view) => (
        <PinnedChart key={view.id} workspace={workspace} schema={schema} view={view} />
      ))}
      {views.length > MOST_CHARTS && (
        <Text size="xs" c="dimmed">
          The first {MOST_CHARTS} of {views.length} charts.
        </Text>
      )}
    </section>
  );
}

function PinnedChart({ workspace, schema, view }: PinnedChartsProps & { readonly view: View }) {
  const zone = useTimeZone();
  const entity = schema.entities.get(view.entity);
  const search = toViewSearch(view.id, view);
  if (entity === undefined) return null;
  return (
    <article className="pinned-chart">
      <h2>
        <Anchor
          component={Link}
          to={screenPath(workspace, `/data/${view.entity}`)}
          search={search as never}
          size="sm"
          underline="hover"
        >
          <bdi>{view.name}</bdi>
        </Anchor>
      </h2>
      <ChartPanel
        entityRef={{ ...workspace, entity: view.entity }}
        schema={schema}
        entity={entity}
        query={parseListQuery(search)}
        zone={zone}
        presentation={view}
        title={view.name}
      />
    </article>
  );
}
