// Matrix of entities and roles: a cell has the operations in words and colours, and is a link to the grants of its
// entity. Arrow keys move between the cells.

import { Group, Table, Text, VisuallyHidden } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import type { KeyboardEvent } from 'react';
import { ACCESS_WORDS, OPERATIONS, type Operation } from '../../access/grants.ts';
import type { AccessReport } from '../../api/types.ts';
import { screenPath, type WorkspaceRef } from '../../api/workspace.ts';
import { Icon } from '../../shell/icon.tsx';
import { useSearchableList } from '../../shell/pagination.tsx';
import classes from './grants.module.css';

type EntityAccess = AccessReport['entities'][number];
type RoleAccess = EntityAccess['roles'][number];

/** Extent of an operation: all records and fields, some of them, or none. */
type Extent = 'all' | 'some' | 'none';

const WORDS: Readonly<Record<Extent, string>> = { all: 'all', some: 'some', none: 'no' };

function getExtent(operation: Operation, { rowRules }: EntityAccess, role: RoleAccess): Extent {
  const { allowed = false, records = [], fields = null } = role[operation] ?? {};
  if (!allowed) return 'none';
  return records.length === 0 && fields === null && rowRules.length === 0 ? 'all' : 'some';
}

const formatRole = (role: string | null): string => role ?? 'No role';

export function Matrix({ workspace, report }: { readonly workspace: WorkspaceRef; readonly report: AccessReport }) {
  const { page, searchField, pageLinks } = useSearchableList(report.entities, ({ entity }) => entity);
  const roles = [...report.roles, null];
  return (
    <section aria-label="Access of users">
      {searchField}
      <Group gap="md" mb="xs" className={classes.colors ?? ''} aria-hidden="true">
        {(['all', 'some', 'none'] as const).map((extent) => (
          <span key={extent} className={classes.operation} data-extent={extent}>
            {{ all: 'all records and fields', some: 'some of them', none: 'not allowed' }[extent]}
          </span>
        ))}
      </Group>
      <Table.ScrollContainer
        minWidth={240 + 150 * roles.length}
        scrollAreaProps={{ viewportProps: { tabIndex: 0, role: 'region', 'aria-label': 'Access of users' } }}
      >
        <Table aria-label="Entities and roles" verticalSpacing={4} horizontalSpacing={6} onKeyDown={moveFocus}>
          <Table.Thead>
            <Table.Tr>
              <Table.Th>Entity</Table.Th>
              {roles.map((role) => (
                <Table.Th key={formatRole(role)} scope="col">
                  {role === null ? <em>No role</em> : <bdi>{role}</bdi>}
                </Table.Th>
              ))}
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {page.map((entity) => (
              <Table.Tr key={entity.entity}>
                <Table.Th scope="row" fw={400} className={classes.entity ?? ''}>
                  <bdi>{entity.entity}</bdi>
                  <Group gap={4} wrap="nowrap" className={classes[entity.access] ?? ''}>
                    {entity.access === 'open' && <Icon name="warning" size={14} />}
                    <Text size="xs" {...(entity.access === 'open' ? {} : { c: 'dimmed' })}>
                      {ACCESS_WORDS[entity.access]}
                    </Text>
                  </Group>
                </Table.Th>
                {entity.roles.map((role) => (
                  <Table.Td key={formatRole(role.role)}>
                    <Cell workspace={workspace} entity={entity} role={role} />
                  </Table.Td>
                ))}
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </Table.ScrollContainer>
      {pageLinks}
    </section>
  );
}

interface CellProps {
  readonly workspace: WorkspaceRef;
  readonly entity: EntityAccess;
  readonly role: RoleAccess;
}

function Cell({ workspace, entity, role }: CellProps) {
  // Not every entity keeps a history.
  const operations = OPERATIONS.filter((operation) => role[operation] !== undefined);
  const extents = operations.map((operation) => [operation, getExtent(operation, entity, role)] as const);
  return (
    <Link
      to={screenPath(workspace, `/access/grants/${encodeURIComponent(entity.entity)}`)}
      className={classes.cell ?? ''}
      title={explain(entity, role)}
    >
      <VisuallyHidden>
        {entity.entity}, {formatRole(role.role)}:{' '}
      </VisuallyHidden>
      {extents.map(([operation, extent]) => (
        <span key={operation} className={classes.operation} data-extent={extent}>
          {operation} {extent === 'some' ? WORDS[extent] : <VisuallyHidden>{WORDS[extent]}</VisuallyHidden>}
        </span>
      ))}
    </Link>
  );
}

/** Explains a cell: the records and fields of each operation that is limited. */
function explain({ rowRules }: EntityAccess, role: RoleAccess): string {
  const lines = OPERATIONS.flatMap((operation) => {
    const { allowed = false, records = [], fields = null } = role[operation] ?? {};
    if (!allowed) return [];
    const where = records.length === 0 ? 'all records' : records.join('; or ');
    return [`${operation}: ${where}${fields === null ? '' : `; fields ${fields.join(', ') || 'none'}`}`];
  });
  if (lines.length === 0) return 'nothing';
  return [...lines, ...(rowRules.length === 0 ? [] : [`row rules on top: ${rowRules.join(' and ')}`])].join('\n');
}

const STEPS: Readonly<Record<string, readonly [row: number, cell: number]>> = {
  ArrowUp: [-1, 0],
  ArrowDown: [1, 0],
  ArrowLeft: [0, -1],
  ArrowRight: [0, 1],
};

/** Moves the focus to the next cell. */
function moveFocus(event: KeyboardEvent<HTMLTableElement>): void {
  const [down, right] = STEPS[event.key] ?? [];
  const cell = (event.target as HTMLElement).closest('td');
  const row = cell?.parentElement as HTMLTableRowElement | undefined;
  if (down === undefined || right === undefined || cell === null || row === undefined) return;
  const next = event.currentTarget.rows[row.rowIndex + down]?.cells[cell.cellIndex + right]?.querySelector('a');
  if (next === null || next === undefined) return;
  event.preventDefault();
  next.focus();
}
