// Command that adds this entity to an agent, if the server serves agents.
import { Paper, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { CopyableCode } from '../../access/copyable-code.tsx';
import { request } from '../../api/request.ts';
import { dataPath, type WorkspaceRef } from '../../api/workspace.ts';
import { useViewAs } from '../../shell/permissions.ts';

export function ForAgents({ workspace, entity }: { readonly workspace: WorkspaceRef; readonly entity: string }) {
  const isUser = useViewAs() !== undefined;
  const index = useQuery({
    queryKey: ['index', workspace.org, workspace.ws],
    queryFn: async ({ signal }) => (await request<{ mcp: string | null }>({ path: dataPath(workspace), signal })).data,
    staleTime: 60_000,
  });
  const address = index.data?.mcp ?? null;
  // A key sees more than the user whose records the screen shows.
  if (address === null || isUser) return null;
  const command = `claude mcp add --transport http ${workspace.ws} '${address}?entities=${entity}' --header "Authorization: Bearer $WDA_KEY"`;
  return (
    <Paper withBorder p="sm" mt="md">
      <Title order={2} mb={4}>
        For agents
      </Title>
      <CopyableCode label="MCP for Claude Code" text={command} />
    </Paper>
  );
}
