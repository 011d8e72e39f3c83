-- The same data set as for PostgreSQL.
create table warehouse (`key` bigint primary key, tax int not null, paid bigint not null);
create table district (`key` bigint primary key, paid bigint not null, next_order bigint not null);
create table customer (`key` bigint primary key, district bigint not null, name int not null,
  first_name varchar(32) not null, balance bigint not null, payments int not null, data text not null);
create table item (`key` bigint primary key, price int not null, data text not null);
create table stock (warehouse int not null, item int not null, quantity int not null, sold bigint not null,
  orders int not null, data text not null, primary key (warehouse, item));
create table orders (`key` bigint primary key, warehouse int not null, district int not null,
  customer bigint not null, carrier int);
create table new_order (order_key bigint primary key, warehouse int not null, district int not null);
create table order_line (order_key bigint not null, item int not null, quantity int not null, amount int not null,
  delivered int not null);
create table history (customer bigint not null, amount bigint not null, data text not null);

begin;
insert into warehouse select seq, 7, 0 from seq_1_to_${warehouses};
insert into district select 100 * w.`key` + d.seq, 0, 101 from warehouse w, seq_1_to_10 d;
insert into customer
  select d.`key` * 10000 + c.seq, d.`key`, c.seq % 100, concat('first ', c.seq), 0, 0, repeat('c', ${padding})
  from district d, seq_1_to_300 c;
insert into item select seq, 100 + (seq * 7919) % 9901, repeat('i', 40) from seq_1_to_2000;
insert into stock select w.`key`, i.`key`, 10 + (i.`key` * 31 + w.`key`) % 91, 0, 0, repeat('s', ${padding})
  from warehouse w, item i;
insert into orders
  select d.`key` * 10000000 + o.seq, d.`key` div 100, d.`key` % 100, d.`key` * 10000 + 1 + (o.seq * 37) % 300, null
  from district d, seq_1_to_100 o;
insert into new_order select `key`, warehouse, district from orders;
insert into order_line
  select o.`key`, 1 + (o.`key` * 13 + l.seq * 211) % 2000, 5, 0, 0 from orders o, seq_1_to_10 l;
commit;

create index customer_name on customer (district, name, first_name);
create index orders_customer on orders (customer, `key`);
create index new_order_district on new_order (warehouse, district, order_key);
create index order_line_order on order_line (order_key);
analyze table warehouse, district, customer, item, stock, orders, new_order, order_line, history;
