/** One thing that was looked at. */
export interface Finding {
  /** `note`: Weir copes with it; `bad`: it does not run, or not well, until somebody does something. */
  readonly is: 'ok' | 'note' | 'bad'
  /** What was seen, and for what is not ok what follows or what to do. */
  readonly what: string
}
