-- OAuth clients have permissions as keys do, and the tokens of a client have them, too.
alter table wda.oauth_client
  add column permissions text not null default 'OWNER'
  constraint oauth_client_permissions check (permissions in ('OWNER', 'READ_WRITE', 'READ_ONLY'));

-- Workspaces keep the table of slugs (install/control).
insert into wda.slug_holder (organization_id, slug, workspace_id)
select organization_id, slug, id from wda.workspace;

create function wda.keep_slug() returns trigger language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  insert into wda.slug_holder as s (organization_id, slug, workspace_id)
  values (new.organization_id, new.slug, new.id)
  on conflict (organization_id, slug) do update set workspace_id = excluded.workspace_id
  where s.workspace_id <> excluded.workspace_id;
  return null;
end $$;

create trigger keep_slug after insert or update of slug on wda.workspace for each row execute function wda.keep_slug();
