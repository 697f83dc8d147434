-- A key or client may reach some entities alone. It stores their ids, which name no other entity ever: they stay when an
-- entity is renamed, and are not given again when it is gone.

-- Whoever writes at this moment is waited for, not for long: the start tries again.
set local lock_timeout = '5s';

create sequence wda.entity_id;

-- Ids by the names of entities. `before` has the name that each had until now: its id stays. Others get new ones.
create function wda.entity_ids(ids jsonb, names text[], before text[]) returns jsonb
language sql volatile set search_path = pg_catalog, pg_temp as $$
  select coalesce(jsonb_object_agg(n.name, coalesce(ids -> n.before, to_jsonb(nextval('wda.entity_id')))), '{}')
  from unnest(names, before) n (name, before)
$$;

alter table wda.workspace add column entity_ids jsonb not null default '{}';

update wda.workspace w set entity_ids = wda.entity_ids('{}', n.names, n.names)
from (
  select id, array(select json_object_keys(document -> 'entities')) as names
  from wda.workspace where json_typeof(document -> 'entities') = 'object'
) n where n.id = w.id;

drop trigger renew_version on wda.workspace;
create trigger renew_version
  before update of version, organization_id, slug, name, database_schema, document, names, gates, entity_ids
  on wda.workspace for each row execute function wda.renew_version();

-- null: all.
alter table wda.api_key add column entities bigint[]
  constraint api_key_entities check (array_position(entities, null) is null and (entities is null or permissions <> 'OWNER'));
alter table wda.oauth_client add column entities bigint[]
  constraint oauth_client_entities check (array_position(entities, null) is null and (entities is null or permissions <> 'OWNER'));

drop trigger renew_version on wda.api_key;
create trigger renew_version
  after insert or delete or update of workspace_id, name, prefix, hash, permissions, expires_at, entities
  on wda.api_key for each row execute function wda.renew_version_of_workspace();

set local lock_timeout to default;
