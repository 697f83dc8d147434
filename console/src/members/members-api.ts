// Requests for members of an organization or a workspace (docs/reference/admin-api.md, sign-in.md), and their texts.
import { keepPreviousData, queryOptions } from '@tanstack/react-query';
import { paged } from '../api/organizations.ts';
import type { Member } from '../api/types.ts';

export const membersScreen = (org: string): string => `/${org}/-/members`;

/** Query for a page of the members below a path of the admin API. */
export const membersQuery = (path: string, page: number, size: number) =>
  queryOptions({
    queryKey: ['members', path, page, size],
    queryFn: ({ signal }) => paged<Member>(`${path}?page=${page}&size=${size}`, signal),
    placeholderData: keepPreviousData,
  });

export type Role = Member['role'];

export const ROLES: readonly { readonly value: Role; readonly label: string }[] = [
  { value: 'owner', label: 'Owner: administers' },
  { value: 'editor', label: 'Editor: reads and writes records' },
  { value: 'viewer', label: 'Viewer: reads records' },
];

/** Returns the mail address of a member, or the value of the claim that its people have. */
export const nameMember = ({ email, claim }: Pick<Member, 'email' | 'claim'>): string => email ?? `claim ${claim}`;
