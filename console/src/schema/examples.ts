// Examples of schema documents to start from, as YAML with comments.

export interface SchemaExample {
  readonly name: string;
  readonly description: string;
  readonly text: string;
}

export const EXAMPLES: readonly SchemaExample[] = [
  {
    name: 'Simple',
    description: 'one entity',
    text: `# An entity is a table with an API of its own. Replace this example with yours.
entities:
  notes:
    description: What is worth keeping
    fields:
      title: { type: string, required: true, maxLength: 200 }
      text: { type: text }
    timestamps: true
`,
  },
  {
    name: 'Shop',
    description: 'customers, products, orders with their lines',
    text: `# A relation that belongs to a record is stored with it; the other side is its inverse.
entities:
  customers:
    fields:
      name: { type: string, required: true, maxLength: 200 }
      email: { type: string, unique: true, maxLength: 320 }
    relations:
      orders: { kind: hasMany, entity: orders, inverse: customer }
    timestamps: true
  products:
    fields:
      sku: { type: string, required: true, unique: true, maxLength: 20 }
      title: { type: string, required: true, maxLength: 200 }
      price: { type: decimal, precision: 10, scale: 2, min: 0, required: true }
  orders:
    fields:
      status: { type: enum, values: [open, paid, shipped], default: open, index: true }
      placedAt: { type: datetime, default: now }
    relations:
      customer: { kind: belongsTo, entity: customers, required: true, onDelete: restrict }
      lines: { kind: hasMany, entity: orderLines, inverse: order }
    timestamps: true
  orderLines:
    fields:
      quantity: { type: integer, required: true, min: 1 }
    relations:
      order: { kind: belongsTo, entity: orders, required: true, onDelete: cascade }
      product: { kind: belongsTo, entity: products, required: true }
`,
  },
  {
    name: 'Helpdesk',
    description: 'companies, tickets with messages, tags',
    text: `# Tickets have many tags, and tags many tickets: the entity between them has the pairs.
entities:
  companies:
    fields:
      name: { type: string, required: true, unique: true, maxLength: 200 }
    relations:
      tickets: { kind: hasMany, entity: tickets, inverse: company }
  tickets:
    fields:
      subject: { type: string, required: true, maxLength: 200, searchable: true }
      state: { type: enum, values: [open, waiting, closed], default: open, index: true }
      dueOn: { type: date }
    relations:
      company: { kind: belongsTo, entity: companies, required: true }
      messages: { kind: hasMany, entity: messages, inverse: ticket }
      tags: { kind: manyToMany, entity: tags, through: ticketTags, from: ticket, to: tag }
    timestamps: true
  messages:
    fields:
      text: { type: text, required: true }
    relations:
      ticket: { kind: belongsTo, entity: tickets, required: true, onDelete: cascade }
    timestamps: true
  tags:
    fields:
      name: { type: string, required: true, unique: true, maxLength: 50 }
    relations:
      tickets: { kind: manyToMany, entity: tickets, through: ticketTags, from: tag, to: ticket }
  ticketTags:
    relations:
      ticket: { kind: belongsTo, entity: tickets, required: true, onDelete: cascade }
      tag: { kind: belongsTo, entity: tags, required: true, onDelete: cascade }
`,
  },
];
