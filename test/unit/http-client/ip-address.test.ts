// Which addresses an identity provider may be at: the guard against requests that lead inside.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type AddressKind, addressKind } from '../../../src/http-client/ip-address.ts';

/** Separated by blanks; what is no address is forbidden, too. */
const table: Readonly<Record<AddressKind, string>> = {
  public: `
    1.1.1.1 8.8.8.8 172.32.0.1 172.15.255.255 100.128.0.1 192.169.0.1 2606:4700::1111 2002:808:808::1
    64:ff9b::808:808 ::ffff:8.8.8.8`,
  private: `
    127.0.0.1 127.255.255.254 10.0.0.1 172.16.0.1 172.31.255.255 192.168.1.1 100.64.0.1 100.127.255.255 ::1
    0:0:0:0:0:0:0:1 fc00::1 fd12:3456::1 fec0::1 ::ffff:127.0.0.1 ::ffff:7f00:1 0:0:0:0:0:ffff:7f00:0001
    ::FFFF:10.0.0.1 ::127.0.0.1 ::ffff:0:127.0.0.1 64:ff9b::7f00:1 64:ff9b:1::1 2002:7f00:1:: 2002:a00:1::`,
  forbidden: `
    0.0.0.0 0.1.2.3 169.254.169.254 169.254.0.1 ::ffff:169.254.169.254 ::ffff:a9fe:a9fe 64:ff9b::a9fe:a9fe
    2002:a9fe:a9fe:: 168.63.129.16 100.100.100.200 192.0.0.192 224.0.0.1 239.255.255.255 255.255.255.255 240.0.0.1
    :: fe80::1 fe80::1%eth0 febf::1 fd00:ec2::254 ff02::1 2001:db8::1 localhost 127.1 0x7f000001`,
};

for (const [kind, addresses] of Object.entries(table)) {
  for (const address of [...addresses.trim().split(/\s+/), ...(kind === 'forbidden' ? [''] : [])]) {
    test(`${address === '' ? 'no address' : address} is ${kind}`, () => assert.equal(addressKind(address), kind));
  }
}
