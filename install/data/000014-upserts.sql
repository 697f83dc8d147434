-- The id, with the sequence of its table ahead of it, so that no later record is given it. Of a short gap each id is drawn,
-- as creates draw them, which only goes forward; a long one is passed in one step, by one statement at a time (the lock is
-- that of imports): setval would go back if others drew that many ids since the last look.
create function wda.reached_id(sequence regclass, id int8) returns int8 language plpgsql volatile strict as $$
declare
  last int8 := coalesce(pg_sequence_last_value(sequence), 0);
begin
  if id - last > 100000 then
    perform pg_advisory_xact_lock(7824481, (sequence::oid::int8 & 2147483647)::int4);
    last := coalesce(pg_sequence_last_value(sequence), 0);
    if id - last > 100000 then
      perform setval(sequence, id);
      return id;
    end if;
  end if;
  if id > last then
    perform nextval(sequence) from generate_series(1, id - last);
  end if;
  return id;
end $$;

-- Whether a statement has done what it should to every record. As an error when not, so that all of it is undone; the class
-- of the state is ours.
create function wda.is_whole(done int8, wanted int8) returns bool language plpgsql volatile as $$
begin
  if done is distinct from wanted then
    raise exception using errcode = 'WDA09', message = format('%s of %s records', done, wanted);
  end if;
  return true;
end $$;
