/** To the second, with the zone: `2026-11-21T07:30:00Z`. */
export function zonedTime(at: Date): string {
  return `${at.toISOString().slice(0, 19)}Z`
}

/** With microseconds and without a zone, as Nova writes what comes straight from its database. */
export function plainTime(at: Date): string {
  return `${at.toISOString().slice(0, 23)}000`
}
