/**
 * Combinations, of one host: groups, and classes that several parts of a host have, multiply, and one request could keep a
 * gateway busy for hours.
 */
const TRIES_MAX = 5_000

/** The first ones, as many as are tried. */
export function* firstOf<T>(all: Iterable<T>): Generator<T> {
  let tries = 0
  for (const one of all) {
    if (tries === TRIES_MAX) return
    tries += 1
    yield one
  }
}

/** One of each list, in every combination. */
export function* combinations<T>(lists: readonly (readonly T[])[]): Generator<readonly T[]> {
  if (lists.some(({ length }) => length === 0)) return
  const places = lists.map(() => 0)
  for (;;) {
    yield lists.map((list, at) => list[places[at]!]!)
    // As a counter goes on: the last list first.
    let at = lists.length - 1
    while (at >= 0 && places[at] === lists[at]!.length - 1) {
      places[at] = 0
      at -= 1
    }
    if (at < 0) return
    places[at]! += 1
  }
}
