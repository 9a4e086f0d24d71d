import { type Connection, createConnection, type RowDataPacket } from 'mysql2/promise'
import type { ServerCount } from './target.ts'

/** Counts servers in the table that reads are answered from, over a connection of its own: the measured pay nothing. */
export class ServerCounter implements AsyncDisposable {
  readonly #connection: Connection
  readonly #sql: string
  readonly #values: readonly string[]

  private constructor(connection: Connection, sql: string, values: readonly string[]) {
    this.#connection = connection
    this.#sql = sql
    this.#values = values
  }

  /** The query names its columns as `ServerCount` does. */
  static async open(url: string, sql: string, values: readonly string[]): Promise<ServerCounter> {
    return new ServerCounter(await createConnection({ uri: url }), sql, values)
  }

  async read(): Promise<ServerCount> {
    const [rows] = await this.#connection.query<RowDataPacket[]>(this.#sql, [...this.#values])
    return { active: Number(rows[0]?.['active']), existing: Number(rows[0]?.['existing']) }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#connection.end()
  }
}
