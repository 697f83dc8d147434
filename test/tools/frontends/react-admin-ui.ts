// What the page on react-admin imports, for the compiler: the package itself is its core with a user interface of 100 MB.
import { CoreAdmin, Resource } from 'ra-core';
import type { ComponentType } from 'react';

export const Admin = CoreAdmin;
export { Resource };
export declare const ListGuesser: ComponentType;
export declare const EditGuesser: ComponentType;
