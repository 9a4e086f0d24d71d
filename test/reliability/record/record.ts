import { closeSync, openSync, writeSync } from 'node:fs'

export type Value = string | number | boolean | null

/** What a request, if it is carried out, makes true: this field of this thing has this value. */
export interface Write {
  /** Its type and id, such as `server:6f1c…`. */
  readonly thing: string
  readonly field: string
  readonly value: Value
}

/** A thing that a request makes, by the name that no other request gives. */
export interface Making {
  readonly type: ThingType
  readonly name: string
  readonly projectId: string
}

export type ThingType =
  | 'server'
  | 'port'
  | 'network'
  | 'subnet'
  | 'security-group'
  | 'server-group'
  | 'keypair'
  | 'image'
  | 'user'

/** One request of a user and its answer, times in milliseconds of the harness's monotonic clock. */
export interface Entry {
  readonly n: number
  readonly requestId: string
  readonly user: string
  readonly gateway: string
  readonly method: string
  readonly path: string
  /** 0: there was no answer, or it broke off. */
  readonly status: number
  /** The reason for a missing answer, or the message of a refusal. */
  readonly message: string
  readonly startMs: number
  readonly endMs: number
  readonly writes: readonly Write[]
  readonly makes?: Making | undefined
  /** The request asks a server to act; the name its record has. */
  readonly act?: { readonly serverId: string; readonly name: string } | undefined
}

/** `unknown`: it may have been carried out, may be still, and may never be. */
export type Outcome = 'done' | 'refused' | 'unknown'

/** The server did not listen, so nothing was sent. */
const NEVER_SENT = 'ECONNREFUSED'

export function outcomeOf({ status, message }: Pick<Entry, 'status' | 'message'>): Outcome {
  if (status === 0 && message === NEVER_SENT) return 'refused'
  if (status >= 200 && status < 400) return 'done'
  return status >= 400 && status < 500 ? 'refused' : 'unknown'
}

/** Every request and answer of a run, in memory to be compared and in a file to be read by people. */
export class RunRecord implements Disposable {
  readonly entries: Entry[] = []
  /** What was seen to be wrong while the run went on. */
  readonly wrongAnswers: { readonly entry: Entry; readonly text: string }[] = []
  readonly #writes = new Map<string, Entry[]>()
  readonly #pending = new Set<readonly Write[]>()
  readonly #file: number

  constructor(path: string) {
    this.#file = openSync(path, 'a', 0o600)
  }

  /** A request that would make these true is on its way, until this is disposed of. */
  begin(writes: readonly Write[]): Disposable {
    this.#pending.add(writes)
    return { [Symbol.dispose]: () => this.#pending.delete(writes) }
  }

  /** What requests under way would make of a field. */
  pending(thing: string, field: string): readonly Value[] {
    return [...this.#pending].flatMap((writes) =>
      writes
        .filter((write) => write.thing === thing && write.field === field)
        .map(({ value }) => value),
    )
  }

  add(entry: Entry): void {
    this.entries.push(entry)
    for (const field of new Set(entry.writes.map(fieldKey))) {
      const own = this.#writes.get(field)
      if (own === undefined) this.#writes.set(field, [entry])
      else own.push(entry)
    }
    writeSync(this.#file, `${JSON.stringify(entry)}\n`)
  }

  addWrong(entry: Entry, text: string): void {
    this.wrongAnswers.push({ entry, text })
    writeSync(this.#file, `${JSON.stringify({ wrong: text, requestId: entry.requestId })}\n`)
  }

  /** All that was asked of a field, answered or not. */
  of(thing: string, field: string): readonly Entry[] {
    return this.#writes.get(fieldKey({ thing, field })) ?? []
  }

  [Symbol.dispose](): void {
    closeSync(this.#file)
  }
}

function fieldKey({ thing, field }: Pick<Write, 'thing' | 'field'>): string {
  return `${thing} ${field}`
}
