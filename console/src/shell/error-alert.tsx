// Alert for an error: the server's message, a hint, and the request id.
import { Alert, Button, CopyButton, Group, List, Text } from '@mantine/core';
import { type ErrorDetail, isApiError } from '../api/api-error.ts';

export interface ErrorAlertProps {
  /** Error; nothing is rendered if it is null or undefined. */
  readonly error: unknown;
  readonly onRetry?: (() => void) | undefined;
}

export function ErrorAlert({ error, onRetry }: ErrorAlertProps) {
  if (error === null || error === undefined) return null;
  const message = error instanceof Error ? error.message : String(error);
  const refusal = isApiError(error) ? error : undefined;
  // The message of a single error contains its detail.
  const [one, ...others] = refusal?.details ?? [];
  const details = one === undefined || (others.length === 0 && message.includes(one.message)) ? [] : [one, ...others];
  const copied = JSON.stringify({
    status: refusal?.status,
    code: refusal?.code,
    requestId: refusal?.requestId,
    at: location.pathname,
  });
  return (
    <Alert role="alert" color="red" variant="light" p="xs" my="xs">
      <Text size="sm">
        <bdi>{message}</bdi>
      </Text>
      {details.length > 0 && (
        <List size="sm" mt={4}>
          {details.slice(0, 20).map((detail) => (
            <List.Item key={`${detail.index}/${detail.id}/${detail.row}/${detail.field}/${detail.message}`}>
              <bdi>
                {formatPlace(detail)}
                {detail.index === undefined ? '' : `record ${detail.index + 1}: `}
                {detail.id === undefined ? '' : `record ${detail.id}: `}
                {detail.field === null ? '' : `${detail.field}: `}
                {detail.message}
                {detail.value === undefined ? '' : ` (${detail.value})`}
              </bdi>
            </List.Item>
          ))}
        </List>
      )}
      <Group gap="xs" mt={4}>
        {refusal?.requestId !== undefined && (
          <Text size="xs" c="dimmed">
            Request {refusal.requestId}
          </Text>
        )}
        <CopyButton value={copied}>
          {({ copied: isCopied, copy }) => (
            <Button variant="subtle" size="compact-xs" onClick={copy}>
              {isCopied ? 'Copied' : 'Copy details'}
            </Button>
          )}
        </CopyButton>
        {onRetry !== undefined && (
          <Button variant="subtle" size="compact-xs" onClick={onRetry}>
            Try again
          </Button>
        )}
      </Group>
    </Alert>
  );
}

/** Formats the place in a file: `row 3, line 5: `. */
function formatPlace({ row, line }: Pick<ErrorDetail, 'row' | 'line'>): string {
  if (row === undefined) return '';
  if (row === 0) return 'header: ';
  return line === undefined ? `row ${row}: ` : `row ${row}, line ${line}: `;
}
