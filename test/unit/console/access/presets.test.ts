import assert from 'node:assert/strict';
import { test } from 'node:test';
import { listPlaceholders, PRESETS } from '../../../../console/src/access/presets.ts';

test('an issuer of a preset names what is to be replaced, and nothing when it is', () => {
  assert.deepEqual(listPlaceholders('https://TENANT.REGION.auth0.com/'), ['TENANT', 'REGION']);
  assert.deepEqual(listPlaceholders('https://acme.eu.auth0.com/'), []);
  assert.deepEqual(listPlaceholders('https://login.example.com/ACME'), []);
  for (const { issuer } of PRESETS) {
    assert.ok(URL.canParse(issuer), issuer);
    assert.ok(listPlaceholders(issuer).length > 0, issuer);
  }
});
