-- Each feature has tables of its own, so that no feature changes the work of another one. Only the table that is about
-- parallel processes is read in parallel.
set synchronous_commit to off;

-- An index: ten parts of each supplier.
create table part (key int primary key, supplier int not null, name text not null, padding text not null)
  with (parallel_workers = 0);
insert into part select k, (k::bigint * 7919) % 20000, 'part ' || k, repeat('p', 60) from generate_series(1, 200000) k;
do $$ begin
  if '${index}'::boolean then
    create index part_supplier on part (supplier);
  end if;
end $$;
vacuum analyze part;

-- Statistics: a big and a small table, ten to one, with an index on the column that joins them. The condition on the
-- big one holds for a tenth of its rows, the condition on the small one for ten rows.
create table big (a int not null, b text not null, amount int not null, padding text not null)
  with (parallel_workers = 0);
create table small (a int not null, c text not null, amount int not null, padding text not null)
  with (parallel_workers = 0);
insert into big select 1 + (k - 1) / 10, 'value ' || k % 10, k % 1000, repeat('b', 60)
  from generate_series(1, 200000) k;
insert into small select k, 'value ' || k % 2000, k % 1000, repeat('s', 60) from generate_series(1, 20000) k;
create index big_a on big (a);
create index small_a on small (a);
vacuum big, small;
do $$ begin
  if '${statistics}'::boolean then
    analyze big, small;
  end if;
end $$;

-- Parallel processes: a table that is read as a whole.
create table sale (key int not null, quantity int not null, amount double precision not null)
  with (parallel_workers = ${parallel_workers});
insert into sale select k, k % 100, k % 9973 from generate_series(1, 300000) k;
vacuum analyze sale;

-- A materialized view: deliveries by month and product.
create table delivery (month int not null, product int not null, amount int not null) with (parallel_workers = 0);
insert into delivery select 1 + k % 12, k % 50, k % 1000 from generate_series(1, 100000) k;
vacuum analyze delivery;
do $$ begin
  if '${view}'::boolean then
    create materialized view delivered as
      select month, product, sum(amount) as amount, count(*) as deliveries from delivery group by month, product;
    create index delivered_month on delivered (month);
    analyze delivered;
  end if;
end $$;

-- Partitions: the lines of orders in one table, and in 2, 7, 28 and 64 partitions by hash of the order, each with an
-- index on another column.
create table order_line (order_key int not null, line int not null, item int not null, amount int not null,
  primary key (order_key, line)) with (fillfactor = 50, parallel_workers = 0);
insert into order_line select o, l, (o * 31 + l * 6007) % 10000, l
  from generate_series(1, 10000) o, generate_series(1, 10) l;
create index order_line_item on order_line (item);
do $$
declare
  partitions int;
begin
  foreach partitions in array array[2, 7, 28, 64] loop
    execute format('create table order_line_%s (order_key int not null, line int not null, item int not null, '
      'amount int not null, primary key (order_key, line)) partition by hash (order_key)', partitions);
    for each in 0 .. partitions - 1 loop
      execute format('create table order_line_%s_%s partition of order_line_%s for values with (modulus %s, remainder %s) '
        'with (fillfactor = 50, parallel_workers = 0)', partitions, each, partitions, partitions, each);
    end loop;
    execute format('insert into order_line_%s select * from order_line', partitions);
    execute format('create index order_line_%s_item on order_line_%s (item)', partitions, partitions);
  end loop;
end $$;
vacuum analyze order_line, order_line_2, order_line_7, order_line_28, order_line_64;

-- The log: equal accounts in a table without a log and in one with it.
create unlogged table account (key int primary key, balance bigint not null) with (fillfactor = 50);
create table logged_account (key int primary key, balance bigint not null) with (fillfactor = 50);
insert into account select k, 0 from generate_series(1, 10000) k;
insert into logged_account select * from account;
vacuum analyze account, logged_account;

-- Mass deletes: two equal tables, of which the second has a trigger for each row that is deleted.
create table basket (key int primary key, content text not null) with (parallel_workers = 0);
create table watched_basket (key int primary key, content text not null) with (parallel_workers = 0);
insert into basket select k, 'content ' || k from generate_series(1, 50000) k;
insert into watched_basket select * from basket;
vacuum analyze basket, watched_basket;
create function clear_row_by_row() returns int language plpgsql as $$
declare
  cleared int := 0;
  each int;
begin
  for each in select key from basket loop
    delete from basket where key = each;
    cleared := cleared + 1;
  end loop;
  return cleared;
end $$;
create function watch() returns trigger language plpgsql as $$
begin
  if old.content is null then
    raise exception 'a basket without content';
  end if;
  return old;
end $$;
create trigger watch before delete on watched_basket for each row execute function watch();

-- Triggers in place of requests: an entry changes a shop, a product and a day.
create table entry (shop int not null, product int not null, day int not null, amount int not null);
create table watched_entry (shop int not null, product int not null, day int not null, amount int not null);
create table shop (key int primary key, amount bigint not null) with (fillfactor = 50);
create table product (key int primary key, amount bigint not null) with (fillfactor = 50);
create table day (key int primary key, amount bigint not null) with (fillfactor = 50);
insert into shop select k, 0 from generate_series(1, 1000) k;
insert into product select k, 0 from generate_series(1, 1000) k;
insert into day select k, 0 from generate_series(1, 365) k;
vacuum analyze shop, product, day;
create function enter() returns trigger language plpgsql as $$
begin
  update shop set amount = amount + new.amount where key = new.shop;
  update product set amount = amount + new.amount where key = new.product;
  update day set amount = amount + new.amount where key = new.day;
  return null;
end $$;
create trigger enter after insert on watched_entry for each row execute function enter();

-- Fields of variable length: equal remarks that lie in their rows, in their rows compressed, and in the spill area.
create table remark (key int primary key, content text not null) with (parallel_workers = 0);
create table compressed_remark (key int primary key, content text not null) with (parallel_workers = 0);
create table spilled_remark (key int primary key, content text not null)
  with (parallel_workers = 0, toast_tuple_target = 128);
alter table remark alter content set storage plain;
alter table compressed_remark alter content set storage main;
alter table spilled_remark alter content set storage external;
insert into remark select k, repeat(md5(k::text), 80) from generate_series(1, 4000) k;
insert into compressed_remark select * from remark;
insert into spilled_remark select * from remark;
vacuum analyze remark, compressed_remark, spilled_remark;
checkpoint;
