/** The most entries of a list that is not paged. */
const LISTED_MAX = 5_000
/** One more than shown, to know whether there are more. */
export const READ_MAX = LISTED_MAX + 1

export interface Listed<T> {
  readonly items: readonly T[]
  /** True when there are more than shown. */
  readonly isTruncated: boolean
}

/** What is shown of up to READ_MAX entries read. */
export function listed<T>(read: readonly T[]): Listed<T> {
  return { items: read.slice(0, LISTED_MAX), isTruncated: read.length > LISTED_MAX }
}

export const NO_ENTRIES: Listed<never> = { items: [], isTruncated: false }
