# Does nothing, or computes without end.
echo "the neighbour is there"
case "$1" in
nothing) exec sleep 86400 ;;
computes) while :; do :; done ;;
*) echo "nothing or computes, got $1" >&2; exit 2 ;;
esac
