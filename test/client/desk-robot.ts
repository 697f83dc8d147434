// Types of the workspace acme/desk for robot, written by `wda types`: do not edit, write it again.
// 6OpiRL3un1CNNgHNri33E0

export interface Robot {
  companies: {
    row: {
      id: number;
      name: string;
    };
    create: never;
    update: never;
    relations: Record<never, never>;
  };
  news: {
    row: {
      id: number;
      title: string | null;
    };
    create: {
      title?: string | null;
    };
    update: Partial<Robot['news']['create']>;
    relations: Record<never, never>;
  };
  tickets: {
    row: {
      id: number;
    };
    create: {
      subject: string;
      status: 'open' | 'solved';
      companyId: number;
    };
    update: never;
    written: { id: number };
    relations: Record<never, never>;
  };
}
