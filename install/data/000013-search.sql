-- What searches and indexes of parts of texts need: extensions of PostgreSQL, and a function in the schema of a workspace.

-- Extensions go into this schema, so that one serves all workspaces and goes with none of them; one that is there already
-- stays where it is. Gives its schema.
create function wda.use_extension(name text) returns text language plpgsql as $$
declare
  place text;
begin
  select nspname into place from pg_extension e join pg_namespace n on n.oid = e.extnamespace where extname = name;
  if place is not null then
    return place;
  end if;
  -- Two at once would both create it, and one of them fail.
  perform pg_advisory_xact_lock(hashtextextended('wda.use_extension', 0));
  select nspname into place from pg_extension e join pg_namespace n on n.oid = e.extnamespace where extname = name;
  if place is null then
    execute format('create extension %I schema wda', name);
    place := 'wda';
  end if;
  return place;
end
$$;

-- Makes "$words"(text) in the schema, unless it is there: a text as words of small letters and digits without accents, one
-- space between them, whatever the locale of the database makes of signs; PostgreSQL's parser would take ann@example.com
-- for one word. PostgreSQL takes an expression for an index only if it is immutable, which unaccent is not said to be, as
-- its rules are a file. A list of words takes at most 1 MB in PostgreSQL: 100,000 characters cannot make a longer one.
create function wda.use_words(schema text) returns void language plpgsql as $$
declare
  place text := wda.use_extension('unaccent');
begin
  if to_regprocedure(format('%I."$words"(text)', schema)) is not null then
    return;
  end if;
  execute format(
    $function$create function %1$I."$words"(text) returns text language sql immutable strict parallel safe
return left(regexp_replace(replace(lower(%2$I.unaccent(%3$L::regdictionary,
  case when octet_length($1) = char_length($1) then left($1, 100000) else normalize(left($1, 100000), NFC) end
) collate "und-x-icu"), 'ς', 'σ') collate "und-x-icu", '[^[:alnum:]]+', ' ', 'g'), 100000)$function$,
    schema, place, format('%I.unaccent', place));
end
$$;

-- Drops the function unless an index has it.
create function wda.leave_words(schema text) returns void language plpgsql as $$
begin
  execute format('drop function if exists %I."$words"(text)', schema);
exception
  when dependent_objects_still_exist then null;
end
$$;
