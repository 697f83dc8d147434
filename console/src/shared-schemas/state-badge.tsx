import { Badge } from '@mantine/core';
import type { RolloutState } from './shared-schemas-api.ts';
import { STATE_COLORS, STATE_WORDS } from './states.ts';

/** State of a rollout. */
export const RolloutStateBadge = ({
  state,
  size = 'md',
}: {
  readonly state: RolloutState;
  readonly size?: 'md' | 'lg';
}) => (
  // Light yellow has too little contrast.
  <Badge color={STATE_COLORS[state]} variant={state === 'paused' ? 'filled' : 'light'} tt="none" size={size}>
    {STATE_WORDS[state]}
  </Badge>
);
