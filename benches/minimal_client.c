/* HTTP client that uses as little CPU time per request as possible, as a lower bound for load generators: one thread,
 * edge-triggered epoll, one write and one read per request. It does not measure the time of a request. It parses only
 * the Content-Length of the first answer, and assumes that all answers have the same length.
 *
 *     minimal_client ADDRESS PORT CONNECTIONS SECONDS PATH      prints the number of complete answers
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { EVENTS = 256, BUFFER = 65536 };

static char request[1024];
static size_t request_length;
static size_t answer_length;

static void fail(const char *what)
{
    perror(what);
    exit(1);
}

static int open_connection(const char *address, int port)
{
    struct sockaddr_in place = {.sin_family = AF_INET, .sin_port = htons((unsigned short)port)};
    if (inet_pton(AF_INET, address, &place.sin_addr) != 1) {
        fprintf(stderr, "no IPv4 address: %s\n", address);
        exit(2);
    }
    int connection = socket(AF_INET, SOCK_STREAM, 0);
    int on = 1;
    if (connection < 0 || connect(connection, (struct sockaddr *)&place, sizeof place) < 0)
        fail("connect");
    setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return connection;
}

static void ask(int connection)
{
    if (write(connection, request, request_length) != (ssize_t)request_length)
        fail("write");
}

/* Returns the length of an answer in bytes, from one request on a blocking connection. */
static size_t length_of_an_answer(int connection)
{
    static char buffer[BUFFER];
    size_t got = 0;
    ask(connection);
    for (;;) {
        ssize_t count = read(connection, buffer + got, sizeof buffer - 1 - got);
        if (count <= 0)
            fail("read");
        got += (size_t)count;
        buffer[got] = 0;
        char *end = strstr(buffer, "\r\n\r\n");
        char *field = end ? strcasestr(buffer, "content-length:") : NULL;
        if (field && field < end) {
            size_t whole = (size_t)(end - buffer) + 4 + strtoul(field + 15, NULL, 10);
            if (got == whole)
                return whole;
        } else if (end) {
            fprintf(stderr, "the answer has no Content-Length\n");
            exit(1);
        }
    }
}

int main(int count, char **arguments)
{
    if (count != 6) {
        fprintf(stderr, "usage: minimal_client ADDRESS PORT CONNECTIONS SECONDS PATH\n");
        return 2;
    }
    const char *address = arguments[1];
    int port = atoi(arguments[2]), connections = atoi(arguments[3]);
    double seconds = atof(arguments[4]);
    request_length = (size_t)snprintf(request, sizeof request, "GET %s HTTP/1.1\r\nHost: %s:%d\r\n\r\n", arguments[5],
                                      address, port);
    size_t *got = calloc((size_t)connections + 4096, sizeof *got);
    int epoll = epoll_create1(0);
    if (!got || epoll < 0)
        fail("set up");
    for (int number = 0; number < connections; number++) {
        int connection = open_connection(address, port);
        if (number == 0)
            answer_length = length_of_an_answer(connection);
        struct epoll_event wanted = {.events = EPOLLIN | EPOLLET, .data.fd = connection};
        if (connection >= connections + 4096 || epoll_ctl(epoll, EPOLL_CTL_ADD, connection, &wanted) < 0)
            fail("epoll_ctl");
    }
    struct epoll_event events[EVENTS];
    static char buffer[BUFFER];
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    double end = (double)now.tv_sec + now.tv_nsec / 1e9 + seconds;
    /* The kernel assigns the lowest free descriptor, so the descriptors of the connections follow that of epoll. */
    for (int number = 0; number < connections; number++)
        ask(epoll + 1 + number);
    unsigned long whole = 0;
    do {
        int ready = epoll_wait(epoll, events, EVENTS, 100);
        if (ready < 0 && errno != EINTR)
            fail("epoll_wait");
        for (int number = 0; number < ready; number++) {
            int connection = events[number].data.fd;
            ssize_t length = read(connection, buffer, sizeof buffer);
            if (length <= 0)
                fail("read");
            got[connection] += (size_t)length;
            if (got[connection] >= answer_length) {
                got[connection] -= answer_length;
                whole++;
                ask(connection);
            }
        }
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while ((double)now.tv_sec + now.tv_nsec / 1e9 < end);
    printf("%lu\n", whole);
    return 0;
}
