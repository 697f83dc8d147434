-- Generated values for records that are there when their field comes. Citus takes no volatile function into an update, as each
-- node would run it anew; here each record is written by one node and keeps what it is given. So it is called immutable, with
-- the record's id as its argument, so that it is run for each of them.
create function {schema}."$uuid_for"(id int8) returns uuid language plpgsql immutable as $$
begin
  return pg_catalog.gen_random_uuid();
end $$;
