// Theme of the console: one accent, the fonts of the system, and shades that reach the contrast of WCAG 2.2 AA in both
// schemes.
import { type CSSVariablesResolver, createTheme, type MantineColorsTuple } from '@mantine/core';

const accent: MantineColorsTuple = [
  '#eef2ff',
  '#dde4ff',
  '#b9c5fb',
  '#93a5f6',
  '#7289f1',
  '#5c76ee',
  '#4f6bed',
  '#3f5ad3',
  '#3450bd',
  '#2644a7',
];

export const theme = createTheme({
  primaryColor: 'accent',
  colors: { accent },
  primaryShade: { light: 8, dark: 8 },
  autoContrast: true,
  fontFamily: 'system-ui, -apple-system, "Segoe UI", Roboto, "Liberation Sans", sans-serif',
  fontFamilyMonospace: 'ui-monospace, SFMono-Regular, Menlo, Consolas, "Liberation Mono", monospace',
  defaultRadius: 'sm',
  respectReducedMotion: true,
  focusRing: 'auto',
  fontSizes: { xs: '0.75rem', sm: '0.8125rem', md: '0.875rem', lg: '1rem', xl: '1.125rem' },
  headings: {
    sizes: { h1: { fontSize: '1.25rem', lineHeight: '1.4' }, h2: { fontSize: '1rem' }, h3: { fontSize: '0.875rem' } },
  },
  components: {
    Button: { defaultProps: { size: 'xs' } },
    ActionIcon: { defaultProps: { size: 'md', variant: 'subtle' } },
    // Messages of the server at an input are announced, as those of an alert are.
    InputError: { defaultProps: { role: 'alert' } },
    TextInput: { defaultProps: { size: 'xs' } },
    Select: { defaultProps: { size: 'xs' } },
    NativeSelect: { defaultProps: { size: 'xs' } },
    Textarea: { defaultProps: { size: 'xs' } },
    Switch: { defaultProps: { size: 'xs' } },
    Checkbox: { defaultProps: { size: 'xs' } },
    PasswordInput: { defaultProps: { size: 'xs' } },
    NumberInput: { defaultProps: { size: 'xs' } },
    SegmentedControl: { defaultProps: { size: 'xs' } },
    Tabs: { defaultProps: { keepMounted: false } },
    Tooltip: { defaultProps: { openDelay: 400 } },
    Modal: { defaultProps: { overlayProps: { backgroundOpacity: 0.35 }, closeButtonProps: { 'aria-label': 'Close' } } },
  },
});

/**
 * Resolves link colours with a contrast of 4.5 to 1 on every background of the dark scheme, including that of inputs.
 */
export const cssVariablesResolver: CSSVariablesResolver = () => ({
  variables: {},
  light: {},
  dark: { '--mantine-color-anchor': accent[2] },
});
