/** More letters apart than this is another word. */
const DISTANCE_MAX = 6

/** The known name that is closest to a mistyped one; undefined if none is close. */
export function nearestName(name: string, names: Iterable<string>): string | undefined {
  const ranked = [...names]
    .map((each) => ({ each, distance: distanceOf(name, each) }))
    .toSorted((a, b) => a.distance - b.distance)
  const [best] = ranked
  return best !== undefined && best.distance <= DISTANCE_MAX ? best.each : undefined
}

/** How many letters must be put in, left out or changed (Levenshtein's distance). */
function distanceOf(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, at) => at)
  for (const [i, letter] of a.split('').entries()) {
    const next = [i + 1]
    for (const [j, other] of b.split('').entries())
      next.push(Math.min(next[j]! + 1, row[j + 1]! + 1, row[j]! + (letter === other ? 0 : 1)))
    row = next
  }
  return row.at(-1) ?? 0
}
