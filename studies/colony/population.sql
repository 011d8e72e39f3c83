-- Money is in cents. A key of a district is 100 times its warehouse and its number; of a customer, 10,000 times its
-- district; of an order, 10,000,000 times its district.
create table warehouse (key bigint primary key, tax int not null, paid bigint not null) with (fillfactor = 50);
create table district (key bigint primary key, paid bigint not null, next_order bigint not null) with (fillfactor = 50);
create table customer (key bigint primary key, district bigint not null, name int not null, first_name text not null,
  balance bigint not null, payments int not null, data text not null) with (fillfactor = ${fill});
create table item (key bigint primary key, price int not null, data text not null);
create table stock (warehouse int not null, item int not null, quantity int not null, sold bigint not null,
  orders int not null, data text not null, primary key (warehouse, item)) with (fillfactor = ${fill});
create table orders (key bigint primary key, warehouse int not null, district int not null, customer bigint not null,
  carrier int);
create table new_order (order_key bigint primary key, warehouse int not null, district int not null);
create table order_line (order_key bigint not null, item int not null, quantity int not null, amount int not null,
  delivered int not null);
create table history (customer bigint not null, amount bigint not null, data text not null);

insert into warehouse select w, 7, 0 from generate_series(1, ${warehouses}) w;
insert into district select 100 * w + d, 0, ${orders} + 1 from generate_series(1, ${warehouses}) w, generate_series(1, 10) d;
insert into customer
  select (100 * w + d) * 10000::bigint + c, 100 * w + d, c % 100, 'first ' || c, 0, 0, repeat('c', ${padding})
  from generate_series(1, ${warehouses}) w, generate_series(1, 10) d, generate_series(1, 300) c;
insert into item select i, 100 + (i * 7919) % 9901, repeat('i', 40) from generate_series(1, 2000) i;
insert into stock select w, i, 10 + (i * 31 + w) % 91, 0, 0, repeat('s', ${padding})
  from generate_series(1, ${warehouses}) w, generate_series(1, 2000) i;
insert into orders
  select (100 * w + d) * 10000000::bigint + o, w, d, (100 * w + d) * 10000::bigint + 1 + (o * 37) % 300, null
  from generate_series(1, ${warehouses}) w, generate_series(1, 10) d, generate_series(1, ${orders}) o;
insert into new_order select key, warehouse, district from orders;
insert into order_line
  select key, 1 + (key * 13 + l * 211) % 2000, 5, 0, 0 from orders, generate_series(1, 10) l;

create index customer_name on customer (district, name, first_name);
create index orders_customer on orders (customer, key);
create index new_order_district on new_order (warehouse, district, order_key);
create index order_line_order on order_line (order_key);
vacuum analyze;
