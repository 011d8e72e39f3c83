-- Money is in cents.
create table account (key int primary key, balance bigint not null, rate int not null);
create table posting (key bigint generated always as identity, account int not null, amount int not null);
insert into account select a, 100000 + (a * 7919) % 900001, 1 + a % 7 from generate_series(1, ${accounts}) a;
vacuum analyze;
