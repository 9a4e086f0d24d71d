import type { ProcessIdentity } from '#deploy/process/process-identity.ts'

/** The measured program: the product, or the floor beside it. Both get the same requests in the same way. */
export interface Target {
  readonly name: 'product' | 'floor'
  readonly origin: URL
  /** Its own processes, by name; the database and the bus are shared and not among them. */
  readonly processes: Readonly<Record<string, ProcessIdentity>>
  /** The bytes of each request. */
  readonly requests: {
    readonly one: Buffer
    readonly hundred: Buffer
    readonly token: Buffer
    create(name: string): Buffer
    remove(serverId: string): Buffer
  }
  /** How many servers run, and how many there are, as reads would show them. */
  count(): Promise<ServerCount>
}

export interface ServerCount {
  readonly active: number
  readonly existing: number
}
