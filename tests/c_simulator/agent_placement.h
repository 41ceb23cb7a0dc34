/* The placement `agent` of log_simulator.c: an agent that `ssdgym export AGENT --name placing` has written as
 * a C header chooses the stream of each page that the user writes or cleaning relocates.
 *
 * It is told when pages are written and relocated, and keeps a few numbers for each. */
#include "features.h"
#include "placing.h"

enum { GROUP = 16, SLOW = 8 };

static struct history {
    long written;  /* user pages up to the last write of the page, this one included; 0: never */
    long grouped;  /* of the first page of a group: up to the last write to the group */
    float interval, earlier; /* user pages between its last writes; 0: there were none */
    float updates, slow_updates, group_updates; /* counts that fade */
    int moves;     /* since it was written */
    int net_updates; /* user writes less moves, never below 0 */
} *history;

static float mean_interval, mean_difference; /* of the logarithms of intervals */
static int is_relocated;

static double log_pages(double count)
{
    return log2(10.0 * (count < 1.0 ? 1.0 : count) / logical) / 2.0;
}

static double faded(double count, long since, double halves)
{
    return count / (1.0 + (double)(now - since) / (halves * logical));
}

static void note_interval(const struct history *own)
{
    double share = (double)SLOW / logical, interval = log_pages(own->interval);

    mean_interval = (float)(mean_interval + (interval - mean_interval) * share);
    if (own->earlier > 0.0f) {
        double difference = fabs(interval - log_pages(own->earlier));

        mean_difference = (float)(mean_difference + (difference - mean_difference) * share);
    }
}

static void note_history(int page, int relocated)
{
    struct history *own = &history[page], *group = &history[page - page % GROUP];

    if (relocated) {
        own->moves++;
        own->net_updates -= own->net_updates > 0;
        return;
    }
    group->group_updates = (float)(faded(group->group_updates, group->grouped, 1.0) + 1.0);
    group->grouped = now;
    if (own->written > 0) {
        own->earlier = own->interval;
        own->interval = (float)(now - own->written);
        note_interval(own);
    }
    own->slow_updates = (float)(faded(own->slow_updates, own->written, SLOW) + 1.0);
    own->updates = (float)(faded(own->updates, own->written, 1.0) + 1.0);
    own->written = now;
    own->net_updates++;
    own->moves = 0;
}

/* -- features of a page */

static double page_relocated(int page)
{
    (void)page;
    return is_relocated;
}

static double page_age(int page)
{
    return clipped(log_pages((double)(now - history[page].written) + 1.0), -16.0, 16.0);
}

static double page_new(int page)
{
    return history[page].written == 0;
}

static double page_interval(int page)
{
    return history[page].interval > 0.0f ? clipped(log_pages(history[page].interval), -16.0, 16.0) : 8.0;
}

static double page_interval_before(int page)
{
    return history[page].earlier > 0.0f ? clipped(log_pages(history[page].earlier), -16.0, 16.0) : 8.0;
}

static double page_expected_interval(int page)
{
    double age = (double)(now - history[page].written) + 1.0;

    if (history[page].interval > 0.0f)
        return clipped(log_pages(history[page].interval), -16.0, 16.0);
    return clipped(log_pages(age > 2.0 * logical ? age : 2.0 * logical), -16.0, 16.0);
}

static double page_expected_before(int page)
{
    if (history[page].earlier > 0.0f)
        return clipped(log_pages(history[page].earlier), -16.0, 16.0);
    return page_expected_interval(page);
}

static double page_updates(int page)
{
    return clipped(log2(1.0 + faded(history[page].updates, history[page].written, 1.0)), 0.0, 32.0);
}

static double page_slow_updates(int page)
{
    return clipped(log2(1.0 + faded(history[page].slow_updates, history[page].written, SLOW)), 0.0, 32.0);
}

static double page_net_updates(int page)
{
    return log2(1.0 + history[page].net_updates);
}

static double page_group_updates(int page)
{
    const struct history *group = &history[page - page % GROUP];

    return clipped(log2(1.0 + faded(group->group_updates, group->grouped, 1.0) / GROUP), 0.0, 32.0);
}

static double page_group_age(int page)
{
    double age = (double)(now - history[page - page % GROUP].grouped) + 1.0;

    return clipped(log_pages(age), -16.0, 16.0);
}

static double page_moves(int page)
{
    return log2(1.0 + history[page].moves);
}

static double page_block_age(int page)
{
    long sealed_at = place_of[page] == NOWHERE ? 0 : segment[place_of[page] / pages].sealed_at;

    return clipped(log_pages((double)(now - sealed_at) + 1.0), -16.0, 16.0);
}

static double page_stream(int page)
{
    return place_of[page] == NOWHERE ? -1 : segment[place_of[page] / pages].stream;
}

static double intervals_mean(int page)
{
    (void)page;
    return clipped(mean_interval, -16.0, 16.0);
}

static double intervals_differ(int page)
{
    (void)page;
    return clipped(mean_difference, 0.0, 32.0);
}

/* -- the placement */

static const struct feature features_of_pages[] = {
    {"page_relocated", page_relocated},
    {"page_age", page_age},
    {"page_new", page_new},
    {"page_interval", page_interval},
    {"page_interval_before", page_interval_before},
    {"page_expected_interval", page_expected_interval},
    {"page_expected_before", page_expected_before},
    {"page_updates", page_updates},
    {"page_slow_updates", page_slow_updates},
    {"page_net_updates", page_net_updates},
    {"page_group_updates", page_group_updates},
    {"page_group_age", page_group_age},
    {"page_moves", page_moves},
    {"page_block_age", page_block_age},
    {"page_stream", page_stream},
    {"intervals_mean", intervals_mean},
    {"intervals_differ", intervals_differ},
    FEATURES_OF_THE_DEVICE,
};

static const char *const names_of_page[] = PLACING_CONTEXT_NAMES;
static double (*of_page[PLACING_CONTEXT_FEATURES])(int page);

static void start_placing(void)
{
    find_features(features_of_pages, names_of_page, PLACING_CONTEXT_FEATURES, of_page);
    history = new_array(logical, sizeof *history);
}

static int by_agent(int page, int relocated)
{
    float seen[PLACING_CONTEXT_FEATURES];
    int i;

    is_relocated = relocated;
    for (i = 0; i < PLACING_CONTEXT_FEATURES; i++)
        seen[i] = (float)of_page[i](page);
    return placing_act(seen);
}
