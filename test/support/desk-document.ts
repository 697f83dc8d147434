// A helpdesk whose users have roles, as a document and as the part of its snapshot that users with some roles have.
import { grantWorkspace } from '../../src/model/granted.ts';
import type { Workspace } from '../../src/model/workspace.ts';
import { workspaceOf } from './field-types-fixture.ts';

const OF_COMPANY = { field: 'companyId', op: 'eq', value: { claim: 'company_id' } };

export const DESK = {
  roles: ['agent', 'customer', 'robot', 'auditor'],
  entities: {
    companies: {
      fields: { name: { type: 'string', required: true }, rate: { type: 'integer' } },
      relations: { tickets: { kind: 'hasMany', entity: 'tickets', inverse: 'company' } },
      grants: [
        { role: 'agent', can: ['read'] },
        { role: 'robot', can: ['read'], fields: ['name'] },
        {
          role: 'customer',
          can: ['read'],
          where: { field: 'id', op: 'eq', value: { claim: 'company_id' } },
          fields: ['name'],
        },
      ],
    },
    tickets: {
      fields: {
        subject: { type: 'string', required: true, searchable: true },
        status: { type: 'enum', values: ['open', 'solved'], required: true },
        priority: { type: 'integer', required: true, default: 1 },
        notes: { type: 'text', searchable: true },
        code: { type: 'string', unique: true },
      },
      relations: {
        company: { kind: 'belongsTo', entity: 'companies', required: true },
        comments: { kind: 'hasMany', entity: 'comments', inverse: 'ticket' },
      },
      grants: [
        {
          role: 'agent',
          can: ['read', 'create', 'update', 'delete'],
          where: { field: 'priority', op: 'lt', value: 5 },
        },
        {
          role: 'customer',
          can: ['read', 'create'],
          where: OF_COMPANY,
          fields: ['id', 'subject', 'status', 'companyId'],
          write: ['subject', 'code'],
          set: { status: 'open' },
        },
        {
          role: 'customer',
          can: ['read'],
          where: { and: [OF_COMPANY, { field: 'status', op: 'eq', value: 'solved' }] },
          fields: ['priority'],
        },
        { role: 'robot', can: ['create'], write: ['subject', 'status', 'companyId'] },
        { role: 'auditor', can: ['update', 'delete'] },
      ],
    },
    comments: {
      fields: { text: { type: 'string', required: true }, author: { type: 'string', required: true } },
      relations: { ticket: { kind: 'belongsTo', entity: 'tickets', required: true } },
      grants: [
        { role: ['agent', 'auditor'], can: ['read'] },
        // Nobody can make a record without an author.
        { role: 'agent', can: ['create'], write: ['text', 'ticketId'] },
        {
          role: 'customer',
          can: ['create'],
          where: { field: 'ticket.companyId', op: 'eq', value: { claim: 'company_id' } },
          set: { author: { claim: 'sub' } },
        },
        { role: 'customer', can: ['read'], where: { field: 'author', op: 'eq', value: { claim: 'sub' } } },
      ],
    },
    news: { fields: { title: { type: 'string' } } },
  },
} as const;

/** The part of the snapshot that users with these roles have. */
export const deskFor = (...roles: readonly string[]): Workspace =>
  grantWorkspace(workspaceOf(DESK), { roles, onlyGrants: false });
