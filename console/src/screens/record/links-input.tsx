// Form input of a many-to-many relation: the related records, each with a button that takes it away, and a picker of more.
import { Anchor, CloseButton, Group, Input, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useId, useState } from 'react';
import { stringifySearch } from '../../address.ts';
import { requestExact } from '../../api/request.ts';
import { type RelationDocument, schemaQuery } from '../../api/schema.ts';
import { recordScreenPath } from '../../records/cell-value.tsx';
import { addLink, type LinkDraft, removeLink } from '../../records/link-draft.ts';
import { getLabel, getRecordLabel, listLabelPaths } from '../../records/record-label.ts';
import { RecordLink, RecordPicker } from '../../records/record-picker.tsx';
import { type EntityRef, entityPath } from '../../records/requests.ts';
import { getId, getMember, type RecordValue } from '../../records/value.ts';

// Most related records that are listed; the others stay as they are.
const SHOWN = 100;

export interface LinksInputProps {
  readonly entityRef: EntityRef;
  /** Id of the record, or undefined for a new one. */
  readonly id: string | undefined;
  readonly relation: RelationDocument;
  readonly draft: LinkDraft;
  readonly isDisabled: boolean;
  readonly mistake: string | undefined;
  readonly onChange: (draft: LinkDraft) => void;
}

function useLinked(entityRef: EntityRef, id: string | undefined, { name, entity: target }: RelationDocument) {
  const { data: schema } = useQuery(schemaQuery(entityRef));
  const label = getLabel(schema?.entities.get(target));
  const search = stringifySearch({
    expand: name,
    fields: [`${name}.id`, ...listLabelPaths(label, name)].join(),
    [`${name}.size`]: String(SHOWN + 1),
  });
  const { data, error } = useQuery({
    queryKey: ['record', entityRef.org, entityRef.ws, entityRef.entity, id, 'links', search],
    enabled: schema !== undefined && id !== undefined,
    queryFn: async ({ signal }) =>
      (await requestExact<RecordValue>({ path: entityPath(entityRef, `/${id}${search}`), signal })).data,
  });
  const records = (data === undefined ? [] : getMember(data, name)) as readonly RecordValue[];
  return { label, records, error };
}

export function LinksInput({ entityRef, id, relation, draft, isDisabled, mistake, onChange }: LinksInputProps) {
  const { name, entity: target } = relation;
  const { label, records, error } = useLinked(entityRef, id, relation);
  const [text, setText] = useState('');
  const inputId = useId();
  const stored = records.map(getId);
  const listed = records.slice(0, SHOWN).filter((record) => !draft.removed.includes(getId(record)));
  const remove = (linkedId: string, title: string) => (
    <CloseButton
      size={24}
      aria-label={`Remove ${title} from ${name}`}
      disabled={isDisabled}
      onClick={() => onChange(removeLink(draft, linkedId, stored))}
    />
  );
  return (
    <Input.Wrapper
      className="field-input"
      id={inputId}
      label={<bdi>{name}</bdi>}
      description={`Records of ${target}`}
      error={mistake ?? error?.message}
    >
      <Group gap="sm" component="ul" aria-label={name} my={4} p={0} style={{ listStyle: 'none' }}>
        {listed.map((record) => (
          <Group key={getId(record)} gap={8} component="li">
            <Anchor component={Link} size="sm" to={recordScreenPath(entityRef, target, getId(record))}>
              <bdi dir="auto">{getRecordLabel(record, label)}</bdi>
            </Anchor>
            {remove(getId(record), getRecordLabel(record, label))}
          </Group>
        ))}
        {draft.added.map((added) => (
          <Group key={added} gap={8} component="li">
            <RecordLink workspace={entityRef} target={target} id={added} />
            {remove(added, `record ${added}`)}
          </Group>
        ))}
      </Group>
      {records.length > SHOWN && <Text size="xs">and more, which stay</Text>}
      <RecordPicker
        workspace={entityRef}
        target={target}
        id={inputId}
        className="value-editor"
        placeholder="Add a record"
        disabled={isDisabled}
        text={text}
        onText={setText}
        onChosen={(chosen) => {
          onChange(addLink(draft, chosen, stored));
          setText('');
        }}
        takesFocus={false}
      />
    </Input.Wrapper>
  );
}
