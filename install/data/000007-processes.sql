-- The server processes that answer requests from memory. Whoever changes something asks all others to look (`asked`
-- grows) and waits until each has done so (`heard` follows); a row that stays behind for about a second belongs to a
-- process that answers nothing from memory any more, and is deleted. Nothing is written here while nothing changes.
create table wda.process (
  id uuid primary key,
  -- Where it runs, for people.
  place text not null,
  asked bigint not null default 0,
  heard bigint not null default 0,
  -- Workspaces that requests were about when it last heard, each with the oldest version that one was planned by.
  busy jsonb not null default '{}',
  started_at timestamptz(3) not null default now()
);
