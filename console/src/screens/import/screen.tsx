import { ScreenFrame } from '../../shell/screen-frame.tsx';

/** Its parts come with the next changes. */
export function Screen() {
  return <ScreenFrame title="Import">{null}</ScreenFrame>;
}
