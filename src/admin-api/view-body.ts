// Bodies and responses of saved views. Each member has its own limit, so a view is 60 kB at most.
import type { Static, TOptional } from 'typebox';
import { Type } from '../schema/type.ts';
import type { SavedView, Viewer } from '../store/views.ts';
import { ActorShape, DisplayName } from './names.ts';
import { enumShape, formatTime, Id, nullableShape, objectShape, Time } from './response.ts';

const texts = (maxItems: number, maxLength: number, description: string) =>
  Type.Unsafe<readonly string[]>({
    type: 'array',
    maxItems,
    items: { type: 'string', minLength: 1, maxLength },
    description,
  });

const Columns = texts(200, 200, 'The columns in their order; null for those that the console shows by itself.');

const Expand = texts(
  20,
  200,
  'To-one relations whose records are shown by their labels; null for all that can be, empty for ids everywhere.',
);

const CONTENT = {
  filter: texts(20, 500, 'Filters as of a list, such as `status,eq,open`, combined with AND.'),
  or: texts(20, 500, 'Groups of conditions as of the parameter `or`.'),
  search: Type.String({ maxLength: 200, description: 'Words of a full text search; empty for none.' }),
  sort: texts(10, 250, 'Sort keys such as `total,desc`.'),
  expand: nullableShape(Expand),
  columns: nullableShape(Columns),
  pinned: texts(20, 200, 'Columns that stay in sight.'),
  widths: Type.Unsafe<Readonly<Record<string, number>>>({
    type: 'object',
    maxProperties: 200,
    additionalProperties: { type: 'integer', minimum: 20, maximum: 4000 },
    description: 'Widths of columns in pixels.',
  }),
  layout: enumShape('grid', 'board', 'calendar', 'chart'),
  group: texts(
    5,
    250,
    'What the layout goes by: for a board a field of type enum, for a calendar a date or datetime, for a chart `group` of an aggregate, such as `placedAt:month`.',
  ),
  summary: texts(
    20,
    250,
    '`select` of an aggregate, such as `sum:total`: the line below the records, or the values of a chart.',
  ),
  chart: enumShape('number', 'bars', 'line', 'table'),
  overview: Type.Boolean({ description: 'Whether it is on the overview of the workspace.' }),
};

const Content = objectShape(CONTENT);

/** A view without its identity: what is stored as JSON. */
export type ViewContent = Static<typeof Content>;

export const DEFAULT_CONTENT: ViewContent = {
  filter: [],
  or: [],
  search: '',
  sort: [],
  expand: null,
  columns: null,
  pinned: [],
  widths: {},
  layout: 'grid',
  group: [],
  summary: [],
  chart: 'bars',
  overview: false,
};

const OPTIONAL_CONTENT = Object.fromEntries(
  Object.entries(CONTENT).map(([name, shape]) => [name, Type.Optional(shape)]),
) as { readonly [Name in keyof typeof CONTENT]: TOptional<(typeof CONTENT)[Name]> };

const Shared = Type.Boolean({ description: 'Whether all who may see the workspace see it.' });

export const NewView = objectShape(
  {
    entity: Type.String({ description: 'Name of the entity.', examples: ['orders'] }),
    name: DisplayName,
    shared: Type.Optional(Shared),
    ...OPTIONAL_CONTENT,
  },
  { title: 'NewView' },
);

export const ViewChange = objectShape(
  { name: Type.Optional(DisplayName), shared: Type.Optional(Shared), ...OPTIONAL_CONTENT },
  { title: 'ViewChange', description: 'Members that are left out keep their values.' },
);

export const ViewResponse = objectShape(
  {
    id: Id,
    entity: Type.String({ description: 'Name of the entity; a view follows its rename.' }),
    name: Type.String(),
    shared: Shared,
    own: Type.Boolean({ description: 'Whether it belongs to the credential of the request.' }),
    version: Type.Integer({ minimum: 1, description: 'Raised by each change; the entity tag.' }),
    ...CONTENT,
    createdAt: Time,
    updatedAt: Time,
    createdBy: { ...nullableShape(ActorShape), description: 'null: it comes from a backup.' },
  },
  { title: 'View' },
);

export type StoredView = SavedView<ViewContent>;

export function showView(view: StoredView, viewer: Viewer): Static<typeof ViewResponse> {
  const { id, entity, owner, name, shared, version, content, createdAt, updatedAt, createdBy } = view;
  return {
    id: Number(id),
    entity,
    name,
    shared,
    own: owner === viewer.owner,
    version,
    // A member of a later version is missing in what an earlier one has stored.
    ...DEFAULT_CONTENT,
    ...content,
    createdAt: formatTime(createdAt),
    updatedAt: formatTime(updatedAt),
    createdBy,
  };
}
