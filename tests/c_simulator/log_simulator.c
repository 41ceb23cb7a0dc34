/* A log-structured store, simulated page by page: how often it writes for each page that its user writes.
 *
 * This is the loop that published simulators of log-structured file systems and flash translation layers
 * have in common, after the one in Rosenblum and Ousterhout, "The design and implementation of a
 * log-structured file system" (ACM TOCS 1992): segments of equal size, a map of where each logical page
 * is, an open segment for pages of the user and one for pages that cleaning relocates, and cleaning when
 * segments run short. It shares no code with ssdgym.
 *
 * Usage: log_simulator SEGMENTS PAGES LOGICAL FREE GOAL PLACEMENT RULE WARMUP < numbers
 *
 *   SEGMENTS  number of segments
 *   PAGES     pages of a segment
 *   LOGICAL   logical pages; all are written once, in order, before anything else
 *   FREE      cleaning begins when fewer segments are free; an open one is not free, and a segment is
 *             opened by the first page that goes there. The last free one is opened only if no segment is
 *             open, where relocated pages have several: they then share those that are
 *   GOAL      and ends when so many are
 *   PLACEMENT single: all pages go to one open segment; sep_gc: relocated pages to one of their own; sepbit:
 *             to six by how long they are expected to live
 *   RULE      greedy (of equals, the one that came to this number of invalid pages first), greedy_lowest (of
 *             equals, the lowest number), cost_benefit (age since the last invalidation),
 *             or cost_benefit_sealed (age since the segment was sealed)
 *   WARMUP    pages of the user that are not counted
 *
 * Input: one logical page number per line, in the order in which the user writes them.
 * Output: pages of the user, relocated pages, cleaned segments, and their write amplification.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { IS_FREE, IS_OPEN, IS_SEALED };
enum { NOWHERE = -1, MOST_STREAMS = 16 };

struct segment {
    int state;
    int stream;
    int written, valid;    /* pages */
    long opened_at;        /* user pages before it */
    long sealed_at;        /* likewise */
    long invalidated_at;   /* likewise, of its last page that became invalid */
    long changed;          /* place in the order in which sealed segments came to their numbers */
};

static int segments, pages, logical, low, goal, streams;
static struct segment *segment;
static int *page_at;           /* logical page that was written to a physical one */
static int *place_of;          /* physical page that holds a logical one */
static int *free_segments;     /* a ring, the longest free segment first */
static int first_free, free_count;
static int open_segment[MOST_STREAMS];
static long now;               /* user pages written so far */
static long changes;           /* of sealed segments */
static long user_pages, relocated_pages, cleanings;

static void fail(const char *message)
{
    fprintf(stderr, "log_simulator: %s\n", message);
    exit(2);
}

static void *new_array(int count, size_t size)
{
    void *array = calloc((size_t)count, size);

    if (array == NULL)
        fail("out of memory");
    return array;
}

static int may_be_cleaned(int s)
{
    return segment[s].state == IS_SEALED && segment[s].valid < segment[s].written;
}

#include "placements.h"

/* -- the log */

static void release(int s)
{
    segment[s].state = IS_FREE;
    segment[s].written = segment[s].valid = 0;
    free_segments[(first_free + free_count++) % segments] = s;
}

static int open_of(int stream)
{
    int s = open_segment[stream];

    if (s != NOWHERE)
        return s;
    if (free_count == 0)
        fail("no segment is free; raise FREE");
    s = free_segments[first_free];
    first_free = (first_free + 1) % segments;
    free_count--;
    segment[s].state = IS_OPEN;
    segment[s].stream = stream;
    segment[s].opened_at = now;
    return open_segment[stream] = s;
}

static void append(int stream, int page)
{
    int s = open_of(stream);
    int place = s * pages + segment[s].written;

    page_at[place] = page;
    place_of[page] = place;
    segment[s].valid++;
    if (++segment[s].written == pages) {
        segment[s].state = IS_SEALED;
        segment[s].sealed_at = now;
        segment[s].changed = changes++;
        open_segment[stream] = NOWHERE;
    }
}

/* The stream of a relocated page, or one that has a segment open: first of the numbers above, then below. */
static int with_room(int stream)
{
    int other;

    if (streams <= 2 || free_count > 1)
        return stream;
    for (other = stream; other < streams; other++)
        if (open_segment[other] != NOWHERE)
            return other;
    for (other = stream - 1; other >= 0; other--)
        if (open_segment[other] != NOWHERE)
            return other;
    return stream;
}

static void clean(int s)
{
    int first = s * pages, place;

    note_cleaning(s);
    segment[s].state = IS_OPEN; /* it is no longer in question */
    for (place = first; place < first + pages; place++)
        if (place_of[page_at[place]] == place) {
            append(with_room(stream_of(page_at[place], 1)), page_at[place]);
            note_page(page_at[place], 1);
            relocated_pages++;
        }
    cleanings++;
    release(s);
}

/* Cleaning that a page has made necessary is done, and counted, before the next one is written. */
static void make_room(int (*choose)(void))
{
    if (free_count >= low)
        return;
    while (free_count < goal) {
        int victim = choose();

        if (victim == NOWHERE)
            fail("no segment has an invalid page");
        clean(victim);
    }
}

static void write_page(int page)
{
    int old = place_of[page], stream = stream_of(page, 0);

    if (old != NOWHERE) {
        segment[old / pages].valid--;
        segment[old / pages].invalidated_at = now;
        segment[old / pages].changed = changes++;
    }
    append(stream, page);
    now++;
    note_page(page, 0);
    user_pages++;
}

#include "heuristics.h"

static int (*rule_named(const char *name))(void)
{
    first_come = strcmp(name, "greedy") == 0;
    if (first_come || strcmp(name, "greedy_lowest") == 0)
        score = most_invalid;
    else if (strcmp(name, "cost_benefit") == 0)
        score = cost_benefit;
    else if (strcmp(name, "cost_benefit_sealed") == 0)
        score = cost_benefit_sealed;
    else
        fail("there is no such RULE");
    return best_by_score;
}

static void read_sizes(char **argument)
{
    segments = atoi(argument[1]), pages = atoi(argument[2]), logical = atoi(argument[3]);
    low = atoi(argument[4]), goal = atoi(argument[5]);
    if (segments < 1 || pages < 1 || logical < 1 || low < 1 || goal < low)
        fail("SEGMENTS, PAGES, LOGICAL and FREE must be at least 1, and GOAL at least FREE");
}

static void format_log(void)
{
    int page, s;

    segment = new_array(segments, sizeof *segment);
    page_at = new_array(segments * pages, sizeof *page_at);
    place_of = new_array(logical, sizeof *place_of);
    free_segments = new_array(segments, sizeof *free_segments);
    for (s = 0; s < segments; s++)
        release(s);
    for (s = 0; s < MOST_STREAMS; s++)
        open_segment[s] = NOWHERE;
    for (page = 0; page < logical; page++)
        place_of[page] = NOWHERE;
}

static void count_anew(void)
{
    user_pages = relocated_pages = cleanings = 0;
}

int main(int argc, char **argv)
{
    int (*choose)(void);
    int page;
    long warmup;

    if (argc != 9)
        fail("usage: SEGMENTS PAGES LOGICAL FREE GOAL PLACEMENT RULE WARMUP < numbers");
    read_sizes(argv);
    format_log();
    begin_placement(argv[6]);
    choose = rule_named(argv[7]);
    warmup = atol(argv[8]);
    for (page = 0; page < logical; page++) {
        make_room(choose);
        write_page(page);
    }
    count_anew();
    while (scanf("%d", &page) == 1) {
        if (page < 0 || page >= logical)
            fail("a page number is not below LOGICAL");
        if (warmup > 0 && user_pages == warmup) {
            count_anew();
            warmup = 0;
        }
        make_room(choose);
        write_page(page);
    }
    printf("%ld %ld %ld %.6f\n", user_pages, relocated_pages, cleanings,
           (double)(user_pages + relocated_pages) / (double)user_pages);
    return 0;
}
