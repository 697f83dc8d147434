-- What changing tables with records in them needs.

-- `names`: tables and columns in PostgreSQL whose names are not those of the document, as after a renaming.
-- `gates`: what a running migration refuses, by entity; empty at all other times.
alter table wda.workspace
  add column names jsonb not null default '{"tables": {}, "columns": {}}',
  add column gates jsonb not null default '{}';

-- `made`: what the migration makes before it is in force, to be taken back when it never is.
alter table wda.migration add column made jsonb not null default '[]';

-- Records that were written during a change of type with a value that the new type cannot hold. `subject` names the new
-- column. Written by triggers on the tables of workspaces.
create table wda.migration_conflict (
  subject text not null,
  record_id bigint not null
);

-- Text as a value of a type, null where it is none. Functions, because only their exception blocks can ask PostgreSQL
-- whether a text is a date; immutable, as none of them looks at a setting; not parallel safe, as an exception block is a
-- subtransaction, which PostgreSQL 15 cannot start in a parallel plan.
create function wda.as_bigint(value text) returns int8 language plpgsql immutable strict as $$
begin
  return case when value ~ '^-?[0-9]{1,19}$' then value::int8 end;
exception when others then return null;
end $$;

create function wda.as_integer(value text) returns int4 language plpgsql immutable strict as $$
begin
  return case when value ~ '^-?[0-9]{1,10}$' then value::int4 end;
exception when others then return null;
end $$;

create function wda.as_numeric(value text) returns numeric language plpgsql immutable strict as $$
begin
  return case when value ~ '^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,4})?$' then value::numeric end;
exception when others then return null;
end $$;

-- null for more digits than there is room for.
create function wda.as_decimal(value numeric, whole int4, scale int4) returns numeric
language plpgsql immutable strict parallel safe as $$
begin
  return case when round(value, scale) = value and abs(value) < 10::numeric ^ whole then value end;
end $$;

-- null where the digits of the text are more than those of the float that is nearest to it.
create function wda.as_float(value text) returns float8 language plpgsql immutable strict as $$
declare
  nearest float8;
begin
  if value !~ '^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,4})?$' then return null; end if;
  nearest := value::float8;
  return case when nearest::text::numeric = value::numeric then nearest end;
exception when others then return null;
end $$;

create function wda.as_date(value text) returns date language plpgsql immutable strict as $$
begin
  return case when value ~ '^[0-9]{4}-[0-9]{2}-[0-9]{2}$' then value::date end;
exception when others then return null;
end $$;

-- PostgreSQL knows hour 24 and second 60, and years beyond 9999; the API does not.
create function wda.as_datetime(value text) returns timestamptz language plpgsql immutable strict as $$
declare
  moment timestamptz;
begin
  if value !~ '^[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt]([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9](\.[0-9]{1,3}0*)?)?([Zz]|[+-][0-9]{2}:?[0-9]{2})$' then
    return null;
  end if;
  moment := value::timestamptz;
  return case when moment between '0001-01-01T00:00:00Z' and '9999-12-31T23:59:59.999Z' then moment end;
exception when others then return null;
end $$;

create function wda.as_uuid(value text) returns uuid language plpgsql immutable strict as $$
begin
  return case when value ~ '^[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$' then value::uuid end;
exception when others then return null;
end $$;

create function wda.as_json(value text) returns jsonb language plpgsql immutable strict as $$
begin
  -- JSON's null would be shown as no value and yet be one.
  return nullif(value::jsonb, 'null'::jsonb);
exception when others then return null;
end $$;
