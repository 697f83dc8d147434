// The messages of an event stream, for tests that are about what is sent and not about its form.

export interface StreamMessage {
  readonly event: string;
  /** Cursor after the message. */
  readonly id: string | undefined;
  // biome-ignore lint/suspicious/noExplicitAny: events are examined as they are expected to be
  readonly data: any;
}

/** Reads messages until the stream ends. A message without data has a cursor alone. */
export async function* readMessages(body: AsyncIterable<Uint8Array>): AsyncGenerator<StreamMessage> {
  const decoder = new TextDecoder();
  let rest = '';
  let part: Record<string, string> = {};
  for await (const chunk of body) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) {
      if (line === '') {
        const { event = 'message', id, data } = part;
        if (id !== undefined || data !== undefined)
          yield { event, id, data: data === undefined ? undefined : JSON.parse(data) };
        part = {};
        continue;
      }
      const at = line.indexOf(': ');
      part[line.slice(0, at)] = line.slice(at + 2);
    }
  }
}
