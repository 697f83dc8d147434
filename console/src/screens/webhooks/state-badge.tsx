import { Badge } from '@mantine/core';
import type { Webhook } from '../../webhooks/webhooks-api.ts';
import { STATES } from '../../webhooks/words.ts';

export const StateBadge = ({ state }: Pick<Webhook, 'state'>) => (
  <Badge {...(state === 'ok' ? { variant: 'default' } : { color: state === 'failing' ? 'red' : 'gray' })} tt="none">
    {STATES[state]}
  </Badge>
);
