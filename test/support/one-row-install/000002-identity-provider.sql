-- The identity provider whose users may use a workspace (OpenID Connect Discovery 1.0, RFC 7519), at most one each.
-- `issuer_url` is compared with the tokens' `iss` to the byte.

create table wda.identity_provider (
  workspace_id bigint primary key constraint identity_provider_workspace references wda.workspace (id) on delete cascade,
  issuer_url text collate "C" not null,
  jwks_uri text collate "C",
  audience text collate "C",
  default_permissions text not null
    constraint identity_provider_default_permissions check (default_permissions in ('READ_ONLY', 'READ_WRITE')),
  enabled boolean not null,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now()
);

-- The admin API finds the workspaces that a token of an external user may be for by its issuer.
create index identity_provider_issuer_url on wda.identity_provider (issuer_url) where enabled;
