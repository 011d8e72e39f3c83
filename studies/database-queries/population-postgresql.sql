-- `a` has each value from 0 to 9,999 equally often, evenly spread over the table: a bound selects an exact share of the
-- rows whatever their number. 7,919 and 10,000 have no common divisor.
create table station (number int primary key, factor int not null, name text not null);
create table reading (number int primary key, a int not null, b int not null, station int not null, note text not null);
insert into station select s, s % 7, 'station ' || s from generate_series(0, 99) s;
insert into reading
  select r, (r * 7919::bigint) % 10000, r % 1000, (r / 10000 + r) % 100, repeat('n', ${padding})
  from generate_series(0, ${rows} - 1) r;
create index reading_a on reading (a);
vacuum analyze;
