// Types of the workspace demo/shop, written by `wda types`: do not edit, write it again.
// MDsV9euOoSYMawkVDrQlCC
import type { DigitsIn } from 'workspace-data-client';

export interface Shop {
  /** People who buy */
  customers: {
    row: {
      id: number;
      name: string;
      email: string | null;
      country: string | null;
      createdAt: string;
      updatedAt: string;
    };
    create: {
      name: string;
      email?: string | null;
      country?: string | null;
    };
    update: Partial<Shop['customers']['create']>;
    relations: {
      orders: 'orders'[];
    };
  };
  /** What is for sale */
  products: {
    row: {
      id: number;
      sku: string;
      title: string;
      price: number;
      inStock: boolean | null;
    };
    create: {
      sku: string;
      title: string;
      price: DigitsIn;
      /** Left out: true. */ inStock?: boolean | null;
    };
    update: Partial<Shop['products']['create']>;
    relations: {
      items: 'orderItems'[];
    };
  };
  /** What a customer has ordered */
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
      /** Left out: open. */ status?: 'open' | 'paid' | 'shipped' | null;
      total?: DigitsIn | null;
      /** Left out: now. */ placedAt?: string | null;
      note?: string | null;
      customerId: number;
      /** Ids of tags: written as records of orderTags, and not part of answers. */ tags?: number[];
    };
    update: Partial<Shop['orders']['create']>;
    relations: {
      customer: 'customers';
      items: 'orderItems'[];
      tags: 'tags'[];
    };
  };
  /** One line of an order */
  orderItems: {
    row: {
      id: number;
      quantity: number;
      price: number;
      orderId: number;
      productId: number;
    };
    create: {
      quantity: number;
      price: DigitsIn;
      orderId: number;
      productId: number;
    };
    update: Partial<Shop['orderItems']['create']>;
    relations: {
      order: 'orders';
      product: 'products';
    };
  };
  tags: {
    row: {
      id: number;
      name: string;
    };
    create: {
      name: string;
      /** Ids of orders: written as records of orderTags, and not part of answers. */ orders?: number[];
    };
    update: Partial<Shop['tags']['create']>;
    relations: {
      orders: 'orders'[];
    };
  };
  /** Which order has which tag */
  orderTags: {
    row: {
      id: number;
      orderId: number;
      tagId: number;
    };
    create: {
      orderId: number;
      tagId: number;
    };
    update: Partial<Shop['orderTags']['create']>;
    relations: {
      order: 'orders';
      tag: 'tags';
    };
  };
}
