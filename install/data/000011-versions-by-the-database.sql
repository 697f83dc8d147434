-- The version of a workspace is raised by the database, so that no statement can forget it: by every change of what its
-- snapshot or a verdict on a credential was made from.

-- Whoever writes at this moment is waited for, not for long: the start tries again.
set local lock_timeout = '5s';

-- Whether or not a statement says so itself: processes of an older version do. The name is in no snapshot, but costs nothing.
drop trigger renew_version on wda.workspace;
create trigger renew_version before update of version, organization_id, slug, name, database_schema, document, names, gates
  on wda.workspace for each row execute function wda.renew_version();

-- A snapshot carries the slug of its organization.
create function wda.renew_versions_of_organization() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  update wda.workspace set version = version + 1 where organization_id = new.id;
  return null;
end $$;

create trigger renew_versions after update of slug, name on wda.organization
  for each row execute function wda.renew_versions_of_organization();

-- What belongs to a workspace. When the workspace itself is deleted, and this with it, no row is found any more.
create function wda.renew_version_of_workspace() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  if tg_op <> 'INSERT' then
    update wda.workspace set version = version + 1 where id = old.workspace_id;
  end if;
  if tg_op = 'INSERT' or tg_op = 'UPDATE' and new.workspace_id <> old.workspace_id then
    update wda.workspace set version = version + 1 where id = new.workspace_id;
  end if;
  return null;
end $$;

-- Not of `last_used_at`: it is noted every few seconds, and no verdict depends on it.
create trigger renew_version after insert or delete or update of workspace_id, name, prefix, hash, permissions, expires_at
  on wda.api_key for each row execute function wda.renew_version_of_workspace();
create trigger renew_version after insert or delete or update
  on wda.identity_provider for each row execute function wda.renew_version_of_workspace();
create trigger renew_version after insert or delete or update
  on wda.oauth_client for each row execute function wda.renew_version_of_workspace();

set local lock_timeout to default;
