-- What is there once for the whole installation: who owns workspaces, and facts about the installation itself.
-- Files in this folder are run once each, in order, and never edited afterwards: a change is a new file. Up to 000012 a
-- number is that of the file of install/data that it was one file with, so some are missing.

create table wda.organization (
  id bigint generated always as identity primary key,
  slug text collate "C" not null constraint organization_slug unique,
  name text not null,
  created_at timestamptz(3) not null default now()
);

-- Facts about this installation, such as the hash of the operator's generated key.
create table wda.instance (
  name text primary key,
  value text not null
);
