/** A program of ours as it is started: `node SCRIPT` with these settings and nothing else of this environment. */
export interface Program {
  /** Also the name of its log, and of `./weir logs NAME`. */
  readonly name: string
  readonly script: string
  readonly settings: Readonly<Record<string, string>>
}
