set synchronous_commit to off;
create table customer (key int primary key, name text not null, balance bigint not null);
insert into customer select k, 'customer ' || k, k % 1000 from generate_series(1, ${customers}) k;
-- Bytes, as to cut a text into records takes the longer the more characters lie before them.
create unlogged table entry (key bigint generated always as identity primary key, content bytea not null);
vacuum analyze customer;
checkpoint;
