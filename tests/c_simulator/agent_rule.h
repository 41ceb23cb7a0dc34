/* The rule `agent` of log_simulator.c: an agent that `ssdgym export AGENT --name victim` has written as a
 * C header chooses among all segments with an invalid page.
 *
 * Features are made here by the names that the header has. */
#include "features.h"
#include "victim.h"

static struct {
    double erases; /* mean of the segments in question */
    long decided;  /* user pages before the last decision */
} decision;

/* -- of a segment */

static double valid_fraction(int s)
{
    return 2.0 * segment[s].valid / segment[s].written - 1.0;
}

static double log_benefit(int s)
{
    double invalid = segment[s].written - segment[s].valid;

    return clipped(log2(invalid / (segment[s].valid + 0.5)) / 2.0 + 1.0, -8.0, 8.0);
}

static double log_of_age(long since, double part)
{
    return clipped(log2(part * (double)(now - since + 1) / logical) / 2.0, -8.0, 8.0);
}

static double log_age(int s)
{
    return log_of_age(segment[s].invalidated_at, 100.0);
}

static double log_age_closed(int s)
{
    return log_of_age(segment[s].sealed_at, 10.0);
}

static double wear(int s)
{
    double mean = decision.erases;

    return clipped(2.0 * ((double)segment[s].cleaned - mean) / (mean + 1.0), -2.0, 2.0);
}

static double gc_stream(int s)
{
    return streams > 1 && segment[s].stream == streams - 1 ? 1.0 : -1.0;
}

static double block_stream(int s)
{
    return 2.0 * segment[s].stream / (streams > 1 ? streams - 1 : 1) - 1.0;
}

static double moves(int s)
{
    return (double)segment[s].valid / pages;
}

static double gain(int s)
{
    return (double)(segment[s].written - segment[s].valid) / pages;
}

/* Updates are counted of four pages of a segment, or of others in their aligned groups of four numbers. */
static double log_rate(int s, int of_others)
{
    int stride = pages < 4 ? 1 : pages / 4, first = s * pages, place, other;
    double count = 0.0, sum = 0.0, mean = (double)now / logical;

    for (place = first; place < first + pages; place += stride) {
        int page = page_at[place], group = page - page % 4;

        if (place_of[page] != place)
            continue;
        if (!of_others) {
            count += 1.0;
            sum += (double)updates[page];
            continue;
        }
        if (group + 4 > logical)
            continue;
        count += 3.0;
        for (other = group; other < group + 4; other++)
            if (other != page)
                sum += (double)updates[other];
    }
    return count > 0.0 ? clipped(log2((sum / count + 0.5) / (mean + 0.5)) / 2.0, -4.0, 4.0) : 0.0;
}

static double log_update_rate(int s)
{
    return log_rate(s, 0);
}

static double log_neighbour_rate(int s)
{
    return log_rate(s, 1);
}

/* -- of a decision */

static double host_pages(int s)
{
    (void)s;
    return clipped(2.0 * log2((double)(now - decision.decided) + 1.0) / log2(pages + 1.0) - 1.0, -1.0, 1.0);
}

/* -- the rule */

static const struct feature known_features[] = {
    {"valid_fraction", valid_fraction},
    {"log_benefit", log_benefit},
    {"log_age", log_age},
    {"log_age_closed", log_age_closed},
    {"wear", wear},
    {"gc_stream", gc_stream},
    {"block_stream", block_stream},
    {"moves", moves},
    {"gain", gain},
    {"log_update_rate", log_update_rate},
    {"log_neighbour_rate", log_neighbour_rate},
    {"host_pages", host_pages},
    FEATURES_OF_THE_DEVICE,
};

static const char *const candidate_names[] = VICTIM_CANDIDATE_NAMES;
static const char *const context_names[] = VICTIM_CONTEXT_NAMES;
static double (*candidate_features[VICTIM_CANDIDATE_FEATURES])(int s);
static double (*context_features[VICTIM_CONTEXT_FEATURES])(int s);
static float *candidates, *scores, context[VICTIM_CONTEXT_FEATURES];
static unsigned char *valid;
static int *in_question;

static void start_agent(void)
{
    find_features(known_features, candidate_names, VICTIM_CANDIDATE_FEATURES, candidate_features);
    find_features(known_features, context_names, VICTIM_CONTEXT_FEATURES, context_features);
    candidates = new_array(segments * VICTIM_CANDIDATE_FEATURES, sizeof *candidates);
    scores = new_array(segments, sizeof *scores);
    valid = new_array(segments, sizeof *valid);
    in_question = new_array(segments, sizeof *in_question);
}

static int chosen_by_agent(void)
{
    int count = 0, s, i, k;

    decision.erases = 0.0;
    for (s = 0; s < segments; s++)
        if (may_be_cleaned(s)) {
            in_question[count++] = s;
            decision.erases += (double)segment[s].cleaned;
        }
    if (count == 0)
        return NOWHERE;
    decision.erases /= count;
    for (k = 0; k < count; k++) {
        valid[k] = 1;
        for (i = 0; i < VICTIM_CANDIDATE_FEATURES; i++)
            candidates[k * VICTIM_CANDIDATE_FEATURES + i] = (float)candidate_features[i](in_question[k]);
    }
    for (i = 0; i < VICTIM_CONTEXT_FEATURES; i++)
        context[i] = (float)context_features[i](NOWHERE);
    decision.decided = now;
    return in_question[victim_choose(candidates, context, valid, count, scores)];
}
