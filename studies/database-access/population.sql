set synchronous_commit to off;
create table customer (key int primary key, name text not null, balance bigint not null);
insert into customer select k, 'customer ' || k, k % 1000 from generate_series(1, ${customers}) k;
create unlogged table entry (number bigint generated always as identity, content text not null);
vacuum analyze customer;
checkpoint;
