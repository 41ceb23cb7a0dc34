"""td_lifetime: while the device runs, the rule learns how long pages live, and plans streams accordingly.

A life begins when a copy of a page is placed, and ends when the host overwrites or trims the page. Times are
counted in ticks of a fixed number of host pages; a logical space is as many host pages as the device has
logical pages. The value of a life is log4(10 * host pages / logical pages). The state of a copy consists of
the features of its page when it was placed; its class is a range of predicted values.
"""

from math import log2, sqrt

from ssdgym.policy import kernel, placement_policy, stream_to_fill

_STREAMS = 8
#: This number of consecutive pages are neighbours. The record of the first one has the counts of all of them.
_NEIGHBOURS = 16
#: Number of ticks in a logical space; a tick is at least one host page.
_TICKS = 65536

# Features of a page, as steps from 0 to 15: time since its last write; last interval between two writes; its
# writes, halved after eight logical spaces without a write; writes of its neighbours, halved after one.
_AGE, _INTERVAL, _WRITES, _NEAR = range(4)
#: The two features that index each table of weights. Host pages and relocated pages have separate tables.
_FIRST = (_AGE, _AGE, _AGE, _INTERVAL, _INTERVAL, _WRITES)
_SECOND = (_INTERVAL, _WRITES, _NEAR, _WRITES, _NEAR, _NEAR)
_TABLES = 6
_ENTRIES = 2 * _TABLES * 256
_UNKNOWN = 15  # step of a time that is unknown

# Smallest value, value predicted before anything is learned, largest value.
_LEAST, _START, _MOST = -6.0, 1.0, 3.5
#: Number of classes of host pages, each 0.4 values wide; relocated pages have as many classes of their own.
_CLASSES = 24
#: The error of an ended life is multiplied by the error of the life that ended this many lives before.
_LAG = 4
#: `deaths` and `exposed` are multiplied by this factor at each plan.
_FADE = 0.6
#: Weight of the newest error in the moving averages of errors.
_SLOW = 0.0005


@kernel
def _tick(view):
    return max(view.params[0].logical_pages // _TICKS, 1)


@kernel
def _pages_since(view, mark, clock):
    """Return the host pages since a time; `mark` is 1 + the tick of that time."""
    return float(clock // _tick(view) - mark + 1) * _tick(view) + 1.0


@kernel
def _value_of(view, pages):
    """Return the value of a life of `pages` host pages."""
    return log2(10.0 * max(pages, 1.0) / view.params[0].logical_pages) / 2.0


@kernel
def _step_of(view, pages):
    """Return the step, 0 to 14, of a time of `pages` host pages."""
    return int(min(max((_value_of(view, pages) - _LEAST) * 1.5, 0.0), 14.0))


@kernel
def _step_of_count(count):
    """Return the step of a count, 0 to 15."""
    return int(min(2.0 * log2(1.0 + count), 15.0))


@kernel
def _state(view, lpn, clock):
    """Return the state of a page that is placed now: its four features of four bits each."""
    own, near = view.page_memory[lpn], view.page_memory[lpn - lpn % _NEIGHBOURS]
    space, tick = float(view.params[0].logical_pages), _tick(view)
    since, interval, writes = _UNKNOWN, _UNKNOWN, 0
    if own.written > 0:
        age = _pages_since(view, own.written, clock)
        since = _step_of(view, age)
        writes = _step_of_count(own.writes / (1.0 + age / (8.0 * space)))
    if own.interval > 0:
        interval = _step_of(view, float(own.interval) * tick)
    quiet = float(clock // tick - near.neared) * tick
    beside = _step_of_count(near.near / (1.0 + quiet / space) * 4.0 / _NEIGHBOURS)
    return since | interval << 4 | writes << 8 | beside << 12


@kernel
def _entry(state, relocated, table):
    """Return the index of the weight for a state in table `table`."""
    first, second = state >> 4 * _FIRST[table] & 15, state >> 4 * _SECOND[table] & 15
    return (((1 if relocated else 0) * _TABLES + table) * 16 + first) * 16 + second


@kernel
def _value(view, state, relocated):
    """Return the predicted value of the life of a copy placed in this state."""
    value = _START
    for table in range(_TABLES):
        value += view.memory[0].weight[_entry(state, relocated, table)]
    return min(max(value, _LEAST), _MOST)


@kernel
def _class(value, relocated):
    """Return the class of a value; the classes of relocated pages follow those of host pages."""
    return int((value - _LEAST) * 2.5) + (_CLASSES if relocated else 0)


@placement_policy(
    "td_lifetime",
    source="ssdgym, after TD(0) of Sutton, Machine Learning 1988",
    streams=_STREAMS,
    relocation_streams=_STREAMS,
    online=True,
    parameters={"rate": (0.01, 0, 1), "apart": (0.05, 0), "bootstrap": (1, 0, 1), "planned": (1, 0, 1)},
    page=[
        ("written", "u4"),  # 1 + tick of the last host write; 0: never written
        ("placed", "u4"),  # 1 + tick at which the present copy was placed; 0: there is no copy
        ("neared", "u4"),  # in the first neighbour: tick of the last host write to a neighbour
        ("interval", "u4"),  # ticks between the last two host writes, at least 1; 0: unknown
        ("writes", "f4"),  # faded count of host writes at the last host write
        ("near", "f4"),  # in the first neighbour: faded count of host writes to the neighbours
        ("state", "u2"),  # state of the present copy
        ("label", "u1"),  # class of the present copy
    ],
    memory=[
        ("weight", "f4", (_ENTRIES,)),
        ("visits", "i8", (_ENTRIES,)),  # number of times that each weight was changed
        ("valid", "i8", (2 * _CLASSES,)),  # valid pages of each class
        ("deaths", "f8", (2 * _CLASSES,)),  # faded count of ended lives of each class
        ("exposed", "f8", (2 * _CLASSES,)),  # faded sum, over all plans, of the valid pages of each class
        ("streams", "i8"),  # streams in use; 0 before the first plan
        ("bound", "i8", (_STREAMS,)),  # first class above those of each stream
        ("apart", "i8"),  # whether relocated pages have streams of their own
        ("planned", "i8"),  # clock of the last plan
        ("last", "f8", (_LAG,)),  # errors of the last lives that ended, minus `mean`
        ("turn", "i8"),  # index of the oldest of these errors
        ("mean", "f8"),  # moving averages of errors: their mean, their covariance at `_LAG`, their variance
        ("covariance", "f8"),
        ("variance", "f8"),
        ("least", "f8", (_STREAMS + 1, 2 * _CLASSES + 1)),  # `_search`: least sum, by streams and classes
        ("begin", "i8", (_STREAMS + 1, 2 * _CLASSES + 1)),  # `_search`: first class of the last stream
    ],
)
def td_lifetime(view, plane, lpn, source, parameters):
    """Put a page into the stream for the life that it is predicted to have.

    The prediction is the logarithm of the page's life: host pages until its overwrite or trim. It is a sum of
    weights, one from each of six tables, indexed by pairs of four features: time since the last write,
    last interval, number of writes, writes of the neighbours. The rule learns from each life that ends and,
    when a page is relocated, from its life so far plus its predicted further life. After every `L / 10` host
    pages, with `L` logical pages, the rule chooses the number of streams (two or more) and their bounds for
    the fewest predicted relocations.

    `rate` is the smallest learning rate. Relocated pages have streams of their own while the errors of lives
    that end close together have a correlation above `apart`. Two parameters are for ablations: `bootstrap=0`
    learns from ended lives only, `planned=0` keeps the six streams of the start, with fixed bounds.
    """
    memory = view.memory[0]
    value = _value(view, _state(view, lpn, view.control[0].clock), source >= 0)
    if memory.streams == 0:
        return int(min(max(value + 2.5, 0.0), 5.0))
    label = _class(value, source >= 0 and memory.apart)
    stream = 0
    while label >= memory.bound[stream]:
        stream += 1
    return stream_to_fill(view, plane, stream, _STREAMS) if stream == memory.streams - 1 else stream


@kernel
def _learn(view, lpn, target, parameters):
    """Move the prediction for the state of a copy towards value `target`; return the error before this."""
    own, memory = view.page_memory[lpn], view.memory[0]
    relocated = own.label >= _CLASSES
    error = target - _value(view, own.state, relocated)
    for table in range(_TABLES):
        entry = _entry(own.state, relocated, table)
        memory.visits[entry] += 1
        memory.weight[entry] += max(parameters.rate, 1.0 / sqrt(memory.visits[entry])) * error / _TABLES
    return error


@kernel
def _place(view, lpn, state, relocated, clock):
    """Begin a life: store the state, the class and the time of a new copy of a page."""
    own = view.page_memory[lpn]
    own.state = state
    own.label = _class(_value(view, state, relocated), relocated)
    own.placed = clock // _tick(view) + 1
    view.memory[0].valid[own.label] += 1


@kernel
def _compare(view, error):
    """Update mean, covariance and variance of the errors with the error of an ended life."""
    memory = view.memory[0]
    memory.mean += (error - memory.mean) * _SLOW
    rest = error - memory.mean
    memory.covariance += (rest * memory.last[memory.turn] - memory.covariance) * _SLOW
    memory.variance += (rest * rest - memory.variance) * _SLOW
    memory.last[memory.turn] = rest
    memory.turn = (memory.turn + 1) % _LAG


@kernel
def _end(view, lpn, clock, parameters):
    """End the life of the present copy of a page, and learn from it."""
    own, memory = view.page_memory[lpn], view.memory[0]
    if own.placed == 0:
        return
    _compare(view, _learn(view, lpn, _value_of(view, _pages_since(view, own.placed, clock)), parameters))
    memory.valid[own.label] -= 1
    memory.deaths[own.label] += 1.0
    own.placed = 0


@kernel
def _search(view, apart):
    """Find the least sum of roots (see `_plan`) for each number of streams and of lowest classes.

    Return the number of classes. Unless `apart`, host and relocated pages of equal value are one class.
    """
    memory = view.memory[0]
    classes = 2 * _CLASSES if apart else _CLASSES
    memory.least[:] = 1e30
    memory.least[0, 0] = 0.0
    for first in range(classes):
        pages, deaths = 0.0, 0.0
        for last in range(first + 1, classes + 1):
            if apart and first < _CLASSES and last > _CLASSES:
                break
            pages += memory.exposed[last - 1]
            deaths += memory.deaths[last - 1]
            if not apart:
                pages += memory.exposed[_CLASSES + last - 1]
                deaths += memory.deaths[_CLASSES + last - 1]
            root = sqrt(pages * deaths)
            for streams in range(1, _STREAMS + 1):
                total = memory.least[streams - 1, first] + root
                if total < memory.least[streams, last]:
                    memory.least[streams, last] = total
                    memory.begin[streams, last] = first
    return classes


@kernel
def _plan(view, least_alike):
    """Choose the number of streams, and their bounds.

    A stream with `pages` valid pages, of which `deaths` die, and with `spare` pages of room relocates
    `deaths * pages / (2 * spare)` pages. If the device's room is divided among the streams for the fewest
    relocations, all of them relocate `(sum of sqrt(deaths * pages)) ** 2 / (2 * room)`. Each open block costs
    half a block of room. If one stream is best, host pages and relocated pages still have one stream each.
    """
    memory, params = view.memory[0], view.params[0]
    apart = memory.covariance > least_alike * memory.variance
    room = float(params.planes * params.blocks * params.pages_per_block - params.planes * params.low_pool)
    for label in range(2 * _CLASSES):
        room -= memory.valid[label]
        memory.exposed[label] = memory.exposed[label] * _FADE + memory.valid[label]
    classes = _search(view, apart)
    best, best_cost = 1, 1e30
    for streams in range(1, _STREAMS + 1):
        taken = 0.5 * streams * params.planes * params.pages_per_block
        cost = memory.least[streams, classes] ** 2 / max(room - taken, 1.0)
        if cost < best_cost:
            best, best_cost = streams, cost
    memory.streams = best
    memory.apart = apart
    bound = classes
    for streams in range(best, 0, -1):
        memory.bound[streams - 1] = bound if streams < best else 2 * _CLASSES
        bound = memory.begin[streams, bound]
    if best == 1:  # if the workload changes later, new pages are then separate from long-lived pages
        memory.streams, memory.apart = 2, 1
        memory.bound[0], memory.bound[1] = _CLASSES, 2 * _CLASSES
    for label in range(2 * _CLASSES):
        memory.deaths[label] *= _FADE


@kernel
def _count(view, lpn, clock):
    """Update the counts and times of writes of a page and of its neighbours, after a host write."""
    own, near = view.page_memory[lpn], view.page_memory[lpn - lpn % _NEIGHBOURS]
    space, tick = float(view.params[0].logical_pages), _tick(view)
    if own.written > 0:
        age = _pages_since(view, own.written, clock)
        own.interval = max(clock // tick - own.written + 1, 1)
        own.writes = own.writes / (1.0 + age / (8.0 * space))
    own.writes += 1.0
    own.written = clock // tick + 1
    near.near = near.near / (1.0 + float(clock // tick - near.neared) * tick / space) + 1.0
    near.neared = clock // tick


@td_lifetime.on("written")
def written(view, plane, lpn, old_page, page, parameters):
    """End the life of the old copy, begin that of the new copy, and plan if it is time."""
    clock, memory = view.control[0].clock - 1, view.memory[0]
    if old_page >= 0:
        _end(view, lpn, clock, parameters)
    if view.logical[lpn].ppn != page:
        return
    _place(view, lpn, _state(view, lpn, clock), False, clock)
    _count(view, lpn, clock)
    if parameters.planned and 10 * (clock - memory.planned) > view.params[0].logical_pages:
        memory.planned = clock
        _plan(view, parameters.apart)


@td_lifetime.on("relocated")
def relocated(view, plane, lpn, old_page, page, parameters):
    """Learn from the old copy's life so far plus the predicted life of the new copy; begin the new life."""
    clock, own = view.control[0].clock, view.page_memory[lpn]
    state = _state(view, lpn, clock)
    if own.placed > 0:
        if parameters.bootstrap:
            expected = view.params[0].logical_pages / 10.0 * 4.0 ** _value(view, state, True)
            life = _pages_since(view, own.placed, clock) + expected
            _learn(view, lpn, min(_value_of(view, life), _MOST), parameters)
        view.memory[0].valid[own.label] -= 1
    _place(view, lpn, state, True, clock)


@td_lifetime.on("trimmed")
def trimmed(view, plane, lpn, old_page, page, parameters):
    """End the life of the page."""
    _end(view, lpn, view.control[0].clock, parameters)
