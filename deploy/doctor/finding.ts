/** The result of one check. */
export interface Finding {
  /** `note`: Weir works all the same; `bad`: it does not work, or not well, until the operator acts. */
  readonly is: 'ok' | 'note' | 'bad'
  /** The finding, and for one that is not ok its consequence or what to do. */
  readonly what: string
}
