// Where a tool is used, and what comes of it: the forms that its parts agree on.

import type { InternalRequest } from '../data-api/internal-request.ts';
import type { AgentWrites } from '../model/agent-settings.ts';
import type { Reply } from '../response/reply.ts';
import type { Confirmations } from './confirmation.ts';
import type { AgentContext } from './descriptions.ts';

export interface ToolLimits {
  /** Records of a page. */
  readonly maxRows: number;
  /** Of the text of a result. */
  readonly maxBytes: number;
}

/** Where a tool is used. */
export interface ToolContext extends ToolLimits {
  readonly agentContext: AgentContext;
  /** The data API's answer to whoever uses the tool. Throws its refusals. */
  readonly execute: (internalRequest: InternalRequest) => Promise<Reply>;
  readonly writes: AgentWrites;
  readonly confirmationState: ConfirmationState;
}

/** What is known of a confirmation of the call. */
export interface ConfirmationState {
  /** Its text, once somebody has agreed. */
  readonly confirmation: string | undefined;
  /** Whether the host asks a person by itself. Otherwise the agent is told the text, to repeat it. */
  readonly canElicit: boolean;
  /** The workspace, and who agrees. */
  readonly subject: readonly unknown[];
  readonly confirmations: Confirmations;
}

/** The text of a result, or a change that waits for a yes. */
export type Outcome = string | Preview;

export interface Preview {
  readonly preview: string;
  readonly confirmation: string;
}
