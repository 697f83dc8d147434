// Parser of event streams (WHATWG HTML, 9.2.6 Interpreting an event stream).

export interface StreamMessage {
  /** Name of the event; empty for a message without one. */
  readonly event: string;
  /** Cursor after the message, or undefined if it has none. */
  readonly id: string | undefined;
  readonly data: string;
}

/** Collects the messages of a stream whose text comes in pieces. */
export class EventStreamParser {
  #rest = '';
  #event = '';
  #id: string | undefined;
  #data: string[] = [];

  /** Returns the messages that a piece of text completes; one may have an id alone. */
  push(text: string): readonly StreamMessage[] {
    const lines = (this.#rest + text).split(/\r\n|\n|\r(?!$)/);
    this.#rest = lines.pop() ?? '';
    return lines.flatMap((line) => {
      if (line !== '') {
        this.#readField(line);
        return [];
      }
      const message = { event: this.#event, id: this.#id, data: this.#data.join('\n') };
      const isEmpty = message.event === '' && message.id === undefined && this.#data.length === 0;
      [this.#event, this.#id, this.#data] = ['', undefined, []];
      return isEmpty ? [] : [message];
    });
  }

  #readField(line: string): void {
    const [, name = '', value = ''] = /^([^:]*):? ?(.*)$/s.exec(line) ?? [];
    if (name === 'event') this.#event = value;
    else if (name === 'id') this.#id = value;
    else if (name === 'data') this.#data.push(value);
  }
}
