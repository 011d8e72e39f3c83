-- The data set of PostgreSQL. `seq_0_to_N` is a table of numbers of the engine SEQUENCE.
create table station (number int primary key, factor int not null, name text not null);
create table reading (number int primary key, a int not null, b int not null, station int not null, note text not null);
insert into station select seq, seq % 7, concat('station ', seq) from seq_0_to_99;
insert into reading
  select seq, (seq * 7919) % 10000, seq % 1000, (seq div 10000 + seq) % 100, repeat('n', ${padding})
  from seq_1_to_${rows};
create index reading_a on reading (a);
analyze table station, reading;
