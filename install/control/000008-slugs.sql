-- Which workspace a slug stands for, or stood for last: clients go on calling an old slug for a while, so an owner may not
-- rename a workspace to one that was another's. No foreign key to the workspace: the slug of a deleted one is kept as well.
create table wda.slug_holder (
  organization_id bigint not null constraint slug_holder_organization references wda.organization (id) on delete cascade,
  slug text collate "C" not null,
  workspace_id bigint not null,
  primary key (organization_id, slug)
);

create index slug_holder_workspace_id on wda.slug_holder (workspace_id);
