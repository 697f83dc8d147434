-- The epoch of a workspace is part of its records' versions and of cursors. A version is the number of a transaction, and a
-- workspace that is restored has other ones: without the epoch a tag of the time before could be, by chance, that of
-- another record. Those that are here already go on with tags without one.

-- Whoever writes at this moment is waited for, not for long: the start tries again.
set local lock_timeout = '5s';

alter table wda.workspace add column epoch text collate "C" not null default '';
alter table wda.workspace alter column epoch set default left(replace(gen_random_uuid()::text, '-', ''), 8);

-- It is part of the snapshot.
drop trigger renew_version on wda.workspace;
create trigger renew_version
  before update of version, organization_id, slug, name, database_schema, document, names, gates, entity_ids, epoch
  on wda.workspace for each row execute function wda.renew_version();

set local lock_timeout to default;
