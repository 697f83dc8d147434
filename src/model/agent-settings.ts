// Permissions of agents in a workspace, which limit those of their credentials further.

export type AgentWrites = 'off' | 'confirm' | 'on';

export interface AgentSettings {
  /** Whether the workspace is open to agents. */
  readonly enabled: boolean;
  /** `confirm`: a write waits for the confirmation of a person. */
  readonly writes: AgentWrites;
  /** Ids of the entities that agents can access, or null for all. */
  readonly entities: readonly string[] | null;
}

export const DEFAULT_AGENT_SETTINGS: AgentSettings = { enabled: true, writes: 'off', entities: null };
