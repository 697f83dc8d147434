// Menu that is loaded with its first click: with what places it on the page it takes 30 kB of script.
import { Menu, type MenuProps } from '@mantine/core';
import { type ReactElement, type ReactNode, type RefObject, useEffect, useRef, useState } from 'react';

export interface OpenedMenuProps extends Pick<MenuProps, 'position'> {
  /** Returns the button of the menu. */
  readonly target: (ref: RefObject<HTMLButtonElement | null>) => ReactElement;
  readonly children: ReactNode;
}

/** A menu that opens once it is there, and leads the focus back to its button. */
export function OpenedMenu({ target, children, position = 'bottom-end' }: OpenedMenuProps) {
  const [isOpen, setOpen] = useState(false);
  const button = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    button.current?.focus();
    setOpen(true);
  }, []);
  return (
    <Menu position={position} withinPortal opened={isOpen} onChange={setOpen}>
      <Menu.Target>{target(button)}</Menu.Target>
      <Menu.Dropdown>{children}</Menu.Dropdown>
    </Menu>
  );
}
