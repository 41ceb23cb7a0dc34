/* What features are made of that agents see, and those of the device as a whole, as docs/environments.md
 * defines them. */
#ifndef FEATURES_H
#define FEATURES_H

#include <math.h>

struct feature {
    const char *name;
    double (*of)(int subject); /* a segment or a logical page; those of the device do not look at it */
};

static double clipped(double value, double lowest, double highest)
{
    return value < lowest ? lowest : value > highest ? highest : value;
}

static double open_pages(void)
{
    double unwritten = 0.0;
    int stream;

    for (stream = 0; stream < streams; stream++)
        if (open_segment[stream] != NOWHERE)
            unwritten += pages - segment[open_segment[stream]].written;
    return unwritten;
}

static double open_room(int subject)
{
    (void)subject;
    return clipped(2.0 * open_pages() / ((double)streams * pages) - 1.0, -1.0, 1.0);
}

static double pool(int subject)
{
    (void)subject;
    return (double)free_count / segments;
}

static double free_share(int subject)
{
    (void)subject;
    return (double)free_count / segments + open_pages() / ((double)segments * pages);
}

static double utilisation(int subject)
{
    (void)subject;
    return (double)logical / ((double)segments * pages);
}

static double log_spare(int subject)
{
    double spare = (double)segments * pages / logical - 1.0;

    (void)subject;
    return clipped(log2(spare < 1e-5 ? 1e-5 : spare) + 4.0, -16.0, 16.0);
}

static double log_pages_per_block(int subject)
{
    (void)subject;
    return log2(pages) / 16.0;
}

static double log_blocks(int subject)
{
    (void)subject;
    return log2(segments) / 32.0;
}

static double log_logical_pages(int subject)
{
    (void)subject;
    return log2(logical) / 32.0;
}

#define FEATURES_OF_THE_DEVICE                                                                   \
    {"open_room", open_room}, {"pool", pool}, {"free", free_share}, {"utilisation", utilisation}, \
    {"log_spare", log_spare}, {"log_pages_per_block", log_pages_per_block},                      \
    {"log_blocks", log_blocks}, {"log_logical_pages", log_logical_pages},                        \
    {NULL, NULL}

/* Writes how the features of a list are made; `known` ends with a name that is NULL. */
static void find_features(const struct feature *known, const char *const *names, int count,
                          double (**found)(int))
{
    int i;

    for (i = 0; i < count; i++) {
        const struct feature *one = known;

        while (one->name != NULL && strcmp(one->name, names[i]) != 0)
            one++;
        if (one->name == NULL) {
            fprintf(stderr, "%s: ", names[i]);
            fail("this feature is not made here");
        }
        found[i] = one->of;
    }
}

#endif
