// List of the entities of a schema with a search and their relations: the accessible form of the diagram, for keyboards
// and screen readers.
import { Badge, TextInput, UnstyledButton } from '@mantine/core';
import { useState } from 'react';
import { formatCount } from '../format/amount.ts';
import type { DiagramEntity } from './diagram.ts';
import classes from './schema.module.css';

export interface EntityListProps {
  readonly label: string;
  readonly entities: readonly DiagramEntity[];
  readonly at: string | undefined;
  readonly onChoose: (name: string) => void;
  readonly showsRelations?: boolean;
  /** Names of entities with errors. */
  readonly invalid?: ReadonlySet<string>;
  /** Badges of entities that the draft changes. */
  readonly marks?: ReadonlyMap<string, string>;
}

export function EntityList(props: EntityListProps) {
  const { label, entities, at, onChoose, showsRelations, invalid, marks } = props;
  const [typed, setTyped] = useState('');
  const query = typed.trim().toLowerCase();
  const matches = entities.filter(({ name }) => name.toLowerCase().includes(query));
  const first = matches[0];
  return (
    <div>
      <TextInput
        aria-label="Find an entity of the schema"
        placeholder={`Find one of ${formatCount(entities.length)}`}
        value={typed}
        onChange={(event) => setTyped(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === 'Enter' && first !== undefined) onChoose(first.name);
        }}
        mb={6}
      />
      <ul className={classes.list} aria-label={label}>
        {matches.map((entity) => (
          <li key={entity.name}>
            <div className={classes.item}>
              <UnstyledButton
                className={classes.entry}
                aria-current={entity.name === at ? 'true' : undefined}
                onClick={() => onChoose(entity.name)}
              >
                <bdi>{entity.name}</bdi>
              </UnstyledButton>
              {marks?.has(entity.name) && (
                <Badge size="xs" variant="default" tt="none" flex="none">
                  {marks.get(entity.name)}
                </Badge>
              )}
              {invalid?.has(entity.name) && (
                <Badge size="xs" color="red" tt="none" flex="none">
                  mistakes
                </Badge>
              )}
            </div>
            {showsRelations && entity.relations.length > 0 && (
              <ul className={classes.relations} aria-label={`Relations of ${entity.name}`}>
                {entity.relations.map(({ name, kind, to }) => (
                  <li key={name}>
                    <bdi>{name}</bdi>: {kind} <bdi>{to}</bdi>
                  </li>
                ))}
              </ul>
            )}
          </li>
        ))}
      </ul>
    </div>
  );
}
