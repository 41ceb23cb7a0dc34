/* ssdgym's placement `td_lifetime` in C99: it learns lives of pages while the device runs, and plans streams.
 *
 * Call td_lifetime_init once, then
 *
 *   td_lifetime_stream      before a page is written or relocated: the stream whose open block it goes to
 *   td_lifetime_written     after the host has written a page
 *   td_lifetime_relocated   after garbage collection has moved a page
 *   td_lifetime_trimmed     after the host has trimmed a page that was mapped
 *   td_lifetime_opened      when a stream of a plane gets an open block
 *   td_lifetime_closed      when that block is full
 *
 * A device takes a td_lifetime_state, 30 KiB, and 28 bytes for each logical page. Nothing is allocated, and
 * there are no globals. Link with -lm. Streams are those of ssdgym, bit for bit, where doubles are those of
 * IEEE 754 and the compiler does not fuse multiplications and additions (-ffp-contract=off).
 */
#ifndef TD_LIFETIME_H
#define TD_LIFETIME_H

#include <math.h>
#include <stdint.h>
#include <string.h>

enum {
    TD_LIFETIME_STREAMS = 8,     /* of a plane; host pages and relocated pages may go to any */
    TD_LIFETIME_NEIGHBOURS = 16, /* pages that share a count of writes */
    TD_LIFETIME_TABLES = 6,
    TD_LIFETIME_ENTRIES = 2 * TD_LIFETIME_TABLES * 256,
    TD_LIFETIME_CLASSES = 24, /* of values, 0.4 wide, of host pages; relocated pages have as many */
    TD_LIFETIME_LAG = 4,      /* a life that ends is compared with the one that ended so many ends before */
    TD_LIFETIME_UNKNOWN = 15
};

/* Values are logarithms of lives to base 4; a tenth of a logical space has the value 0. */
#define TD_LIFETIME_LEAST (-6.0)
#define TD_LIFETIME_START 1.0
#define TD_LIFETIME_MOST 3.5
/* Share of all counts that a plan leaves for the next one, and the step of the averages of errors. */
#define TD_LIFETIME_FADE 0.6
#define TD_LIFETIME_SLOW 0.0005

/* What is kept of a logical page. A tick is 1 / 65536 of a logical space of host pages, at least a page. */
typedef struct {
    uint32_t written;  /* 1 + tick of the last write; 0: never */
    uint32_t placed;   /* 1 + tick at which the present copy was placed; 0: there is none */
    uint32_t joined;   /* tick of the last write to a neighbour (of the first neighbour only) */
    uint32_t interval; /* ticks between the last two writes; 0: unknown */
    float writes;      /* fades in eight logical spaces */
    float beside;      /* writes of all neighbours, fades in one (of the first neighbour only) */
    uint16_t state;    /* in which the present copy was placed */
    uint8_t label;     /* class of the present copy */
} td_lifetime_page;

/* What is kept of a device. */
typedef struct {
    double rate;  /* least step of learning; init sets 0.01 */
    double apart; /* correlation above which relocated pages have streams of their own; init sets 0.05 */

    td_lifetime_page *pages;
    uint8_t *is_open; /* of planes * TD_LIFETIME_STREAMS */
    int64_t logical_pages, tick_pages, usable_pages, pages_of_a_stream;
    int64_t clock;   /* pages that the host has written */
    int64_t planned; /* clock of the last plan */

    float weight[TD_LIFETIME_ENTRIES];
    uint32_t visits[TD_LIFETIME_ENTRIES];
    int64_t valid[2 * TD_LIFETIME_CLASSES]; /* pages of each class */
    double deaths[2 * TD_LIFETIME_CLASSES], exposed[2 * TD_LIFETIME_CLASSES];

    int streams;                    /* in use; 0 before the first plan */
    int bound[TD_LIFETIME_STREAMS]; /* first class that is not of the stream */
    int is_apart;                   /* whether relocated pages have streams of their own */

    double last[TD_LIFETIME_LAG], mean, covariance, variance; /* of errors of lives that ended */
    int turn;

    /* Scratch of a plan: least cost of the classes up to here, and where the last stream begins. */
    double least[TD_LIFETIME_STREAMS + 1][2 * TD_LIFETIME_CLASSES + 1];
    uint8_t begin[TD_LIFETIME_STREAMS + 1][2 * TD_LIFETIME_CLASSES + 1];
} td_lifetime_state;

/* Begins with empty tables.
 *
 * pages: an array of logical_pages items, and is_open: one of planes * TD_LIFETIME_STREAMS; both are cleared.
 * physical_pages: of the whole device.
 * kept_free: pages, of the whole device, that garbage collection keeps free.
 */
static inline void td_lifetime_init(td_lifetime_state *s, td_lifetime_page *pages, uint8_t *is_open,
                                    int64_t logical_pages, int64_t physical_pages, int64_t kept_free,
                                    int planes, int pages_per_block)
{
    memset(s, 0, sizeof *s);
    memset(pages, 0, (size_t)logical_pages * sizeof *pages);
    memset(is_open, 0, (size_t)planes * TD_LIFETIME_STREAMS);
    s->rate = 0.01;
    s->apart = 0.05;
    s->pages = pages;
    s->is_open = is_open;
    s->logical_pages = logical_pages;
    s->tick_pages = logical_pages / 65536 > 1 ? logical_pages / 65536 : 1;
    s->usable_pages = physical_pages - kept_free;
    s->pages_of_a_stream = (int64_t)planes * pages_per_block;
}

/* -- values of lives */

static inline double td_lifetime_between(double value, double least, double most)
{
    return value < least ? least : value > most ? most : value;
}

/* Returns the value of a life of so many host pages. */
static inline double td_lifetime_value_of(const td_lifetime_state *s, double pages)
{
    return log2(10.0 * (pages > 1.0 ? pages : 1.0) / (double)s->logical_pages) / 2.0;
}

/* Returns the host pages since a tick, one of the fields that hold 1 + tick. */
static inline double td_lifetime_since(const td_lifetime_state *s, uint32_t tick)
{
    return (double)(s->clock / s->tick_pages - (int64_t)tick + 1) * (double)s->tick_pages;
}

static inline int td_lifetime_step(const td_lifetime_state *s, double pages)
{
    return (int)td_lifetime_between((td_lifetime_value_of(s, pages) - TD_LIFETIME_LEAST) * 1.5, 0.0, 14.0);
}

static inline int td_lifetime_step_of_count(double count)
{
    return (int)td_lifetime_between(2.0 * log2(1.0 + count), 0.0, 15.0);
}

/* Returns what is known of a page when it is placed: four steps of four bits. */
static inline uint16_t td_lifetime_known(const td_lifetime_state *s, int64_t lpn)
{
    const td_lifetime_page *own = s->pages + lpn, *first = s->pages + (lpn - lpn % TD_LIFETIME_NEIGHBOURS);
    double space = (double)s->logical_pages, quiet = td_lifetime_since(s, first->joined + 1);
    int age = TD_LIFETIME_UNKNOWN, interval = TD_LIFETIME_UNKNOWN, writes = 0, beside;

    if (own->written > 0) {
        double pages = td_lifetime_since(s, own->written) + 1.0;
        age = td_lifetime_step(s, pages);
        writes = td_lifetime_step_of_count(own->writes / (1.0 + pages / (8.0 * space)));
    }
    if (own->interval > 0)
        interval = td_lifetime_step(s, (double)own->interval * (double)s->tick_pages);
    beside = td_lifetime_step_of_count(first->beside / (1.0 + quiet / space) * 4.0 / TD_LIFETIME_NEIGHBOURS);
    return (uint16_t)(age | interval << 4 | writes << 8 | beside << 12);
}

/* Returns the number of the weight that a state has in a table, which two of the four steps index. */
static inline int td_lifetime_entry(uint16_t state, int relocated, int table)
{
    static const uint8_t first[TD_LIFETIME_TABLES] = {0, 0, 0, 1, 1, 2};
    static const uint8_t second[TD_LIFETIME_TABLES] = {1, 2, 3, 2, 3, 3};

    return (((relocated ? TD_LIFETIME_TABLES : 0) + table) * 16 + (state >> 4 * first[table] & 15)) * 16
           + (state >> 4 * second[table] & 15);
}

/* Returns the value of the life that a page in this state is expected to have. */
static inline double td_lifetime_value(const td_lifetime_state *s, uint16_t state, int relocated)
{
    double value = TD_LIFETIME_START;
    int table;

    for (table = 0; table < TD_LIFETIME_TABLES; table++)
        value += s->weight[td_lifetime_entry(state, relocated, table)];
    return td_lifetime_between(value, TD_LIFETIME_LEAST, TD_LIFETIME_MOST);
}

/* Returns the class of a value; classes of relocated pages follow those of host pages. */
static inline int td_lifetime_class(double value, int relocated)
{
    return (int)((value - TD_LIFETIME_LEAST) * 2.5) + (relocated ? TD_LIFETIME_CLASSES : 0);
}

/* -- the decision */

/* Returns the stream, 0 to TD_LIFETIME_STREAMS - 1, that a page goes to; changes nothing. */
static inline int td_lifetime_stream(const td_lifetime_state *s, int plane, int64_t lpn, int relocated)
{
    double value = td_lifetime_value(s, td_lifetime_known(s, lpn), relocated);
    int label, stream = 0, other;

    if (s->streams == 0)
        return (int)td_lifetime_between(value + 2.5, 0.0, 5.0);
    label = td_lifetime_class(value, relocated && s->is_apart);
    while (label >= s->bound[stream])
        stream++;
    if (stream == s->streams - 1)
        for (other = s->streams; other < TD_LIFETIME_STREAMS; other++)
            if (s->is_open[plane * TD_LIFETIME_STREAMS + other]) /* no longer in use, and to be filled */
                return other;
    return stream;
}

/* -- learning */

/* Moves the value of the state in which a page was placed towards the target; returns the error. */
static inline double td_lifetime_learn(td_lifetime_state *s, const td_lifetime_page *own, double target)
{
    int relocated = own->label >= TD_LIFETIME_CLASSES, table;
    double error = target - td_lifetime_value(s, own->state, relocated);

    for (table = 0; table < TD_LIFETIME_TABLES; table++) {
        int entry = td_lifetime_entry(own->state, relocated, table);
        double step;

        s->visits[entry] += s->visits[entry] < UINT32_MAX;
        step = 1.0 / sqrt((double)s->visits[entry]);
        step = step > s->rate ? step : s->rate;
        s->weight[entry] = (float)(s->weight[entry] + step * error / TD_LIFETIME_TABLES);
    }
    return error;
}

/* Compares the error of a life that ends with that of one which ended shortly before. */
static inline void td_lifetime_compare(td_lifetime_state *s, double error)
{
    double rest;

    s->mean += (error - s->mean) * TD_LIFETIME_SLOW;
    rest = error - s->mean;
    s->covariance += (rest * s->last[s->turn] - s->covariance) * TD_LIFETIME_SLOW;
    s->variance += (rest * rest - s->variance) * TD_LIFETIME_SLOW;
    s->last[s->turn] = rest;
    s->turn = (s->turn + 1) % TD_LIFETIME_LAG;
}

/* Notes where a copy of a page begins to live. */
static inline void td_lifetime_place(td_lifetime_state *s, td_lifetime_page *own, uint16_t state,
                                     int relocated)
{
    own->state = state;
    own->label = (uint8_t)td_lifetime_class(td_lifetime_value(s, state, relocated), relocated);
    own->placed = (uint32_t)(s->clock / s->tick_pages + 1);
    s->valid[own->label]++;
}

/* Learns from the life of a page that ends. */
static inline void td_lifetime_end(td_lifetime_state *s, td_lifetime_page *own)
{
    double lived = td_lifetime_since(s, own->placed) + 1.0;

    if (own->placed == 0)
        return;
    td_lifetime_compare(s, td_lifetime_learn(s, own, td_lifetime_value_of(s, lived)));
    s->valid[own->label]--;
    s->deaths[own->label] += 1.0;
    own->placed = 0;
}

/* Counts a write of the host, for the page and for its neighbours. */
static inline void td_lifetime_count(td_lifetime_state *s, int64_t lpn)
{
    td_lifetime_page *own = s->pages + lpn, *first = s->pages + (lpn - lpn % TD_LIFETIME_NEIGHBOURS);
    double space = (double)s->logical_pages, quiet = td_lifetime_since(s, first->joined + 1);
    int64_t now = s->clock / s->tick_pages;

    if (own->written > 0) {
        double age = td_lifetime_since(s, own->written) + 1.0;
        int64_t interval = now - (int64_t)own->written + 1;
        own->interval = (uint32_t)(interval > 1 ? interval : 1);
        own->writes = (float)(own->writes / (1.0 + age / (8.0 * space)));
    }
    own->writes = (float)(own->writes + 1.0);
    own->written = (uint32_t)(now + 1);
    first->beside = (float)(first->beside / (1.0 + quiet / space) + 1.0);
    first->joined = (uint32_t)now;
}

/* -- the plan */

/* Finds the least sum of roots for every number of streams and classes; returns the number of classes. */
static inline int td_lifetime_search(td_lifetime_state *s)
{
    int classes = (s->is_apart ? 2 : 1) * TD_LIFETIME_CLASSES, streams, first, end;

    for (streams = 0; streams <= TD_LIFETIME_STREAMS; streams++)
        for (end = 0; end <= classes; end++)
            s->least[streams][end] = 1e30;
    s->least[0][0] = 0.0;
    for (first = 0; first < classes; first++) {
        double pages = 0.0, deaths = 0.0, root, total;

        for (end = first + 1; end <= classes; end++) {
            if (s->is_apart && first < TD_LIFETIME_CLASSES && end > TD_LIFETIME_CLASSES)
                break;
            pages += s->exposed[end - 1];
            deaths += s->deaths[end - 1];
            if (!s->is_apart) { /* a class of host pages and that of relocated ones are one */
                pages += s->exposed[TD_LIFETIME_CLASSES + end - 1];
                deaths += s->deaths[TD_LIFETIME_CLASSES + end - 1];
            }
            root = sqrt(pages * deaths);
            for (streams = 1; streams <= TD_LIFETIME_STREAMS; streams++) {
                total = s->least[streams - 1][first] + root;
                if (total < s->least[streams][end]) {
                    s->least[streams][end] = total;
                    s->begin[streams][end] = (uint8_t)first;
                }
            }
        }
    }
    return classes;
}

/* Chooses how many streams there are, and their bounds, for the fewest predicted relocations.
 *
 * Where one stream would be best, host pages and relocated pages are two.
 */
static inline void td_lifetime_plan(td_lifetime_state *s)
{
    double room = (double)s->usable_pages, best_cost = 1e30;
    int classes, streams, label, bound;

    s->is_apart = s->covariance > s->apart * s->variance;
    for (label = 0; label < 2 * TD_LIFETIME_CLASSES; label++) {
        room -= (double)s->valid[label];
        s->exposed[label] = s->exposed[label] * TD_LIFETIME_FADE + (double)s->valid[label];
    }
    bound = classes = td_lifetime_search(s);
    s->streams = 1;
    for (streams = 1; streams <= TD_LIFETIME_STREAMS; streams++) {
        double left = room - 0.5 * streams * (double)s->pages_of_a_stream;
        double least = s->least[streams][classes];
        double cost = least * least / (left > 1.0 ? left : 1.0);
        if (cost < best_cost) {
            s->streams = streams;
            best_cost = cost;
        }
    }
    for (streams = s->streams; streams > 0; streams--) {
        s->bound[streams - 1] = streams < s->streams ? bound : 2 * TD_LIFETIME_CLASSES;
        bound = s->begin[streams][bound];
    }
    if (s->streams == 1) { /* so that a change finds new pages apart from those that live on */
        s->streams = 2;
        s->is_apart = 1;
        s->bound[0] = TD_LIFETIME_CLASSES;
        s->bound[1] = 2 * TD_LIFETIME_CLASSES;
    }
    for (label = 0; label < 2 * TD_LIFETIME_CLASSES; label++)
        s->deaths[label] *= TD_LIFETIME_FADE;
}

/* -- events */

/* Learns from the life that a write ends, and begins another.
 *
 * is_newest: 0 for data that was out of date before it was written, since a later write has overtaken it.
 */
static inline void td_lifetime_written(td_lifetime_state *s, int64_t lpn, int is_newest)
{
    td_lifetime_page *own = s->pages + lpn;

    if (is_newest) {
        td_lifetime_end(s, own);
        td_lifetime_place(s, own, td_lifetime_known(s, lpn), 0);
        td_lifetime_count(s, lpn);
        if (10 * (s->clock - s->planned) > s->logical_pages) {
            s->planned = s->clock;
            td_lifetime_plan(s);
        }
    }
    s->clock++;
}

/* Learns from a life that goes on: the pages so far, and those still expected. */
static inline void td_lifetime_relocated(td_lifetime_state *s, int64_t lpn)
{
    td_lifetime_page *own = s->pages + lpn;
    uint16_t state = td_lifetime_known(s, lpn);

    if (own->placed > 0) {
        double expected = (double)s->logical_pages / 10.0 * pow(4.0, td_lifetime_value(s, state, 1));
        double target = td_lifetime_value_of(s, td_lifetime_since(s, own->placed) + 1.0 + expected);
        td_lifetime_learn(s, own, target < TD_LIFETIME_MOST ? target : TD_LIFETIME_MOST);
        s->valid[own->label]--;
    }
    td_lifetime_place(s, own, state, 1);
}

/* Learns from the life that the host has ended. */
static inline void td_lifetime_trimmed(td_lifetime_state *s, int64_t lpn)
{
    td_lifetime_end(s, s->pages + lpn);
}

/* Remembers that a stream has an open block, and that it has none. */
static inline void td_lifetime_opened(td_lifetime_state *s, int plane, int stream)
{
    s->is_open[plane * TD_LIFETIME_STREAMS + stream] = 1;
}

static inline void td_lifetime_closed(td_lifetime_state *s, int plane, int stream)
{
    s->is_open[plane * TD_LIFETIME_STREAMS + stream] = 0;
}

#endif
