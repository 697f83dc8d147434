// Memory of long messages, which is used again: buffers of 260 kB that are new each time cost more than what they save, as
// the garbage collector counts them and starts early.

/** Memory for one message. */
export interface Memory {
  /** Room for the message, no more. */
  readonly bytes: Buffer;
  /** Returns the memory, once it is not read any more. Memory that is never returned is collected as garbage. */
  readonly release: () => void;
}

const SMALLEST_BYTES = 65_536;
const SIZES = 7;
const MAX_UNUSED_BYTES = 16_777_216;

/** Buffers that are not in use, by size: each size is twice the one before. */
const unused: Buffer[][] = Array.from({ length: SIZES }, () => []);
let unusedBytes = 0;

/** Takes memory for a message of so many bytes. */
export function takeMemory(length: number): Memory {
  const size = Math.max(0, Math.ceil(Math.log2(length / SMALLEST_BYTES)));
  const sameSize = unused[size];
  // Messages above 4 MB are few, and memory for them would displace all other.
  if (sameSize === undefined) return { bytes: Buffer.allocUnsafeSlow(length), release: () => undefined };
  let buffer = sameSize.pop();
  if (buffer === undefined) buffer = Buffer.allocUnsafeSlow(SMALLEST_BYTES * 2 ** size);
  else unusedBytes -= buffer.length;
  let isReleased = false;
  return {
    bytes: buffer.subarray(0, length),
    release() {
      const isFirst = !isReleased;
      isReleased = true;
      if (!isFirst || unusedBytes + buffer.length > MAX_UNUSED_BYTES) return;
      unusedBytes += buffer.length;
      sameSize.push(buffer);
    },
  };
}
