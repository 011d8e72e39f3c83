#!/bin/sh
# A private PostgreSQL for the pool of the application, with its data and its socket in one folder:
#
#     database.sh start FOLDER [PORT]    with PORT, it listens on 127.0.0.1, too
#     database.sh run FOLDER [PORT]      the same in the foreground, until a signal ends it
#     database.sh stop FOLDER            stops it and removes its data
#
# Root starts it as the user `postgres`, because PostgreSQL refuses to run as root. User `shop`, who is no superuser,
# needs no password.
set -eu

usage() {
    sed -n 's/^#     //p' "$0" >&2
    exit 2
}

[ $# -ge 2 ] || usage
command=$1
mkdir -p "$2"
folder=$(cd "$2" && pwd)
port=${3:-}

bin=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -n 1)
[ -n "$bin" ] || bin=$(dirname "$(command -v initdb || echo /nowhere/initdb)")
if [ ! -x "$bin/initdb" ]; then
    echo "PostgreSQL is not installed: apt-get install postgresql" >&2
    exit 1
fi

as() {
    if [ "$(id -u)" = 0 ]; then
        setpriv --reuid=postgres --regid=postgres --clear-groups -- "$@"
    else
        "$@"
    fi
}

create() {
    [ "$(id -u)" != 0 ] || chown postgres "$folder"
    chmod 700 "$folder"
    cd "$folder"
    as "$bin/initdb" -D "$folder/data" -U postgres --auth=trust --encoding=UTF8 --locale=C --no-sync >/dev/null
    echo "CREATE ROLE shop LOGIN IN ROLE pg_monitor" |
        as "$bin/postgres" --single -c log_min_messages=fatal -D "$folder/data" postgres >/dev/null
    # The folder is closed to other users, and so is the socket in it.
    printf 'local all all trust\nhost postgres shop 127.0.0.1/32 trust\n' >"$folder/data/pg_hba.conf"
    cat >>"$folder/data/postgresql.conf" <<SETTINGS
listen_addresses = '${port:+127.0.0.1}'
port = ${port:-5432}
unix_socket_directories = '$folder'
fsync = off
SETTINGS
}

case $command in
start)
    create
    as "$bin/pg_ctl" -D "$folder/data" -l "$folder/log" -w start >/dev/null
    echo "PostgreSQL runs: --database ${port:+127.0.0.1:}${port:-$folder}"
    ;;
run)
    create
    [ "$(id -u)" != 0 ] || exec setpriv --reuid=postgres --regid=postgres --clear-groups -- "$bin/postgres" -D "$folder/data"
    exec "$bin/postgres" -D "$folder/data"
    ;;
stop)
    [ -f "$folder/data/PG_VERSION" ] || exit 0
    cd "$folder"
    as "$bin/pg_ctl" -D "$folder/data" -m immediate -w stop >/dev/null || true
    rm -rf "$folder/data" "$folder/log"
    ;;
*) usage ;;
esac
