import { type Connection, createConnection, type RowDataPacket } from 'mysql2/promise'

/** Counts rows in the tables that reads are answered from, over a connection of its own: the measured pay nothing. */
export class RowCounter<Count extends string> implements AsyncDisposable {
  readonly #connection: Connection
  readonly #sql: string
  readonly #values: readonly string[]

  private constructor(connection: Connection, sql: string, values: readonly string[]) {
    this.#connection = connection
    this.#sql = sql
    this.#values = values
  }

  /** The query answers one row, with a column of the name of each count. */
  static async open<Count extends string>(
    url: string,
    sql: string,
    values: readonly string[],
  ): Promise<RowCounter<Count>> {
    return new RowCounter<Count>(await createConnection({ uri: url }), sql, values)
  }

  async read(): Promise<Readonly<Record<Count, number>>> {
    const [rows] = await this.#connection.query<RowDataPacket[]>(this.#sql, [...this.#values])
    const counts = Object.entries(rows[0] ?? {}).map(([name, value]) => [name, Number(value)])
    return Object.fromEntries(counts) as Record<Count, number>
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#connection.end()
  }
}
