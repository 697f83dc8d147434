-- Keys of requests that must not be done twice, each with the answer that the request was given. A key is written by the
-- transaction that writes the records. It lies in the database of the workspace.
create table wda.idempotency_key (
  -- SHA-256 of workspace, principal, method, path and key: who knows this table knows no keys.
  scope bytea primary key,
  -- SHA-256 of query and body.
  fingerprint bytea not null,
  workspace_id bigint not null,
  created_at timestamptz not null default now(),
  -- The answer; null only within the transaction that writes.
  status int2,
  etag text,
  location text,
  -- null: there is none, or it is longer than what is kept. Then the records are read anew.
  body text,
  -- JSON: what the records of the answer are.
  records text
);

-- Found by age when they expire. A block range index costs a write next to nothing.
create index idempotency_key_age on wda.idempotency_key using brin (created_at);
