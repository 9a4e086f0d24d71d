/** One thing that was looked at. */
export interface Finding {
  /** `note`: Weir copes with it; `bad`: it does not run, or not well, until somebody does something. */
  readonly is: 'ok' | 'note' | 'bad'
  /** The finding, and for one that is not ok its consequence or what to do. */
  readonly what: string
}
