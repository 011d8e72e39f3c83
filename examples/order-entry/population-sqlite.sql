-- The same data set as for PostgreSQL.
create table warehouse (key integer primary key, tax integer not null, paid integer not null);
create table district (key integer primary key, paid integer not null, next_order integer not null);
create table customer (key integer primary key, district integer not null, name integer not null,
  first_name text not null, balance integer not null, payments integer not null, data text not null);
create table item (key integer primary key, price integer not null, data text not null);
create table stock (warehouse integer not null, item integer not null, quantity integer not null,
  sold integer not null, orders integer not null, data text not null, primary key (warehouse, item)) without rowid;
create table orders (key integer primary key, warehouse integer not null, district integer not null,
  customer integer not null, carrier integer);
create table new_order (order_key integer primary key, warehouse integer not null, district integer not null);
create table order_line (order_key integer not null, item integer not null, quantity integer not null,
  amount integer not null, delivered integer not null);
create table history (customer integer not null, amount integer not null, data text not null);

begin;
create temp table n (i integer primary key);
with recursive each(i) as (select 1 union all select i + 1 from each where i < max(2000, ${warehouses}))
  insert into n select i from each;
insert into warehouse select i, 7, 0 from n where i <= ${warehouses};
insert into district select 100 * w.key + d.i, 0, 101 from warehouse w, n d where d.i <= 10;
insert into customer
  select d.key * 10000 + c.i, d.key, c.i % 100, 'first ' || c.i, 0, 0, printf('%.*c', ${padding}, 'c')
  from district d, n c where c.i <= 300;
insert into item select i, 100 + (i * 7919) % 9901, printf('%.*c', 40, 'i') from n where i <= 2000;
insert into stock select w.key, i.key, 10 + (i.key * 31 + w.key) % 91, 0, 0, printf('%.*c', ${padding}, 's')
  from warehouse w, item i;
insert into orders
  select d.key * 10000000 + o.i, d.key / 100, d.key % 100, d.key * 10000 + 1 + (o.i * 37) % 300, null
  from district d, n o where o.i <= 100;
insert into new_order select key, warehouse, district from orders;
insert into order_line select o.key, 1 + (o.key * 13 + l.i * 211) % 2000, 5, 0, 0 from orders o, n l where l.i <= 10;
create index customer_name on customer (district, name, first_name);
create index orders_customer on orders (customer, key);
create index new_order_district on new_order (warehouse, district, order_key);
create index order_line_order on order_line (order_key);
commit;
drop table temp.n;
analyze;
