-- OAuth clients have permissions as keys do, and the tokens of a client have them, too.
alter table wda.oauth_client
  add column permissions text not null default 'OWNER'
  constraint oauth_client_permissions check (permissions in ('OWNER', 'READ_WRITE', 'READ_ONLY'));

-- Which workspace a slug stands for, or stood for last: clients go on calling an old slug for a while, so an owner may not
-- rename a workspace to one that was another's. No foreign key to the workspace: the slug of a deleted one is kept as well.
create table wda.slug_holder (
  organization_id bigint not null constraint slug_holder_organization references wda.organization (id) on delete cascade,
  slug text collate "C" not null,
  workspace_id bigint not null,
  primary key (organization_id, slug)
);

create index slug_holder_workspace_id on wda.slug_holder (workspace_id);

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
