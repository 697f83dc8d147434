// Links from a screen of shared schemas to the screens above it.
import { Anchor, Breadcrumbs, Text } from '@mantine/core';
import { Link, useParams } from '@tanstack/react-router';
import { type SharedSchemaRef, schemaScreen, schemasScreen } from './shared-schemas-api.ts';

/** Returns the shared schema of the address. */
export function useSharedSchema(): SharedSchemaRef {
  const { org = '', name = '' } = useParams({ strict: false }) as Partial<SharedSchemaRef>;
  return { org, name };
}

/** Renders the way to a screen, whose name is `here`. */
export function Trail({ org, name, here }: Partial<SharedSchemaRef> & { readonly org: string; readonly here: string }) {
  const links = [
    { to: '/', text: 'Start' },
    { to: `/${org}`, text: org },
    ...(name === undefined
      ? []
      : [
          { to: schemasScreen(org), text: 'Shared schemas' },
          ...(here === name ? [] : [{ to: schemaScreen({ org, name }), text: name }]),
        ]),
  ];
  return (
    <nav aria-label="Place">
      <Breadcrumbs separatorMargin={6} mb={4} style={{ flexWrap: 'wrap' }}>
        {links.map(({ to, text }) => (
          <Anchor key={to} component={Link} to={to} size="xs">
            <bdi>{text}</bdi>
          </Anchor>
        ))}
        <Text size="xs" c="dimmed">
          <bdi>{here}</bdi>
        </Text>
      </Breadcrumbs>
    </nav>
  );
}
