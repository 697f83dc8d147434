// The OpenID provider that people sign in with, as the page knows it before a session exists.

/** Name of the OpenID provider that people sign in with, which the server writes into the page; undefined without one. */
export function findSignInProvider(): string | undefined {
  const name = document.querySelector<HTMLMetaElement>('meta[name="wda-sign-in"]')?.content ?? '';
  return name === '' || name.startsWith('__') ? undefined : name;
}
