// Where one begins: the operator sees organizations and workspaces; who has one workspace is taken to it.
import { Anchor, Group, List, Paper, SimpleGrid, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link, Navigate } from '@tanstack/react-router';
import { ask } from '../../api/ask.ts';
import { sessionQuery } from '../../api/session.ts';
import { Refused } from '../../shell/refused.tsx';
import { ScreenFrame } from '../../shell/screen-frame.tsx';

interface Named {
  readonly slug: string;
  readonly name: string;
}

export function Screen() {
  const { data: session } = useQuery(sessionQuery);
  const only = session?.workspaces.length === 1 ? session.workspaces[0] : undefined;
  if (session?.kind === 'owner' && only !== undefined)
    return <Navigate to="/$org/$ws" params={{ org: only.organization, ws: only.slug }} replace />;
  return session?.kind === 'operator' ? <Organizations /> : <ScreenFrame title="Workspaces">{null}</ScreenFrame>;
}

function Organizations() {
  const organizations = useQuery({
    queryKey: ['organizations'],
    queryFn: async ({ signal }) =>
      (await ask<readonly Named[]>({ path: '/admin/v1/organizations?size=200', signal })).data,
  });
  return (
    <ScreenFrame title="Organizations">
      <Refused error={organizations.error} onRetry={() => void organizations.refetch()} />
      <SimpleGrid cols={{ base: 1, sm: 2, lg: 3 }} spacing="sm">
        {organizations.data?.map((one) => (
          <Organization key={one.slug} {...one} />
        ))}
      </SimpleGrid>
    </ScreenFrame>
  );
}

function Organization({ slug, name }: Named) {
  const workspaces = useQuery({
    queryKey: ['workspaces', slug],
    queryFn: async ({ signal }) =>
      (
        await ask<readonly Named[]>({
          path: `/admin/v1/organizations/${encodeURIComponent(slug)}/workspaces?size=200`,
          signal,
        })
      ).data,
  });
  return (
    <Paper withBorder p="sm">
      <Group justify="space-between">
        <Anchor component={Link} to="/$org" params={{ org: slug } as never} fw={600} size="sm">
          <bdi>{name}</bdi>
        </Anchor>
        <Text size="xs" c="dimmed">
          {slug}
        </Text>
      </Group>
      <Refused error={workspaces.error} />
      <List listStyleType="none" size="sm" mt={4}>
        {workspaces.data?.map((one) => (
          <List.Item key={one.slug}>
            <Anchor component={Link} to="/$org/$ws" params={{ org: slug, ws: one.slug } as never} size="sm">
              <bdi>{one.name}</bdi>
            </Anchor>
          </List.Item>
        ))}
      </List>
    </Paper>
  );
}
