// Menu of "Copy as".
import { Menu } from '@mantine/core';
import type { ReactElement, RefObject } from 'react';
import { TOOLS, type Tool } from '../snippets/snippets.ts';
import { OpenedMenu } from './opened-menu.tsx';

export interface CopyMenuProps {
  readonly target: (ref: RefObject<HTMLButtonElement | null>) => ReactElement;
  readonly onCopy: (tool: Tool) => void;
}

export default function CopyMenu({ target, onCopy }: CopyMenuProps) {
  return (
    <OpenedMenu target={target}>
      {TOOLS.map((tool) => (
        <Menu.Item key={tool} onClick={() => onCopy(tool)}>
          {tool}
        </Menu.Item>
      ))}
    </OpenedMenu>
  );
}
