import type { CloudProcess } from './cloud/cloud-process.ts'
import type { ConnectionTap } from './relay.ts'

/** Commits of one name: by default the watched tables that they change, in the order of the alphabet. */
export interface CommitKind {
  readonly name: string
  /** How many there are at least; on a busy machine there may be more. */
  readonly count: number
  /** So many of the first belong to the request of the test, which is not repeated; absent: none. */
  readonly asked?: number
}

/** The commit at which a process dies. */
export interface DeathAt {
  readonly name: string
  /** Which of those of this name. */
  readonly nth: number
  readonly when: 'before' | 'after'
}

/** Every way to die at one of these commits: before it arrives, and before its answer does. */
export function deathsAt(kinds: readonly CommitKind[]): readonly DeathAt[] {
  return kinds.flatMap(({ name, count, asked = 0 }) =>
    Array.from({ length: count - asked }, (_, place) => asked + place + 1).flatMap((nth) => [
      { name, nth, when: 'before' as const },
      { name, nth, when: 'after' as const },
    ]),
  )
}

const COMMANDS = { query: 0x03, prepare: 0x16, execute: 0x17 } as const
const HEADER_BYTES = 4
const WRITES = /\b(?:insert(?: ignore)? into|replace into|update|delete from)\s+`?([a-z_]+)`?/gi
const ENDS_IN_COMMIT = /\bcommit(?:;\s*end)?$/i

/**
 * The commits of processes to their database, seen on their wires: of transactions, and of statements that commit by
 * themselves. The process that makes one can be killed there, before it arrives or before its answer does.
 */
export class WatchedCommits {
  /** How many there were of each name since the work began. */
  readonly seen = new Map<string, number>()
  readonly #nameOf: NameOf
  #death: DeathAt | undefined
  #died = Promise.withResolvers<CloudProcess>()
  #isArmed = false

  private constructor(nameOf: NameOf) {
    this.#nameOf = nameOf
  }

  /** Starts the processes again, one after the other, so that their connections are watched: for changes of these tables, or for what has a name. */
  static async of(
    processes: readonly CloudProcess[],
    setting: string,
    watched: readonly string[] | NameOf,
  ): Promise<WatchedCommits> {
    const commits = new WatchedCommits(typeof watched === 'function' ? watched : byTables(watched))
    for (const process of processes) {
      process.wire(setting).tap(() => new DatabaseTap((commit) => commits.#commit(process, commit)))
      await process.stop()
      await process.start()
    }
    return commits
  }

  /**
   * The result of the work, during which the process that makes that commit dies; it is started again then. False: the work
   * was over before. `death` absent: none dies.
   */
  async during<T>(
    work: () => Promise<T>,
    death?: DeathAt,
  ): Promise<{ readonly result: T; readonly hasDied: boolean }> {
    this.seen.clear()
    this.#died = Promise.withResolvers()
    this.#death = death
    this.#isArmed = true
    const over = work()
    const dead = await Promise.race([this.#died.promise, over.then(() => undefined)])
    if (dead !== undefined) {
      await dead.kill()
      await dead.start()
    }
    const result = await over
    this.#isArmed = false
    return { result, hasDied: dead !== undefined }
  }

  #commit(process: CloudProcess, commit: SeenCommit): Verdict {
    const name = this.#isArmed ? this.#nameOf(commit) : undefined
    if (name === undefined) return 'passes'
    const nth = (this.seen.get(name) ?? 0) + 1
    this.seen.set(name, nth)
    const death = this.#death
    if (death === undefined || death.name !== name || death.nth !== nth) return 'passes'
    // One dies, and no other.
    this.#death = undefined
    const die = () => {
      process.cut()
      this.#died.resolve(process)
    }
    if (death.when === 'after') return die
    die()
    return 'lost'
  }
}

/** A commit as it is sent. */
export interface SeenCommit {
  readonly tables: ReadonlySet<string>
  /** All statements of it, with their values. */
  readonly text: string
}

/** Names a commit; undefined: it does not count. */
type NameOf = (commit: SeenCommit) => string | undefined

function byTables(watched: readonly string[]): NameOf {
  return ({ tables }) => watched.filter((table) => tables.has(table)).join(', ') || undefined
}

/** What becomes of a commit: a function is called in place of its answer. */
type Verdict = 'passes' | 'lost' | (() => void)

/** Reads the commands of one connection to MariaDB. */
class DatabaseTap implements ConnectionTap {
  readonly #onCommit: (commit: SeenCommit) => Verdict
  readonly #prepared = new Map<number, string>()
  #unread = Buffer.alloc(0)
  #preparing: string | undefined
  #commitsByItself = true
  #tables = new Set<string>()
  #text = ''
  #instead: (() => void) | undefined

  constructor(onCommit: (commit: SeenCommit) => Verdict) {
    this.#onCommit = onCommit
  }

  sent(bytes: Buffer): boolean {
    this.#unread = Buffer.concat([this.#unread, bytes])
    let passes = true
    for (;;) {
      if (this.#unread.length < HEADER_BYTES) return passes
      const end = HEADER_BYTES + this.#unread.readUIntLE(0, 3)
      if (this.#unread.length < end) return passes
      const isCommand = this.#unread[3] === 0
      const payload = this.#unread.subarray(HEADER_BYTES, end)
      this.#unread = this.#unread.subarray(end)
      if (isCommand && !this.#command(payload)) passes = false
    }
  }

  answered(bytes: Buffer): boolean {
    if (this.#preparing !== undefined) {
      if (bytes[HEADER_BYTES] === 0)
        this.#prepared.set(bytes.readUInt32LE(HEADER_BYTES + 1), this.#preparing)
      this.#preparing = undefined
    }
    if (this.#instead === undefined) return true
    this.#instead()
    return false
  }

  #command(payload: Buffer): boolean {
    const [command] = payload
    const text = payload.toString('utf8', 1)
    if (command === COMMANDS.prepare) this.#preparing = text
    if (command === COMMANDS.query) return this.#statement(text, text)
    if (command === COMMANDS.execute)
      return this.#statement(this.#prepared.get(payload.readUInt32LE(1)) ?? '', text)
    return true
  }

  #statement(text: string, values: string): boolean {
    const mode = /\bautocommit = ([01])/.exec(text)
    if (mode !== null) this.#commitsByItself = mode[1] === '1'
    for (const [, table] of text.matchAll(WRITES)) this.#tables.add(table!)
    this.#text += values
    const isOver = /^rollback$/i.test(text)
    if (!isOver && !this.#commitsByItself && !ENDS_IN_COMMIT.test(text)) return true
    const commit = { tables: this.#tables, text: this.#text }
    this.#tables = new Set()
    this.#text = ''
    if (isOver || commit.tables.size === 0) return true
    const verdict = this.#onCommit(commit)
    if (typeof verdict === 'function') this.#instead = verdict
    return verdict !== 'lost'
  }
}
