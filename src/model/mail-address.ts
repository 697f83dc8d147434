// Mail addresses as members are found by them.

/** RFC 5321 section 4.5.3.1.3, without the angle brackets. */
export const MAX_MAIL_ADDRESS = 254;
const ADDRESS = /^[^\s@<>"]+@[^\s@<>"]+$/;

/**
 * Returns a mail address with small letters, or undefined if the text is none. ASCII letters alone change: in Unicode
 * the Kelvin sign has the small letter `k`, so that two people's addresses would become one.
 */
export const parseMailAddress = (text: string): string | undefined =>
  text.length <= MAX_MAIL_ADDRESS && ADDRESS.test(text)
    ? text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase())
    : undefined;
