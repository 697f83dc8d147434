-- Tables that exist once for the whole installation: organizations that own workspaces, and facts about the installation
-- itself.
--
-- A file runs once in each installation and is never edited after its release: a change is a new file. An empty line follows
-- each statement, and none is in it, as statements are sent one at a time.

create table wda.organization (
  id bigint generated always as identity primary key,
  slug text collate "C" not null constraint organization_slug unique,
  name text not null,
  -- Limits of its workspaces that have none of their own, by name; what is missing is not limited.
  limits jsonb not null default '{}' constraint organization_limits check (jsonb_typeof(limits) = 'object'),
  created_at timestamptz(3) not null default now()
);

-- Facts about this installation, such as the hash of the operator's generated key.
create table wda.instance (
  name text primary key,
  value text not null
);

-- The keys that sign the tokens of all OAuth clients; one signs at a time, for all processes. `private_jwk` is the private
-- key: its reader can sign tokens, so a dump of this table is as secret as the records. Rotation erases it; the public half
-- stays until the last token that the key may have signed has expired. `token_lifetime_seconds` is the longest lifetime
-- that a process gave its tokens.
create table wda.signing_key (
  id bigint generated always as identity primary key,
  kid text collate "C" not null constraint signing_key_kid unique,
  public_jwk json not null,
  private_jwk json,
  token_lifetime_seconds integer not null,
  created_at timestamptz(3) not null default now(),
  rotated_at timestamptz(3),
  constraint signing_key_private check ((private_jwk is null) = (rotated_at is not null))
);

create unique index signing_key_one_signs on wda.signing_key ((true)) where rotated_at is null;

-- The current or last workspace of each slug: clients go on using an old slug for a while, so an owner may not rename a
-- workspace to one that another workspace had. No foreign key to the workspace: the slug of a deleted one is kept as well.
create table wda.slug_holder (
  organization_id bigint not null constraint slug_holder_organization references wda.organization (id) on delete cascade,
  slug text collate "C" not null,
  workspace_id bigint not null,
  -- Until then requests to a former slug are redirected to the present one; null for never.
  redirect_until timestamptz(3),
  primary key (organization_id, slug)
);

create index slug_holder_workspace_id on wda.slug_holder (workspace_id);
