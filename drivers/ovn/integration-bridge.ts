import type { Clock } from '#common/clock.ts'
import { Failure } from '#common/errors.ts'
import type { Logger } from '#common/log.ts'
import { OvsdbDatabase, type Table } from './ovsdb/database.ts'
import { type Row, textOf, type ValueMap } from './ovsdb/values.ts'

/** The bridge that ovn-controller(8) creates on every host. */
export const INTEGRATION_BRIDGE = 'br-int'
/** The key by which a port of the bridge is found again, with any name of its interface. */
const PORT_ID = 'weir-port'
/** Where Debian has the database of Open vSwitch. */
export const OVS_DATABASE = 'unix:/run/openvswitch/db.sock'

export interface IntegrationBridgeOptions {
  /** The address of the host's Open vSwitch, as its tools write it: `unix:PATH`. */
  readonly address: string
  readonly clock: Clock
  readonly log: Logger
}

/** An interface of this host, with the UUID of its port in OVN. */
export interface PluggedInterface {
  readonly name: string
  readonly portId: string
}

/** The bridge of a host that OVN connects to those of other hosts: an interface in it is the port whose UUID it carries. */
export class IntegrationBridge implements AsyncDisposable {
  readonly #options: IntegrationBridgeOptions
  #database: Promise<OvsdbDatabase> | undefined

  constructor(options: IntegrationBridgeOptions) {
    this.#options = options
  }

  /** True if packets are switched in a process: it drops TCP whose checksums were left to a network card. */
  async isInUserspace(): Promise<boolean> {
    const [, bridge] = await this.#bridge()
    return bridge['datapath_type'] === 'netdev'
  }

  /**
   * Afterwards the interface is the port, and no other interface here is. Throws `unavailable` while Open vSwitch or
   * its bridge is missing.
   */
  async plug({ name, portId }: PluggedInterface, signal: AbortSignal): Promise<void> {
    const [id] = await this.#bridge()
    const database = await this.#open()
    const ids = { [PORT_ID]: portId }
    const before = [...database.table('Port')].filter(([, row]) => {
      return row['name'] === name || (row['external_ids'] as ValueMap)[PORT_ID] === portId
    })
    await database.transact(
      [
        ...before.map(([uuid]) => portOf(id, 'delete', ['uuid', uuid])),
        insert('Interface', 'interface', { name, external_ids: map({ 'iface-id': portId }) }),
        insert('Port', 'port', {
          name,
          interfaces: ['named-uuid', 'interface'],
          external_ids: map(ids),
        }),
        portOf(id, 'insert', ['named-uuid', 'port']),
      ],
      signal,
    )
  }

  /** Afterwards no port of the bridge has this interface. */
  async unplug(name: string, signal: AbortSignal): Promise<void> {
    const [id] = await this.#bridge()
    const database = await this.#open()
    const [uuid] = rowNamed(database.table('Port'), name) ?? []
    if (uuid !== undefined) await database.transact([portOf(id, 'delete', ['uuid', uuid])], signal)
  }

  /** The interfaces that were plugged in by `plug`, here or by an earlier process. Throws `unavailable`. */
  async plugged(): Promise<readonly PluggedInterface[]> {
    await this.#bridge()
    const database = await this.#open()
    return [...database.table('Port').values()].flatMap((row) => {
      const portId = (row['external_ids'] as ValueMap)[PORT_ID]
      return typeof portId !== 'string' ? [] : [{ name: textOf(row, 'name'), portId }]
    })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const database = await this.#database?.catch(() => undefined)
    await database?.[Symbol.asyncDispose]()
  }

  async #bridge(): Promise<readonly [string, Row]> {
    const database = await this.#open()
    const found = rowNamed(database.table('Bridge'), INTEGRATION_BRIDGE)
    if (found !== undefined) return found
    throw new Failure(
      'unavailable',
      `Open vSwitch at ${this.#options.address} has no bridge ${INTEGRATION_BRIDGE}. Start ovn-controller on this host.`,
    )
  }

  #open(): Promise<OvsdbDatabase> {
    const { address, clock, log } = this.#options
    this.#database ??= OvsdbDatabase.open({
      ...{ address, clock, log },
      name: 'Open_vSwitch',
      tables: { Bridge: ['name', 'datapath_type'], Port: ['name', 'external_ids'] },
    }).catch((error: unknown) => {
      this.#database = undefined
      throw error
    })
    return this.#database
  }
}

function rowNamed(table: Table, name: string): readonly [string, Row] | undefined {
  return [...table].find(([, row]) => row['name'] === name)
}

function portOf(bridge: string, how: 'insert' | 'delete', port: readonly [string, string]) {
  const where = [['_uuid', '==', ['uuid', bridge]]]
  return { op: 'mutate', table: 'Bridge', where, mutations: [['ports', how, ['set', [port]]]] }
}

function insert(table: string, name: string, row: Readonly<Record<string, unknown>>) {
  return { op: 'insert', table, 'uuid-name': name, row }
}

function map(entries: Readonly<Record<string, string>>) {
  return ['map', Object.entries(entries)]
}
