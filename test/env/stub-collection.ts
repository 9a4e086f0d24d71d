import { randomUUID } from 'node:crypto'

export type StubItem = Record<string, unknown> & { readonly id: string }
/** An answer of a stub in place of its object: a status, in the envelope of the real service. */
export class StubRefusal {
  readonly status: number
  readonly message: string

  constructor(status: number, message: string) {
    this.status = status
    this.message = message
  }
}

/** Things of one kind, which are made, listed by what they are, changed and removed, as Neutron and Glance have them. */
export class StubCollection {
  readonly items = new Map<string, StubItem>()
  readonly #defaults: object
  /** The fields that no two of them share. */
  readonly #unique: readonly string[]

  constructor(defaults: object = {}, unique: readonly string[] = []) {
    this.#defaults = defaults
    this.#unique = unique
  }

  list(query: URLSearchParams): readonly StubItem[] {
    const wanted = [...query].filter(([name]) => !['limit', 'project_id', 'owner'].includes(name))
    return [...this.items.values()].filter((item) =>
      wanted.every(([name, value]) => String(item[name]) === value),
    )
  }

  make(body: object): StubItem | StubRefusal {
    const item: StubItem = {
      ...{ created_at: new Date().toISOString(), ...this.#defaults },
      ...body,
      id: randomUUID(),
    }
    const isTaken = [...this.items.values()].some((other) =>
      this.#unique.some((field) => JSON.stringify(other[field]) === JSON.stringify(item[field])),
    )
    if (isTaken) return new StubRefusal(409, 'It is in use already.')
    this.items.set(item.id, item)
    return item
  }

  change(id: string, change: object): StubItem | undefined {
    const item = this.items.get(id)
    return item === undefined ? undefined : Object.assign(item, change)
  }
}
