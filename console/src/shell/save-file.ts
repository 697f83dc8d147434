// Download of a file that the page holds in memory.

/** Downloads a file from the page's memory. */
export function saveFile(content: Blob, filename: string): void {
  const url = URL.createObjectURL(content);
  const link = Object.assign(document.createElement('a'), { href: url, download: filename });
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}
