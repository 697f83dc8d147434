-- "$words"(text) tells what it takes, so that PostgreSQL looks for words in their index and does not make those of every
-- record, 1 to 5 ms for a text of 9 KB: while new entries of the index wait to be put into place, it took the index for
-- nearly as expensive as reading the table. 10,000 is what a text of 1 KB takes.

create or replace function wda.use_words(schema text) returns void language plpgsql as $$
declare
  place text := wda.use_extension('unaccent');
begin
  if to_regprocedure(format('%I."$words"(text)', schema)) is not null then
    return;
  end if;
  execute format(
    $function$create function %1$I."$words"(text) returns text language sql immutable strict parallel safe cost 10000
return left(regexp_replace(replace(lower(%2$I.unaccent(%3$L::regdictionary,
  case when octet_length($1) = char_length($1) then left($1, 100000) else normalize(left($1, 100000), NFC) end
) collate "und-x-icu"), 'ς', 'σ') collate "und-x-icu", '[^[:alnum:]]+', ' ', 'g'), 100000)$function$,
    schema, place, format('%I.unaccent', place));
end
$$;

-- Those that are there already.
do $$
declare
  function regprocedure;
begin
  for function in
    select p.oid from pg_proc p
    join pg_namespace n on n.oid = p.pronamespace
    join wda.workspace w on w.database_schema = n.nspname
    where p.proname = '$words'
  loop
    execute format('alter function %s cost 10000', function);
  end loop;
end
$$;
