import { Connection } from './connection.ts'

/** `count` open connections to an origin. */
export class Connections implements Disposable {
  readonly all: readonly Connection[]

  private constructor(all: readonly Connection[]) {
    this.all = all
  }

  static async open(origin: URL, count: number): Promise<Connections> {
    const opening = Array.from({ length: count }, () => Connection.open(origin))
    return new Connections(await Promise.all(opening))
  }

  [Symbol.dispose](): void {
    for (const connection of this.all) connection[Symbol.dispose]()
  }
}
