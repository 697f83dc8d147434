// VitePress's own theme, with the fonts of the machine.
import DefaultTheme from 'vitepress/theme-without-fonts';
import './style.css';

export default DefaultTheme;
