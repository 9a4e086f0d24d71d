import type { Clock } from '#common/clock.ts'
import type { OvnHost } from './northbound/network-index.ts'
import type { Operation, Table } from './ovsdb/database.ts'
import { type Row, textOf, type ValueMap } from './ovsdb/values.ts'
import { encapAddresses, isElsewhere } from './remote-hosts.ts'

/** Each living host copies a new number in `NB_Global.nb_cfg` to its own row (ovn-nb(5)). */
interface Asked {
  readonly number: number
  readonly at: number
}

/** Older questions say nothing more about a dead host. */
const QUESTIONS_MAX = 100
/**
 * A question costs northd and every host about as much time as the quickest answer takes: this many times as long is
 * left for other work.
 */
const REST_FACTOR = 20
/** The cost is the least of this many questions: one of them may have waited until a dead database or northd was back. */
const COSTS = 3
/** After this time a question is asked again: a database that was restored from a backup has forgotten it. */
const OPEN_MAX_MS = 30_000
/** A host may take this many times as long as the quickest one. */
const TIMEOUT_FACTOR = 10

interface Replica {
  table(name: string): Table
}

/** The hosts of a cell as OVN knows them, with those that answer. */
export class OvnHosts {
  readonly #northbound: Replica
  readonly #southbound: Replica
  readonly #clock: Clock
  readonly #deadAfterMs: number
  /** Questions that some host has not answered, the oldest first. */
  #asked: readonly Asked[] = []
  /** Whether no host has answered the last question. */
  #isOpen = false
  /** The times of the quickest answers to the last questions, the oldest first. */
  #costsMs: readonly number[] = Array<number>(COSTS).fill(0)

  constructor(
    databases: { readonly northbound: Replica; readonly southbound: Replica },
    clock: Clock,
    deadAfterMs: number,
  ) {
    this.#northbound = databases.northbound
    this.#southbound = databases.southbound
    this.#clock = clock
    this.#deadAfterMs = deadAfterMs
  }

  /** False while the last question is recent, if it is open or such questions are expensive. */
  isDue(): boolean {
    const last = this.#asked.at(-1)
    if (last === undefined) return true
    const restMs = this.#isOpen ? OPEN_MAX_MS : REST_FACTOR * this.#costMs()
    return this.#clock.elapsed() - last.at >= restMs
  }

  /** Call it when hosts may have answered. */
  recordContacts(): void {
    const last = this.#asked.at(-1)
    if (last === undefined || !this.#isOpen) return
    const newest = Math.max(...this.#answers().values())
    if (newest < last.number) return
    this.#isOpen = false
    this.#costsMs = [...this.#costsMs, this.#clock.elapsed() - last.at].slice(-COSTS)
  }

  /** Afterwards `transact` has asked every host for a sign of life. */
  async ask(transact: (operations: readonly Operation[]) => Promise<unknown>): Promise<void> {
    const [[uuid, row] = []] = this.#northbound.table('NB_Global')
    if (uuid === undefined || row === undefined) return
    const number = Number(row['nb_cfg']) + 1
    const where = [['_uuid', '==', ['uuid', uuid]]]
    const at = this.#clock.elapsed()
    await transact([{ op: 'mutate', table: 'NB_Global', where, mutations: [['nb_cfg', '+=', 1]] }])
    const oldest = Math.min(...this.#answers().values())
    const open = this.#asked.filter((question) => question.number > oldest)
    this.#asked = [...open, { number, at }].slice(-QUESTIONS_MAX)
    this.#isOpen = true
    this.recordContacts()
  }

  /**
   * The hosts of this cell. A host is dead when it has not answered for long while another has: if none answers, the
   * databases are slow.
   */
  list(): readonly OvnHost[] {
    const answers = this.#answers()
    const newest = Math.max(...answers.values())
    return [...this.#southbound.table('Chassis').values()]
      .filter((row) => !isElsewhere(row))
      .map((row): OvnHost => {
        const chassis = textOf(row, 'name')
        const answer = answers.get(chassis)
        const isAlive = answer === undefined || answer === newest || !this.#isLate(answer, newest)
        const [encapAddress = ''] = encapAddresses(this.#southbound, row)
        return { chassis, encapAddress, physicalNetworks: physicalNetworksOf(row), isAlive }
      })
      .toSorted((a, b) => (a.chassis < b.chassis ? -1 : 1))
  }

  /** How long until the next host counts as dead, if it does not answer; undefined while none is waited for. */
  nextDeathMs(): number | undefined {
    const answers = this.#answers()
    const newest = Math.max(...answers.values())
    const left = [...new Set(answers.values())]
      .map((answer) => this.#leftMs(answer, newest))
      .filter((ms) => ms !== undefined && ms >= 0)
    return left.length === 0 ? undefined : Math.min(...(left as number[])) + 1
  }

  /** True if this host has not answered for too long a question that another host has answered. */
  #isLate(answer: number, newest: number): boolean {
    const left = this.#leftMs(answer, newest)
    return left !== undefined && left < 0
  }

  /** How much longer a host with this answer may be silent; undefined if it owes none that another host gave. */
  #leftMs(answer: number, newest: number): number | undefined {
    const open = this.#asked.find(({ number }) => number > answer && number <= newest)
    const timeoutMs = Math.max(this.#deadAfterMs, TIMEOUT_FACTOR * this.#costMs())
    return open && open.at + timeoutMs - this.#clock.elapsed()
  }

  #costMs(): number {
    return Math.min(...this.#costsMs)
  }

  #answers(): ReadonlyMap<string, number> {
    const rows = [...this.#southbound.table('Chassis_Private').values()]
    return new Map(rows.map((row) => [textOf(row, 'name'), Number(row['nb_cfg'])]))
  }
}

/** From `physical:bridge,…`, as the host's operator wrote it (ovn-controller(8)). */
function physicalNetworksOf(row: Row): readonly string[] {
  const mappings = (row['other_config'] as ValueMap)['ovn-bridge-mappings'] ?? ''
  return String(mappings)
    .split(',')
    .flatMap((mapping) => mapping.split(':')[0]?.trim() || [])
}
