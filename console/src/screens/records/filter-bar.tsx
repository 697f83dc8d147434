// Filters of the list as chips: a click edits one, the cross removes it. Filters and sort keys that the server rejects are
// marked, with its message; the list is shown without them.
import { Button, Group, Text } from '@mantine/core';
import { isApiError } from '../../api/api-error.ts';
import type { WorkspaceRef } from '../../api/workspace.ts';
import type { TimeZone } from '../../format/datetime.ts';
import type { RecordColumn } from '../../records/fields.ts';
import { type Chip, describeCondition, parseConditions, parseSuggestion, splitList } from '../../records/filter.ts';
import { correctPart, type InvalidPart, includesChip, omitPart } from '../../records/invalid-query.ts';
import { getSortDirection, type ListQuery } from '../../records/list-query.ts';
import { type RecordOf, useRecordLabels } from '../../records/record-picker.tsx';
import { formatValue } from '../../records/value.ts';
import { ErrorAlert } from '../../shell/error-alert.tsx';
import { Icon } from '../../shell/icon.tsx';

type Narrowing = Pick<ListQuery, 'chips' | 'sort' | 'search'>;

export interface FilterBarProps extends Narrowing {
  /** Parts that the server rejected, without which the list is shown. */
  readonly invalid: readonly InvalidPart[];
  /** Error of the list that is about none of its parts. */
  readonly refused: unknown;
  readonly zone: TimeZone;
  readonly workspace: WorkspaceRef;
  readonly getColumn: (path: string) => RecordColumn | undefined;
  readonly onChange: (query: Partial<Narrowing>) => void;
  readonly onEdit: (index: number) => void;
  readonly onRetry: () => void;
}

export function FilterBar(props: FilterBarProps) {
  const { chips, sort, search, invalid, refused, zone, workspace, getColumn, onChange, onEdit, onRetry } = props;
  const isMistaken = isApiError(refused) && refused.status === 400;
  const isToldAbove = isMistaken && invalid.some(({ error }) => error.message === refused.message);
  const related = chips.flatMap(parseConditions).flatMap((one): RecordOf[] => {
    const target = getRelated(getColumn(one.path));
    return target === undefined || one.value === undefined ? [] : splitList(one.value).map((id) => ({ target, id }));
  });
  const getLabel = useRecordLabels(workspace, related.slice(0, MOST_NAMED));
  const format = (value: string, column: RecordColumn | undefined): string => {
    const target = getRelated(column);
    if (target !== undefined) return getLabel(target, value) ?? value;
    return column?.type === 'datetime' ? formatValue(value, 'datetime', zone) : value;
  };
  const describe = (chip: Chip): string =>
    parseConditions(chip)
      .map((one) => describeCondition(one, (value) => format(value, getColumn(one.path))))
      .join(' or ');
  const invalidSearch = invalid.find((part) => part.search !== '');
  const invalidSort = sort.filter((key) => invalid.some((part) => part.sort.includes(key)));
  return (
    <>
      {(chips.length + invalidSort.length > 0 || invalidSearch !== undefined) && (
        <ul className="records-line chips" aria-label="Filters">
          {chips.map((chip, index) => (
            <FilterChip
              key={`${index}/${chip.text}`}
              text={describe(chip)}
              kind="filter"
              reason={invalid.find((part) => includesChip(part, chip))?.error.message}
              title={chip.text}
              onEdit={() => onEdit(index)}
              onRemove={() => onChange({ chips: chips.filter((_, at) => at !== index) })}
            />
          ))}
          {invalidSort.map((key) => (
            <FilterChip
              key={`sort/${key}`}
              text={describeSort(key)}
              kind="sort"
              reason={invalid.find((part) => part.sort.includes(key))?.error.message}
              title={key}
              onRemove={() => onChange({ sort: sort.filter((one) => one !== key) })}
            />
          ))}
          {invalidSearch !== undefined && (
            <FilterChip
              text={`search ${search}`}
              kind="search"
              reason={invalidSearch.error.message}
              title={search}
              onRemove={() => onChange({ search: '' })}
            />
          )}
        </ul>
      )}
      {invalid.map((part) => (
        <InvalidNotice
          key={part.error.message}
          part={part}
          correction={correctPart({ chips, sort }, part)}
          onChange={onChange}
          onRemove={() => onChange(omitPart({ chips, sort, search }, part))}
        />
      ))}
      {!isToldAbove && <ErrorAlert error={refused} onRetry={isMistaken ? undefined : onRetry} />}
    </>
  );
}

// Most ids in filters whose records are shown by name, with a request each.
const MOST_NAMED = 20;

const getRelated = (column: RecordColumn | undefined): string | undefined =>
  column?.type === 'relation' ? column.target : undefined;

const describeSort = (key: string): string =>
  `sorted by ${key.split(',')[0]}${getSortDirection([key], key.split(',')[0] ?? '') === 'descending' ? ', descending' : ''}`;

interface FilterChipProps {
  readonly text: string;
  readonly kind: 'filter' | 'sort' | 'search';
  /** Message of the server if it rejects this part. */
  readonly reason: string | undefined;
  readonly title: string;
  readonly onEdit?: () => void;
  readonly onRemove: () => void;
}

function FilterChip({ text, kind, reason, title, onEdit, onRemove }: FilterChipProps) {
  const isInvalid = reason !== undefined;
  const content = (
    <>
      {isInvalid && <span className="visually-hidden">Invalid: </span>}
      <bdi>{text}</bdi>
    </>
  );
  return (
    <li className="chip" data-wrong={isInvalid || undefined}>
      {onEdit === undefined ? (
        <span className="chip-text" title={reason ?? title}>
          {content}
        </span>
      ) : (
        <button type="button" onClick={onEdit} aria-invalid={isInvalid || undefined} title={reason ?? title}>
          {content}
        </button>
      )}
      <button type="button" aria-label={`Remove ${kind} ${text}`} onClick={onRemove}>
        <Icon name="close" size={12} />
      </button>
    </li>
  );
}

interface InvalidNoticeProps {
  readonly part: InvalidPart;
  /** Query with the server's suggestion, if it has one. */
  readonly correction: Partial<Narrowing> | undefined;
  readonly onChange: (query: Partial<Narrowing>) => void;
  readonly onRemove: () => void;
}

function InvalidNotice({ part, correction, onChange, onRemove }: InvalidNoticeProps) {
  const { chips, sort, error } = part;
  const filters = chips.length === 0 ? [] : [chips.length === 1 ? 'this filter' : 'these filters'];
  const parts = [
    ...filters,
    ...(sort.length === 0 ? [] : ['the sort']),
    ...(part.search === '' ? [] : ['the search']),
  ].join(' and ');
  return (
    <div>
      <ErrorAlert error={error} />
      <Group gap="xs">
        <Text size="sm">The list is shown without {parts}.</Text>
        {correction !== undefined && (
          <Button onClick={() => onChange(correction)}>Use {parseSuggestion(error.message)?.right}</Button>
        )}
        <Button variant="default" onClick={onRemove}>
          Remove {parts}
        </Button>
      </Group>
    </div>
  );
}
