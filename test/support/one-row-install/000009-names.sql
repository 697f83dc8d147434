-- A migration that waits for a lock says for whose; names in PostgreSQL become those of the document again.

-- Who holds what the migration waits for: {pid, application, since}; null while it waits for nobody.
alter table wda.migration add column waiting jsonb;

-- `freed`: names of tables ("orders") and columns ("orders.total") that lately were something else, with the moment since
-- when they are not. Statements of an older snapshot may still use them, so nothing else is given such a name.
alter table wda.workspace add column freed jsonb not null default '{}';

-- Workspaces whose names in PostgreSQL are not all those of the document: few, and looked for every 5 s.
create index workspace_names on wda.workspace (id) where names <> '{"tables": {}, "columns": {}}';
