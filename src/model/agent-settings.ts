// What agents may do in a workspace, besides what their credentials may not.

export type AgentWrites = 'off' | 'confirm' | 'on';

export interface AgentSettings {
  /** Whether the workspace is served to agents. */
  readonly enabled: boolean;
  /** `confirm`: a write waits for a person's yes. */
  readonly writes: AgentWrites;
  /** The ids of the entities that agents reach; null: all. */
  readonly entities: readonly string[] | null;
}

export const DEFAULT_AGENT_SETTINGS: AgentSettings = { enabled: true, writes: 'off', entities: null };
