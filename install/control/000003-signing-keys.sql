-- OAuth 2.0 of our own: the keys that sign the tokens of all clients.

-- One key signs at a time, for all processes. `private_jwk` is the key itself: whoever reads it can sign tokens, so a
-- dump of this table is as secret as the records. Rotation erases it; the public half stays until the last token that
-- the key may have signed has expired. `token_lifetime_seconds` is the longest lifetime that a process gave its tokens.
create table wda.signing_key (
  id bigint generated always as identity primary key,
  kid text collate "C" not null constraint signing_key_kid unique,
  public_jwk json not null,
  private_jwk json,
  token_lifetime_seconds integer not null,
  created_at timestamptz(3) not null default now(),
  rotated_at timestamptz(3),
  constraint signing_key_private check ((private_jwk is null) = (rotated_at is not null))
);

create unique index signing_key_one_signs on wda.signing_key ((true)) where rotated_at is null;
