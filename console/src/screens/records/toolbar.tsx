// Toolbar of the list: filter, search, columns, new records, import, export.
import { ActionIcon, Button, Menu, TextInput } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { useEffect, useState } from 'react';
import { stringifySearch } from '../../address.ts';
import type { EntityDocument, WorkspaceSchema } from '../../api/schema.ts';
import { screenPath } from '../../api/workspace.ts';
import type { TimeZone } from '../../format/datetime.ts';
import { recordScreenPath } from '../../records/cell-value.tsx';
import { listFilterPaths } from '../../records/filter-paths.ts';
import { type ListQuery, toFilterSearch, toSearch, WINDOW_SIZE } from '../../records/list-query.ts';
import { type EntityRef, entityPath } from '../../records/requests.ts';
import { CopyAs } from '../../shell/copy-as.tsx';
import { DownloadItem } from '../../shell/download.tsx';
import { Icon } from '../../shell/icon.tsx';
import { ColumnsMenu } from './columns-menu.tsx';
import { FilterButton, type FilterFormProps } from './filter-form.tsx';
import type { RecordsState } from './use-records.ts';

export interface ToolbarProps {
  readonly state: RecordsState;
  readonly schema: WorkspaceSchema;
  readonly entity: EntityDocument;
  readonly zone: TimeZone;
  readonly filter: Omit<FilterFormProps, 'paths' | 'zone' | 'workspace'>;
}

export function Toolbar({ state, schema, entity, zone, filter }: ToolbarProps) {
  const { entityRef, query, names: fields, layout, plan, mayWrite } = state;
  const isSearchable = [...entity.fields.values()].some(({ searchable }) => searchable === true);
  const call = () => ({
    origin: location.origin,
    workspace: `${entityRef.org}/${entityRef.ws}`,
    entity: entityRef.entity,
    method: 'GET' as const,
    rest: '',
    query: Object.entries({ ...toSearch(query), fields: state.fields.join(','), size: String(WINDOW_SIZE) }).flatMap(
      ([name, value]) =>
        value === undefined
          ? []
          : (typeof value === 'string' ? [value] : value).map((one): [string, string] => [name, one]),
    ),
  });
  return (
    <>
      {isSearchable && <SearchBox text={query.search} onSearch={(search) => state.setQuery({ search })} />}
      <FilterButton {...filter} paths={listFilterPaths(schema, entity)} zone={zone} workspace={entityRef} />
      <ColumnsMenu
        layout={layout}
        all={plan.names}
        getWidth={(name) => plan.gridColumn(name, layout, [], state.rows?.longestId ?? 0).width}
        onLayout={state.setLayout}
        getTitle={plan.title}
        relations={plan.nameable}
        named={state.named}
        onNamed={state.setNamed}
      />
      {mayWrite && (
        <Button variant="default" component={Link} to={screenPath(entityRef, `/data/${entityRef.entity}/import`)}>
          Import
        </Button>
      )}
      <ExportMenu
        entityRef={entityRef}
        query={query}
        fields={fields}
        hasNames={plan.own.some(
          ({ name, relation }) => fields.includes(name) && plan.nameable.includes(relation?.name ?? ''),
        )}
      />
      <CopyAs call={call} />
      <ActionIcon aria-label="Reload" title="Reload" onClick={state.reload}>
        <Icon name="reload" />
      </ActionIcon>
      {mayWrite && (
        <Button
          component={Link}
          to={recordScreenPath(entityRef, entityRef.entity, 'new')}
          leftSection={<Icon name="plus" />}
        >
          New record
        </Button>
      )}
    </>
  );
}

/** Search input; it searches 250 ms after the last key. */
function SearchBox({ text, onSearch }: { readonly text: string; readonly onSearch: (text: string) => void }) {
  const [typed, setTyped] = useState(text);
  useEffect(() => setTyped(text), [text]);
  useEffect(() => {
    if (typed === text) return;
    const timer = setTimeout(() => onSearch(typed), 250);
    return () => clearTimeout(timer);
  }, [typed, text, onSearch]);
  return (
    <TextInput
      type="search"
      aria-label="Search"
      placeholder="Search"
      w={150}
      value={typed}
      onChange={(event) => setTyped(event.currentTarget.value)}
    />
  );
}

/** Exports are plain links, so that the browser downloads without memory of the page. */
interface ExportProps {
  readonly entityRef: EntityRef;
  readonly query: ListQuery;
  readonly fields: readonly string[];
  /** Whether a column leads to records that have labels. */
  readonly hasNames: boolean;
}

function ExportMenu({ entityRef, query, fields, hasNames }: ExportProps) {
  const own = fields.filter((name) => !name.includes('.'));
  const path = (format: string, labels?: 'true'): string => {
    const search = { format, ...toFilterSearch(query), fields: own.join(','), ...(labels && { labels }) };
    return entityPath(entityRef, `/_export${stringifySearch(search)}`);
  };
  const formats = ['csv', 'ndjson'] as const;
  return (
    <Menu position="bottom-end" withinPortal>
      <Menu.Target>
        <Button variant="default">Export</Button>
      </Menu.Target>
      <Menu.Dropdown>
        {formats.map((format) => (
          <DownloadItem key={format} path={path(format)} filename={`${entityRef.entity}.${format}`}>
            {format.toUpperCase()}
          </DownloadItem>
        ))}
        {hasNames &&
          formats.map((format) => (
            <DownloadItem key={format} path={path(format, 'true')} filename={`${entityRef.entity}.${format}`}>
              {format.toUpperCase()} with names of related records
            </DownloadItem>
          ))}
      </Menu.Dropdown>
    </Menu>
  );
}
