/** Requests of one kind. */
export interface Stream {
  readonly name: string
  /** The bytes of the request, as latin1. */
  readonly request: string
  readonly perSecond: number
}

/** What a process of the load is to do. */
export interface Command {
  readonly origin: string
  readonly connections: number
  readonly durationMs: number
  /** Sent as often as they say, whether earlier ones are answered or not. */
  readonly streams?: readonly Stream[]
  /** Sent again by each connection when it is answered, after a pause. */
  readonly loop?: { readonly request: string; readonly pauseMs: number }
}

/** The result of the command. */
export interface Outcome {
  /** Of answered requests: how many with each status, by the name of their stream. */
  readonly statuses: Readonly<Record<string, Readonly<Record<string, number>>>>
  /** Of all 429s, how many did not say when to try again. */
  readonly withoutRetryAfter: number
  /** Requests without an answer: their connection broke. */
  readonly broken: number
  readonly perSecond: number
  readonly p50Ms: number
  readonly p99Ms: number
}
