/* The placements of log_simulator.c: which open segment a page goes to. */

static int (*stream_of)(int page, int relocated);
/* Told when a page has been written or relocated, and when a segment is about to be cleaned. */
static void (*note_page)(int page, int relocated);
static void (*note_cleaning)(int s);

static void note_no_page(int page, int relocated)
{
    (void)page, (void)relocated;
}

static void note_no_cleaning(int s)
{
    (void)s;
}

static int by_source(int page, int relocated)
{
    (void)page;
    return relocated ? streams - 1 : 0;
}

/* -- SepBIT (Wang et al., FAST 2022), with exact times in place of its queue of addresses */

enum { LIVES = 16 };

static struct {
    long *written_at; /* user pages up to the last write of a page, this one included; 0: never */
    double mean_life; /* of the last segments of stream 0, in user pages; 0: not known */
    long lives, count;
} sepbit;

static int younger(long age, double factor)
{
    return sepbit.mean_life == 0.0 || (double)age < factor * sepbit.mean_life;
}

static int by_sepbit(int page, int relocated)
{
    long age = now - sepbit.written_at[page] + 1;

    if (!relocated)
        return sepbit.written_at[page] > 0 && younger(age, 1.0) ? 0 : 1;
    if (segment[place_of[page] / pages].stream == 0)
        return 2;
    return younger(age, 4.0) ? 3 : younger(age, 16.0) ? 4 : 5;
}

static void note_write(int page, int relocated)
{
    if (!relocated)
        sepbit.written_at[page] = now;
}

static void note_life(int s)
{
    if (segment[s].stream != 0)
        return;
    sepbit.lives += now - segment[s].opened_at;
    if (++sepbit.count == LIVES) {
        sepbit.mean_life = (double)sepbit.lives / LIVES;
        sepbit.lives = sepbit.count = 0;
    }
}

static void begin_placement(const char *name)
{
    streams = 2;
    stream_of = by_source;
    note_page = note_no_page;
    note_cleaning = note_no_cleaning;
    if (strcmp(name, "sepbit") == 0) {
        streams = 6;
        stream_of = by_sepbit;
        note_page = note_write;
        note_cleaning = note_life;
        sepbit.written_at = new_array(logical, sizeof *sepbit.written_at);
    } else if (strcmp(name, "single") == 0) {
        streams = 1;
    } else if (strcmp(name, "sep_gc") != 0) {
        fail("there is no such PLACEMENT");
    }
}
