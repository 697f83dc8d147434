// Row for a field or a relation, which expands to its form.
import { ActionIcon, Badge, Button, Group, List, UnstyledButton } from '@mantine/core';
import type { ReactNode } from 'react';
import { Icon } from '../shell/icon.tsx';
import { CommitInput } from './commit-input.tsx';
import { renameMember } from './edits.ts';
import { checkName, type EntityFormState, getValue, listErrors } from './form-state.ts';
import { asText, moveAt, setAt } from './json-value.ts';
import classes from './schema.module.css';

export interface MemberRowProps {
  readonly form: EntityFormState;
  readonly part: 'fields' | 'relations';
  readonly name: string;
  /** Whether it was just added to the draft. */
  readonly isAdded: boolean;
  /** Names of the other members. */
  readonly others: readonly string[];
  readonly summary: string;
  readonly isFirst: boolean;
  readonly isLast: boolean;
  readonly children: ReactNode;
}

export function MemberRow({ form, part, name, isAdded, others, summary, isFirst, isLast, children }: MemberRowProps) {
  const { state, path } = form;
  const here = [...path, part, name];
  const id = `${part}.${name}`;
  const isOpen = form.open === id;
  const mistakes = listErrors(form, [part, name]);
  const former = asText(getValue(form, [part, name, 'renamedFrom']));
  const rename = (next: string): void => {
    state.setValue(renameMember(state.value, here, next, state.current.document));
    form.setOpen(`${part}.${next}`);
  };
  const remove = (): void => {
    state.setValue(setAt(state.value, here, undefined));
    form.setOpen(undefined);
  };
  return (
    <div className={classes.row}>
      <UnstyledButton
        className={classes.line}
        aria-expanded={isOpen}
        onClick={() => form.setOpen(isOpen ? undefined : id)}
      >
        <Icon name={isOpen ? 'down' : 'right'} size={12} />
        <bdi className={classes.name}>{name}</bdi>
        <span>{summary}</span>
        {former !== '' && (
          <Badge size="xs" variant="default" tt="none">
            renamed from {former}
          </Badge>
        )}
        {mistakes.length > 0 && (
          <Badge size="xs" color="red" tt="none">
            {mistakes.length === 1 ? '1 error' : `${mistakes.length} errors`}
          </Badge>
        )}
      </UnstyledButton>
      {isOpen && (
        <div className={classes.open}>
          <Group align="end" gap="sm" mb="xs">
            <CommitInput label="Name" value={name} refuse={checkName(others)} onCommit={rename} isAdded={isAdded} />
            <ActionIcon
              aria-label={`Move ${name} up`}
              disabled={isFirst}
              onClick={() => state.setValue(moveAt(state.value, here, -1))}
            >
              <Icon name="up" />
            </ActionIcon>
            <ActionIcon
              aria-label={`Move ${name} down`}
              disabled={isLast}
              onClick={() => state.setValue(moveAt(state.value, here, 1))}
            >
              <Icon name="down" />
            </ActionIcon>
            <Button variant="default" onClick={remove} leftSection={<Icon name="trash" size={14} />}>
              Remove {name}
            </Button>
          </Group>
          {children}
          {mistakes.length > 0 && (
            <List size="xs" mt="xs" className={classes.mistake}>
              {mistakes.map(({ field, message }) => (
                <List.Item key={`${field} ${message}`}>
                  <bdi>
                    {field?.split('.').slice(4).join('.')} {message}
                  </bdi>
                </List.Item>
              ))}
            </List>
          )}
        </div>
      )}
    </div>
  );
}
