// Editor of the document: CodeMirror, with colours that reach the contrast of WCAG 2.2 AA in both schemes.
import { autocompletion, closeBrackets, completionKeymap } from '@codemirror/autocomplete';
import { defaultKeymap, history, historyKeymap, indentWithTab } from '@codemirror/commands';
import { json } from '@codemirror/lang-json';
import { yaml } from '@codemirror/lang-yaml';
import { bracketMatching, HighlightStyle, indentOnInput, syntaxHighlighting } from '@codemirror/language';
import { type Diagnostic, lintGutter, lintKeymap, setDiagnostics } from '@codemirror/lint';
import { highlightSelectionMatches, searchKeymap } from '@codemirror/search';
import { Compartment, EditorState, type Extension } from '@codemirror/state';
import {
  drawSelection,
  EditorView,
  highlightActiveLine,
  highlightActiveLineGutter,
  keymap,
  lineNumbers,
} from '@codemirror/view';
import { tags } from '@lezer/highlight';
import { useComputedColorScheme } from '@mantine/core';
import { type Ref, useEffect, useImperativeHandle, useRef } from 'react';
import type { Json } from '../api/json.ts';
import { nonce } from '../trusted-types.ts';
import { complete } from './completion.ts';
import type { Format, Range } from './text.ts';

export interface Mark extends Range {
  readonly message: string;
}

export interface EditorHandle {
  /** Scrolls to an offset and puts the cursor there. */
  readonly go: (offset: number) => void;
}

export interface DocumentEditorProps {
  readonly ref: Ref<EditorHandle>;
  readonly format: Format;
  readonly text: string;
  readonly marks: readonly Mark[];
  /** JSON Schema of the document. */
  readonly shape: Json | undefined;
  readonly onChange: (text: string) => void;
}

// Milliseconds of pause in typing before the whole text is parsed: 20 ms of work for 100 entities.
const PAUSE_MS = 250;

export function DocumentEditor({ ref, format, text, marks, shape, onChange }: DocumentEditorProps) {
  const place = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView>(null);
  const parts = useRef({ scheme: new Compartment(), language: new Compartment() });
  const scheme = useComputedColorScheme('light');
  // Latest values for the extensions, which are created once.
  const latest = useRef({ format, shape, onChange, sent: text });
  Object.assign(latest.current, { format, shape, onChange });
  useEffect(() => {
    if (place.current === null) return;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const send = (): void => {
      clearTimeout(timer);
      timer = undefined;
      const next = view.current?.state.doc.toString();
      if (next === undefined || next === latest.current.sent) return;
      latest.current.sent = next;
      latest.current.onChange(next);
    };
    const watch = EditorView.updateListener.of(({ docChanged }) => {
      if (!docChanged) return;
      clearTimeout(timer);
      timer = setTimeout(send, PAUSE_MS);
    });
    const { scheme: schemePart, language } = parts.current;
    const editor = new EditorView({
      parent: place.current,
      state: EditorState.create({
        doc: latest.current.sent,
        extensions: [...BASE, watch, schemePart.of([]), language.of([]), completion(latest)],
      }),
    });
    view.current = editor;
    return () => {
      send();
      editor.destroy();
      view.current = null;
    };
  }, []);
  useEffect(() => {
    const { scheme: part } = parts.current;
    view.current?.dispatch({ effects: part.reconfigure(scheme === 'dark' ? DARK : LIGHT) });
  }, [scheme]);
  useEffect(() => {
    const { language } = parts.current;
    view.current?.dispatch({ effects: language.reconfigure(format === 'json' ? json() : yaml()) });
  }, [format]);
  useEffect(() => {
    const editor = view.current;
    if (editor === null || text === latest.current.sent) return;
    latest.current.sent = text;
    editor.dispatch({ changes: { from: 0, to: editor.state.doc.length, insert: text } });
  }, [text]);
  useEffect(() => {
    const editor = view.current;
    editor?.dispatch(setDiagnostics(editor.state, toDiagnostics(marks, editor.state)));
  }, [marks]);
  useImperativeHandle(ref, () => ({
    go(offset) {
      const editor = view.current;
      if (editor === null) return;
      editor.dispatch({ selection: { anchor: Math.min(offset, editor.state.doc.length) }, scrollIntoView: true });
      editor.focus();
    },
  }));
  return <div ref={place} />;
}

interface Latest {
  readonly current: { readonly format: Format; readonly shape: Json | undefined };
}

/** Clamps the marks to the text, which may be newer than they are. */
const toDiagnostics = (marks: readonly Mark[], { doc }: EditorState): Diagnostic[] =>
  marks.map(({ from, to, message }) => ({
    from: Math.min(from, doc.length),
    to: Math.min(Math.max(to, from), doc.length),
    severity: 'error',
    message,
  }));

const completion = (latest: Latest): Extension =>
  autocompletion({
    icons: false,
    override: [
      (context) => {
        const { format, shape } = latest.current;
        if (shape === undefined) return null;
        const completion = complete(context.state.doc.toString(), context.pos, format, shape);
        if (completion === undefined || (!context.explicit && completion.from === context.pos)) return null;
        return { from: completion.from, options: [...completion.options], validFor: /^[\w"$-]*$/ };
      },
    ],
  });

// Replaces a selection by a typed character: Chromium would keep the selection's style in a style attribute, which the
// page's policy forbids. closeBrackets handles brackets and quotation marks.
const replaceSelection = EditorView.domEventHandlers({
  beforeinput(event, view) {
    const { inputType, data } = event;
    if (inputType !== 'insertText' || data === null || view.composing || view.state.selection.main.empty) return false;
    if (/^[([{'"]$/.test(data)) return false;
    event.preventDefault();
    view.dispatch(view.state.replaceSelection(data), { userEvent: 'input.type', scrollIntoView: true });
    return true;
  },
});

const BASE: readonly Extension[] = [
  replaceSelection,
  EditorView.cspNonce.of(nonce()),
  EditorView.contentAttributes.of({ 'aria-label': 'Schema document', spellcheck: 'false', tabindex: '0' }),
  lintGutter(),
  lineNumbers(),
  highlightActiveLine(),
  highlightActiveLineGutter(),
  highlightSelectionMatches(),
  history(),
  drawSelection(),
  indentOnInput(),
  bracketMatching(),
  closeBrackets(),
  keymap.of([...completionKeymap, ...lintKeymap, ...searchKeymap, ...historyKeymap, ...defaultKeymap, indentWithTab]),
];

interface Colours {
  readonly name: string;
  readonly text: string;
  readonly word: string;
  readonly number: string;
  readonly comment: string;
  readonly isDark: boolean;
  readonly ground: string;
  readonly active: string;
}

/** Creates a theme whose colours have a contrast of at least 4.5 to 1 on the background and the active line. */
function createTheme({ name, text, word, number, comment, isDark, ground, active }: Colours): Extension {
  const style = HighlightStyle.define([
    { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: name, fontWeight: '600' },
    { tag: [tags.string, tags.content], color: text },
    { tag: [tags.bool, tags.null, tags.keyword, tags.atom], color: word },
    { tag: tags.number, color: number },
    { tag: [tags.comment, tags.lineComment], color: comment, fontStyle: 'italic' },
  ]);
  const theme = EditorView.theme(
    {
      '&': { backgroundColor: ground, color: text },
      '&.cm-focused': { outline: '2px solid var(--mantine-primary-color-filled)', outlineOffset: '-2px' },
      '.cm-scroller': { fontFamily: 'var(--mantine-font-family-monospace)' },
      '.cm-gutters': { backgroundColor: ground, color: comment, border: 'none' },
      '.cm-activeLine, .cm-activeLineGutter': { backgroundColor: active },
      '.cm-cursor': { borderLeftColor: name },
      '.cm-tooltip': { backgroundColor: ground, color: text, border: `1px solid ${comment}` },
      '.cm-tooltip-autocomplete > ul > li[aria-selected]': { backgroundColor: name, color: ground },
      '.cm-panels': { backgroundColor: ground, color: text },
    },
    { dark: isDark },
  );
  return [theme, syntaxHighlighting(style)];
}

const LIGHT = createTheme({
  name: '#1c3f94',
  text: '#1f2328',
  word: '#8a2c0d',
  number: '#0b5a4a',
  comment: '#57606a',
  isDark: false,
  ground: '#ffffff',
  active: '#f3f5f9',
});

const DARK = createTheme({
  name: '#a9c1ff',
  text: '#e3e6ea',
  word: '#ffb38a',
  number: '#86dcc3',
  comment: '#a5adb8',
  isDark: true,
  ground: '#1f1f1f',
  active: '#2a2c30',
});
