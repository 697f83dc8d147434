// Dialog for the limits of a workspace, which only the operator sets.
import { TextInput } from '@mantine/core';
import { fieldError } from '../../api/api-error.ts';
import type { WorkspaceListed } from '../../api/types.ts';
import { formatBytes, formatCount, parseAmount } from '../../format/amount.ts';
import { FormDialog } from '../../shell/dialogs.tsx';

type Limits = NonNullable<WorkspaceListed['limits']>;
type LimitName = keyof Limits;

const FIELDS: readonly (readonly [name: LimitName, label: string, description: string])[] = [
  ['maxRecords', 'Records', 'Of all entities together. Empty: the limit of the organization'],
  ['maxBytes', 'Size', 'Of tables and indexes, such as 500 MB or 2 GB. Empty: the limit of the organization'],
  ['maxRequestsPerMinute', 'Requests per minute', 'To the data API. Empty: the limit of the organization'],
];

/** Describes the limits that the workspace has itself. */
export function formatLimits(limits: Limits = {}): string {
  const parts = [
    limits.maxRecords === undefined ? '' : `${formatCount(limits.maxRecords)} records`,
    limits.maxBytes === undefined ? '' : formatBytes(limits.maxBytes),
    limits.maxRequestsPerMinute === undefined ? '' : `${formatCount(limits.maxRequestsPerMinute)} requests a minute`,
  ].filter((part) => part !== '');
  return parts.length === 0 ? 'those of the organization' : parts.join(', ');
}

export interface LimitsDialogProps {
  readonly before: Limits | undefined;
  readonly onClose: () => void;
  readonly save: (limits: Readonly<Record<LimitName, unknown>>) => Promise<void>;
}

export function LimitsDialog({ before = {}, onClose, save }: LimitsDialogProps) {
  const read = (data: FormData, name: LimitName): unknown => {
    const text = String(data.get(name) ?? '').trim();
    // Text that is no amount is sent as typed: the server says what is wrong with it.
    return text === '' ? null : (parseAmount(text) ?? text);
  };
  return (
    <FormDialog
      title="Limits of the workspace"
      action="Save"
      fields={FIELDS.map(([name]) => `limits.${name}`)}
      onClose={onClose}
      onSubmit={(data) =>
        save({
          maxRecords: read(data, 'maxRecords'),
          maxBytes: read(data, 'maxBytes'),
          maxRequestsPerMinute: read(data, 'maxRequestsPerMinute'),
        })
      }
    >
      {(error) =>
        FIELDS.map(([name, label, description], index) => (
          <TextInput
            key={name}
            name={name}
            label={label}
            description={description}
            defaultValue={before[name] === undefined ? '' : String(before[name])}
            error={fieldError(error, `limits.${name}`)}
            autoComplete="off"
            data-autofocus={index === 0 || undefined}
          />
        ))
      }
    </FormDialog>
  );
}
