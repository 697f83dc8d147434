// Trusted Types policy of the page, which runs under `require-trusted-types-for 'script'` (W3C Trusted Types).
// Libraries set the text of their style elements by innerHTML, which is allowed, as CSS needs neither `<` nor `&`.
// Anything that could be markup throws.

interface Factory {
  createPolicy(name: string, rules: { createHTML: (text: string) => string }): unknown;
}

const { trustedTypes } = globalThis as { readonly trustedTypes?: Factory };
trustedTypes?.createPolicy('default', {
  createHTML(text) {
    if (/[<&]/.test(text)) throw new TypeError('Markup is not made of text here');
    return text;
  },
});

/** Returns the nonce of this response, for the style elements of libraries. */
export const nonce = (): string => document.querySelector<HTMLMetaElement>('meta[property="csp-nonce"]')?.nonce ?? '';

// The scroll lock of dialogs looks for the nonce under this name.
Object.assign(globalThis, { __webpack_nonce__: nonce() });
