// Properties of the layouts of records other than the grid.
import type { EntityDocument, WorkspaceSchema } from '../api/schema.ts';
import type { TimeZone } from '../format/datetime.ts';
import type { RecordColumn } from '../records/fields.ts';
import type { ListQuery } from '../records/list-query.ts';
import type { EntityRef } from '../records/requests.ts';
import type { Presentation } from './view-state.ts';

export interface LayoutProps {
  readonly entityRef: EntityRef;
  readonly schema: WorkspaceSchema;
  readonly entity: EntityDocument;
  /** Query of the view without the parts that the server rejects. */
  readonly query: ListQuery;
  readonly zone: TimeZone;
  /** Columns of the view, of which cards show the first. */
  readonly columns: readonly RecordColumn[];
  readonly presentation: Presentation;
  readonly onPresentation: (change: Partial<Presentation>) => void;
  readonly mayWrite: boolean;
}
