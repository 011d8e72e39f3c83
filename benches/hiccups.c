/* Measures the gaps in which this program, which only reads the clock, does not run, because other programs, interrupts
 * or the host of a virtual machine use the CPU. Usage: hiccups SECONDS. Prints the share of time lost in gaps of more
 * than a millisecond, and the longest gap in milliseconds. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static long now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000L + now.tv_nsec;
}

int main(int count, char **arguments)
{
    if (count != 2)
        return 2;
    long start = now_ns(), end = start + atol(arguments[1]) * 1000000000L;
    long before = start, lost = 0, longest = 0;
    while (before < end) {
        long now = now_ns(), gap = now - before;
        if (gap > 1000000)
            lost += gap;
        if (gap > longest)
            longest = gap;
        before = now;
    }
    printf("%.6f %.3f\n", (double)lost / (end - start), longest / 1e6);
    return 0;
}
