/** A request refused for what it is as HTTP, before it means anything to the application. */
export class HttpRefusal extends Error {
  override readonly name = 'HttpRefusal'
  readonly status: RefusalStatus

  constructor(status: RefusalStatus, message: string) {
    super(message)
    this.status = status
  }
}

export type RefusalStatus = 404 | 405 | 406 | 410 | 412 | 415 | 416
