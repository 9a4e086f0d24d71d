/** A request refused for what it is as HTTP, before it means anything to the application. */
export class HttpRefusal extends Error {
  override readonly name = 'HttpRefusal'
  readonly status: RefusalStatus
  /** Seconds after which asking again is sensible; undefined: never, or at once. */
  readonly retryAfterS: number | undefined

  constructor(status: RefusalStatus, message: string, retryAfterS?: number) {
    super(message)
    this.status = status
    this.retryAfterS = retryAfterS
  }
}

export type RefusalStatus = 404 | 405 | 406 | 408 | 410 | 412 | 415 | 416 | 429
