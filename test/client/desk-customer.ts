// Types of the workspace acme/desk for customer, written by `wda types`: do not edit, write it again.
// ow8WbovImpalh8T_25XtJl

export interface Customer {
  companies: {
    row: {
      id: number;
      name: string;
    };
    create: never;
    update: never;
    relations: {
      tickets: 'tickets'[];
    };
  };
  tickets: {
    row: {
      id: number;
      subject: string | null;
      status: 'open' | 'solved' | null;
      priority: number | null;
      companyId: number | null;
    };
    create: {
      subject: string;
      /** Set by your role. */ status?: 'open' | 'solved';
      code?: string | null;
    };
    update: never;
    relations: {
      company: 'companies' | null;
      comments: 'comments'[];
    };
  };
  comments: {
    row: {
      id: number;
      text: string;
      author: string;
      ticketId: number;
    };
    create: {
      text: string;
      /** Set by your role. */ author?: string;
      ticketId: number;
    };
    update: never;
    written: Customer['comments']['row'] | { id: number };
    relations: {
      ticket: 'tickets' | null;
    };
  };
  news: {
    row: {
      id: number;
      title: string | null;
    };
    create: {
      title?: string | null;
    };
    update: Partial<Customer['news']['create']>;
    relations: Record<never, never>;
  };
}
