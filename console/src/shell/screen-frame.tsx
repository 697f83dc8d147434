// Frame of every screen: one heading of level 1, a title of the document, and its actions.
import { Group, Title } from '@mantine/core';
import { useParams } from '@tanstack/react-router';
import { type ReactNode, useEffect } from 'react';

export interface ScreenFrameProps {
  readonly title: string;
  /** Buttons next to the heading. */
  readonly actions?: ReactNode;
  readonly children: ReactNode;
}

export function ScreenFrame({ title, actions, children }: ScreenFrameProps) {
  const { org, ws } = useParams({ strict: false }) as { readonly org?: string; readonly ws?: string };
  useEffect(() => {
    const place = org === undefined ? '' : ` · ${org}${ws === undefined ? '' : `/${ws}`}`;
    document.title = `${title}${place} · Console`;
  }, [title, org, ws]);
  return (
    <>
      <Group justify="space-between" align="center" mb="sm" wrap="wrap" gap="xs">
        <Title order={1} tabIndex={-1}>
          <bdi>{title}</bdi>
        </Title>
        {actions === undefined ? null : <Group gap="xs">{actions}</Group>}
      </Group>
      {children}
    </>
  );
}
