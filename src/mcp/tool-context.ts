// Context and outcome of a tool call.

import type { InternalRequest } from '../data-api/internal-request.ts';
import type { AgentWrites } from '../model/agent-settings.ts';
import type { Reply } from '../response/reply.ts';
import type { Confirmations } from './confirmation.ts';
import type { AgentContext } from './descriptions.ts';

export interface ToolLimits {
  /** Maximum of records on a page. */
  readonly maxRows: number;
  /** Maximum of bytes of the text of a result. */
  readonly maxBytes: number;
}

/** Context of a tool call. */
export interface ToolContext extends ToolLimits {
  readonly agentContext: AgentContext;
  /** Executes a request of the data API as the caller. Throws its errors. */
  readonly execute: (internalRequest: InternalRequest) => Promise<Reply>;
  /** Executes a write and undoes it. Throws the error that the write would have now. */
  readonly dryRun: (internalRequest: InternalRequest) => Promise<void>;
  readonly writes: AgentWrites;
  readonly confirmationState: ConfirmationState;
}

/** State of the confirmation of a call. */
export interface ConfirmationState {
  /** Confirmation token, or undefined if there is no consent yet. */
  readonly confirmation: string | undefined;
  /** Whether the host can ask a person itself. Otherwise the agent gets the token and repeats it. */
  readonly canElicit: boolean;
  /** Workspace and principal who confirm. */
  readonly subject: readonly unknown[];
  readonly confirmations: Confirmations;
}

/** Text of a result, or a change that waits for its confirmation. */
export type Outcome = string | Preview;

export interface Preview {
  readonly preview: string;
  readonly confirmation: string;
}
