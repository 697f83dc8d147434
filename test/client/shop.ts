import type { DigitsIn } from '../../client/src/index.ts';

export interface Shop {
  customers: {
    row: {
      id: number;
      name: string;
      email: string | null;
      country: string | null;
      createdAt: string;
      updatedAt: string;
    };
    create: { name: string; email?: string | null; country?: string | null };
    update: Partial<Shop['customers']['create']>;
    relations: { orders: 'orders'[] };
  };
  products: {
    row: { id: number; sku: string; title: string; price: number; inStock: boolean | null };
    create: { sku: string; title: string; price: DigitsIn; inStock?: boolean | null };
    update: Partial<Shop['products']['create']>;
    relations: { items: 'orderItems'[] };
  };
  orders: {
    row: {
      id: number;
      status: 'open' | 'paid' | 'shipped' | null;
      total: number | null;
      placedAt: string | null;
      note: string | null;
      customerId: number;
    };
    create: {
      status?: 'open' | 'paid' | 'shipped' | null;
      total?: DigitsIn | null;
      placedAt?: string | null;
      note?: string | null;
      customerId: number;
    };
    update: Partial<Shop['orders']['create']>;
    relations: { customer: 'customers'; items: 'orderItems'[]; tags: 'tags'[] };
  };
  orderItems: {
    row: { id: number; quantity: number; price: number; orderId: number; productId: number };
    create: { quantity: number; price: DigitsIn; orderId: number; productId: number };
    update: Partial<Shop['orderItems']['create']>;
    relations: { order: 'orders'; product: 'products' };
  };
  tags: {
    row: { id: number; name: string };
    create: { name: string };
    update: Partial<Shop['tags']['create']>;
    relations: { orders: 'orders'[] };
  };
}
