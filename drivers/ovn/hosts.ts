import type { Clock } from '#common/clock.ts'
import type { OvnHost } from './northbound/network-index.ts'
import type { Operation, Table } from './ovsdb/database.ts'
import { type Row, textOf, type ValueMap } from './ovsdb/values.ts'
import { isRemote } from './remote-hosts.ts'

/** Each living host copies the number in `NB_Global.nb_cfg`, when it changes, to its own row (ovn-nb(5)). */
interface Asked {
  readonly number: number
  readonly at: number
}

/** Of a host that is long dead, older ones tell nothing more. */
const QUESTIONS_MAX = 100

interface Replica {
  table(name: string): Table
}

/** The hosts of a cell as OVN knows them, and which of them answer. */
export class OvnHosts {
  readonly #northbound: Replica
  readonly #southbound: Replica
  readonly #clock: Clock
  readonly #silentMs: number
  /** Questions that some host has not answered, the oldest first. */
  #asked: readonly Asked[] = []

  constructor(
    databases: { readonly northbound: Replica; readonly southbound: Replica },
    clock: Clock,
    silentMs: number,
  ) {
    this.#northbound = databases.northbound
    this.#southbound = databases.southbound
    this.#clock = clock
    this.#silentMs = silentMs
  }

  /** Afterwards `transact` has asked every host whether it lives. */
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
  }

  /**
   * The hosts of this cell. One is held to be dead when it has been silent for long while another has answered since: where all
   * are silent, it is the databases that are slow.
   */
  list(): readonly OvnHost[] {
    const answers = this.#answers()
    const newest = Math.max(...answers.values())
    return [...this.#southbound.table('Chassis').values()]
      .filter((row) => !isRemote(row))
      .map((row): OvnHost => {
        const chassis = textOf(row, 'name')
        const answer = answers.get(chassis)
        const isAlive = answer === undefined || answer === newest || !this.#isLate(answer, newest)
        return { chassis, physicalNetworks: physicalNetworksOf(row), isAlive }
      })
      .toSorted((a, b) => (a.chassis < b.chassis ? -1 : 1))
  }

  /** True when a question that another host has answered has waited too long for this one. */
  #isLate(answer: number, newest: number): boolean {
    const open = this.#asked.find(({ number }) => number > answer && number <= newest)
    return open !== undefined && this.#clock.elapsed() - open.at > this.#silentMs
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
