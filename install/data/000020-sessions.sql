-- Sessions of the console: who has signed in, by the key that was exchanged for the session. They stand beside the keys, whose
-- deletion ends them. Requests read the row each time, so its end is in force at once, in every process.
create table wda.session (
  -- Its name in lists; the secret is in the cookie.
  id bigint generated always as identity primary key,
  -- SHA-256 of the id in the cookie.
  id_hash bytea not null constraint session_id_hash unique,
  api_key_id bigint constraint session_api_key references wda.api_key (id) on delete cascade,
  -- SHA-256 (hex) of the operator's key: the session ends with it.
  operator_hash text,
  created_at timestamptz(3) not null default now(),
  last_used_at timestamptz(3) not null default now(),
  expires_at timestamptz(3) not null,
  user_agent text not null,
  constraint session_subject check (num_nonnulls(api_key_id, operator_hash) = 1)
);

create index session_api_key_id on wda.session (api_key_id);
create index session_expires_at on wda.session (expires_at);

-- Links that sign the operator in once.
create table wda.console_link (
  -- SHA-256 of the code in the link.
  code_hash bytea primary key,
  operator_hash text not null,
  expires_at timestamptz(3) not null
);
