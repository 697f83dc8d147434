-- What a change of type makes a json or a decimal has the bounds of what requests may give: a number has at most 1,000
-- digits before the point and behind it, and the numbers of a json grow by at most a million characters when they are
-- written without exponents.

create function wda.is_bounded(value jsonb, written int8) returns bool language plpgsql immutable strict as $$
begin
  return (
    select coalesce(bool_and(abs(n) < '1e1000'::numeric and scale(n) <= 1000), true)
      and coalesce(sum(case when abs(n) < '1e1000'::numeric and scale(n) <= 1000 then length(n::text) end), 0) <= written + 1000000
    from (select j::numeric as n from jsonb_path_query(value, 'strict $.**') j where jsonb_typeof(j) = 'number') numbers
  );
end $$;

create or replace function wda.as_json(value text) returns jsonb language plpgsql immutable strict as $$
declare
  json jsonb;
begin
  json := value::jsonb;
  -- Looking at every number is for texts that may hold one beyond the bounds.
  if (value ~ '[0-9][eE]' or length(value) > 1000) and not wda.is_bounded(json, length(value)) then return null; end if;
  -- JSON's null would be shown as no value and yet be one.
  return nullif(json, 'null'::jsonb);
exception when others then return null;
end $$;

create or replace function wda.as_numeric(value text) returns numeric language plpgsql immutable strict as $$
declare
  number numeric;
begin
  if value !~ '^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,4})?$' then return null; end if;
  number := value::numeric;
  return case when abs(number) < '1e1000'::numeric and scale(number) <= 1000 then number end;
exception when others then return null;
end $$;

-- The text, unless it is longer than an answer may be. As an error, so that a write that brought it about is undone; the
-- class of the state is ours.
create function wda.bounded_text(value text, most int8) returns text language plpgsql immutable strict parallel safe as $$
begin
  if octet_length(value) > most then raise exception using errcode = 'WDA54', message = format('an answer would have more than %s bytes', most); end if;
  return value;
end $$;

-- Whether an answer that has come to so many bytes may go on.
create function wda.goes_on(bytes numeric, most int8) returns bool language plpgsql volatile strict as $$
begin
  if bytes > most then raise exception using errcode = 'WDA54', message = format('an answer would have more than %s bytes', most); end if;
  return true;
end $$;
