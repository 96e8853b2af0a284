/* Explicit search of a row machine, breadth first, on packed states of WORDS words.
 *
 * Nothing here is about one model: rules, guards and writes come as tables (kernel_tables.py). What a group of rules does to a state
 * depends on the fields that they touch alone: it is worked out once for each value of these, and remembered as XOR deltas. States
 * that were met are kept whole and compared whole; a hash only says where to look. The order in which states are met is that of
 * the search in Python (explore.py), so that both find the same runs.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef struct { uint64_t w[WORDS]; } State;
typedef struct { uint32_t first, count; } Span;
typedef struct { uint32_t word, shift, mask; } Field;
typedef struct { Field field; uint32_t allowed; } Literal;     /* allowed: where its bit set begins in `sets`, a bit per value */
typedef struct { Span guard, unless, writes; } Rule;           /* of literals, of conjunctions, of writes */
typedef struct { Field to, from; uint32_t outcomes; } Write;   /* outcomes: by the value of `from`, one value or two */
typedef struct { Field field; uint32_t placed; } Place;        /* placed: the group of its first value; the others follow */
typedef struct { Span rules; } Group;
typedef struct { Literal rests, overtaken; Span sends, fields; } Worker;

typedef struct {                                               /* guards that a search or a question is about */
    const Literal *literals;
    const Span *conjunctions;
    const uint64_t *sets;
} Guards;

typedef struct {
    Guards guards;
    const Rule *rules;
    const Write *writes;
    const uint32_t *outcomes;
    const Group *groups;                                       /* the first is asked everywhere */
    const uint32_t *members;                                   /* the rules of the groups */
    const State *touched;                                      /* by group */
    const Place *places;
    const Worker *workers;
    const Field *fields;                                       /* of the workers, each worker's in the same order */
    const State *blocks, *idle;                                /* by worker: all of its fields, and what they hold at rest */
    const uint32_t *orders;                                    /* by the value of `order`: the workers, oldest first */
    Field order;
    uint32_t named;                                            /* the value of `order` in which they stand by name */
    uint32_t n_groups, n_places, n_workers;
    Span stop;
} Model;

typedef struct { State delta; uint32_t rule; } Step;
typedef struct { State seen; uint32_t first, count; } Known;   /* what is remembered of a group: which steps */
typedef struct { Known *known; uint32_t *slots; uint32_t count, room; } Memo;
typedef struct { State state; uint64_t hash; uint32_t parent, rule; } Waiting;

enum { BATCH = 256, NOBODY = 8 };
#define ROOT UINT32_MAX

typedef struct {
    const Model *model;
    State *states;
    uint32_t *parents, *rules;                                 /* of each state: from which it was first met, and by which rule */
    uint64_t *slots;                                           /* half a hash, and a state's number + 1 */
    uint64_t room;                                             /* of slots, a power of two */
    uint32_t count, capacity, next, level, depth, stopped;
    uint64_t transitions;
    Memo *memos;
    Step *steps;
    uint32_t n_steps, steps_room, waiting;
    Waiting batch[BATCH];
    int full;                                                  /* there was no memory for more: what there is is not complete */
} Search;

static int grow(Search *s, void *at, size_t bytes) {
    void *made = realloc(*(void **)at, bytes);
    if (made) *(void **)at = made;
    else s->full = 1;
    return !!made;
}

static inline uint64_t hashed(const State *s) {
    uint64_t h = 0;
    for (int i = 0; i < WORDS; i++) {
        h = (h ^ s->w[i]) * 0x9E3779B97F4A7C15u;
        h ^= h >> 32;
    }
    h *= 0xD6E8FEB86659FD93u;
    return h ^ h >> 29;
}

static inline int same(const State *a, const State *b) {
    uint64_t unlike = 0;
    for (int i = 0; i < WORDS; i++) unlike |= a->w[i] ^ b->w[i];
    return !unlike;
}

static inline uint32_t value(const State *s, Field f) { return (uint32_t)(s->w[f.word] >> f.shift) & f.mask; }

static inline void put(State *s, Field f, uint32_t v) {
    s->w[f.word] = (s->w[f.word] & ~((uint64_t)f.mask << f.shift)) | (uint64_t)v << f.shift;
}

static inline int holds(const Guards *g, const Literal *l, const State *s) {
    uint32_t v = value(s, l->field);
    return g->sets[l->allowed + (v >> 6)] >> (v & 63) & 1;
}

static int all(const Guards *g, Span literals, const State *s) {
    for (uint32_t i = 0; i < literals.count; i++)
        if (!holds(g, &g->literals[literals.first + i], s)) return 0;
    return 1;
}

static int any(const Guards *g, Span conjunctions, const State *s) {
    for (uint32_t i = 0; i < conjunctions.count; i++)
        if (all(g, g->conjunctions[conjunctions.first + i], s)) return 1;
    return 0;
}

/* Which worker has which name does not matter, nor what one still holds that can reach nothing any more (fleet_search.py). */
static void canonical(const Model *m, State *s) {
    uint32_t ranked[NOBODY], n = 0;
    for (uint32_t x = 0; x < m->n_workers; x++) {
        const Worker *w = &m->workers[x];
        if (holds(&m->guards, &w->rests, s) || (holds(&m->guards, &w->overtaken, s) && !any(&m->guards, w->sends, s)))
            for (int i = 0; i < WORDS; i++) s->w[i] = (s->w[i] & ~m->blocks[x].w[i]) | m->idle[x].w[i];
    }
    const uint32_t *order = m->orders + value(s, m->order) * m->n_workers;
    for (int rest = 1; rest >= 0; rest--)
        for (uint32_t i = 0; i < m->n_workers; i++)
            if (holds(&m->guards, &m->workers[order[i]].rests, s) == rest) ranked[n++] = order[i];
    State held = *s;
    for (uint32_t x = 0; x < m->n_workers; x++)
        for (uint32_t i = 0; ranked[x] != x && i < m->workers[x].fields.count; i++)
            put(s, m->fields[m->workers[x].fields.first + i],
                value(&held, m->fields[m->workers[ranked[x]].fields.first + i]));
    put(s, m->order, m->named);
}

static void spread(Search *s) {
    uint64_t room = s->room ? s->room * 4 : 1 << 12, *slots = calloc(room, sizeof *slots);
    if ((s->full = !slots)) return;
    for (uint32_t n = 0; n < s->count; n++) {
        uint64_t h = hashed(&s->states[n]), at = h & (room - 1);
        while (slots[at]) at = (at + 1) & (room - 1);
        slots[at] = (h & 0xFFFFFFFF00000000u) | (n + 1);
    }
    free(s->slots);
    s->slots = slots;
    s->room = room;
}

/* The number of a state + 1; 0 where it was not met, and `at` is where it would stand. */
static inline uint32_t number(const Search *s, const State *state, uint64_t h, uint64_t *at) {
    uint64_t i = h & (s->room - 1), slot;
    for (; (slot = s->slots[i]); i = (i + 1) & (s->room - 1))
        if (!((slot ^ h) >> 32) && same(&s->states[(uint32_t)slot - 1], state)) return (uint32_t)slot;
    *at = i;
    return 0;
}

static void meet(Search *s, const Waiting *w) {
    uint64_t at = 0;
    if (s->full || number(s, &w->state, w->hash, &at)) return;
    if (s->count == s->capacity) {
        uint64_t more = s->capacity ? s->capacity * 2ull : 1 << 11;
        if ((s->full = more > UINT32_MAX) || !grow(s, &s->states, more * sizeof *s->states) ||
            !grow(s, &s->parents, more * sizeof *s->parents) || !grow(s, &s->rules, more * sizeof *s->rules))
            return;
        s->capacity = (uint32_t)more;
    }
    s->states[s->count] = w->state;
    s->parents[s->count] = w->parent;
    s->rules[s->count++] = w->rule;
    s->slots[at] = (w->hash & 0xFFFFFFFF00000000u) | s->count;
    if (s->count * 2ull >= s->room) spread(s);
}

static void settle(Search *s) {
    for (uint32_t i = 0; i < s->waiting; i++) meet(s, &s->batch[i]);
    s->waiting = 0;
}

/* Looking a state up waits for memory: many are asked for before the first is looked at. */
static inline void wait_for(Search *s, State state, uint32_t parent, uint32_t rule) {
    if (s->waiting == BATCH) settle(s);
    if (s->model->n_workers) canonical(s->model, &state);
    uint64_t h = hashed(&state);
    __builtin_prefetch(&s->slots[h & (s->room - 1)]);
    s->batch[s->waiting++] = (Waiting){state, h, parent, rule};
}

/* Every state that the writes of a rule lead to: of several outcomes the last write's change first. */
static void written(Search *s, const State *before, State after, const Write *w, uint32_t left, uint32_t rule) {
    if (!left) {
        if (s->n_steps == s->steps_room) {
            uint32_t more = s->steps_room ? s->steps_room * 2 : 1 << 10;
            if (!grow(s, &s->steps, more * sizeof *s->steps)) return;
            s->steps_room = more;
        }
        for (int i = 0; i < WORDS; i++) after.w[i] ^= before->w[i];
        s->steps[s->n_steps++] = (Step){after, rule};
        return;
    }
    uint32_t out = s->model->outcomes[w->outcomes + value(before, w->from)];
    put(&after, w->to, out & 0x7FFF);
    written(s, before, after, w + 1, left - 1, rule);
    if (out >> 30) {
        put(&after, w->to, out >> 15 & 0x7FFF);
        written(s, before, after, w + 1, left - 1, rule);
    }
}

static void work_out(Search *s, const Group *group, const State *state) {
    const Model *m = s->model;
    for (uint32_t i = 0; i < group->rules.count; i++) {
        uint32_t index = m->members[group->rules.first + i];
        const Rule *rule = &m->rules[index];
        if (all(&m->guards, rule->guard, state) && !any(&m->guards, rule->unless, state))
            written(s, state, *state, m->writes + rule->writes.first, rule->writes.count, index);
    }
}

static const Known *known(Search *s, uint32_t group, const State *state) {
    Memo *memo = &s->memos[group];
    State seen;
    for (int i = 0; i < WORDS; i++) seen.w[i] = state->w[i] & s->model->touched[group].w[i];
    uint64_t h = hashed(&seen), at;
    if (memo->room)
        for (at = h & (memo->room - 1); memo->slots[at]; at = (at + 1) & (memo->room - 1))
            if (same(&memo->known[memo->slots[at] - 1].seen, &seen)) return &memo->known[memo->slots[at] - 1];
    if (memo->count * 2 >= memo->room) {
        static const Known nothing;
        uint32_t more = memo->room ? memo->room * 4 : 64;
        if (!grow(s, &memo->known, more / 2 * sizeof *memo->known) || !grow(s, &memo->slots, more * sizeof *memo->slots))
            return &nothing;
        memo->room = more;
        memset(memo->slots, 0, memo->room * sizeof *memo->slots);
        for (uint32_t n = 0; n < memo->count; n++) {
            for (at = hashed(&memo->known[n].seen) & (memo->room - 1); memo->slots[at]; at = (at + 1) & (memo->room - 1));
            memo->slots[at] = n + 1;
        }
    }
    for (at = h & (memo->room - 1); memo->slots[at]; at = (at + 1) & (memo->room - 1));
    uint32_t first = s->n_steps;
    work_out(s, &s->model->groups[group], state);
    memo->known[memo->count] = (Known){seen, first, s->n_steps - first};
    memo->slots[at] = ++memo->count;
    return &memo->known[memo->count - 1];
}

static inline uint32_t group_of(const Model *m, uint32_t nth, const State *state) {
    return nth ? m->places[nth - 1].placed + value(state, m->places[nth - 1].field) : 0;
}

static void expand(Search *s, uint32_t n) {
    State state = s->states[n];
    for (uint32_t nth = 0; nth <= s->model->n_places; nth++) {
        const Known *k = known(s, group_of(s->model, nth, &state), &state);
        s->transitions += k->count;
        for (uint32_t i = 0; i < k->count; i++) {
            const Step *step = &s->steps[k->first + i];
            State after;
            for (int j = 0; j < WORDS; j++) after.w[j] = state.w[j] ^ step->delta.w[j];
            wait_for(s, after, n, step->rule);
        }
    }
}

static int stops(const Search *s) {
    for (uint32_t n = s->next; s->model->stop.count && n < s->count; n++)
        if (any(&s->model->guards, s->model->stop, &s->states[n])) return 1;
    return 0;
}

void end(Search *s) {
    for (uint32_t i = 0; s->memos && i < s->model->n_groups; i++) {
        free(s->memos[i].known);
        free(s->memos[i].slots);
    }
    free(s->memos); free(s->steps); free(s->states); free(s->parents); free(s->rules); free(s->slots); free(s);
}

/* A search that has met its starts; 0 where there is no memory for it. */
Search *begin(const Model *model, const State *starts, uint32_t n) {
    Search *s = calloc(1, sizeof *s);
    if (!s) return 0;
    s->model = model;
    s->memos = calloc(model->n_groups, sizeof *s->memos);
    spread(s);
    s->full |= !s->memos;
    for (uint32_t i = 0; i < n; i++) wait_for(s, starts[i], ROOT, ROOT);
    settle(s);
    s->level = s->count;
    s->stopped = stops(s);
    if (!s->full) return s;
    end(s);
    return 0;
}

/* Search on, for so many states at least, or to the end. 1: there is more; 0: it is complete, or has stopped; -1: memory is full. */
int advance(Search *s, uint32_t states) {
    while (!s->stopped && s->next < s->count) {
        for (; s->next < s->level && states && !s->full; states--) expand(s, s->next++);
        if (s->full) return -1;
        if (s->next < s->level) return 1;
        settle(s);
        if (s->full) return -1; /* or a level that found no room for its last states would look like the end */
        s->level = s->count;
        s->depth += s->next < s->count;
        s->stopped = stops(s);
    }
    return 0;
}

typedef struct {
    const State *states;
    const uint32_t *parents, *rules;
    const Step *steps;
    uint64_t transitions;
    uint32_t n_steps, count, depth;
} Result;

Result result(const Search *s) {
    return (Result){s->states, s->parents, s->rules, s->steps, s->transitions, s->n_steps, s->count, s->depth};
}

/* What was worked out of a group of rules, and how much it is. */
uint32_t remembered(const Search *s, uint32_t group, const Known **out) {
    *out = s->memos[group].known;
    return s->memos[group].count;
}

/* The number of a state + 1, or 0. */
uint32_t position(const Search *s, const State *state) {
    uint64_t at;
    return number(s, state, hashed(state), &at);
}

/* The numbers of the first states, at most so many, in which one of some guards holds; how many they are. */
uint32_t matching(const Search *s, const Guards *guards, uint32_t conjunctions, uint32_t most, uint32_t *out) {
    uint32_t found = 0;
    for (uint32_t n = 0; n < s->count && found < most; n++)
        if (any(guards, (Span){0, conjunctions}, &s->states[n])) out[found++] = n;
    return found;
}

/* The number of the first state for each value under a mask, which may depend on a field; how many, or -1: memory is full. */
int64_t firsts(const Search *s, const State *masks, Field place, uint32_t *out) {
    uint64_t room = 1 << 10, at, found = 0;
    uint32_t *slots = calloc(room, sizeof *slots);
    State *seen = malloc(room / 2 * sizeof *seen);
    for (uint32_t n = 0; n < s->count && slots && seen; n++) {
        State masked, *mask = (State *)&masks[value(&s->states[n], place)];
        for (int i = 0; i < WORDS; i++) masked.w[i] = s->states[n].w[i] & mask->w[i];
        for (at = hashed(&masked) & (room - 1); slots[at] && !same(&seen[slots[at] - 1], &masked); at = (at + 1) & (room - 1));
        if (slots[at]) continue;
        seen[found] = masked;
        out[found++] = n;
        slots[at] = (uint32_t)found;
        if (found * 2 < room) continue;
        room *= 4;
        free(slots);
        State *more = realloc(seen, room / 2 * sizeof *seen);
        if (more) seen = more;
        slots = more ? calloc(room, sizeof *slots) : 0;
        for (uint32_t k = 0; slots && k < found; k++) {
            for (at = hashed(&seen[k]) & (room - 1); slots[at]; at = (at + 1) & (room - 1));
            slots[at] = k + 1;
        }
    }
    int full = !slots || !seen;
    free(slots);
    free(seen);
    return full ? -1 : (int64_t)found;
}

/* A sum over the graph, whatever the order of its states: of each step to another state once, with a number for what took it
 * (plain.py has the same). 1 in `failed`: memory is full. */
uint64_t graph(Search *s, const uint64_t *names, int *failed) {
    uint64_t sum = 0, room = 0, *steps = 0;
    *failed = 0;
    for (uint32_t n = 0; n < s->count && !*failed; n++) {
        uint64_t from = hashed(&s->states[n]), found = 0;
        for (uint32_t nth = 0; nth <= s->model->n_places && !*failed; nth++) {
            const Known *k = known(s, group_of(s->model, nth, &s->states[n]), &s->states[n]);
            if (found + k->count > room && !grow(s, &steps, (room = (found + k->count) * 2) * sizeof *steps)) *failed = 1;
            for (uint32_t i = 0; i < k->count && !*failed; i++) {
                State after;
                for (int j = 0; j < WORDS; j++) after.w[j] = s->states[n].w[j] ^ s->steps[k->first + i].delta.w[j];
                if (s->model->n_workers) canonical(s->model, &after);
                if (same(&after, &s->states[n])) continue;
                uint64_t step = from ^ hashed(&after) * 0x9E3779B97F4A7C15u, at = 0;
                step = (step ^ names[s->steps[k->first + i].rule]) * 0xD6E8FEB86659FD93u;
                step ^= step >> 32;
                while (at < found && steps[at] != step) at++;
                if (at < found) continue;
                steps[found++] = step;
                sum += step;
            }
        }
    }
    free(steps);
    return sum;
}

/* Mark every state from which marked ones can be reached by some rules, a byte per rule. -1: memory is full. */
int reaching(Search *s, const uint8_t *rules, uint8_t *marks) {
    uint64_t edges = 0, *first = calloc((uint64_t)s->count + 2, sizeof *first);
    uint32_t *before = 0, *waiting = malloc(((uint64_t)s->count + 1) * sizeof *waiting), left = 0;
    int failed = !first || !waiting;
    for (int filling = 0; filling < 2 && !failed; filling++) {  /* count what leads to each state, then note it */
        if (filling) {
            for (uint32_t n = 0; n <= s->count; n++) first[n + 1] += first[n];
            if ((failed = !(before = malloc((edges + 1) * sizeof *before)))) break;
        }
        for (uint32_t n = 0; n < s->count; n++)
            for (uint32_t nth = 0; nth <= s->model->n_places; nth++) {
                const Known *k = known(s, group_of(s->model, nth, &s->states[n]), &s->states[n]);
                for (uint32_t i = 0; i < k->count; i++) {
                    const Step *step = &s->steps[k->first + i];
                    if (!rules[step->rule]) continue;
                    State after;
                    for (int j = 0; j < WORDS; j++) after.w[j] = s->states[n].w[j] ^ step->delta.w[j];
                    if (s->model->n_workers) canonical(s->model, &after);
                    uint32_t to = position(s, &after);
                    if (!to) continue;  /* a search that was stopped has not met it */
                    if (filling) before[first[to]++] = n;
                    else { first[to + 1]++; edges++; }
                }
            }
    }
    failed |= s->full;
    /* first[n + 1] is now where the edges to state n end, and first[n] where they begin */
    for (uint32_t n = 0; n < s->count && !failed; n++)
        if (marks[n]) waiting[left++] = n;
    while (left && !failed) {
        uint32_t n = waiting[--left];
        for (uint64_t e = first[n]; e < first[n + 1]; e++)
            if (!marks[before[e]]) {
                marks[before[e]] = 1;
                waiting[left++] = before[e];
            }
    }
    free(first); free(before); free(waiting);
    return failed ? -1 : 0;
}
