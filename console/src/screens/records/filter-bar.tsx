// Filters of the list as chips: a click edits one, the cross removes it. An error of the list appears here, next to the
// chip that causes it.
import { Button, Group } from '@mantine/core';
import { isApiError } from '../../api/api-error.ts';
import type { TimeZone } from '../../format/datetime.ts';
import type { Chip } from '../../records/filter.ts';
import {
  correctChip,
  describeCondition,
  findInvalidChips,
  findInvalidSort,
  parseConditions,
  parseSuggestion,
} from '../../records/filter.ts';
import { formatValue } from '../../records/value.ts';
import { ErrorAlert } from '../../shell/error-alert.tsx';
import { Icon } from '../../shell/icon.tsx';

export interface FilterBarProps {
  readonly chips: readonly Chip[];
  /** Sort keys, one of which may cause the error. */
  readonly sort: readonly string[];
  readonly refused: unknown;
  readonly zone: TimeZone;
  /** Returns whether values of a path are dates and times. */
  readonly isMoment: (path: string) => boolean;
  readonly onChips: (chips: readonly Chip[]) => void;
  readonly onSort: (sort: readonly string[]) => void;
  readonly onEdit: (index: number) => void;
  readonly onRetry: () => void;
}

export function FilterBar(props: FilterBarProps) {
  const { chips, sort, refused, zone, isMoment, onChips, onSort, onEdit, onRetry } = props;
  const isMistaken = isApiError(refused) && refused.status === 400;
  const wrongSort = isMistaken ? findInvalidSort(refused.message, sort) : [];
  const wrong = isMistaken && wrongSort.length === 0 ? findInvalidChips(refused.message, chips) : [];
  const suggestion = isMistaken ? parseSuggestion(refused.message) : undefined;
  const words = (chip: Chip): string =>
    parseConditions(chip)
      .map((one) =>
        describeCondition(one, (value) => (isMoment(one.path) ? formatValue(value, 'datetime', zone) : value)),
      )
      .join(' or ');
  return (
    <>
      {chips.length > 0 && (
        <ul className="records-line chips" aria-label="Filters">
          {chips.map((chip, index) => {
            const isWrong = wrong.includes(chip);
            return (
              <li key={`${index}/${chip.text}`} className="chip" data-wrong={isWrong || undefined}>
                <button
                  type="button"
                  onClick={() => onEdit(index)}
                  aria-invalid={isWrong || undefined}
                  title={chip.text}
                >
                  {isWrong && <span className="visually-hidden">Invalid: </span>}
                  <bdi>{words(chip)}</bdi>
                </button>
                <button
                  type="button"
                  aria-label={`Remove filter ${words(chip)}`}
                  onClick={() => onChips(chips.filter((_, at) => at !== index))}
                >
                  <Icon name="close" size={12} />
                </button>
              </li>
            );
          })}
        </ul>
      )}
      <ErrorAlert error={refused} onRetry={isMistaken ? undefined : onRetry} />
      {isMistaken && (
        <Group gap="xs">
          {wrongSort.length > 0 && (
            <Button onClick={() => onSort(sort.filter((key) => !wrongSort.includes(key)))}>Remove the sort</Button>
          )}
          {suggestion !== undefined && wrong.length > 0 && (
            <Button
              onClick={() =>
                onChips(chips.map((chip) => (wrong.includes(chip) ? correctChip(chip, suggestion) : chip)))
              }
            >
              Use {suggestion.right}
            </Button>
          )}
          {wrong.length > 0 && (
            <Button variant="default" onClick={() => onChips(chips.filter((chip) => !wrong.includes(chip)))}>
              Remove {wrong.length === 1 ? 'this filter' : 'these filters'}
            </Button>
          )}
        </Group>
      )}
    </>
  );
}
