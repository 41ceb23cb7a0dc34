/* The rules greedy and cost-benefit of log_simulator.c: which segment is cleaned. */

static double most_invalid(int s)
{
    return segment[s].written - segment[s].valid;
}

static double benefit_per_cost(int s, long since)
{
    double u = (double)segment[s].valid / segment[s].written;

    return u > 0.0 ? (double)(now - since + 1) * (1.0 - u) / (2.0 * u) : 1e300;
}

static double cost_benefit(int s)
{
    return benefit_per_cost(s, segment[s].invalidated_at);
}

static double cost_benefit_sealed(int s)
{
    return benefit_per_cost(s, segment[s].sealed_at);
}

static double (*score)(int s);
static int first_come;         /* of equals, the one that came to its number first, not the lowest */

static int best_by_score(void)
{
    int best = NOWHERE, s;
    double highest = 0.0;

    for (s = 0; s < segments; s++) {
        double own;

        if (!may_be_cleaned(s))
            continue;
        own = score(s);
        if (best == NOWHERE || own > highest
            || (first_come && own == highest && segment[s].changed < segment[best].changed)) {
            best = s;
            highest = own;
        }
    }
    return best;
}
